//! The functions of two builds, side by side.

use std::collections::{BTreeMap, BTreeSet};

use super::body::digest;
use super::image::Image;

/// The functions that have the same machine code in two linked files, by canonical name; `None`
/// where a file is no ELF file for x86-64 or has no symbols.
///
/// The parts and copies of a function (`f.cold`, `f.constprop.0`) count as one: all of them must be
/// there in both files, and be the same. A function that refers to something that cannot be told is
/// not among the same.
pub fn same_functions(
    base: &[u8],
    head: &[u8],
    wanted: &BTreeSet<&str>,
) -> Option<BTreeSet<String>> {
    let (base, head) = (bodies(base, wanted)?, bodies(head, wanted)?);
    Some(
        base.into_iter()
            .filter(|(name, bodies)| {
                bodies.iter().all(Option::is_some) && head.get(name) == Some(bodies)
            })
            .map(|(name, _)| name)
            .collect(),
    )
}

type Bodies = BTreeMap<String, Vec<Option<[u8; 32]>>>;

fn bodies(content: &[u8], wanted: &BTreeSet<&str>) -> Option<Bodies> {
    let image = Image::read(content)?;
    let mut bodies = Bodies::new();
    for named in image.functions() {
        if wanted.contains(named.name.as_str()) {
            bodies
                .entry(named.name.clone())
                .or_default()
                .push(digest(&image, named));
        }
    }
    bodies.values_mut().for_each(|parts| parts.sort_unstable());
    Some(bodies)
}
