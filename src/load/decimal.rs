//! Decimal digits without the cost of formatting.

const PAIRS: &[u8; 200] = b"0001020304050607080910111213141516171819\
2021222324252627282930313233343536373839\
4041424344454647484950515253545556575859\
6061626364656667686970717273747576777879\
8081828384858687888990919293949596979899";

/// Number of decimal digits of `value`, 1 to 20.
#[inline]
pub(crate) fn digits(value: u64) -> usize {
    value.checked_ilog10().unwrap_or(0) as usize + 1
}

/// Appends `value`, which has `count` digits ([`digits`]).
#[inline]
pub(crate) fn push(out: &mut Vec<u8>, mut value: u64, count: usize) {
    let mut text = [0u8; 20];
    let mut at = count.min(20);
    while at >= 2 {
        let pair = (value % 100) as usize * 2;
        value /= 100;
        at -= 2;
        text[at..at + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
    }
    if at == 1 {
        text[0] = b'0' + (value % 10) as u8;
    }
    out.extend_from_slice(&text[..count.min(20)]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_formatting() {
        let mut values = vec![0, 9, 10, 99, 100, u64::MAX];
        values.extend((0..64).map(|bit| 1u64 << bit));
        values.extend((1..20).flat_map(|e| [10u64.pow(e) - 1, 10u64.pow(e)]));
        for value in values {
            let text = value.to_string();
            let mut out = Vec::new();
            push(&mut out, value, digits(value));
            assert_eq!(out, text.as_bytes());
        }
    }
}
