//! Replies in RESP 2 and 3 (<https://redis.io/docs/latest/develop/reference/protocol-spec/>).

use super::{MAX_LINE, MAX_VALUE, Reply, Stop, Violation};

/// Deepest nesting that is believed.
const MAX_DEPTH: usize = 64;

/// An aggregate that has not ended.
#[derive(Debug, Clone)]
struct Open {
    left: u64,
    elements: u64,
    nils: u64,
    /// Pushes and attributes are not replies: they are read and forgotten.
    out_of_band: bool,
}

/// What an element is, once it has ended.
#[derive(Debug, Clone, Copy)]
enum Element {
    Value(u64),
    Nil,
    Integer,
    Simple,
    Error,
    Array { elements: u64, nils: u64 },
    Other,
}

/// Parses RESP bit by bit.
#[derive(Debug, Clone, Default)]
pub struct RespParser {
    /// The beginning of a line whose end has not come.
    line: Vec<u8>,
    /// Bytes of a value that have not come, its line end included; 0 outside values.
    body_left: u64,
    /// Length of the value that is coming, and whether it is an error (`!`).
    body: u64,
    body_is_error: bool,
    open: Vec<Open>,
    /// The last simple string or error, where it has to be kept.
    text: Vec<u8>,
    /// An error inside an aggregate: the whole reply is an error.
    error: Option<Vec<u8>>,
    /// Bytes of the reply so far.
    wire: u64,
}

