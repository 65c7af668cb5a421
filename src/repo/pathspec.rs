//! Paths under which a change can matter, as git's own pathspecs.

use regex::bytes::Regex;

use super::error::RepoError;

/// A list of pathspecs: directories and files (`src`, `Makefile`), globs (`*.c`, where `*` also
/// matches `/`, as in git), and exclusions (`:!doc`, `:^doc`). Empty or `.` is everything.
#[derive(Debug, Clone, Default)]
pub struct Pathspecs {
    include: Vec<Pattern>,
    exclude: Vec<Pattern>,
    text: Vec<String>,
}

#[derive(Debug, Clone)]
enum Pattern {
    /// A path and everything below it.
    Literal(Vec<u8>),
    /// A glob over the whole path.
    Glob(Regex),
}

/// What a directory means for a walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// Everything below is in.
    Whole,
    /// Something below may be in.
    Part,
    /// Nothing below is in.
    None,
}

impl Pathspecs {
    /// Reads a list of pathspecs; errors name the one that cannot be understood.
    pub fn parse<S: AsRef<str>>(texts: &[S]) -> Result<Self, RepoError> {
        let mut specs = Self::default();
        let mut everything = false;
        for text in texts.iter().map(AsRef::as_ref) {
            specs.text.push(text.to_owned());
            let wrong = |reason: &str| RepoError::BadPathspec {
                pathspec: text.to_owned(),
                reason: reason.to_owned(),
            };
            let excluded = [":!", ":^", ":(exclude)"]
                .iter()
                .find_map(|magic| text.strip_prefix(magic));
            let (path, list) = match excluded {
                Some(path) => (path, &mut specs.exclude),
                None => (text, &mut specs.include),
            };
            if path.starts_with(':') {
                return Err(wrong(
                    "of git's pathspec magic only :! (exclude) is known here",
                ));
            }
            let path = path.trim_start_matches("./").trim_end_matches('/');
            if path.starts_with('/') || path.split('/').any(|part| part == "..") {
                return Err(wrong("it must be relative to the root of the repository"));
            }
            if path.is_empty() && !text.contains(['.', '/']) {
                return Err(wrong("it is empty"));
            }
            if path.is_empty() || path == "." {
                everything = true;
            } else {
                list.push(Pattern::parse(path).map_err(|reason| wrong(&reason))?);
            }
        }
        if everything {
            specs.include.clear();
        }
        Ok(specs)
    }

    /// The pathspecs as they were given.
    pub fn texts(&self) -> &[String] {
        &self.text
    }

    /// Whether every path is in.
    pub fn is_everything(&self) -> bool {
        self.include.is_empty() && self.exclude.is_empty()
    }

    /// Whether a file is in.
    pub(super) fn has_file(&self, path: &[u8]) -> bool {
        let included =
            self.include.is_empty() || self.include.iter().any(|pattern| pattern.matches(path));
        included && !self.exclude.iter().any(|pattern| pattern.matches(path))
    }

    /// How much of a directory is in.
    pub(super) fn reach(&self, directory: &[u8]) -> Reach {
        let excluded = |pattern: &Pattern| match pattern {
            Pattern::Literal(_) => pattern.matches(directory),
            Pattern::Glob(_) => false,
        };
        if self.exclude.iter().any(excluded) {
            return Reach::None;
        }
        let is_whole = self.include.is_empty()
            || self.include.iter().any(|pattern| match pattern {
                Pattern::Literal(_) => pattern.matches(directory),
                Pattern::Glob(_) => false,
            });
        if is_whole
            && !self
                .exclude
                .iter()
                .any(|pattern| pattern.may_match_below(directory))
        {
            return Reach::Whole;
        }
        let is_part = is_whole
            || self
                .include
                .iter()
                .any(|pattern| pattern.may_match_below(directory));
        if is_part { Reach::Part } else { Reach::None }
    }
}

impl Pattern {
    fn parse(path: &str) -> Result<Self, String> {
        if path.contains(['*', '?', '[']) {
            Ok(Self::Glob(glob_regex(path, true)?))
        } else {
            Ok(Self::Literal(path.as_bytes().to_vec()))
        }
    }

    fn matches(&self, path: &[u8]) -> bool {
        match self {
            Self::Literal(literal) => path
                .strip_prefix(literal.as_slice())
                .is_some_and(|rest| rest.is_empty() || rest[0] == b'/'),
            Self::Glob(regex) => regex.is_match(path),
        }
    }

    fn may_match_below(&self, directory: &[u8]) -> bool {
        match self {
            Self::Literal(literal) => literal
                .strip_prefix(directory)
                .is_some_and(|rest| rest.first() == Some(&b'/')),
            Self::Glob(_) => true,
        }
    }
}

