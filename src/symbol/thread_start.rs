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
    "main",
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

/// Returns whether a chain of frame pointers that ends in a function reached the thread's start:
/// the frames above it belong to the C library, which keeps no frame pointers.
#[must_use]
pub fn is_thread_start(function: Option<&str>, module_file_name: &str) -> bool {
    match function {
        Some(name) => STARTS.contains(&name.split('@').next().unwrap_or(name)),
        None => STARTERS
            .iter()
            .any(|name| module_file_name.starts_with(name)),
    }
}
