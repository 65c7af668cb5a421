//! Replies in memcached's text protocol
//! (<https://github.com/memcached/memcached/blob/master/doc/protocol.txt>).

use super::{MAX_LINE, MAX_VALUE, Reply, Stop, Violation};

/// Parses memcached's text protocol bit by bit: what answers `get` and the storage commands.
#[derive(Debug, Clone, Default)]
pub struct MemcacheParser {
    /// The beginning of a line whose end has not come.
    line: Vec<u8>,
    /// Bytes of a value that have not come, its line end included; 0 outside values.
    body_left: u64,
    /// Length of the last value.
    body: u64,
    /// Values since the last `END`.
    values: u64,
    /// Bytes of the reply so far.
    wire: u64,
}

impl MemcacheParser {
    /// See [`super::ReplyParser::feed`].
    pub fn feed<E>(
        &mut self,
        mut bytes: &[u8],
        mut accept: impl FnMut(Reply<'_>, u64) -> Result<(), E>,
    ) -> Result<(), Stop<E>> {
        while !bytes.is_empty() {
            let taken = if self.body_left > 0 {
                self.body_bytes(bytes)?
            } else {
                self.line_bytes(bytes, &mut accept)?
            };
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
        } else if self.values > 0 && self.line.is_empty() {
            "a value without END".to_owned()
        } else {
            crate::load::error::escape(&self.line)
        }
    }

    fn body_bytes(&mut self, bytes: &[u8]) -> Result<usize, Violation> {
        let taken = if self.body_left > 2 {
            bytes.len().min((self.body_left - 2) as usize)
        } else {
            let expected = if self.body_left == 2 { b'\r' } else { b'\n' };
            if bytes[0] != expected {
                return Err(Violation {
                    what: format!("a value of {} bytes that does not end in CR LF", self.body),
                    got: bytes.iter().copied().take(200).collect(),
                });
            }
            1
        };
        self.body_left -= taken as u64;
        self.wire += taken as u64;
        Ok(taken)
    }

    fn line_bytes<E>(
        &mut self,
        bytes: &[u8],
        accept: &mut impl FnMut(Reply<'_>, u64) -> Result<(), E>,
    ) -> Result<usize, Stop<E>> {
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(bytes.len(), |end| end + 1);
        if self.line.len() + taken > MAX_LINE {
            return Err(Stop::Violation(Violation {
                what: format!("a line of more than {MAX_LINE} bytes"),
                got: bytes.iter().copied().take(200).collect(),
            }));
        }
        self.wire += taken as u64;
        if end.is_none() {
            self.line.extend_from_slice(bytes);
        } else if self.line.is_empty() {
            self.whole_line(&bytes[..taken], accept)?;
        } else {
            let mut line = std::mem::take(&mut self.line);
            line.extend_from_slice(&bytes[..taken]);
            self.whole_line(&line, accept)?;
            line.clear();
            self.line = line;
        }
        Ok(taken)
    }

    fn whole_line<E>(
        &mut self,
        line: &[u8],
        accept: &mut impl FnMut(Reply<'_>, u64) -> Result<(), E>,
    ) -> Result<(), Stop<E>> {
        let violation = |what: &str| {
            Stop::Violation(Violation {
                what: what.to_owned(),
                got: line.to_owned(),
            })
        };
        let Some(content) = line.strip_suffix(b"\r\n") else {
            return Err(violation("a line that does not end in CR LF"));
        };
        if let Some(header) = content.strip_prefix(b"VALUE ") {
            let length = header
                .split(|byte| *byte == b' ')
                .nth(2)
                .and_then(|word| std::str::from_utf8(word).ok()?.parse::<u64>().ok())
                .ok_or_else(|| violation("VALUE without a length"))?;
            if length > MAX_VALUE {
                return Err(violation(&format!(
                    "a length of {length} where at most {MAX_VALUE} is possible"
                )));
            }
            self.values += 1;
            self.body = length;
            self.body_left = length + 2;
            return Ok(());
        }
        let values = std::mem::take(&mut self.values);
        let reply = match content {
            b"END" if values == 0 => Reply::Nil,
            b"END" if values == 1 => Reply::Value(self.body),
            b"END" => Reply::Array {
                elements: values,
                nils: 0,
            },
            _ if values > 0 => return Err(violation("values without END")),
            b"STORED" | b"NOT_STORED" | b"EXISTS" | b"NOT_FOUND" | b"DELETED" | b"TOUCHED" => {
                Reply::Simple(content)
            }
            b"ERROR" => Reply::Error(content),
            _ if content.starts_with(b"CLIENT_ERROR") || content.starts_with(b"SERVER_ERROR") => {
                Reply::Error(content)
            }
            _ => return Err(violation("no reply begins like this")),
        };
        accept(reply, std::mem::take(&mut self.wire)).map_err(Stop::Refused)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(chunks: &[&[u8]]) -> Result<Vec<(String, u64)>, Violation> {
        let mut parser = MemcacheParser::default();
        let mut out = Vec::new();
        for chunk in chunks {
            let fed = parser.feed::<()>(chunk, |reply, wire| {
                out.push((
                    match reply {
                        Reply::Error(text) => format!("-{}", text.escape_ascii()),
                        Reply::Simple(text) => format!("+{}", text.escape_ascii()),
                        other => format!("{other:?}"),
                    },
                    wire,
                ));
                Ok(())
            });
            if let Err(Stop::Violation(violation)) = fed {
                return Err(violation);
            }
        }
        Ok(out)
    }

    const STREAM: &[u8] =
        b"STORED\r\nVALUE k 0 5\r\na\r\nbc\r\nEND\r\nEND\r\nSERVER_ERROR out of memory\r\n\
        VALUE k 0 0\r\n\r\nVALUE l 0 1 77\r\nx\r\nEND\r\nERROR\r\n";

    #[test]
    fn a_stream_cut_anywhere_is_the_same_stream() {
        let expected = [
            ("+STORED", 8),
            ("Value(5)", 25),
            ("Nil", 5),
            ("-SERVER_ERROR out of memory", 28),
            ("Array { elements: 2, nils: 0 }", 39),
            ("-ERROR", 7),
        ]
        .map(|(text, wire)| (text.to_owned(), wire));
        assert_eq!(parse(&[STREAM]).unwrap(), expected);
        for size in 1..20 {
            let chunks: Vec<&[u8]> = STREAM.chunks(size).collect();
            assert_eq!(parse(&chunks).unwrap(), expected, "pieces of {size}");
        }
    }

    #[test]
    fn violations_are_found() {
        let cases: [(&[u8], &str); 6] = [
            (b"VALUE k 0 629145600\r\n", "a length of 629145600"),
            (b"VALUE k 0\r\n", "without a length"),
            (b"VALUE k 0 1\r\nxyz", "does not end in CR LF"),
            (b"VALUE k 0 1\r\nx\r\nSTORED\r\n", "without END"),
            (b"+OK\r\n", "no reply begins like this"),
            (b"END\n", "CR LF"),
        ];
        for (bytes, what) in cases {
            let violation = parse(&[bytes]).unwrap_err();
            assert!(violation.what.contains(what), "{violation:?}");
        }
    }
}
