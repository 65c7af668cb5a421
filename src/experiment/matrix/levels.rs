//! What the levels of a cell lay over the plan, and where in the file a fault of theirs stands.

use crate::plan::{Cell, Level, MatrixSpec, Plan, PlanError, PlanSources};

/// What one level says, as a layer of the plan.
fn of_level(level: &Level, common: &Plan) -> toml::Table {
    let mut top = level.set.clone();
    let workload = match common.server {
        Some(_) => "server",
        None => "command",
    };
    let table = |pairs: &std::collections::BTreeMap<String, String>| -> toml::Table {
        let pairs = pairs.iter();
        pairs
            .map(|(name, value)| (name.clone(), toml::Value::String(value.clone())))
            .collect()
    };
    let mut below = |path: &[&str], pairs: toml::Table| {
        if pairs.is_empty() {
            return;
        }
        let nested = path.iter().rev().fold(pairs, |inner, key| {
            toml::Table::from_iter([((*key).to_owned(), toml::Value::Table(inner))])
        });
        crate::plan::overlay(&mut top, nested);
    };
    below(&["settings"], table(&level.settings));
    below(&[workload, "env"], table(&level.env));
    top
}

/// What a cell's levels say, as a layer of the plan.
pub fn overlay(spec: &MatrixSpec, cell: &Cell, common: &Plan) -> toml::Table {
    let mut top = toml::Table::new();
    for (_, level) in spec.levels(cell) {
        crate::plan::overlay(&mut top, of_level(level, common));
    }
    top
}

/// Names the level's key and line in an error of a cell's plan, where a level is at fault.
pub fn located(
    error: PlanError,
    sources: &PlanSources,
    spec: &MatrixSpec,
    cell: &Cell,
) -> PlanError {
    let PlanError::Invalid {
        layer,
        line,
        key,
        message,
    } = error
    else {
        return error;
    };
    let found = spec.axis.iter().zip(&cell.0).enumerate();
    let found = found
        .filter_map(|(axis, (of, &level))| {
            let set = &of.level.get(level)?.set;
            let own = at_fault(set, &key, &message)?;
            Some((
                format!("matrix.axis.{axis}.level.{level}.set.{}", own.0),
                own.1,
            ))
        })
        .next_back();
    let Some((own, message)) = found else {
        return PlanError::Invalid {
            layer,
            line,
            key,
            message,
        };
    };
    let (layer, line) = sources.place_of(&own).unwrap_or((layer, line));
    PlanError::Invalid {
        layer,
        line,
        key: own,
        message,
    }
}

/// The key of a level's table that is at fault, and what is wrong with it: a value that no plan
/// takes, or the key that a check of the whole plan has named.
fn at_fault(set: &toml::Table, named: &str, message: &str) -> Option<(String, String)> {
    let text = toml::to_string(set).ok()?;
    let alone = crate::plan::Layer {
        name: String::new(),
        text,
        has_lines: false,
    };
    if let Err(PlanError::Invalid { key, message, .. }) = alone.table() {
        return Some((key, message));
    }
    alone
        .find_key(named)
        .filter(|_| !named.is_empty())
        .map(|_| (named.to_owned(), message.to_owned()))
}
