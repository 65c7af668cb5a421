//! What is said below the tables: how far the verdicts explain the change, which functions may be
//! one, what the comparison could see.

use super::{CompareReport, number};

/// The remarks as sentences without a full stop; names unescaped.
pub(super) fn remarks(report: &CompareReport) -> Vec<String> {
    let flagged = report
        .functions
        .iter()
        .any(|function| function.is_flagged());
    let explained = report.explained.filter(|_| flagged && !report.same_program);
    let explained = explained.map(|explained| {
        format!(
            "CPU time per operation changed by {} over all functions; the flagged functions' own \
             changes come to {} of base's time",
            number::change(explained.total_points),
            number::change(explained.flagged_points)
        )
    });
    let proposals = report.proposed_groups.iter().map(|proposal| {
        let members = proposal.members.join(",");
        let change = match proposal.inclusive.change_pct {
            Some(pct) => format!(" ({} together)", number::change(pct)),
            None => String::new(),
        };
        format!(
            "{} may be one thing in two builds{change}: --group NAME={members} judges them as one",
            proposal.members.join(" and ")
        )
    });
    explained
        .into_iter()
        .chain(proposals)
        .chain(report.notes.iter().cloned())
        .collect()
}
