//! Posterior, choice of the next commit, certificate. Pure.
