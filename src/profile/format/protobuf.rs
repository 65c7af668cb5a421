//! The wire form of protocol buffers, as much of it as pprof needs.

/// A field's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Value<'a> {
    /// A number of variable length, or of 32 or 64 bits.
    Number(u64),
    /// Text, a message, or packed numbers.
    Bytes(&'a [u8]),
}

/// Walks over the fields of a message; `None` in the middle stands for damage.
pub(super) struct Fields<'a> {
    rest: &'a [u8],
    /// Whether the message ended within a field.
    pub(super) damaged: bool,
}

impl<'a> Fields<'a> {
    pub(super) fn of(message: &'a [u8]) -> Self {
        Self {
            rest: message,
            damaged: false,
        }
    }

    fn field(&mut self) -> Option<(u64, Value<'a>)> {
        let tag = number(&mut self.rest)?;
        let value = match tag & 7 {
            0 => Value::Number(number(&mut self.rest)?),
            1 => Value::Number(u64::from_le_bytes(*self.take::<8>()?)),
            2 => {
                let length = usize::try_from(number(&mut self.rest)?).ok()?;
                let (bytes, rest) = self.rest.split_at_checked(length)?;
                self.rest = rest;
                Value::Bytes(bytes)
            }
            5 => Value::Number(u64::from(u32::from_le_bytes(*self.take::<4>()?))),
            _ => return None,
        };
        Some((tag >> 3, value))
    }

    fn take<const N: usize>(&mut self) -> Option<&'a [u8; N]> {
        let (bytes, rest) = self.rest.split_first_chunk::<N>()?;
        self.rest = rest;
        Some(bytes)
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = (u64, Value<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() || self.damaged {
            return None;
        }
        let field = self.field();
        self.damaged = field.is_none();
        field
    }
}

/// Takes a number of variable length off the front.
fn number(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

impl Value<'_> {
    /// Adds the numbers of a repeated field, packed or not. False where they are damaged.
    pub(super) fn numbers(self, into: &mut Vec<u64>) -> bool {
        match self {
            Value::Number(value) => into.push(value),
            Value::Bytes(mut packed) => {
                while !packed.is_empty() {
                    match number(&mut packed) {
                        Some(value) => into.push(value),
                        None => return false,
                    }
                }
            }
        }
        true
    }
}

/// A message being written. Fields of value 0 are left out, as the format has it.
#[derive(Debug, Default)]
pub(super) struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    pub(super) fn number(&mut self, field: u64, value: u64) {
        if value != 0 {
            self.varint(field << 3);
            self.varint(value);
        }
    }

    pub(super) fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    pub(super) fn message(&mut self, field: u64, message: &Message) {
        self.bytes(field, &message.0);
    }

    pub(super) fn packed(&mut self, field: u64, values: impl IntoIterator<Item = u64>) {
        let mut packed = Message::default();
        for value in values {
            packed.varint(value);
        }
        if !packed.0.is_empty() {
            self.message(field, &packed);
        }
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mut message = Message::default();
        message.number(1, 300);
        message.number(2, 0);
        message.bytes(3, b"text");
        message.packed(4, [0, 1, u64::MAX]);
        // 300 is ac 02, the example of the format's own description.
        assert_eq!(message.0[..3], [0x08, 0xac, 0x02]);
        let bytes = message.into_bytes();
        let fields: Vec<_> = Fields::of(&bytes).collect();
        assert_eq!(fields[0], (1, Value::Number(300)));
        assert_eq!(fields[1], (3, Value::Bytes(b"text")));
        let mut numbers = Vec::new();
        assert!(fields[2].1.numbers(&mut numbers));
        assert_eq!(numbers, [0, 1, u64::MAX]);
    }

    #[test]
    fn damage_is_seen() {
        for bytes in [&[0x0a, 5, 1][..], &[0x08], &[0x0b], &[0xff; 12]] {
            let mut fields = Fields::of(bytes);
            assert_eq!(fields.by_ref().count(), 0);
            assert!(fields.damaged);
        }
    }
}
