//! One name for a function in every build.
//!
//! Compilers and linkers decorate names with what they did to a function (`.constprop.0`), with
//! hashes, and with parameters that a commit may change. Across builds these are the same function,
//! and perf prints its name without them too.

use std::borrow::Cow;

/// Suffixes that a compiler or linker appends after a dot; a number may follow each.
const SUFFIXES: &[&str] = &[
    "isra",
    "constprop",
    "part",
    "cold",
    "llvm",
    "lto_priv",
    "localalias",
    "clone",
    "specialized",
    "warm",
    "hot",
    "unlikely",
    "__uniq",
    "sra",
    "ipa-cp",
];

/// Returns the name under which a function is compared across builds.
///
/// Takes a demangled name and drops: suffixes of compiler clones, a Rust hash, a symbol version
/// (`@@GLIBC_2.14`), the parameter list and return type of C++, and ABI tags. Template and generic
/// arguments stay, since each instance is code of its own; only their spacing is evened. The
/// several spellings of the anonymous namespace become one. Names in brackets such as
/// `[unknown]` stay as they are.
#[must_use]
pub fn canonical_name(name: &str) -> Cow<'_, str> {
    let bare = strip_decoration(name);
    // Nearly all names are plain C identifiers or paths.
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b':' | b'.' | b'@' | b'$');
    if bare.starts_with('[') || (bare.bytes().all(plain) && !bare.contains("_GLOBAL__N_1")) {
        return Cow::Borrowed(bare);
    }
    let mut bare = bare;
    loop {
        let shorter = strip_decoration(strip_signature(bare));
        if shorter == bare {
            return Cow::Owned(even_spelling(bare));
        }
        bare = shorter;
    }
}

/// Drops what follows a function's own name: clone suffixes, versions, hashes.
fn strip_decoration(name: &str) -> &str {
    let mut name = name.trim();
    loop {
        let before = name;
        name = strip_clone_note(name);
        name = strip_suffix(name);
        name = strip_version(name);
        name = strip_rust_hash(name);
        if name == before {
            return name;
        }
    }
}

/// ` [clone .isra.0]`, as demanglers print it.
fn strip_clone_note(name: &str) -> &str {
    match name.rfind(" [clone ") {
        Some(at) if at > 0 && name.ends_with(']') => &name[..at],
        _ => name,
    }
}

/// `.constprop.0`, `.cold`, `.llvm.123`, `.42`.
fn strip_suffix(name: &str) -> &str {
    let Some((head, tail)) = name.rsplit_once('.') else {
        return name;
    };
    if head.is_empty() {
        return name;
    }
    if SUFFIXES.contains(&tail) {
        return head;
    }
    if tail.is_empty() || !tail.bytes().all(|b| b.is_ascii_digit()) {
        return name;
    }
    match head.rsplit_once('.') {
        // An outlined parallel region keeps its number: each is code of its own.
        Some((_, "_omp_fn" | "omp_fn")) => name,
        Some((rest, word)) if SUFFIXES.contains(&word) && !rest.is_empty() => rest,
        _ => head,
    }
}

/// `@@GLIBC_2.14`; `@plt` is a function of its own.
fn strip_version(name: &str) -> &str {
    match name.split_once('@') {
        Some((head, tail)) if !head.is_empty() && tail != "plt" => head,
        _ => name,
    }
}

/// `::h0123456789abcdef` of Rust's legacy mangling.
fn strip_rust_hash(name: &str) -> &str {
    match name.rsplit_once("::h") {
        Some((head, hash))
            if hash.len() == 16
                && hash
                    .bytes()
                    .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)) =>
        {
            head
        }
        _ => name,
    }
}

/// Drops a C++ parameter list with its qualifiers, and the return type before the name.
fn strip_signature(name: &str) -> &str {
    // Rust's `<T as Trait>::f` and `f::{closure#0}` have no parameter list and no return type.
    let Some(open) = parameter_list(name) else {
        return name;
    };
    let head = &name[..open];
    // Only with parameters is there a return type; `operator new` and conversions keep theirs.
    let start = top_level_space(head).map_or(0, |at| at + 1);
    let own = &head[start..];
    if own.is_empty() { head } else { own }
}

/// Where a trailing top-level `(…)` opens, when only qualifiers follow it.
fn parameter_list(name: &str) -> Option<usize> {
    let body = strip_qualifiers(name);
    if !body.ends_with(')') {
        return None;
    }
    let mut depth = 0_usize;
    let mut open = None;
    for (at, b) in body.bytes().enumerate().rev() {
        match b {
            b')' => depth += 1,
            b'(' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    open = Some(at);
                    break;
                }
            }
            _ => {}
        }
    }
    let open = open?;
    let head = &body[..open];
    let call_operator = head.ends_with("operator");
    (open > 0 && !call_operator && &body[open..] != "(anonymous namespace)").then_some(open)
}

/// Drops ` const`, ` volatile`, ` &`, ` &&` and ` noexcept` after a parameter list.
fn strip_qualifiers(name: &str) -> &str {
    let mut name = name;
    loop {
        let before = name;
        for qualifier in [" const", " volatile", " noexcept", " &&", " &", "&&", "&"] {
            if let Some(head) = name.strip_suffix(qualifier)
                && head.ends_with([')', 't', 'e', '&'])
                && head.contains(')')
            {
                name = head;
            }
        }
        if name == before {
            return name;
        }
    }
}

