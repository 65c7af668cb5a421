//! Makes text that comes from outside (symbol names, commit subjects, paths) safe to show.
//!
//! A symbol name may hold anything: terminal control sequences, marks that turn the direction of
//! writing, markup. Nothing that a person reads shows such text before it went through here.

use std::borrow::Cow;

/// Whether a character acts on what shows it instead of being shown: controls, and the marks that
/// change the direction of writing or are invisible.
fn acts(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}' | '\u{fffe}' | '\u{ffff}')
}

/// Shows every character that acts as `\u{…}`, so that what is left is plain text on one line.
pub fn plain(text: &str) -> Cow<'_, str> {
    if !text.chars().any(acts) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if acts(c) {
            shown.extend(c.escape_unicode());
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

/// Makes text plain and escapes it for XML and HTML, for element content and quoted attributes.
pub fn xml(text: &str) -> Cow<'_, str> {
    let text = plain(text);
    if !text.contains(['<', '>', '&', '"', '\'']) {
        return text;
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            _ => escaped.push(c),
        }
    }
    Cow::Owned(escaped)
}

/// Makes text plain and escapes it for a line of GitHub's Markdown outside a code span.
///
/// Mentions (`@name`) and references (`#1`) are defused too: a commit subject in a comment must
/// not call people or close issues.
pub(super) fn markdown(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in plain(text).chars() {
        match c {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '@' => escaped.push_str("&#64;"),
            '#' => escaped.push_str("&#35;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '!' | '(' | ')' | '$' => {
                escaped.push('\\');
                escaped.push(c);
            }
            ':' => escaped.push_str("&#58;"),
            _ => escaped.push(c),
        }
    }
    escaped
}

/// Makes text plain and puts it into a `<code>` element that is safe in a Markdown table's cell.
///
/// An element and not backticks, since a bar ends a cell even within a code span.
pub(super) fn markdown_code(text: &str) -> String {
    format!("<code>{}</code>", markdown(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_acts_is_shown() {
        for (text, shown) in [
            ("std::vector<int>", "std::vector<int>"),
            ("a\u{1b}[31mred", "a\\u{1b}[31mred"),
            ("a\nb", "a\\u{a}b"),
            ("x\u{202e}y", "x\\u{202e}y"),
            ("\u{feff}é漢", "\\u{feff}é漢"),
            ("\u{9b}2J", "\\u{9b}2J"),
        ] {
            assert_eq!(plain(text), shown);
        }
    }

    #[test]
    fn markup_is_text() {
        assert_eq!(
            xml("<script>alert('&\"')</script>"),
            "&lt;script&gt;alert(&#39;&amp;&quot;&#39;)&lt;/script&gt;"
        );
        assert_eq!(
            markdown("close #1 | @all <b> [x](y)"),
            "close &#35;1 \\| &#64;all &lt;b&gt; \\[x\\]\\(y\\)"
        );
        assert_eq!(markdown_code("a|`b`"), "<code>a\\|\\`b\\`</code>");
    }
}
