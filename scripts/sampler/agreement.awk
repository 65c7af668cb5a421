# Compares inclusive shares of two samplers: lines "WHO RUN SHARE NAME", WHO being perf or ours.
#
# For the functions with the largest mean of perf's shares: difference of the means and its standard
# error from the runs (Welch). As a control, perf's even runs against perf's odd ones in the same way:
# so many of them differ by chance.
function mean(s, n) { return n ? s / n : 0 }
function variance(s, q, n) { return n > 1 ? (q - s * s / n) / (n - 1) : 0 }
function z(s1, q1, n1, s2, q2, n2,    error, d) {
    error = sqrt(variance(s1, q1, n1) / n1 + variance(s2, q2, n2) / n2)
    d = mean(s1, n1) - mean(s2, n2)
    return error > 0 ? d / error : (d == 0 ? 0 : 99)
}
{
    who = $1; run = $2; share = $3; name = $4
    if (!((who, run) in seen)) { seen[who, run]; runs[who]++; half[who, run % 2]++ }
    sum[who, name] += share; square[who, name] += share * share
    hsum[who, run % 2, name] += share; hsquare[who, run % 2, name] += share * share
    if (who == "perf") names[name]
}
END {
    for (rank = 1; rank <= top; rank++) {
        best = ""
        for (name in names)
            if (!(name in used) && (best == "" || sum["perf", name] > sum["perf", best])) best = name
        if (best == "") break
        used[best]
        score = z(sum["ours", best], square["ours", best], runs["ours"], \
                  sum["perf", best], square["perf", best], runs["perf"])
        control = z(hsum["perf", 0, best], hsquare["perf", 0, best], half["perf", 0], \
                    hsum["perf", 1, best], hsquare["perf", 1, best], half["perf", 1])
        if (score <= 2 && score >= -2) within++
        if (control <= 2 && control >= -2) cwithin++
        size = score < 0 ? -score : score
        if (size > largest) largest = size
        csize = control < 0 ? -control : control
        if (csize > clargest) clargest = csize
        printf "%6.2f %6.2f %+6.2f %+5.1f  %s\n", mean(sum["perf", best], runs["perf"]), \
            mean(sum["ours", best], runs["ours"]), \
            mean(sum["ours", best], runs["ours"]) - mean(sum["perf", best], runs["perf"]), score, best > details
    }
    printf "%d %d %.2f %d %.2f\n", within, rank - 1, largest, cwithin, clargest
}
