//! Whether the ends differ at all, as far as their trials tell: asked before anything between them
//! is built.

use crate::bisect::{Change, Response, Trial};
use crate::stats::{TTestError, welch};

/// Level of the test: above it the ends count as alike.
const LEVEL: f64 = 0.05;
/// Equal values of each end after which a value without any noise is believed to be one.
const CONSTANT: usize = 5;

/// Same answers of each end after which a command is believed to give that answer at both.
const SAME_ANSWERS: usize = 20;

/// What the trials of the ends say, in the order of the question that they answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ends {
    /// They differ in the direction that is searched for.
    Differ,
    /// They do not, or only the other way round.
    Alike,
    /// Too little is known.
    Unknown,
}

/// Compares the ends by Welch's test, one-sided where a direction is searched for. `last` is the
/// newer end's class. Of pass or fail only ends that never differed are judged here; all else is left
/// to the search's own model.
pub fn compare_ends(trials: &[Trial], last: usize, response: Response) -> Ends {
    let Response::Value(change) = response else {
        return never_differed(trials, last);
    };
    let values = |class: usize| -> Vec<f64> {
        let of_class = trials.iter().filter(|trial| trial.class == class);
        of_class.map(|trial| trial.value).collect()
    };
    let (old, new) = (values(0), values(last));
    match welch(&new, &old, 1.0 - LEVEL) {
        Ok(test) => {
            let p = match change {
                Change::Any => test.p,
                Change::Rise if test.t > 0.0 => test.p / 2.0,
                Change::Fall if test.t < 0.0 => test.p / 2.0,
                Change::Rise | Change::Fall => 1.0,
            };
            if p <= LEVEL {
                Ends::Differ
            } else {
                Ends::Alike
            }
        }
        Err(TTestError::Constant) => {
            let difference = new[0] - old[0];
            let differs = match change {
                Change::Any => difference != 0.0,
                Change::Rise => difference > 0.0,
                Change::Fall => difference < 0.0,
            };
            match (differs, old.len().min(new.len()) >= CONSTANT) {
                (true, _) => Ends::Differ,
                (false, true) => Ends::Alike,
                (false, false) => Ends::Unknown,
            }
        }
        Err(TTestError::TooFew(_) | TTestError::NotFinite) => Ends::Unknown,
    }
}

/// Pass or fail: alike where every one of many trials of both ends said the same.
fn never_differed(trials: &[Trial], last: usize) -> Ends {
    let of = |class: usize| trials.iter().filter(move |trial| trial.class == class);
    let enough = [0, last]
        .iter()
        .all(|&class| of(class).count() >= SAME_ANSWERS);
    let mut all = of(0).chain(of(last)).map(|trial| trial.value);
    let first = all.next();
    match enough && all.all(|value| Some(value) == first) {
        true => Ends::Alike,
        false => Ends::Unknown,
    }
}

/// Whether the values of both ends have no noise.
pub fn is_constant(trials: &[Trial], last: usize) -> bool {
    [0, last].iter().all(|&class| {
        let mut values = trials.iter().filter(|trial| trial.class == class);
        let first = values.next().map(|trial| trial.value);
        values.all(|trial| Some(trial.value) == first)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bisect::Purpose;

    fn trials(old: &[f64], new: &[f64]) -> Vec<Trial> {
        let of = |class: usize, values: &[f64]| -> Vec<Trial> {
            let trial = |value: &f64| Trial {
                class,
                value: *value,
                seconds: 0.0,
                purpose: Purpose::Endpoint,
            };
            values.iter().map(trial).collect()
        };
        [of(0, old), of(4, new)].concat()
    }

    #[test]
    fn ends_are_compared_in_the_direction_that_is_searched_for() {
        let low = [1.0, 1.1, 0.9, 1.05];
        let high = [2.0, 2.1, 1.9, 2.05];
        for (old, new, change, expected) in [
            (&low[..], &high[..], Change::Any, Ends::Differ),
            (&low, &high, Change::Rise, Ends::Differ),
            (&low, &high, Change::Fall, Ends::Alike),
            (&low, &[1.0, 1.02, 0.97, 1.1], Change::Any, Ends::Alike),
            (&low[..1], &high, Change::Any, Ends::Unknown),
            (&[1.0; 5], &[1.0; 5], Change::Any, Ends::Alike),
            (&[1.0; 3], &[1.0; 3], Change::Any, Ends::Unknown),
            (&[1.0; 3], &[2.0; 3], Change::Rise, Ends::Differ),
            (&[1.0; 5], &[2.0; 5], Change::Fall, Ends::Alike),
        ] {
            let found = compare_ends(&trials(old, new), 4, Response::Value(change));
            assert_eq!(found, expected, "{old:?} {new:?} {change:?}");
        }
        assert_eq!(
            compare_ends(&trials(&low, &high), 4, Response::PassFail),
            Ends::Unknown
        );
        assert!(is_constant(&trials(&[1.0; 3], &[2.0; 3]), 4));
        assert!(!is_constant(&trials(&low, &[2.0; 3]), 4));
    }
}
