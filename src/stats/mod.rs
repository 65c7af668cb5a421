//! Tests, intervals and corrections, each with its formula and source. Pure.
