//! What the report says of a culprit and its certificate.

use std::ops::Range;

use crate::bisect::Estimate;
use crate::report::{CertificateReport, ChangeReport, CulpritReport};
use crate::stats::mean;

use crate::experiment::bisect::find::Found;
use crate::experiment::bisect::journal::Answer;
use crate::experiment::bisect::searcher::{Searched, Searcher};

/// The part of the gap that a step of a function's cost makes, in per cent. Of costs and not of their
/// logarithms: that of a function which is not there is as good as any small number.
pub(super) fn cost_share(searched: &[Searched], found: &Found) -> Option<f64> {
    let level = |line: usize, class: usize| {
        let trials = searched.get(line)?.field.search.trials().iter();
        let of_class = trials.filter(|trial| trial.class == class);
        let costs: Vec<f64> = of_class.map(|trial| trial.value.exp()).collect();
        (!costs.is_empty()).then(|| mean(&costs))
    };
    let last = searched.first()?.field.classes().len() - 1;
    let suspects = &found.culprit.suspects;
    let step = level(found.line, *suspects.classes.end())? - level(found.line, suspects.parent)?;
    let share = 100.0 * step / (level(0, last)? - level(0, 0)?);
    share.is_finite().then_some(share)
}

pub(super) fn culprit_report(
    searched: &Searched,
    found: &Found,
    change: ChangeReport,
) -> CulpritReport {
    let classes = searched.field.classes();
    let suspects = &found.culprit.suspects;
    let commits: Vec<_> = suspects
        .classes
        .clone()
        .filter_map(|class| classes.get(class))
        .map(|class| class.first())
        .collect();
    // The commit just before the first of them; its tree is that of its class.
    let parent = classes[suspects.parent].commits.last();
    let parent = parent.unwrap_or(classes[suspects.parent].first());
    CulpritReport {
        commits: commits.iter().map(|commit| commit.id.clone()).collect(),
        subject_lines: commits
            .iter()
            .map(|commit| commit.subject_line.clone())
            .collect(),
        parent: parent.id.clone(),
        parent_subject_line: parent.subject_line.clone(),
        probability: suspects.probability,
        change,
        share_of_gap_pct: None,
        merged_by: found.merged_by.as_ref().map(|merge| merge.id.clone()),
    }
}

pub(super) fn certificate_report(searcher: &Searcher<'_, '_>, found: &Found) -> CertificateReport {
    let certificate = &found.culprit.certificate;
    CertificateReport {
        p: certificate.p,
        blocks: certificate.blocks,
        alpha: certificate.alpha,
        attempt: certificate.attempt,
        first_block: stored_blocks(searcher, found).map_or(0, |blocks| blocks.start),
    }
}

/// The blocks of a culprit's certificate in the store: those of the last attempt, which confirmed it.
pub(super) fn stored_blocks(searcher: &Searcher<'_, '_>, found: &Found) -> Option<Range<u32>> {
    let suspects = &found.culprit.suspects;
    let field = &searcher.searched[found.line].field;
    let [before, after] = [suspects.parent, *suspects.classes.end()]
        .map(|class| field.representative(class).id.as_str());
    let of_pair = |answer: &Answer| match answer {
        Answer::Certificate {
            culprit,
            parent,
            blocks,
            first_block,
            measured,
        } if culprit == after && parent == before => {
            let count = match measured {
                0 => u32::try_from(blocks.len()).unwrap_or(u32::MAX),
                measured => *measured,
            };
            Some(*first_block..first_block.saturating_add(count))
        }
        _ => None,
    };
    searcher.journal.answers().filter_map(of_pair).last()
}

/// A difference of logarithms in per cent.
pub(super) fn per_cent(estimate: &Estimate) -> ChangeReport {
    let pct = |log: f64| 100.0 * log.exp_m1();
    ChangeReport {
        change_pct: pct(estimate.mean),
        ci95_pct: estimate.error.is_finite().then(|| {
            [
                pct(estimate.mean - 2.0 * estimate.error),
                pct(estimate.mean + 2.0 * estimate.error),
            ]
        }),
    }
}

/// A difference of rates in percentage points.
pub(super) fn points(estimate: &Estimate, sign: f64) -> ChangeReport {
    let [low, high] = [-2.0, 2.0].map(|width: f64| {
        let end = estimate.mean + width * estimate.error;
        100.0 * sign * end.clamp(-1.0, 1.0)
    });
    ChangeReport {
        change_pct: 100.0 * sign * estimate.mean,
        ci95_pct: estimate
            .error
            .is_finite()
            .then(|| [low.min(high), low.max(high)]),
    }
}
