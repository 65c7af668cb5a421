//! Values taken off bytes, and never more than there are.

/// Why bytes are no record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// The bytes end before the record does.
    #[error("a record ends too early: {at} more bytes were wanted")]
    Truncated {
        /// Bytes that are missing, at least.
        at: usize,
    },
}

/// 64-bit words in a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Words<'a>(&'a [u8]);

impl<'a> Words<'a> {
    /// Returns the words in order.
    pub fn iter(self) -> impl Iterator<Item = u64> + 'a {
        self.0.chunks_exact(8).map(|word| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(word);
            u64::from_ne_bytes(bytes)
        })
    }
}

/// Takes values off the front of bytes.
pub(super) struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    pub fn take(&mut self, len: u64) -> Result<&'a [u8], RecordError> {
        match usize::try_from(len)
            .ok()
            .and_then(|len| self.0.split_at_checked(len))
        {
            Some((head, tail)) => {
                self.0 = tail;
                Ok(head)
            }
            None => Err(RecordError::Truncated {
                at: usize::try_from(len)
                    .unwrap_or(usize::MAX)
                    .saturating_sub(self.0.len()),
            }),
        }
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], RecordError> {
        let mut bytes = [0; N];
        bytes.copy_from_slice(self.take(N as u64)?);
        Ok(bytes)
    }

    pub fn u16(&mut self) -> Result<u16, RecordError> {
        self.array().map(u16::from_ne_bytes)
    }

    pub fn u32(&mut self) -> Result<u32, RecordError> {
        self.array().map(u32::from_ne_bytes)
    }

    pub fn u64(&mut self) -> Result<u64, RecordError> {
        self.array().map(u64::from_ne_bytes)
    }

    /// As many words as `count` says.
    pub fn words(&mut self, count: u64) -> Result<Words<'a>, RecordError> {
        self.take(count.saturating_mul(8)).map(Words)
    }

    /// The rest up to the first zero byte.
    pub fn text(&self) -> &'a [u8] {
        let end = self.0.iter().position(|b| *b == 0).unwrap_or(self.0.len());
        &self.0[..end]
    }
}
