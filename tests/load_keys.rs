//! Key patterns against their closed forms, and fixed workloads. Seeds are fixed: nothing here can
//! fail by chance.

#![allow(clippy::unwrap_used, clippy::panic)]

use perfblame::load::keys::{KeySource, Rng};
use perfblame::plan::load::{KeyPattern, LoadSpec};
use statrs::distribution::{ChiSquared, ContinuousCDF};

fn source(pattern: KeyPattern, toml: &str) -> (KeySource, LoadSpec) {
    let spec: LoadSpec = toml::from_str(toml).unwrap();
    (KeySource::new(pattern, &spec, 0), spec)
}

/// Counts of each key from `min` on, over `draws` draws.
fn counts(source: &mut KeySource, min: u64, keys: usize, draws: usize, seed: u64) -> Vec<u64> {
    let mut rng = Rng::new(seed, 0);
    let mut counts = vec![0; keys];
    for _ in 0..draws {
        let key = source.draw(&mut rng);
        counts[(key - min) as usize] += 1;
    }
    counts
}

/// p of Pearson's chi-square test of `counts` against probabilities.
fn chi_square_p(counts: &[u64], probabilities: &[f64]) -> f64 {
    let total: u64 = counts.iter().sum();
    let statistic: f64 = counts
        .iter()
        .zip(probabilities)
        .map(|(count, probability)| {
            let expected = probability * total as f64;
            (*count as f64 - expected).powi(2) / expected
        })
        .sum();
    1.0 - ChiSquared::new((counts.len() - 1) as f64)
        .unwrap()
        .cdf(statistic)
}

#[test]
fn uniform_keys_pass_a_chi_square_test() {
    for (keys, seed) in [(100, 1), (97, 2), (1000, 3), (2, 4)] {
        let toml = format!("key-minimum = 50\nkey-maximum = {}", 49 + keys);
        let (mut source, _) = source(KeyPattern::Random, &toml);
        let counts = counts(&mut source, 50, keys, keys * 1000, seed);
        let p = chi_square_p(&counts, &vec![1.0 / keys as f64; keys]);
        assert!(p > 0.001, "{keys} keys: p = {p}");
    }
}

#[test]
fn gaussian_keys_have_the_mean_and_the_deviation() {
    // Within six deviations of the middle little is cut off: median and sigma are those of the
    // truncated law too, to well below the tolerance.
    for (toml, mean, deviation) in [
        ("key-minimum = 0\nkey-maximum = 60000", 30000.5, 10000.0),
        (
            "key-minimum = 1000\nkey-maximum = 61000\nkey-median = 21000.0\nkey-stddev = 2000.0",
            21000.0,
            2000.0,
        ),
    ] {
        let (mut source, spec) = source(KeyPattern::Gaussian, toml);
        let mut rng = Rng::new(5, 0);
        let draws = 400_000;
        let keys: Vec<f64> = (0..draws)
            .map(|_| {
                let key = source.draw(&mut rng);
                assert!((spec.key_minimum..=spec.key_maximum).contains(&key));
                // A key stands for the middle of the interval that was truncated to it.
                key as f64 + 0.5
            })
            .collect();
        let got_mean = keys.iter().sum::<f64>() / draws as f64;
        let variance = keys.iter().map(|key| (key - got_mean).powi(2)).sum::<f64>() / draws as f64;
        // Four standard errors of the mean; a range of three deviations a side trims sigma by 1.35 %.
        assert!(
            (got_mean - mean).abs() < 4.0 * deviation / (draws as f64).sqrt(),
            "{got_mean}"
        );
        let trimmed = if deviation == 10000.0 { 0.98658 } else { 1.0 };
        assert!(
            (variance.sqrt() / (deviation * trimmed) - 1.0).abs() < 0.005,
            "{}",
            variance.sqrt()
        );
    }
}

#[test]
fn zipf_keys_follow_the_closed_form() {
    for (min, max, exponent, seed) in [
        (1u64, 100u64, 1.0, 1),
        (1, 100, 0.5, 2),
        (1, 50, 2.5, 3),
        (1, 3, 4.9, 4),
        (100, 200, 1.0, 5),
        (7, 7, 1.0, 6),
    ] {
        let toml = format!("key-minimum = {min}\nkey-maximum = {max}\nkey-zipf-exp = {exponent:?}");
        let (mut source, _) = source(KeyPattern::Zipf, &toml);
        let keys = (max - min + 1) as usize;
        let counts = counts(&mut source, min, keys, 500_000, seed);
        if keys == 1 {
            assert_eq!(counts, [500_000]);
            continue;
        }
        let weights: Vec<f64> = (min..=max)
            .map(|key| (key as f64).powf(-exponent))
            .collect();
        let total: f64 = weights.iter().sum();
        let probabilities: Vec<f64> = weights.iter().map(|weight| weight / total).collect();
        // Keys too rare for the test's approximation are taken together.
        let (mut seen, mut expected) = (vec![], vec![]);
        let (mut rest, mut rest_probability) = (0, 0.0);
        for (count, probability) in counts.iter().zip(&probabilities) {
            if probability * 500_000.0 >= 10.0 {
                seen.push(*count);
                expected.push(*probability);
            } else {
                rest += count;
                rest_probability += probability;
            }
        }
        if rest_probability > 0.0 {
            seen.push(rest);
            expected.push(rest_probability);
        }
        let p = chi_square_p(&seen, &expected);
        assert!(p > 0.001, "{min}..{max} s = {exponent}: p = {p}");
    }
}

#[test]
fn zipf_keys_of_the_default_range_stay_in_it() {
    let (mut source, _) = source(KeyPattern::Zipf, "");
    let mut rng = Rng::new(1, 0);
    for _ in 0..200_000 {
        assert!((1..=10_000_000).contains(&source.draw(&mut rng)));
    }
}

#[test]
fn parallel_keys_of_all_clients_are_every_key_once() {
    for (keys, threads, clients) in [(1007, 3, 5), (11, 1, 7), (100, 4, 25), (5, 1, 1)] {
        let spec: LoadSpec = toml::from_str(&format!(
            "threads = {threads}\nclients = {clients}\nkey-minimum = 3\nkey-maximum = {}",
            keys + 2
        ))
        .unwrap();
        let mut rng = Rng::new(1, 0);
        let mut seen = vec![0; keys];
        for client in 0..spec.connections() {
            let mut source = KeySource::new(KeyPattern::Parallel, &spec, client);
            let first = source.draw(&mut rng);
            let mut key = first;
            loop {
                seen[(key - 3) as usize] += 1;
                key = source.draw(&mut rng);
                if key == first {
                    break;
                }
            }
        }
        assert!(
            seen.iter().all(|count| *count == 1),
            "{keys} keys: {seen:?}"
        );
    }
}

#[test]
fn a_fixed_seed_is_a_fixed_sequence() {
    for pattern in [KeyPattern::Random, KeyPattern::Gaussian, KeyPattern::Zipf] {
        let draw = |seed| {
            let (mut source, _) = source(pattern, "key-maximum = 1000");
            let mut rng = Rng::new(seed, 0);
            (0..50).map(|_| source.draw(&mut rng)).collect::<Vec<_>>()
        };
        assert_eq!(draw(1), draw(1), "{pattern}");
        assert_ne!(draw(1), draw(2), "{pattern}");
    }
}
