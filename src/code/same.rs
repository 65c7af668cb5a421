//! The functions of two builds, side by side.

use std::collections::{BTreeMap, BTreeSet};

use super::body::digest;
use super::image::Image;

/// What is known of functions in two linked files, by canonical name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Alike {
    /// Those that have the same machine code in both.
    pub same: BTreeSet<String>,
    /// Names that only the later file has, with the name under which the earlier one alone has the same
    /// machine code. Where several have, none is told.
    pub renamed: BTreeMap<String, String>,
}

/// Compares the functions of two linked files by their machine code; `None` where a file is no ELF file for
/// x86-64 or has no symbols.
///
/// The parts and copies of a function (`f.cold`, `f.constprop.0`) count as one: all of them must be
/// there in both files, and be the same. A function that refers to something that cannot be told is
/// not among the same.
pub fn compare_functions(base: &[u8], head: &[u8], wanted: &BTreeSet<&str>) -> Option<Alike> {
    let (base, head) = (bodies(base, wanted)?, bodies(head, wanted)?);
    let only_in = |here: &Bodies, there: &Bodies| {
        let mut by_code: BTreeMap<Vec<Option<[u8; 32]>>, Vec<String>> = BTreeMap::new();
        let only = here.iter().filter(|(name, bodies)| {
            !there.contains_key(*name) && bodies.iter().all(Option::is_some)
        });
        for (name, bodies) in only {
            by_code
                .entry(bodies.clone())
                .or_default()
                .push(name.clone());
        }
        by_code
    };
    let (gone, new) = (only_in(&base, &head), only_in(&head, &base));
    let renamed = new.iter().filter_map(|(code, names)| {
        match (names.as_slice(), gone.get(code)?.as_slice()) {
            ([name], [before]) => Some((name.clone(), before.clone())),
            _ => None,
        }
    });
    let renamed = renamed.collect();
    let same = base.into_iter().filter(|(name, bodies)| {
        bodies.iter().all(Option::is_some) && head.get(name) == Some(bodies)
    });
    Some(Alike {
        same: same.map(|(name, _)| name).collect(),
        renamed,
    })
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
