//! The variables that a subject is started with.

use std::collections::BTreeMap;

use crate::plan::{Placeholders, UnknownPlaceholder};

use super::job::TrialJob;

const LIBRARY_PATH: &str = "LD_LIBRARY_PATH";

/// The plan's variables with placeholders replaced, and the way to the artifact's shared libraries.
pub fn variables(
    planned: &BTreeMap<String, String>,
    values: &Placeholders,
    job: &TrialJob,
) -> Result<Vec<(String, String)>, UnknownPlaceholder> {
    let mut variables: Vec<(String, String)> = planned
        .iter()
        .map(|(name, value)| Ok((name.clone(), values.expand(value)?)))
        .collect::<Result<_, _>>()?;
    if !job.library_path.is_empty() && !planned.contains_key(LIBRARY_PATH) {
        let inherited = std::env::var(LIBRARY_PATH)
            .ok()
            .filter(|path| !path.is_empty());
        let own = job.library_path.iter().map(|dir| dir.display().to_string());
        let path: Vec<String> = own.chain(inherited).collect();
        variables.push((LIBRARY_PATH.to_owned(), path.join(":")));
    }
    Ok(variables)
}
