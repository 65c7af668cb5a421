# Folded stacks to inclusive shares in per cent: "SHARE NAME", names without suffixes of the form.
{
    count = $NF; sub(/ [0-9]+$/, "")
    total += count
    n = split($0, frame, ";")
    split("", seen)
    for (i = 2; i <= n; i++) {
        name = frame[i]; sub(/_\[[kij]\]$/, "", name)
        if (!(name in seen)) { seen[name]; sum[name] += count }
    }
}
END { for (name in sum) printf "%.4f %s\n", 100 * sum[name] / total, name }
