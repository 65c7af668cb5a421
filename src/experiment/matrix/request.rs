//! What is asked of a matrix: the plan of every cell.

use std::path::PathBuf;

use crate::build::Reuse;
use crate::executor::{Cancel, Supervisor};
use crate::plan::{Cell, MatrixSpec, Plan, PlanError, PlanSources, SubjectKind};
use crate::repo::Repository;
use crate::store::Store;

use super::super::error::ExperimentError;

/// A matrix with the plan of each cell.
#[derive(Debug, Clone)]
pub struct MatrixPlan {
    /// Axes and levels.
    pub spec: MatrixSpec,
    /// What all cells have in common.
    pub common: Plan,
    /// The cells, in order.
    pub cells: Vec<CellPlan>,
}

/// One cell.
#[derive(Debug, Clone)]
pub struct CellPlan {
    /// Its levels.
    pub cell: Cell,
    /// `axis=level, …`.
    pub name: String,
    /// Its whole plan.
    pub plan: Plan,
    /// The revision that it measures; none for an installed program.
    pub revision: Option<String>,
}

impl MatrixPlan {
    /// Reads the plan, and once more for each cell with its levels laid over.
    ///
    /// # Errors
    /// A plan without `[matrix]`, and whatever is wrong with a plan, with the cell's name.
    pub fn read(sources: &PlanSources) -> Result<Self, ExperimentError> {
        let common = sources.read()?;
        let Some(spec) = common.matrix.clone() else {
            return Err(ExperimentError::NoMatrix);
        };
        let read = |cell: Cell| {
            let name = spec.name(&cell);
            let plan = sources.read_under(overlay(&spec, &cell, &common));
            let plan = plan.map_err(|source| in_cell(&name, source))?;
            let named = spec
                .levels(&cell)
                .find_map(|(_, level)| level.revision.clone());
            let revision = match plan.subject.kind {
                SubjectKind::Installed => None,
                SubjectKind::Program | SubjectKind::Kernel => {
                    Some(named.unwrap_or_else(|| spec.revision.clone()))
                }
            };
            Ok(CellPlan {
                cell,
                name,
                plan,
                revision,
            })
        };
        let cells = spec.cells().into_iter().map(read);
        Ok(Self {
            cells: cells.collect::<Result<_, ExperimentError>>()?,
            spec,
            common,
        })
    }
}

fn in_cell(cell: &str, source: PlanError) -> ExperimentError {
    ExperimentError::Cell {
        cell: cell.to_owned(),
        source,
    }
}

/// What a cell's levels say, as a layer of the plan.
fn overlay(spec: &MatrixSpec, cell: &Cell, common: &Plan) -> toml::Table {
    let mut top = toml::Table::new();
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
    for (_, level) in spec.levels(cell) {
        crate::plan::overlay(&mut top, level.set.clone());
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
    }
    top
}

/// What is to be run, and where the results go.
#[derive(Debug)]
pub struct MatrixRequest {
    /// The matrix.
    pub plan: MatrixPlan,
    /// Which earlier builds count.
    pub reuse: Reuse,
    /// Where the tables are written.
    pub out: PathBuf,
    /// An interrupted matrix to go on with.
    pub resume: Option<String>,
}

/// Who and where.
pub struct MatrixSurroundings<'a> {
    /// The repository; none where every cell's program is installed.
    pub repository: Option<&'a Repository>,
    /// The store.
    pub store: &'a Store,
    /// Who watches over processes.
    pub supervisor: &'a Supervisor,
    /// The user's wish to stop.
    pub cancel: &'a Cancel,
}
