//! Bits that a trial of a class is expected to tell about where the step is.

use super::hypotheses::{Hypotheses, Hypothesis, Level};
use super::posterior::Posterior;
use super::setup::Response;

/// Hypotheses that expect the same level of a class, as one normal distribution.
#[derive(Debug, Clone, Copy, Default)]
struct Group {
    probability: f64,
    /// Sums of probability × mean, mean², variance and noise.
    mean: f64,
    square: f64,
    variance: f64,
    noise: f64,
    /// Sum of probability × entropy of pass/fail.
    entropy: f64,
}

impl Group {
    fn add(&mut self, probability: f64, level: Level) {
        self.probability += probability;
        self.mean += probability * level.mean;
        self.square += probability * level.mean * level.mean;
        self.variance += probability * level.variance;
        self.noise += probability * level.noise;
        self.entropy += probability * binary_entropy(level.mean);
    }

    /// Mean and variance of the mean of `trials` trials.
    fn normal(&self, trials: f64) -> (f64, f64) {
        let p = self.probability.max(1e-300);
        let mean = self.mean / p;
        let between = (self.square / p - mean * mean).max(0.0);
        (mean, between + self.variance / p + self.noise / p / trials)
    }
}

/// Expected information of trials, by class.
#[derive(Debug, Clone)]
pub(super) struct Information {
    response: Response,
    /// For each class: hypotheses with the step above it, and those with the step not above it.
    low: Vec<Group>,
    high: Vec<Group>,
}

impl Information {
    pub fn new(response: Response, hypotheses: &Hypotheses, posterior: &Posterior) -> Self {
        let n = posterior.mass.len();
        let by_class: Vec<&Hypothesis> = (0..n).map(|k| hypotheses.step_at(k)).collect();
        let mut low = vec![Group::default(); n];
        let mut high = vec![Group::default(); n];
        let mut sum = Group::default();
        for k in 0..n {
            sum.add(posterior.mass[k], by_class[k].high);
            high[k] = sum;
        }
        let mut sum = Group::default();
        for k in (0..n).rev() {
            low[k] = sum;
            sum.add(posterior.mass[k], by_class[k].low);
        }
        Self {
            response,
            low,
            high,
        }
    }

    /// More bits than any number of trials of a class can tell.
    pub fn bound(&self, class: usize) -> f64 {
        [self.low[class], self.high[class]]
            .iter()
            .map(|g| g.probability)
            .filter(|p| *p > 0.0)
            .map(|p| -p * p.log2())
            .sum()
    }

    /// Bits of a trial of a class beside one of an endpoint: their difference has the noise of two
    /// trials, but nothing of the machine's drift, which makes up most of a level's doubt where it
    /// is large.
    pub fn bits_with_anchor(&self, class: usize) -> f64 {
        let against_anchor = |group: Group| Group {
            variance: 0.0,
            noise: 2.0 * group.noise,
            ..group
        };
        match self.response {
            Response::PassFail => 0.0,
            Response::Value(_) => normal_bits(
                &[self.low[class], self.high[class]].map(against_anchor),
                1.0,
            ),
        }
    }

    /// Bits of `trials` trials of a class: the mutual information of the hypothesis group and the
    /// outcome.
    pub fn bits(&self, class: usize, trials: usize) -> f64 {
        let groups = [self.low[class], self.high[class]];
        match self.response {
            // Trials after the first tell less; that is left out, as it only ranks.
            Response::PassFail => trials as f64 * pass_fail_bits(&groups),
            Response::Value(_) => normal_bits(&groups, trials as f64),
        }
    }
}

fn pass_fail_bits(groups: &[Group]) -> f64 {
    let mean: f64 = groups.iter().map(|g| g.mean).sum();
    let entropy: f64 = groups.iter().map(|g| g.entropy).sum();
    (binary_entropy(mean) - entropy).max(0.0)
}

fn binary_entropy(p: f64) -> f64 {
    let term = |p: f64| if p > 0.0 { -p * p.log2() } else { 0.0 };
    term(p) + term(1.0 - p)
}

/// Nodes and weights of the trapezium rule on a standard normal, from -4 to 4.
const NODES: usize = 11;

/// `Σ p ∫ f log2(f / Σ p f)`, each integral by the trapezium rule over its own normal density.
fn normal_bits(groups: &[Group], trials: f64) -> f64 {
    let mut normals = [(0.0, 0.0, 1.0); 3];
    let mut count = 0;
    for group in groups {
        if group.probability > 1e-6 && count < normals.len() {
            let (mean, variance) = group.normal(trials);
            normals[count] = (group.probability, mean, variance.max(1e-300).sqrt());
            count += 1;
        }
    }
    let normals = &normals[..count];
    if count < 2 {
        return 0.0;
    }
    let total: f64 = normals.iter().map(|n| n.0).sum();
    let step = 8.0 / (NODES - 1) as f64;
    let mut bits = 0.0;
    for (p, mean, deviation) in normals {
        let mut sum = 0.0;
        for node in 0..NODES {
            let u = -4.0 + step * node as f64;
            let x = mean + u * deviation;
            let own = -0.5 * u * u;
            let mixed: f64 = normals
                .iter()
                .map(|(q, m, s)| {
                    let v = (x - m) / s;
                    q * deviation / s * (own.abs() - 0.5 * v * v).min(700.0).exp()
                })
                .sum();
            // ln(f / mixed), both divided by this density at its centre.
            sum += own.exp() * -(mixed / total).max(1e-300).ln();
        }
        bits += p * sum * step / (2.0 * std::f64::consts::PI).sqrt();
    }
    (bits / std::f64::consts::LN_2).max(0.0)
}
