//! What is asked of git, through git2.
