//! The judgement of head against base.

use super::costs::Costs;
use super::functions::{Rules, rank};
use super::hypotheses::Hypotheses;
use super::indirect::Code;
use super::metric::{self, MetricData};
use super::model::{
    CodeComparison, Comparison, Explained, FunctionNote, FunctionVerdict, MetricVerdict,
    TrialMeasurement,
};
use super::outlook::Outlook;
use super::paired::Blocks;
use super::relations::Relations;
use super::{inherited, moved};
use crate::plan::Judging;
use crate::profile::{FunctionId, canonical_name};
use crate::stats::{SignFlips, blocks_to_reach, mean, sign_flip_p, step_down};

/// Judges head against base from their trials.
///
/// Trials are paired by block; the same trials under the same rules give the same judgement.
pub fn compare(
    base: &[TrialMeasurement],
    head: &[TrialMeasurement],
    judging: &Judging,
) -> Comparison {
    compare_knowing(base, head, judging, &CodeComparison::default())
}

/// Judges as [`compare`], and labels changes as indirect by what is known of the machine code.
pub fn compare_knowing(
    base: &[TrialMeasurement],
    head: &[TrialMeasurement],
    judging: &Judging,
    code: &CodeComparison,
) -> Comparison {
    let blocks = Blocks::pair(base, head);
    let metrics = MetricData::collect(&blocks, judging);
    let costs = Costs::collect(&blocks);
    let grouped: Vec<Option<String>> = costs
        .iter()
        .flat_map(|c| &c.ids)
        .map(|id| group_of(id, judging))
        .collect();
    let is_grouped: Vec<bool> = grouped.iter().map(Option::is_some).collect();
    let hypotheses = Hypotheses::new(&metrics, costs.as_ref(), &is_grouped, judging);
    let flips = SignFlips::new(blocks.len(), judging.max_flips as usize, judging.seed);
    let family = step_down(&hypotheses.all, &flips);
    let outlook = Outlook::new(&family, &flips, judging.alpha);

    let mut verdicts: Vec<MetricVerdict> = metrics
        .iter()
        .enumerate()
        .map(|(i, m)| m.judge(&family.adjusted[i], judging, &outlook))
        .collect();
    let mut warnings = Vec::new();
    let has_main = metrics
        .first()
        .is_some_and(|m| m.name == judging.main_metric);
    let throughput = if has_main {
        verdicts.remove(0)
    } else {
        warnings.push(format!("no trial measured `{}`", judging.main_metric));
        metric::missing(&judging.main_metric, judging)
    };

    let mut comparison = Comparison {
        blocks: blocks.len() as u32,
        alpha: judging.alpha,
        gate_points: judging.gate_points,
        throughput,
        metrics: verdicts,
        functions: Vec::new(),
        groups: Vec::new(),
        proposed_groups: Vec::new(),
        explained: None,
        warnings,
    };
    if let Some(costs) = &costs {
        let rules = Rules {
            outlook,
            judging,
            total_ratio: costs.total_ratio(),
        };
        judge_functions(&mut comparison, costs, &hypotheses, rules, &grouped, code);
    }
    warn(&mut comparison, &blocks, costs.as_ref(), judging);
    comparison
}

fn judge_functions(
    comparison: &mut Comparison,
    costs: &Costs<'_>,
    hypotheses: &Hypotheses,
    rules: Rules<'_>,
    grouped: &[Option<String>],
    code: &CodeComparison,
) {
    let mut functions: Vec<FunctionVerdict> = costs
        .ids
        .iter()
        .zip(&hypotheses.functions)
        .map(|(id, pair)| rules.function(id, pair))
        .collect();
    for (function, group) in functions.iter_mut().zip(grouped) {
        if let Some(group) = group {
            function.notes.push(FunctionNote::Grouped {
                group: group.clone(),
            });
        }
    }
    let relations = Relations::new(costs);
    moved::note(&mut functions, costs, hypotheses, (&relations, code), rules);
    let code = Code::new(code, costs, hypotheses, &relations);
    code.note(&mut functions, rules.judging.gate_points);
    inherited::note(&mut functions, &relations, &|heir, from| {
        code.carries(heir, from, rules)
    });
    comparison.proposed_groups = moved::propose(&functions, costs, hypotheses, &relations, rules);
    comparison.groups = costs
        .groups
        .iter()
        .zip(&hypotheses.groups)
        .map(|((name, _), pair)| {
            let id = FunctionId {
                name: name.clone(),
                module: String::new(),
            };
            rules.function(&id, pair)
        })
        .collect();
    comparison.explained = Some(explain(&functions, &comparison.groups, costs, rules));
    functions.retain(|f| f.inclusive.base_share_pct + f.inclusive.head_share_pct > 0.0);
    functions.sort_by(|a, b| {
        let (x, y) = (rank(a), rank(b));
        x.0.cmp(&y.0)
            .then(x.1.total_cmp(&y.1))
            .then_with(|| (&a.name, &a.module).cmp(&(&b.name, &b.module)))
    });
    comparison.functions = functions;
}

/// Members of a group are not judged by themselves, so that nothing counts twice.
fn explain(
    functions: &[FunctionVerdict],
    groups: &[FunctionVerdict],
    costs: &Costs<'_>,
    rules: Rules<'_>,
) -> Explained {
    let common = costs.common();
    Explained {
        total_points: 100.0 * (rules.total_ratio - 1.0),
        flagged_points: functions
            .iter()
            .chain(groups)
            .filter(|f| f.is_flagged())
            .map(|f| f.self_cost.change_points)
            .sum(),
        common_pct: 100.0 * mean(&common).exp_m1(),
        common_p: sign_flip_p(&common, rules.judging.seed),
    }
}

fn group_of(id: &FunctionId, judging: &Judging) -> Option<String> {
    judging
        .groups
        .iter()
        .find(|(_, members)| {
            members
                .iter()
                .any(|member| id.name == *member || id.name == canonical_name(member))
        })
        .map(|(name, _)| name.clone())
}

fn warn(
    comparison: &mut Comparison,
    blocks: &Blocks<'_>,
    costs: Option<&Costs<'_>>,
    judging: &Judging,
) {
    let warnings = &mut comparison.warnings;
    let fewest = blocks_to_reach(judging.alpha);
    if comparison.blocks < fewest {
        warnings.push(format!(
            "{} blocks cannot show any change at a level of {}: at least {fewest} are needed",
            comparison.blocks, judging.alpha
        ));
    }
    if blocks.unpaired > 0 {
        warnings.push(format!(
            "{} trials count for nothing: their block lacks a trial of the other arm, or has a later one",
            blocks.unpaired
        ));
    }
    let Some(costs) = costs else { return };
    if costs.measured() < blocks.len() {
        warnings.push(format!(
            "only {} of {} blocks have profiles of both arms",
            costs.measured(),
            blocks.len()
        ));
    }
    if !costs.per_operation {
        warnings.push(
            "operations or CPU time are not known in every trial: functions are compared by share"
                .to_owned(),
        );
    }
    let Some(explained) = &comparison.explained else {
        return;
    };
    if explained.common_p <= judging.alpha && explained.common_pct.abs() >= judging.margin_pct {
        warnings.push(format!(
            "all functions alike cost {:+.1} % CPU time per operation in head (p {:.3}); what is said \
             of functions is beside that",
            explained.common_pct, explained.common_p
        ));
    }
    for declared in judging.groups.keys() {
        if !costs.groups.iter().any(|(name, _)| name == declared) {
            warnings.push(format!("group `{declared}` has no samples in any profile"));
        }
    }
}
