//! YCSB's skewed keys: zipfian, scrambled zipfian and latest.

use super::Rng;

/// YCSB's "zipfian constant", where none is given.
pub const ZIPFIAN_CONSTANT: f64 = 0.99;

/// Ranks from 0 on, the least most often, by the method of Gray et al. 1994 ("Quickly generating
/// billion-record synthetic databases"), as YCSB's `ZipfianGenerator` draws them.
///
/// Ranks 0 and 1 have exactly the probabilities 1/ζ and 2^-θ/ζ of Zipf's law, where ζ is the sum
/// of k^-θ over all ranks; the others follow its integral: P(rank < k) is
/// `((k/n)^(1-θ) - 1 + η) / η` for k from 2 on, with `η = (1 - (2/n)^(1-θ)) / (1 - (1 + 2^-θ)/ζ)`.
#[derive(Debug, Clone)]
pub struct Zipfian {
    items: u64,
    zeta: f64,
    /// Below this multiple of ζ it is rank 0 or 1.
    two: f64,
    eta: f64,
    alpha: f64,
}

impl Zipfian {
    /// Over `items` ranks, at least one. θ lies between 0 and 1, both excluded.
    pub fn new(items: u64, theta: f64) -> Zipfian {
        Zipfian::with_zeta(items, theta, zeta(items, theta))
    }

    fn with_zeta(items: u64, theta: f64, zeta: f64) -> Zipfian {
        let two = 1.0 + 0.5f64.powf(theta);
        Zipfian {
            items,
            zeta,
            two,
            eta: (1.0 - (2.0 / items as f64).powf(1.0 - theta)) / (1.0 - two / zeta),
            alpha: 1.0 / (1.0 - theta),
        }
    }

    /// The next rank, below the number of items.
    #[inline]
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        let u = rng.unit();
        let uz = u * self.zeta;
        let rank = if uz < 1.0 {
            0
        } else if uz < self.two {
            1
        } else {
            let part = (self.eta * u - self.eta + 1.0).powf(self.alpha);
            (self.items as f64 * part) as u64
        };
        // Rounding may reach the end of the range.
        rank.min(self.items - 1)
    }
}

/// Keys by Zipf's law whose popular ones are scattered over the range, as YCSB's
/// `ScrambledZipfianGenerator` draws them: a rank of ten thousand million, hashed.
#[derive(Debug, Clone)]
pub struct ScrambledZipfian {
    ranks: Zipfian,
    min: u64,
    /// Number of keys; 0 stands for 2^64.
    count: u64,
}

impl ScrambledZipfian {
    /// Ranks are drawn of so many, however many keys there are.
    pub const RANKS: u64 = 10_000_000_000;

    /// Over `count` keys from `min` on (0 stands for 2^64).
    pub fn new(min: u64, count: u64, theta: f64) -> ScrambledZipfian {
        // Both ends belong to YCSB's range, while its ζ leaves the last one out.
        let zeta = zeta(Self::RANKS, theta);
        ScrambledZipfian {
            ranks: Zipfian::with_zeta(Self::RANKS + 1, theta, zeta),
            min,
            count,
        }
    }

    /// The next key.
    #[inline]
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        let hash = fnv_hash(self.ranks.draw(rng));
        self.min + hash.checked_rem(self.count).unwrap_or(hash)
    }
}

/// YCSB's hash of a number: FNV-1a of its eight bytes, the least significant first, without sign.
pub fn fnv_hash(number: u64) -> u64 {
    (fnv_1a(&number.to_le_bytes()) as i64).unsigned_abs()
}

/// FNV-1a, 64 bits (<http://www.isthe.com/chongo/tech/comp/fnv/>, public domain).
fn fnv_1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(1_099_511_628_211)
    })
}

/// The sum of k^-θ for k from 1 to n: the first terms one by one, the rest by the Euler-Maclaurin
/// formula, which leaves less than rounding does.
pub fn zeta(n: u64, theta: f64) -> f64 {
    const ALONE: u64 = 1000;
    let term = |k: u64| (k as f64).powf(-theta);
    let alone: f64 = (1..=n.min(ALONE)).map(term).sum();
    if n <= ALONE {
        return alone;
    }
    let (from, to) = (ALONE as f64, n as f64);
    let q = 1.0 - theta;
    let integral = (to.powf(q) - from.powf(q)) / q;
    let ends = (term(n) - term(ALONE)) / 2.0;
    let slopes = -theta * (to.powf(-theta - 1.0) - from.powf(-theta - 1.0)) / 12.0;
    alone + integral + ends + slopes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Test vectors of the hash's authors.
    #[test]
    fn the_hash_agrees_with_the_published_one() {
        for (text, hash) in [
            ("", 0xcbf2_9ce4_8422_2325),
            ("a", 0xaf63_dc4c_8601_ec8c),
            ("foobar", 0x8594_4171_f739_67e8),
        ] {
            assert_eq!(fnv_1a(text.as_bytes()), hash, "{text}");
        }
        assert_eq!(fnv_hash(0x61), fnv_1a(b"a\0\0\0\0\0\0\0") & (u64::MAX >> 1));
    }

    #[test]
    fn zeta_is_the_sum() {
        for (n, theta) in [
            (1, 0.99),
            (2, 0.5),
            (1000, 0.99),
            (1001, 0.99),
            (54_321, 0.2),
        ] {
            let sum: f64 = (1..=n).rev().map(|k| (k as f64).powf(-theta)).sum();
            let got = zeta(n, theta);
            assert!((got / sum - 1.0).abs() < 1e-12, "{n} {theta}: {got} {sum}");
        }
        // `ZETAN` of YCSB, which was summed in double precision.
        let got = zeta(ScrambledZipfian::RANKS, ZIPFIAN_CONSTANT);
        assert!((got - 26.469_028_201_783_02).abs() < 1e-6, "{got}");
    }

    #[test]
    fn ranges_of_few_keys_are_no_trouble() {
        let mut rng = Rng::new(1, 0);
        for items in 1..5 {
            let ranks = Zipfian::new(items, ZIPFIAN_CONSTANT);
            assert!((0..1000).all(|_| ranks.draw(&mut rng) < items));
        }
        let all = ScrambledZipfian::new(0, 0, ZIPFIAN_CONSTANT);
        assert!((0..1000).any(|_| all.draw(&mut rng) > u64::from(u32::MAX)));
    }
}
