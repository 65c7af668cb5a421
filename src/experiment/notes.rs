//! What a comparison could see, and what more blocks would buy, in sentences.

use crate::stats::Look;
use crate::verdict::{
    Comparison, Decision, Forecast, Purchase, StopReason, Verdict, what_more_blocks_buy,
};

/// Most open questions that are named.
const MOST_NAMED: usize = 3;

/// Says what a plan will see; `None` where it will see nothing.
pub fn foretold(forecast: &Forecast, metric: &str) -> Option<String> {
    let parts: Vec<String> = [
        forecast
            .metric_pct
            .map(|pct| format!("a change of {metric} from about {} on", percent(pct))),
        forecast.function_pct.map(|pct| {
            format!(
                "of the own cost of a function that holds 1 % of the samples from about {} on",
                percent(pct)
            )
        }),
    ]
    .into_iter()
    .flatten()
    .collect();
    (!parts.is_empty()).then(|| {
        format!(
            "{} blocks on this machine see in four of five cases {}",
            forecast.blocks,
            parts.join(", and ")
        )
    })
}

/// Sentences about a comparison that is done.
pub fn notes(comparison: &Comparison, foretold: Option<String>) -> Vec<String> {
    let mut notes: Vec<String> = foretold.into_iter().collect();
    let buys = what_more_blocks_buy(comparison);
    if !buys.is_empty() {
        notes.push(format!("more blocks would probably decide {}", list(&buys)));
    } else if comparison.throughput.verdict == Verdict::Undecided {
        notes.push(format!(
            "no sensible number of blocks would decide {}, if its change is as it seems",
            comparison.throughput.name
        ));
    }
    notes
}

/// Says what follows from a look at the data.
pub fn after_look(look: &Look, decision: &Decision) -> String {
    let looked = format!("looked after {} blocks (α {:.3})", look.blocks, look.alpha);
    match decision {
        Decision::Stop(StopReason::Decided) => format!("{looked}: all is decided"),
        Decision::Stop(StopReason::NothingToGain) => {
            format!("{looked}: what is undecided would probably stay so; stopped")
        }
        Decision::Stop(StopReason::LastLook) => format!("{looked}, the last look"),
        Decision::Continue { blocks, buys, .. } => format!(
            "{looked}: going on to {blocks} blocks, since more would probably decide {}",
            list(buys)
        ),
    }
}

fn list(buys: &[Purchase]) -> String {
    let mut named: Vec<String> = buys
        .iter()
        .take(MOST_NAMED)
        .map(|buy| format!("{} ({})", buy.name, buy.blocks))
        .collect();
    match buys.len().saturating_sub(MOST_NAMED) {
        0 => {}
        more => named.push(format!("{more} more")),
    }
    named.join(", ")
}

fn percent(pct: f64) -> String {
    match pct < 10.0 {
        true => format!("{pct:.1} %"),
        false => format!("{pct:.0} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_foretold() {
        let forecast = Forecast {
            blocks: 8,
            metric_pct: Some(9.34),
            function_pct: Some(31.2),
        };
        assert_eq!(
            foretold(&forecast, "throughput").as_deref(),
            Some(
                "8 blocks on this machine see in four of five cases a change of throughput from about 9.3 % on, \
                 and of the own cost of a function that holds 1 % of the samples from about 31 % on"
            )
        );
        let nothing = Forecast {
            blocks: 2,
            metric_pct: None,
            function_pct: None,
        };
        assert_eq!(foretold(&nothing, "throughput"), None);
    }

    #[test]
    fn what_a_look_says() {
        let look = Look {
            blocks: 8,
            alpha: 0.01,
        };
        let buys = ["a", "b", "c", "d", "e"]
            .iter()
            .map(|name| Purchase {
                name: (*name).to_owned(),
                blocks: 12,
            })
            .collect();
        let decision = Decision::Continue {
            blocks: 16,
            alpha: 0.015,
            buys,
        };
        assert_eq!(
            after_look(&look, &decision),
            "looked after 8 blocks (α 0.010): going on to 16 blocks, since more would probably decide \
             a (12), b (12), c (12), 2 more"
        );
    }
}
