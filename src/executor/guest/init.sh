#!/bin/busybox sh
# The first process of a guest: lays a layer of memory over the host's root, sets the swap up, runs
# one trial, and powers off. What it says on the console is read by the host.

b=/bin/busybox
say() { echo "perfblame-guest: $*" >/dev/console; }
# QEMU is told to end where the machine would start again; power-off would need ACPI.
leave() { $b sync; $b reboot -f; while :; do $b sleep 60; done; }
fail() { say "failed: $*"; leave; }

$b mount -t proc proc /proc
$b mount -t sysfs sysfs /sys
$b mount -t devtmpfs devtmpfs /dev 2>/dev/null || $b mdev -s
exec </dev/null >/dev/console 2>&1
. /config
[ -z "$test_boot" ] || { say "alive"; leave; }

has() { $b grep -qw "$1" /proc/filesystems; }
has 9p || fail "this kernel cannot reach the host's files: it needs CONFIG_NET_9P_VIRTIO, CONFIG_9P_FS and CONFIG_VIRTIO_PCI, built in"
share() { $b mount -t 9p -o "trans=virtio,version=9p2000.L,msize=512000,$3" "$1" "$2"; }
share perfblame-root /host ro,cache=loose || fail "cannot mount the host's root (CONFIG_NET_9P_VIRTIO, CONFIG_VIRTIO_PCI)"

# The host's root under a layer of memory; without overlayfs, its directories in a root of memory.
$b mount -t tmpfs -o mode=755 tmpfs /layer || fail "this kernel has no tmpfs (CONFIG_TMPFS)"
if has overlay; then
    $b mkdir /layer/upper /layer/work
    $b mount -t overlay -o lowerdir=/host,upperdir=/layer/upper,workdir=/layer/work overlay /root \
        || fail "cannot lay an overlay over the host's root"
else
    $b mount --bind /layer /root
    for path in /host/*; do
        name=${path##*/}
        if [ -L "$path" ]; then
            $b cp -P "$path" "/root/$name"
        elif [ -d "$path" ]; then
            $b mkdir "/root/$name"
            case $name in
            proc | sys | dev | run | tmp) ;;
            *) $b mount --bind "$path" "/root/$name" ;;
            esac
        fi
    done
    [ ! -d /host/var/tmp ] || $b mount -t tmpfs -o mode=1777 tmpfs /root/var/tmp
    [ ! -d /host/tmp ] || $b chmod 1777 /root/tmp
fi
$b mkdir -p /root/proc /root/sys /root/dev /root/run
$b mount -t proc proc /root/proc
$b mount -t sysfs sysfs /root/sys
$b mount --bind /dev /root/dev
$b mkdir -p /root/dev/pts /root/dev/shm
$b mount -t devpts devpts /root/dev/pts 2>/dev/null
$b mount -t tmpfs -o mode=1777 tmpfs /root/dev/shm
$b mount -t tmpfs -o mode=755 tmpfs /root/run
$b mkdir -p /root/run/lock /root/run/perfblame
[ -e /root/dev/fd ] || $b ln -s /proc/self/fd /root/dev/fd
$b mkdir -p "/root$trial_dir"
share perfblame-trial "/root$trial_dir" rw,cache=none || fail "cannot mount the trial's directory"

# A kernel's own modules, in the host's root by their path; 9p and its like must be built in.
if [ -n "$modules" ]; then
    $b mkdir -p /root/lib/modules
    $b mount --bind "/root$modules" /root/lib/modules || fail "cannot bind the kernel's modules"
fi
module() { [ -z "$modules" ] || $b chroot /root modprobe "$1" 2>/dev/null; }

$b ip link set lo up 2>/dev/null || $b ifconfig lo 127.0.0.1 up || fail "this kernel has no network (CONFIG_NET, CONFIG_INET)"
$b hostname perfblame-guest

# Kernel functions have names, and a slow guest is sampled as often as a fast one.
for setting in kptr_restrict=0 perf_event_paranoid=-1 perf_cpu_time_max_percent=0; do
    file=/proc/sys/kernel/${setting%=*}
    [ ! -e "$file" ] || echo "${setting#*=}" >"$file"
done

case $swap in
off) ;;
zram:*)
    [ -e /sys/block/zram0/disksize ] || module zram
    [ -e /sys/block/zram0/disksize ] || fail "guest.swap: this kernel has no zram (CONFIG_ZRAM)"
    echo "${swap#*:}" >/sys/block/zram0/disksize || fail "guest.swap: zram refuses ${swap#*:} bytes"
    disk=/dev/zram0
    ;;
file:*)
    disk=/dev/vda
    [ -e "$disk" ] || module virtio_blk
    [ -e "$disk" ] || fail "guest.swap: this kernel has no disk to swap to (CONFIG_VIRTIO_BLK)"
    ;;
esac
if [ -n "$disk" ]; then
    $b mkswap "$disk" >/dev/null && $b swapon "$disk" || fail "guest.swap: cannot swap to $disk (CONFIG_SWAP)"
fi

# Reclaim works where the subject runs, so that it counts.
for comm in /proc/[0-9]*/comm; do
    read -r name <"$comm" || continue
    case $name in
    kswapd* | kcompactd* | khugepaged)
        pid=${comm#/proc/}
        $b taskset -pc "$subject_cpus" "${pid%/comm}" >/dev/null 2>&1
        ;;
    esac
done

say "kernel $($b uname -r)"
say "started"
cd /root
$b chroot /root "$program" trial "$job" >"/root$trial_dir/trial.log" 2>&1
code=$?
# Pages that were swapped out.
while read -r name count; do
    [ "$name" != pswpout ] || say "swapped $count"
done </proc/vmstat
say "ended $code"
cd /
$b umount "/root$trial_dir"
leave
