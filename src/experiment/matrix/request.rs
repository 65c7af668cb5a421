//! What is asked of a matrix: the plan of every cell.

use std::path::PathBuf;

use crate::build::Reuse;
use crate::executor::{Cancel, Supervisor};
use crate::plan::{Cell, MatrixSpec, NO_KERNEL, Plan, PlanError, PlanSources, SubjectKind};
use crate::repo::Repository;
use crate::store::Store;

use super::super::error::ExperimentError;
use super::levels::{located, overlay};

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
            let plan = plan.and_then(with_kernel).map_err(|source| {
                let source = located(source, sources, &spec, &cell);
                ExperimentError::Cell {
                    cell: name.clone(),
                    source,
                }
            })?;
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

/// A cell that has a guest has a kernel for it.
fn with_kernel(plan: Plan) -> Result<Plan, PlanError> {
    match plan.guest.is_some() && !plan.boots_guest() {
        false => Ok(plan),
        true => Err(PlanError::Invalid {
            layer: "plan".to_owned(),
            line: None,
            key: "guest.kernel".to_owned(),
            message: NO_KERNEL.to_owned(),
        }),
    }
}

/// Which interrupted matrix to go on with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resume {
    /// The newest of those that are not done.
    Newest,
    /// The one whose id begins so.
    Id(String),
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
    pub resume: Option<Resume>,
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
