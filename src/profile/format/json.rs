//! perfblame's own form: the profile as it is, with modules, addresses and source lines.

use serde::Deserialize;

use crate::profile::{Profile, SCHEMA};

use super::error::FormatError;

#[derive(Deserialize)]
struct Head {
    schema: String,
}

pub(super) fn read(bytes: &[u8]) -> Result<Profile, FormatError> {
    let head: Head = serde_json::from_slice(bytes)?;
    if head.schema != SCHEMA {
        return Err(FormatError::Schema { found: head.schema });
    }
    let mut profile: Profile = serde_json::from_slice(bytes)?;
    let total = profile
        .stacks
        .iter()
        .try_fold(0u64, |sum, stack| sum.checked_add(stack.count));
    let total = total
        .ok_or_else(|| FormatError::content("stacks", "counts add up to more than 64 bits hold"))?;
    profile.accounting.samples = total;
    Ok(profile)
}

pub(super) fn write(profile: &Profile) -> Result<Vec<u8>, FormatError> {
    let mut bytes = serde_json::to_vec(profile)?;
    bytes.push(b'\n');
    Ok(bytes)
}