/// The last space outside of any bracket that separates a return type from a name.
fn top_level_space(head: &str) -> Option<usize> {
    let end = head.find("operator").unwrap_or(head.len());
    let mut depth = 0_i32;
    let mut found = None;
    for (at, b) in head.bytes().enumerate().take(end) {
        match b {
            b'<' | b'(' | b'[' | b'{' => depth += 1,
            b'>' | b')' | b']' | b'}' => depth -= 1,
            b' ' if depth == 0 => found = Some(at),
            _ => {}
        }
    }
    found
}

/// Evens spaces in template arguments, ABI tags, and the anonymous namespace.
fn even_spelling(name: &str) -> String {
    let mut out = name
        .replace("{anonymous}", "(anonymous namespace)")
        .replace("_GLOBAL__N_1", "(anonymous namespace)")
        .replace("`anonymous namespace'", "(anonymous namespace)")
        .replace(", ", ",")
        .replace("> >", ">>")
        .replace("> >", ">>");
    while let Some(at) = out.find("[abi:") {
        let Some(len) = out[at..].find(']') else {
            break;
        };
        out.replace_range(at..=at + len, "");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::canonical_name;

    #[test]
    fn names_of_one_function_become_one() {
        let cases = [
            // C: what GCC, LLVM and linkers append.
            ("memcpy", "memcpy"),
            ("processCommand.isra.0", "processCommand"),
            ("foo.constprop.0.isra.0", "foo"),
            ("foo.part.12.cold", "foo"),
            ("foo.part.12.cold.3", "foo"),
            ("foo.cold", "foo"),
            ("foo.llvm.1234567890123", "foo"),
            ("foo.lto_priv.0", "foo"),
            ("foo.lto_priv.0.lto_priv.0", "foo"),
            ("foo.__uniq.12345.llvm.77", "foo"),
            ("foo.42", "foo"),
            ("main._omp_fn.0", "main._omp_fn.0"),
            ("main._omp_fn.1", "main._omp_fn.1"),
            ("memcpy@@GLIBC_2.14", "memcpy"),
            ("memcpy@GLIBC_2.2.5", "memcpy"),
            ("memcpy@plt", "memcpy@plt"),
            (".hidden", ".hidden"),
            (".cold", ".cold"),
            ("_start", "_start"),
            ("", ""),
            // Rust: hashes of the legacy mangling; generics and closures stay.
            (
                "core::ptr::drop_in_place::h0123456789abcdef",
                "core::ptr::drop_in_place",
            ),
            ("a::h012", "a::h012"),
            (
                "<alloc::vec::Vec<T> as core::ops::Drop>::drop::hfedcba9876543210",
                "<alloc::vec::Vec<T> as core::ops::Drop>::drop",
            ),
            (
                "core::ptr::drop_in_place::<alloc::vec::Vec<u8>>",
                "core::ptr::drop_in_place::<alloc::vec::Vec<u8>>",
            ),
            (
                "app::run::{{closure}}::h0123456789abcdef.llvm.99",
                "app::run::{{closure}}",
            ),
            ("app::run::{closure#0}", "app::run::{closure#0}"),
            // C++: parameters, return types, qualifiers, spacing.
            ("ns::f(int, char const*)", "ns::f"),
            ("ns::C::get() const", "ns::C::get"),
            ("ns::C::take() &&", "ns::C::take"),
            ("void ns::f<int>(int)", "ns::f<int>"),
            (
                "std::vector<int, std::allocator<int> >::push_back(int&&)",
                "std::vector<int,std::allocator<int>>::push_back",
            ),
            (
                "std::map<int,std::less<int> >::f",
                "std::map<int,std::less<int>>::f",
            ),
            ("f(int) [clone .isra.0]", "f"),
            ("f(int) [clone .constprop.0] [clone .cold]", "f"),
            ("(anonymous namespace)::f(int)", "(anonymous namespace)::f"),
            ("{anonymous}::f", "(anonymous namespace)::f"),
            ("ns::_GLOBAL__N_1::f", "ns::(anonymous namespace)::f"),
            ("F::operator()(int) const", "F::operator()"),
            ("F::operator()", "F::operator()"),
            ("operator new(unsigned long)", "operator new"),
            ("ns::C::operator bool() const", "ns::C::operator bool"),
            ("bool operator==<int>(int, int)", "operator==<int>"),
            (
                "main::{lambda(int)#1}::operator()(int) const",
                "main::{lambda(int)#1}::operator()",
            ),
            ("str[abi:cxx11](int)", "str"),
            ("void f<void (*)(int)>(void (*)(int))", "f<void (*)(int)>"),
            // Not functions.
            ("[unknown]", "[unknown]"),
            ("[libc.so.6]", "[libc.so.6]"),
            ("(", "("),
            (")", ")"),
            ("f(", "f("),
        ];
        for (given, expected) in cases {
            assert_eq!(canonical_name(given), expected, "{given}");
        }
    }

    #[test]
    fn a_canonical_name_is_its_own_canonical_name() {
        for name in [
            "a::b<c,d<e>>",
            "F::operator()",
            "x.cold",
            "f(int)(char)",
            "a b c(d)",
        ] {
            let once = canonical_name(name).into_owned();
            assert_eq!(canonical_name(&once), once, "{name}");
        }
    }
}
