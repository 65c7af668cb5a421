//! Text in columns of a terminal, where some characters take two.

use unicode_width::UnicodeWidthStr as _;

/// Cuts text to at most `width` columns, in the middle, where names differ least.
pub(in crate::report) fn fit(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_string();
    }
    let room = width.saturating_sub(1);
    let head = take(text.chars(), room.div_ceil(2));
    let tail: String = take(text.chars().rev(), room / 2).chars().rev().collect();
    format!("{head}…{tail}")
}

/// As many characters as fit into `width` columns.
fn take(chars: impl Iterator<Item = char>, width: usize) -> String {
    let mut taken = String::new();
    for c in chars {
        taken.push(c);
        if taken.width() > width {
            taken.pop();
            break;
        }
    }
    taken
}

/// Fills text with spaces up to `width` columns; formatting by characters would misplace wide ones.
pub(in crate::report) fn pad(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(text.width())))
}

/// Breaks text at spaces into lines of at most `width` columns; a longer word is broken anywhere.
pub(in crate::report) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split(' ') {
        let mut word = word;
        if !line.is_empty() && line.width() + 1 + word.width() > width {
            lines.push(std::mem::take(&mut line));
        }
        while word.width() > width {
            let part = take(word.chars(), width);
            if part.is_empty() {
                break;
            }
            word = &word[part.len()..];
            lines.push(part);
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wraps_and_fits() {
        assert_eq!(wrap("aa bb cc", 5), ["aa bb", "cc"]);
        assert_eq!(wrap("aaaaaaa b", 3), ["aaa", "aaa", "a b"]);
        assert_eq!(fit("abcdefghij", 5), "ab…ij");
        assert_eq!(fit("abc", 3), "abc");
    }
}
