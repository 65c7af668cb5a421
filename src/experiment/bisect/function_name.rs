//! Which function a name on the command line means.

use crate::profile::FunctionId;

/// A function as it is looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionName {
    name: String,
    module: Option<String>,
}

/// Why no function is meant by a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotOne {
    /// No sample holds such a function; those that are similar.
    None(Vec<String>),
    /// Several do.
    Several(Vec<String>),
}

impl FunctionName {
    /// Reads `NAME` or `NAME@MODULE`.
    pub fn parse(text: &str) -> Self {
        match text.rsplit_once('@') {
            Some((name, module)) if !name.is_empty() && !module.is_empty() => Self {
                name: name.to_owned(),
                module: Some(module.to_owned()),
            },
            _ => Self {
                name: text.to_owned(),
                module: None,
            },
        }
    }

    /// The function that is meant, among those that were seen. A full name goes before the last
    /// part of one.
    pub fn find<'a>(
        &self,
        seen: impl Iterator<Item = &'a FunctionId> + Clone,
    ) -> Result<FunctionId, NotOne> {
        let in_module = |id: &&FunctionId| {
            self.module
                .as_ref()
                .is_none_or(|module| *module == id.module)
        };
        let ending = format!("::{}", self.name);
        let tests: [&dyn Fn(&FunctionId) -> bool; 2] =
            [&|id| id.name == self.name, &|id| id.name.ends_with(&ending)];
        for is_meant in tests {
            let found: Vec<&FunctionId> = seen
                .clone()
                .filter(in_module)
                .filter(|id| is_meant(id))
                .collect();
            match found.as_slice() {
                [] => {}
                [only] => return Ok((*only).clone()),
                several => {
                    return Err(NotOne::Several(several.iter().map(|id| full(id)).collect()));
                }
            }
        }
        let wanted = self.name.to_lowercase();
        let similar = seen
            .filter(|id| {
                let name = id.name.to_lowercase();
                name.contains(&wanted) || wanted.contains(&name) && name.len() > 3
            })
            .map(full)
            .take(12)
            .collect();
        Err(NotOne::None(similar))
    }
}

/// A function as it can be given on the command line.
pub fn full(id: &FunctionId) -> String {
    format!("{}@{}", id.name, id.module)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(name: &str, module: &str) -> FunctionId {
        FunctionId {
            name: name.to_owned(),
            module: module.to_owned(),
        }
    }

    #[test]
    fn names_mean_one_function_or_are_listed() {
        let seen = [
            id("get", "srv"),
            id("get", "libx.so"),
            id("db::put", "srv"),
            id("cache::del", "srv"),
            id("db::del", "srv"),
        ];
        let find = |text| FunctionName::parse(text).find(seen.iter());
        assert_eq!(find("put"), Ok(id("db::put", "srv")));
        assert_eq!(find("get@srv"), Ok(id("get", "srv")));
        assert_eq!(
            find("get"),
            Err(NotOne::Several(vec![
                "get@srv".into(),
                "get@libx.so".into()
            ]))
        );
        assert_eq!(
            find("del"),
            Err(NotOne::Several(vec![
                "cache::del@srv".into(),
                "db::del@srv".into()
            ]))
        );
        assert_eq!(
            find("ge"),
            Err(NotOne::None(vec!["get@srv".into(), "get@libx.so".into()]))
        );
        assert_eq!(find("nothing"), Err(NotOne::None(vec![])));
    }
}