/// Turns a glob into an anchored regular expression that also takes everything below a match.
///
/// With `star_crosses` a `*` matches `/` too, as in git's pathspecs; without, only `**` does.
pub fn glob_regex(glob: &str, star_crosses: bool) -> Result<Regex, String> {
    let mut regex = String::from("(?s-u)^");
    let mut chars = glob.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '*' => {
                let mut crosses = star_crosses;
                while chars.next_if_eq(&'*').is_some() {
                    crosses = true;
                }
                // `**/` also stands for no directory at all.
                if crosses && !star_crosses && chars.next_if_eq(&'/').is_some() {
                    regex.push_str("(?:.*/)?");
                } else {
                    regex.push_str(if crosses { ".*" } else { "[^/]*" });
                }
            }
            '?' => regex.push_str(if star_crosses { "." } else { "[^/]" }),
            '[' => {
                let mut class = String::new();
                if chars.next_if(|c| *c == '!' || *c == '^').is_some() {
                    class.push('^');
                }
                let mut first = true;
                loop {
                    match chars.next() {
                        Some(']') if !first => break,
                        Some(c @ ('\\' | '[' | ']' | '^' | '&' | '~')) => {
                            class.push('\\');
                            class.push(c);
                        }
                        Some(c) => class.push(c),
                        None => return Err("a `[` is not closed".to_owned()),
                    }
                    first = false;
                }
                regex.push_str(&format!("[{class}]"));
            }
            '\\' => match chars.next() {
                Some(c) => regex.push_str(&regex::escape(&c.to_string())),
                None => return Err("it ends in a backslash".to_owned()),
            },
            c => regex.push_str(&regex::escape(&c.to_string())),
        }
    }
    regex.push_str("(?:/.*)?$");
    Regex::new(&regex).map_err(|_| "it is no glob".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(specs: &[&str], path: &str) -> bool {
        Pathspecs::parse(specs).unwrap().has_file(path.as_bytes())
    }

    #[test]
    fn files_are_in_as_git_says() {
        // Each row was checked against `git ls-files -- SPEC…`.
        for (specs, path, expected) in [
            (vec![], "any/thing", true),
            (vec!["."], "any/thing", true),
            (vec!["src"], "src/a.c", true),
            (vec!["src/"], "src/a.c", true),
            (vec!["./src"], "src/a.c", true),
            (vec!["src"], "src2/a.c", false),
            (vec!["src/a.c"], "src/a.c", true),
            (vec!["*.c"], "src/deep/a.c", true),
            (vec!["*.c"], "src/a.h", false),
            (vec!["sr?"], "src/a.c", true),
            (vec!["s[a-r]c/*.h"], "src/a.h", true),
            (vec!["s[!r]c"], "src/a.h", false),
            (vec!["src", ":!src/doc"], "src/doc/x", false),
            (vec!["src", ":!src/doc"], "src/a.c", true),
            (vec![":!*.md"], "README.md", false),
            (vec![":^*.md"], "a.c", true),
            (vec![".", ":!doc"], "doc/a", false),
            (vec![":(exclude)doc"], "doc/a", false),
            (vec![":(exclude)doc"], "src/a", true),
        ] {
            assert_eq!(has(&specs, path), expected, "{specs:?} {path}");
        }
    }

    #[test]
    fn a_directory_is_taken_whole_only_where_nothing_below_can_be_excluded() {
        for (specs, directory, expected) in [
            (vec!["src"], "src", Reach::Whole),
            (vec!["src"], "src/deep", Reach::Whole),
            (vec!["src/deep"], "src", Reach::Part),
            (vec!["src"], "doc", Reach::None),
            (vec!["src", ":!src/doc"], "src", Reach::Part),
            (vec!["src", ":!src/doc"], "src/doc", Reach::None),
            (vec!["src", ":!src/doc"], "src/lib", Reach::Whole),
            (vec!["*.c"], "anywhere", Reach::Part),
            (vec![":!*.md"], "anywhere", Reach::Part),
        ] {
            let specs = Pathspecs::parse(&specs).unwrap();
            assert_eq!(
                specs.reach(directory.as_bytes()),
                expected,
                "{specs:?} {directory}"
            );
        }
    }

    #[test]
    fn without_crossing_only_two_stars_pass_a_slash() {
        for (glob, path, expected) in [
            ("build/*.so", "build/a.so", true),
            ("build/*.so", "build/lib/a.so", false),
            ("build/**/*.so", "build/lib/a.so", true),
            ("build/**/*.so", "build/a.so", true),
            ("*", "dir/file", true),
            ("lib?", "lib/", false),
        ] {
            let regex = glob_regex(glob, false).unwrap();
            assert_eq!(regex.is_match(path.as_bytes()), expected, "{glob} {path}");
        }
    }

    #[test]
    fn what_is_no_pathspec_is_refused() {
        for text in [
            "",
            "/etc",
            "../x",
            "a/../../x",
            ":(glob)x",
            ":/x",
            "[ab",
            "x*\\",
        ] {
            assert!(Pathspecs::parse(&[text]).is_err(), "{text}");
        }
    }
}
