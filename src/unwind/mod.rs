//! From registers and stack to a call chain.
