//! Plans that come with perfblame: files that a user can print, copy and change.

use super::error::PlanError;
use super::layer::Layer;

const PRESETS: [(&str, &str); 7] = [
    (
        "cassandra-ycsb",
        include_str!("presets/cassandra-ycsb.toml"),
    ),
    ("huge-pages", include_str!("presets/huge-pages.toml")),
    ("little-server", include_str!("presets/little-server.toml")),
    ("postgresql", include_str!("presets/postgresql.toml")),
    (
        "postgresql-build",
        include_str!("presets/postgresql-build.toml"),
    ),
    (
        "postgresql-hammerdb",
        include_str!("presets/postgresql-hammerdb.toml"),
    ),
    ("redis", include_str!("presets/redis.toml")),
];

/// The names of all presets, separated by blanks.
pub fn names() -> String {
    PRESETS.map(|(name, _)| name).join(" ")
}

/// The text of a preset.
pub fn text(name: &str) -> Result<&'static str, PlanError> {
    PRESETS
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, text)| *text)
        .ok_or_else(|| PlanError::UnknownPreset {
            name: name.to_owned(),
            known: names(),
        })
}

/// A preset as the lowest layer of a plan.
pub fn layer(name: &str) -> Result<Layer, PlanError> {
    Ok(Layer {
        name: format!("preset {name}"),
        text: text(name)?.to_owned(),
        has_lines: true,
    })
}

#[cfg(test)]
mod tests {
    use super::super::read::PlanSources;
    use super::*;

    #[test]
    fn every_preset_is_a_plan() {
        for (name, _) in PRESETS {
            let sources = PlanSources {
                preset: Some(name.to_owned()),
                ..PlanSources::default()
            };
            let plan = sources.read().unwrap();
            assert_eq!(plan.preset.as_deref(), Some(name));
        }
    }

    #[test]
    fn an_unknown_preset_is_refused_with_the_names_there_are() {
        let error = text("redsi").unwrap_err().to_string();
        assert!(
            error.contains("redsi") && error.contains("redis"),
            "{error}"
        );
    }
}