impl RespParser {
    /// See [`super::ReplyParser::feed`].
    #[inline]
    pub fn feed<E>(
        &mut self,
        mut bytes: &[u8],
        mut accept: impl FnMut(Reply<'_>, u64) -> Result<(), E>,
    ) -> Result<(), Stop<E>> {
        while !bytes.is_empty() {
            if self.idle()
                && let Some((length, wire)) = whole_value(bytes)?
            {
                accept(Reply::Value(length), wire as u64).map_err(Stop::Refused)?;
                bytes = &bytes[wire..];
                continue;
            }
            let taken = self.step(bytes, &mut accept)?;
            self.wire_after(taken);
            bytes = &bytes[taken..];
        }
        Ok(())
    }

    /// See [`super::ReplyParser::partial`].
    pub fn partial(&self) -> String {
        if self.body_left > 0 {
            let whole = self.body + 2;
            format!(
                "{} of the {} bytes of a value",
                (whole - self.body_left).min(self.body),
                self.body
            )
        } else if !self.line.is_empty() {
            crate::load::error::escape(&self.line)
        } else if let Some(open) = self.open.first() {
            format!("an array with {} elements missing", open.left)
        } else {
            String::new()
        }
    }

    /// Whether the parser stands between two replies.
    #[inline]
    fn idle(&self) -> bool {
        self.body_left == 0 && self.line.is_empty() && self.open.is_empty()
    }

    fn wire_after(&mut self, taken: usize) {
        if self.idle() {
            self.wire = 0;
        } else {
            self.wire += taken as u64;
        }
    }

    /// Takes some bytes, at least one; calls `accept` where they end a reply.
    fn step<E>(
        &mut self,
        bytes: &[u8],
        accept: &mut impl FnMut(Reply<'_>, u64) -> Result<(), E>,
    ) -> Result<usize, Stop<E>> {
        if self.body_left > 0 {
            return self.body_bytes(bytes, accept);
        }
        let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else {
            if self.line.len() + bytes.len() > MAX_LINE {
                return Err(too_long(&self.line, bytes).into());
            }
            self.line.extend_from_slice(bytes);
            return Ok(bytes.len());
        };
        let taken = end + 1;
        if self.line.is_empty() {
            self.whole_line(&bytes[..taken], taken, accept)?;
        } else {
            let mut line = std::mem::take(&mut self.line);
            line.extend_from_slice(&bytes[..taken]);
            self.whole_line(&line, taken, accept)?;
            line.clear();
            // Keeps the allocation, so that a long run does not allocate.
            self.line = line;
        }
        Ok(taken)
    }

    fn body_bytes<E>(
        &mut self,
        bytes: &[u8],
        accept: &mut impl FnMut(Reply<'_>, u64) -> Result<(), E>,
    ) -> Result<usize, Stop<E>> {
        if self.body_left > 2 {
            let taken = bytes.len().min((self.body_left - 2) as usize);
            if self.body_is_error && self.text.len() < MAX_LINE {
                self.text.extend_from_slice(&bytes[..taken]);
            }
            self.body_left -= taken as u64;
            return Ok(taken);
        }
        let expected = if self.body_left == 2 { b'\r' } else { b'\n' };
        if bytes[0] != expected {
            return Err(unterminated(self.body, bytes).into());
        }
        self.body_left -= 1;
        if self.body_left == 0 {
            let element = if std::mem::take(&mut self.body_is_error) {
                Element::Error
            } else {
                Element::Value(self.body)
            };
            self.complete(element, 1, accept)?;
        }
        Ok(1)
    }

    fn whole_line<E>(
        &mut self,
        line: &[u8],
        taken: usize,
        accept: &mut impl FnMut(Reply<'_>, u64) -> Result<(), E>,
    ) -> Result<(), Stop<E>> {
        if line.len() > MAX_LINE {
            return Err(too_long(line, &[]).into());
        }
        let Some(content) = line.strip_suffix(b"\r\n") else {
            return Err(violation("a line that does not end in CR LF", line).into());
        };
        let Some((kind, rest)) = content.split_first() else {
            return Err(violation("an empty line where a reply begins", line).into());
        };
        let element = match kind {
            b'+' | b'-' => {
                self.text.clear();
                self.text.extend_from_slice(rest);
                if *kind == b'+' {
                    Element::Simple
                } else {
                    Element::Error
                }
            }
            b':' => {
                if parse_signed(rest).is_none() {
                    return Err(violation("not an integer", line).into());
                }
                Element::Integer
            }
            b'$' | b'=' | b'!' => match self.length(*kind, rest, line, MAX_VALUE)? {
                None => Element::Nil,
                Some(length) => {
                    self.body = length;
                    self.body_left = length + 2;
                    self.body_is_error = *kind == b'!';
                    self.text.clear();
                    return Ok(());
                }
            },
            b'*' | b'~' | b'>' | b'%' | b'|' => {
                match self.length(*kind, rest, line, u64::MAX / 4)? {
                    None => Element::Nil,
                    Some(count) => {
                        let elements = if matches!(kind, b'%' | b'|') {
                            count * 2
                        } else {
                            count
                        };
                        let out_of_band = matches!(kind, b'>' | b'|');
                        if elements > 0 {
                            if self.open.len() == MAX_DEPTH {
                                return Err(violation("nested too deeply", line).into());
                            }
                            self.open.push(Open {
                                left: elements,
                                elements,
                                nils: 0,
                                out_of_band,
                            });
                            return Ok(());
                        }
                        if out_of_band {
                            return Ok(());
                        }
                        Element::Array {
                            elements: 0,
                            nils: 0,
                        }
                    }
                }
            }
            b'_' if rest.is_empty() => Element::Nil,
            b'#' | b',' | b'(' => Element::Other,
            _ => return Err(violation("no reply begins like this", line).into()),
        };
        self.complete(element, taken, accept)
    }

    /// The length after `$`, `*` and the like; `None` for the nil of RESP 2.
    fn length(
        &self,
        kind: u8,
        digits: &[u8],
        line: &[u8],
        most: u64,
    ) -> Result<Option<u64>, Violation> {
        match parse_signed(digits) {
            Some(-1) if matches!(kind, b'$' | b'*') => Ok(None),
            Some(length) => match u64::try_from(length) {
                Ok(length) if length <= most => Ok(Some(length)),
                Ok(length) => Err(violation(
                    &format!("a length of {length} where at most {most} is possible"),
                    line,
                )),
                Err(_) => Err(violation("a negative length", line)),
            },
            None => Err(violation("a length that is not a number", line)),
        }
    }

    /// An element has ended, and with it perhaps the aggregates around it.
    fn complete<E>(
        &mut self,
        mut element: Element,
        taken: usize,
        accept: &mut impl FnMut(Reply<'_>, u64) -> Result<(), E>,
    ) -> Result<(), Stop<E>> {
        if matches!(element, Element::Error) && !self.open.is_empty() {
            self.error.get_or_insert_with(|| self.text.clone());
        }
        while let Some(open) = self.open.last_mut() {
            open.left -= 1;
            open.nils += u64::from(matches!(element, Element::Nil));
            if open.left > 0 {
                return Ok(());
            }
            let (elements, nils, out_of_band) = (open.elements, open.nils, open.out_of_band);
            self.open.pop();
            if out_of_band {
                self.error = None;
                return Ok(());
            }
            element = Element::Array { elements, nils };
        }
        let wire = self.wire + taken as u64;
        let nested = self.error.take();
        let reply = match (&nested, element) {
            (Some(text), _) => Reply::Error(text),
            (None, Element::Error) => Reply::Error(&self.text),
            (None, Element::Simple) => Reply::Simple(&self.text),
            (None, Element::Value(length)) => Reply::Value(length),
            (None, Element::Nil) => Reply::Nil,
            (None, Element::Integer) => Reply::Integer,
            (None, Element::Array { elements, nils }) => Reply::Array { elements, nils },
            (None, Element::Other) => Reply::Other,
        };
        accept(reply, wire).map_err(Stop::Refused)
    }
}

/// The hot path: length and wire length of a value that lies whole at the start of `bytes`.
/// `None` sends the bytes the long way, which also finds what is wrong with them.
#[inline]
fn whole_value(bytes: &[u8]) -> Result<Option<(u64, usize)>, Violation> {
    if bytes[0] != b'$' {
        return Ok(None);
    }
    let mut length = 0usize;
    let mut at = 1;
    loop {
        match bytes.get(at) {
            Some(digit @ b'0'..=b'9') if at < 11 => {
                length = length * 10 + usize::from(digit - b'0');
                at += 1;
            }
            Some(b'\r') if at > 1 => break,
            _ => return Ok(None),
        }
    }
    let body = at + 2;
    let Some(rest) = bytes.get(body..) else {
        return Ok(None);
    };
    if bytes[at + 1] != b'\n' || length as u64 > MAX_VALUE || rest.len() < length + 2 {
        return Ok(None);
    }
    if rest[length] != b'\r' || rest[length + 1] != b'\n' {
        return Err(unterminated(length as u64, &rest[length..]));
    }
    Ok(Some((length as u64, body + length + 2)))
}

fn parse_signed(digits: &[u8]) -> Option<i64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

fn violation(what: &str, line: &[u8]) -> Violation {
    Violation {
        what: what.to_owned(),
        got: line.to_owned(),
    }
}

fn unterminated(length: u64, bytes: &[u8]) -> Violation {
    violation(
        &format!("a value of {length} bytes that does not end in CR LF"),
        bytes,
    )
}

fn too_long(begin: &[u8], more: &[u8]) -> Violation {
    Violation {
        what: format!("a line of more than {MAX_LINE} bytes"),
        got: begin.iter().chain(more).copied().take(200).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Replies and their wire lengths, written out.
    fn parse(chunks: &[&[u8]]) -> Result<Vec<(String, u64)>, Violation> {
        let mut parser = RespParser::default();
        let mut out = Vec::new();
        for chunk in chunks {
            let fed = parser.feed::<()>(chunk, |reply, wire| {
                let text = match reply {
                    Reply::Simple(text) => format!("+{}", text.escape_ascii()),
                    Reply::Error(text) => format!("-{}", text.escape_ascii()),
                    other => format!("{other:?}"),
                };
                out.push((text, wire));
                Ok(())
            });
            match fed {
                Ok(()) => {}
                Err(Stop::Violation(violation)) => return Err(violation),
                Err(Stop::Refused(())) => unreachable!(),
            }
        }
        Ok(out)
    }

    const STREAM: &[u8] = b"+OK\r\n$3\r\nabc\r\n$-1\r\n:42\r\n-ERR no\r\n$0\r\n\r\n\
        *3\r\n$1\r\nx\r\n$-1\r\n*1\r\n:1\r\n_\r\n#t\r\n%1\r\n+a\r\n:1\r\n*0\r\n*-1\r\n\
        >2\r\n+push\r\n$-1\r\n|1\r\n+k\r\n+v\r\n,1.5\r\n!5\r\nERR x\r\n=6\r\ntxt:ab\r\n\
        *2\r\n-ERR inner\r\n+b\r\n+OK\r\n";

    fn expected() -> Vec<(String, u64)> {
        [
            ("+OK", 5),
            ("Value(3)", 9),
            ("Nil", 5),
            ("Integer", 5),
            ("-ERR no", 9),
            ("Value(0)", 6),
            ("Array { elements: 3, nils: 1 }", 24),
            ("Nil", 3),
            ("Other", 4),
            ("Array { elements: 2, nils: 0 }", 12),
            ("Array { elements: 0, nils: 0 }", 4),
            ("Nil", 5),
            // The push and the attribute before it are no replies.
            ("Other", 6),
            ("-ERR x", 11),
            ("Value(6)", 12),
            ("-ERR inner", 20),
            ("+OK", 5),
        ]
        .map(|(text, wire)| (text.to_owned(), wire))
        .to_vec()
    }

    #[test]
    fn a_stream_in_one_piece() {
        assert_eq!(parse(&[STREAM]).unwrap(), expected());
    }

    #[test]
    fn a_stream_cut_anywhere_is_the_same_stream() {
        for size in 1..20 {
            let chunks: Vec<&[u8]> = STREAM.chunks(size).collect();
            assert_eq!(parse(&chunks).unwrap(), expected(), "pieces of {size}");
        }
        for cut in 0..STREAM.len() {
            let (a, b) = STREAM.split_at(cut);
            assert_eq!(parse(&[a, b]).unwrap(), expected(), "cut at {cut}");
        }
    }

    #[test]
    fn violations_are_found_however_the_bytes_are_cut() {
        let cases: [(&[u8], &str); 10] = [
            (b"$629145600\r\nx", "a length of 629145600"),
            (b"$3\r\nabcXY", "does not end in CR LF"),
            (b"$3\r\nabc\rY", "does not end in CR LF"),
            (b"$-2\r\n", "a negative length"),
            (b"$x\r\n", "not a number"),
            (b"HTTP/1.1 400\r\n", "no reply begins like this"),
            (b"\r\n", "an empty line"),
            (b"+OK\n", "CR LF"),
            (b":1x\r\n", "not an integer"),
            (b"*99999999999999999999\r\n", "not a number"),
        ];
        for (bytes, what) in cases {
            let whole = parse(&[bytes]).unwrap_err();
            assert!(whole.what.contains(what), "{whole:?}");
            let chunks: Vec<&[u8]> = bytes.chunks(1).collect();
            let cut = parse(&chunks).unwrap_err();
            assert!(cut.what.contains(what), "{cut:?}");
        }
        let endless = vec![b'+'; MAX_LINE + 1];
        assert!(parse(&[&endless]).unwrap_err().what.contains("a line of"));
        let deep = b"*1\r\n".repeat(MAX_DEPTH + 1);
        assert!(parse(&[&deep]).unwrap_err().what.contains("deeply"));
    }

    #[test]
    fn what_is_missing_can_be_told() {
        let mut parser = RespParser::default();
        let accept = |_: Reply<'_>, _| Ok::<(), ()>(());
        parser.feed(b"$10\r\nabc", accept).unwrap();
        assert_eq!(parser.partial(), "3 of the 10 bytes of a value");
        let mut parser = RespParser::default();
        parser.feed(b"$1", accept).unwrap();
        assert_eq!(parser.partial(), "$1");
    }
}
