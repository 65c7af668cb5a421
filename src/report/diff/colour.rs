//! What a colour says.

/// What is known of a function's change, as a colour shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Colour {
    /// Costs more, and that is no noise; the step grows with the change, from 0 to 3.
    Regressed(u8),
    /// Costs less, and that is no noise; the step grows with the change, from 0 to 3.
    Improved(u8),
    /// In head only, and that is no chance.
    New,
    /// In base only, and that is no chance.
    Gone,
    /// Its cost went to other functions or came from them.
    Moved,
    /// Its cost changed and its machine code did not.
    Indirect,
    /// One run a side: more than sampling explains, which proves nothing.
    BeyondPoissonUp,
    /// One run a side: less than sampling explains, which proves nothing.
    BeyondPoissonDown,
    /// No evidence of a change.
    Unchanged,
}

impl Colour {
    /// The step of a change in per cent: up to a tenth, a quarter, three quarters, more.
    pub(super) fn step(change_pct: f64) -> u8 {
        match (1.0 + change_pct / 100.0).max(1e-9).log2().abs() {
            x if x < 0.138 => 0,
            x if x < 0.322 => 1,
            x if x < 0.807 => 2,
            _ => 3,
        }
    }

    /// Class in the style sheet. `shade` varies grey, so that neighbours can be told apart.
    pub(super) fn class(self, shade: u8) -> &'static str {
        match self {
            Colour::Regressed(step) => ["r0", "r1", "r2", "r3"][usize::from(step.min(3))],
            Colour::Improved(step) => ["i0", "i1", "i2", "i3"][usize::from(step.min(3))],
            Colour::New => "n",
            Colour::Gone => "g",
            Colour::Moved => "m",
            Colour::Indirect => "x",
            Colour::BeyondPoissonUp => "u",
            Colour::BeyondPoissonDown => "d",
            Colour::Unchanged => ["z0", "z1", "z2"][usize::from(shade % 3)],
        }
    }

    /// The place in the legend, its text, and the class that stands for it there.
    pub(super) fn legend(self) -> (usize, &'static str, &'static str) {
        match self {
            Colour::Regressed(_) => (0, "regressed", "r2"),
            Colour::Improved(_) => (1, "improved", "i2"),
            Colour::New => (2, "new", "n"),
            Colour::Gone => (3, "gone", "g"),
            Colour::Moved => (4, "moved", "m"),
            Colour::Indirect => (5, "indirect", "x"),
            Colour::BeyondPoissonUp => (6, "more, one run", "u"),
            Colour::BeyondPoissonDown => (7, "less, one run", "d"),
            Colour::Unchanged => (8, "no evidence", "z0"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_grow_alike_both_ways() {
        for (change, step) in [
            (0.0, 0),
            (9.0, 0),
            (20.0, 1),
            (-18.0, 1),
            (50.0, 2),
            (-40.0, 2),
            (100.0, 3),
            (-50.0, 3),
            (-100.0, 3),
            (f64::INFINITY, 3),
        ] {
            assert_eq!(Colour::step(change), step, "{change}");
        }
    }
}
