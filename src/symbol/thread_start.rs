//! Where threads start: the functions that a whole stack ends in.

/// Functions that call a program's or thread's own first function.
const STARTS: &[&str] = &[
    "_start",
    "__libc_start_main",
    "__libc_start_main_impl",
    "__libc_start_call_main",
    "_dl_start",
    "_dl_start_user",
    "start_thread",
    "clone",
    "clone3",
    "__clone",
    "__clone3",
    "thread_start",
    "runtime.goexit",
    "runtime.rt0_go",
    "runtime.mstart",
];

/// Modules whose own functions start threads; distributions strip their names.
const STARTERS: &[&str] = &[
    "libc.so",
    "libc-",
    "libpthread",
    "ld-linux",
    "ld-musl",
    "libc.musl",
];

/// Returns whether a function is one that threads start in.
#[must_use]
pub fn is_thread_start(function: &str) -> bool {
    STARTS.contains(&function.split('@').next().unwrap_or(function))
}

/// Returns whether a chain of frame pointers that ends in a function reached all that it can: the
/// frames above `main` belong to the C library, which keeps no frame pointers.
#[must_use]
pub fn ends_frame_pointers(function: Option<&str>, module_file_name: &str) -> bool {
    match function {
        Some(name) => name == "main" || is_thread_start(name),
        None => STARTERS
            .iter()
            .any(|name| module_file_name.starts_with(name)),
    }
}
