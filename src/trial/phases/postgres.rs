//! One number from a PostgreSQL server, over its own protocol (version 3, simple query).

use std::io::{self, BufRead, BufReader, Read, Write};

/// Bytes of one message that are read at most.
const LONGEST: usize = 1 << 20;

/// What a server answered to one query: the first column of the one row, as text.
///
/// # Errors
/// The server's own words, or what does not fit: no row, several rows, NULL, a password.
pub fn ask<S: Read + Write>(stream: S, user: &str, query: &str) -> Result<String, String> {
    let mut server = Server {
        stream: BufReader::new(stream),
    };
    server.start(user)?;
    server.query(query)
}

struct Server<S: Read + Write> {
    stream: BufReader<S>,
}

impl<S: Read + Write> Server<S> {
    fn start(&mut self, user: &str) -> Result<(), String> {
        let mut body = 196_608u32.to_be_bytes().to_vec();
        for word in ["user", user, "database", "postgres", ""] {
            body.extend(word.as_bytes());
            body.push(0);
        }
        self.send(None, &body)?;
        loop {
            match self.receive()? {
                (b'R', body) if body.starts_with(&0u32.to_be_bytes()) => {}
                (b'R', _) => {
                    return Err(format!(
                        "the server wants a password of `{user}`; let it trust local connections"
                    ));
                }
                (b'Z', _) => return Ok(()),
                _ => {}
            }
        }
    }

    fn query(&mut self, query: &str) -> Result<String, String> {
        let mut body = query.as_bytes().to_vec();
        body.push(0);
        self.send(Some(b'Q'), &body)?;
        let mut rows = Vec::new();
        loop {
            match self.receive()? {
                (b'D', body) => rows.push(first_column(&body)),
                (b'Z', _) => break,
                _ => {}
            }
        }
        match rows.pop() {
            Some(one) if rows.is_empty() => one.ok_or_else(|| "the query gives NULL".to_owned()),
            Some(_) => Err("the query gives more than one row".to_owned()),
            None => Err("the query gives no row".to_owned()),
        }
    }

    fn send(&mut self, kind: Option<u8>, body: &[u8]) -> Result<(), String> {
        let mut message: Vec<u8> = kind.into_iter().collect();
        message.extend((body.len() as u32 + 4).to_be_bytes());
        message.extend(body);
        let stream = self.stream.get_mut();
        stream.write_all(&message).map_err(|error| said(&error))
    }

    /// The next message; one that tells an error is an error.
    fn receive(&mut self) -> Result<(u8, Vec<u8>), String> {
        let mut head = [0u8; 5];
        self.stream
            .read_exact(&mut head)
            .map_err(|error| said(&error))?;
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
        if !(4..=LONGEST).contains(&length) {
            return Err("what answers is no PostgreSQL server".to_owned());
        }
        let mut body = vec![0; length - 4];
        self.stream
            .read_exact(&mut body)
            .map_err(|error| said(&error))?;
        match head[0] {
            b'E' => Err(error_text(&body)),
            kind => Ok((kind, body)),
        }
    }
}

fn said(error: &io::Error) -> String {
    error.to_string()
}

/// The first column of a row; `None` where it is NULL, or there is none.
fn first_column(body: &[u8]) -> Option<String> {
    let length = i32::from_be_bytes(body.get(2..6)?.try_into().ok()?);
    let end = 6 + usize::try_from(length).ok()?;
    Some(String::from_utf8_lossy(body.get(6..end)?).into_owned())
}

/// The message among an error's fields, each a letter and a text.
fn error_text(body: &[u8]) -> String {
    let fields = BufReader::new(body).split(0).map_while(Result::ok);
    let message = fields
        .map(|field| String::from_utf8_lossy(&field).into_owned())
        .find_map(|field| Some(field.strip_prefix('M')?.to_owned()));
    message.unwrap_or_else(|| "an error without a message".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server whose answers are known beforehand.
    struct Script {
        answers: io::Cursor<Vec<u8>>,
        asked: Vec<u8>,
    }

    impl Read for Script {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.answers.read(buffer)
        }
    }

    impl Write for Script {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.asked.extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn message(kind: u8, body: &[u8]) -> Vec<u8> {
        let mut message = vec![kind];
        message.extend((body.len() as u32 + 4).to_be_bytes());
        message.extend(body);
        message
    }

    fn row(value: &[u8]) -> Vec<u8> {
        let mut body = vec![0, 1];
        body.extend((value.len() as u32).to_be_bytes());
        body.extend(value);
        message(b'D', &body)
    }

    fn answer(parts: &[Vec<u8>]) -> Result<String, String> {
        let mut script = Script {
            answers: io::Cursor::new(parts.concat()),
            asked: Vec::new(),
        };
        let answer = ask(&mut script, "postgres", "select 1");
        if answer.is_ok() {
            assert_eq!(&script.asked[..8], [0, 0, 0, 41, 0, 3, 0, 0]);
            assert!(script.asked.ends_with(b"Q\0\0\0\x0dselect 1\0"));
        }
        answer
    }

    #[test]
    fn one_number_is_answered_or_it_is_said_why_not() {
        let ok = message(b'R', &[0, 0, 0, 0]);
        let ready = message(b'Z', b"I");
        let with = |rows: &[Vec<u8>]| {
            let rows = [
                vec![ok.clone(), ready.clone()],
                rows.to_vec(),
                vec![ready.clone()],
            ];
            answer(&rows.concat())
        };
        assert_eq!(with(&[row(b"42")]), Ok("42".to_owned()));
        assert!(with(&[]).unwrap_err().contains("no row"));
        assert!(
            with(&[row(b"1"), row(b"2")])
                .unwrap_err()
                .contains("more than one")
        );
        let null = message(b'D', &[0, 1, 0xff, 0xff, 0xff, 0xff]);
        assert!(with(&[null]).unwrap_err().contains("NULL"));
        let error = message(b'E', b"SERROR\0C42P01\0Mrelation \"x\" does not exist\0\0");
        assert!(with(&[error]).unwrap_err().contains("relation \"x\""));
        let password = answer(&[message(b'R', &[0, 0, 0, 10])]);
        assert!(password.unwrap_err().contains("password"));
        assert!(
            answer(&[b"+PONG\r\nxx".to_vec()])
                .unwrap_err()
                .contains("no PostgreSQL")
        );
        assert!(answer(&[]).is_err());
    }
}
