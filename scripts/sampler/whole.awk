# Folded stacks to "USER-STACKS WHOLE-ONES PERCENT": whole are those whose outermost frame is a
# function that threads start in. The same rule for every sampler; kernel frames end in _[k].
{
    count = $NF; sub(/ [0-9]+$/, "")
    n = split($0, frame, ";")
    first = frame[2] == "[truncated]" ? 3 : 2
    user = 0
    for (i = first; i <= n; i++)
        if (frame[i] !~ /_\[k\]$/) user = 1
    if (!user) next
    all += count
    if (frame[first] ~ /^(_start|_dl_start|_dl_start_user|(__)?clone3?|(__GI_)?___?clone3?|start_thread|__libc_start_.*)$/)
        whole += count
}
END { printf "%d %d %.3f\n", all, whole, all ? 100 * whole / all : 0 }
