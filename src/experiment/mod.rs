//! Compare, bisect, matrix: what to run next, and when to stop.
