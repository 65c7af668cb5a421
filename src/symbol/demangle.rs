//! Names of C++ and Rust as their programmers wrote them.

use std::fmt;

use cpp_demangle::{DemangleOptions, DemangleWrite, ParseOptions, Symbol};

/// Nesting that no real name reaches; a crafted one must not exhaust the stack.
const DEEPEST: u32 = 96;
/// Demangled names may be exponentially longer than mangled ones.
const LONGEST: usize = 16 << 10;

/// Returns the demangled name, without C++ parameters and return type (perf's convention) and
/// without Rust's hash; the name itself if it is not mangled.
#[must_use]
pub fn demangle(name: &str) -> String {
    let (mangled, suffix) = split_suffix(name);
    let readable = if is_rust(mangled) {
        rustc_demangle::try_demangle(mangled)
            .ok()
            .map(|name| format!("{name:#}"))
    } else if mangled.starts_with("_Z") || mangled.starts_with("___Z") {
        demangle_cpp(mangled)
    } else {
        None
    };
    match readable {
        Some(readable) if readable.len() <= LONGEST => readable + suffix,
        _ => name.to_owned(),
    }
}

/// Splits off what a compiler appended after the mangled name, such as `.cold`.
fn split_suffix(name: &str) -> (&str, &str) {
    match name.find('.') {
        // Rust's legacy mangling has dots in generic arguments, but never before its end marker.
        Some(at) if name.starts_with("_ZN") || name.starts_with("_R") || name.starts_with("_Z") => {
            match name[..at].ends_with('$') || name.contains("..") {
                true => (name, ""),
                false => name.split_at(at),
            }
        }
        _ => (name, ""),
    }
}

/// Rust's v0 names start with `_R`; legacy ones are C++ names that end in a hash.
fn is_rust(name: &str) -> bool {
    if name.starts_with("_R") {
        return true;
    }
    name.starts_with("_ZN")
        && name.rfind("17h").is_some_and(|at| {
            let hash = &name[at + 3..];
            hash.len() >= 17
                && hash.as_bytes()[..16].iter().all(u8::is_ascii_hexdigit)
                && hash.as_bytes()[16] == b'E'
        })
}

fn demangle_cpp(name: &str) -> Option<String> {
    let parse = ParseOptions::default().recursion_limit(DEEPEST);
    let symbol = Symbol::new_with_options(name, &parse).ok()?;
    let options = DemangleOptions::new()
        .no_params()
        .no_return_type()
        .recursion_limit(DEEPEST);
    let mut readable = Bounded(String::new());
    symbol.structured_demangle(&mut readable, &options).ok()?;
    Some(readable.0)
}

/// Ends a name that grows beyond what is kept.
struct Bounded(String);

impl DemangleWrite for Bounded {
    fn write_string(&mut self, text: &str) -> fmt::Result {
        if self.0.len() + text.len() > LONGEST {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::demangle;

    #[test]
    fn names_are_read() {
        let cases = [
            ("main", "main"),
            ("_start", "_start"),
            ("_Zfoo", "_Zfoo"),
            ("_ZN2ns1fEiPKc", "ns::f"),
            ("_ZNK2ns1C3getEv", "ns::C::get"),
            ("_ZN2ns1fEi.constprop.0", "ns::f.constprop.0"),
            ("_Z3fooIiEvT_", "foo<int>"),
            ("_ZN12_GLOBAL__N_13fooEv", "(anonymous namespace)::foo"),
            (
                "_ZN4core3ptr13drop_in_place17h0123456789abcdefE",
                "core::ptr::drop_in_place",
            ),
            (
                "_ZN4core3ptr13drop_in_place17h0123456789abcdefE.llvm.123",
                "core::ptr::drop_in_place.llvm.123",
            ),
            (
                "_ZN66_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$core..ops..drop..Drop$GT$4drop17h0123456789abcdefE",
                "<alloc::vec::Vec<T> as core::ops::drop::Drop>::drop",
            ),
            ("_RNvCs1234_7mycrate3foo", "mycrate::foo"),
            ("_RNvC7mycrate3foo.llvm.9", "mycrate::foo.llvm.9"),
            ("_R", "_R"),
            ("", ""),
        ];
        for (name, expected) in cases {
            assert_eq!(demangle(name), expected, "{name}");
        }
    }

    #[test]
    fn deep_and_broken_names_end() {
        for name in [
            format!("_Z{}i", "P".repeat(100_000)),
            format!("_ZN{}E", "1a".repeat(100_000)),
            format!("_R{}", "NvC".repeat(100_000)),
            "_ZN17hE".to_owned(),
            "_ZN17h0123456789abcdefé".to_owned(),
        ] {
            assert!(demangle(&name).len() <= name.len().max(super::LONGEST));
        }
    }
}
