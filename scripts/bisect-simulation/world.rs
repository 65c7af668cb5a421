//! Simulated histories and the machine that measures them.

use perfblame::bisect::{Change, Class, Purpose, Response, Setup, Trial};

use crate::random::Random;

/// How the machine's speed changes with time, in run deviations.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Drift {
    /// It does not.
    None,
    /// A straight line, so many deviations an hour, up or down.
    Line(f64),
    /// A Brownian motion, with this deviation after an hour.
    Wander(f64),
}

/// What a trial answers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Answer {
    /// A number whose step at the culprit is so many run deviations.
    Value { step: f64, heavy_tails: bool },
    /// Pass or fail; chances to fail below the culprit and from it on.
    PassFail { low: f64, high: f64 },
}

/// A kind of history.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scenario {
    /// Name in the table.
    pub name: &'static str,
    /// Candidates: classes after GOOD's.
    pub candidates: usize,
    /// What a trial answers.
    pub answer: Answer,
    /// The machine's drift.
    pub drift: Drift,
    /// Part of the middle classes that cannot be built.
    pub broken: f64,
}

impl Scenario {
    /// 128 candidates, all of which build.
    pub const fn new(name: &'static str, answer: Answer, drift: Drift) -> Self {
        Self {
            name,
            candidates: 128,
            answer,
            drift,
            broken: 0.0,
        }
    }

    /// Whether there is a step to find.
    pub fn has_step(&self) -> bool {
        match self.answer {
            Answer::Value { step, .. } => step != 0.0,
            Answer::PassFail { low, high } => low != high,
        }
    }
}

/// Seconds of one trial.
pub const TRIAL_SECONDS: f64 = 30.0;
/// Seconds of one build.
pub const BUILD_SECONDS: f64 = 60.0;

/// One history, and the machine.
#[derive(Debug)]
pub struct World {
    scenario: Scenario,
    /// The first class with the step; one past the last where there is none.
    pub culprit: usize,
    broken: Vec<bool>,
    built: Vec<bool>,
    clock: f64,
    level: f64,
    slope: f64,
    random: Random,
}

impl World {
    /// Draws a history.
    pub fn new(scenario: Scenario, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let classes = scenario.candidates + 1;
        let culprit = if scenario.has_step() {
            1 + (random.uniform() * scenario.candidates as f64) as usize
        } else {
            classes
        };
        let mut broken: Vec<bool> = (0..classes)
            .map(|_| random.uniform() < scenario.broken)
            .collect();
        broken[0] = false;
        broken[classes - 1] = false;
        let up = if random.uniform() < 0.5 { -1.0 } else { 1.0 };
        Self {
            scenario,
            culprit,
            broken,
            built: vec![false; classes],
            clock: 0.0,
            level: 0.0,
            slope: up,
            random,
        }
    }

    /// The search's setup for it.
    pub fn setup(&self) -> Setup {
        let response = match self.scenario.answer {
            Answer::Value { .. } => Response::Value(Change::Rise),
            Answer::PassFail { .. } => Response::PassFail,
        };
        let classes = vec![Class::to_build(BUILD_SECONDS); self.broken.len()];
        Setup::new(classes, response, TRIAL_SECONDS)
    }

    /// The classes that cannot be told from the culprit: it, and the broken ones around it.
    pub fn truth(&self) -> std::ops::RangeInclusive<usize> {
        let broken = |class: usize| self.broken.get(class).copied().unwrap_or(false);
        let mut first = self.culprit;
        while first > 1 && broken(first - 1) {
            first -= 1;
        }
        let mut last = self.culprit;
        while broken(last) {
            last += 1;
        }
        first..=last
    }

    /// Does a trial, after a build where it is the class's first; `None` where it does not build.
    pub fn trial(&mut self, class: usize, purpose: Purpose) -> Option<Trial> {
        if !self.built[class] {
            self.pass(BUILD_SECONDS);
        }
        if self.broken[class] {
            return None;
        }
        self.built[class] = true;
        self.pass(TRIAL_SECONDS);
        let has = class >= self.culprit;
        let value = match self.scenario.answer {
            Answer::Value { step, heavy_tails } => {
                let noise = if heavy_tails {
                    self.random.heavy()
                } else {
                    self.random.normal()
                };
                // A level and a deviation that are not 0 and 1.
                6.0 + 0.03 * (self.level + noise + if has { step } else { 0.0 })
            }
            Answer::PassFail { low, high } => {
                let fails = self.random.uniform() < if has { high } else { low };
                f64::from(u8::from(fails))
            }
        };
        Some(Trial {
            class,
            value,
            seconds: self.clock,
            purpose,
        })
    }

    fn pass(&mut self, seconds: f64) {
        self.clock += seconds;
        let hours = seconds / 3600.0;
        self.level += match self.scenario.drift {
            Drift::None => 0.0,
            Drift::Line(per_hour) => self.slope * per_hour * hours,
            Drift::Wander(deviation) => deviation * hours.sqrt() * self.random.normal(),
        };
    }

    /// Hours since the beginning.
    pub fn hours(&self) -> f64 {
        self.clock / 3600.0
    }

    /// Whether the coin falls so that a block begins with the culprit.
    pub fn coin(&mut self) -> bool {
        self.random.uniform() < 0.5
    }
}
