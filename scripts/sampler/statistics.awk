# Medians with distribution-free intervals. Reads one number a line; prints "MEDIAN LOW HIGH LEVEL".
#
# The interval runs between the k-th smallest and the k-th largest value, with the largest k for which
# it holds the median with at least 95 % (binomial); with fewer than six values it is their range.
function sort(a, n,    i, j, x) {
    for (i = 2; i <= n; i++) {
        x = a[i]
        for (j = i - 1; j > 0 && a[j] > x; j--)
            a[j + 1] = a[j]
        a[j + 1] = x
    }
}
{ value[++n] = $1 + 0 }
END {
    if (n == 0) { print "nan nan nan 0"; exit }
    sort(value, n)
    median = n % 2 ? value[(n + 1) / 2] : (value[n / 2] + value[n / 2 + 1]) / 2
    # outside = P(fewer than k of n values lie below the median), twice.
    term = 1; for (i = 0; i < n; i++) term /= 2
    outside = 2 * term; k = 1; level = 1 - outside
    while (k < n / 2) {
        term = term * (n - k + 1) / k
        if (outside + 2 * term > 0.05) break
        outside += 2 * term; k++; level = 1 - outside
    }
    printf "%.6g %.6g %.6g %.3f\n", median, value[k], value[n + 1 - k], level
}
