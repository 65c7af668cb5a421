//! Settings of the machine that a trial runs under: known ones by name, and the user's own.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::command_line::CommandLine;

/// A setting that perfblame does not know: how it is read and written.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct CustomSetting {
    /// A file of `/proc` or `/sys` that is read and written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// A program that prints the value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read: Option<CommandLine>,
    /// A program that sets it; `{value}` stands for the value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write: Option<CommandLine>,
}

/// Where a setting is read and written.
#[derive(Debug, Clone, PartialEq)]
pub enum SettingPlace {
    /// Files; a star stands for any part of one name. All of them get the value.
    Files(String),
    /// Programs.
    Commands {
        /// Prints the value.
        read: CommandLine,
        /// Sets it.
        write: CommandLine,
    },
}

/// Settings that move benchmarks, with their files.
const KNOWN: [(&str, &str); 18] = [
    ("thp", "/sys/kernel/mm/transparent_hugepage/enabled"),
    ("thp-defrag", "/sys/kernel/mm/transparent_hugepage/defrag"),
    (
        "khugepaged-defrag",
        "/sys/kernel/mm/transparent_hugepage/khugepaged/defrag",
    ),
    ("lru-gen", "/sys/kernel/mm/lru_gen/enabled"),
    ("swappiness", "/proc/sys/vm/swappiness"),
    ("overcommit-memory", "/proc/sys/vm/overcommit_memory"),
    ("overcommit-ratio", "/proc/sys/vm/overcommit_ratio"),
    ("nr-hugepages", "/proc/sys/vm/nr_hugepages"),
    ("dirty-ratio", "/proc/sys/vm/dirty_ratio"),
    (
        "dirty-background-ratio",
        "/proc/sys/vm/dirty_background_ratio",
    ),
    ("zone-reclaim-mode", "/proc/sys/vm/zone_reclaim_mode"),
    ("numa-balancing", "/proc/sys/kernel/numa_balancing"),
    ("randomize-va-space", "/proc/sys/kernel/randomize_va_space"),
    ("ksm", "/sys/kernel/mm/ksm/run"),
    ("zswap", "/sys/module/zswap/parameters/enabled"),
    ("no-turbo", "/sys/devices/system/cpu/intel_pstate/no_turbo"),
    ("boost", "/sys/devices/system/cpu/cpufreq/boost"),
    (
        "governor",
        "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
    ),
];

/// Where a setting is, or what is wrong with it.
pub fn place(name: &str, own: &BTreeMap<String, CustomSetting>) -> Result<SettingPlace, String> {
    if let Some(custom) = own.get(name) {
        return match (&custom.path, &custom.read, &custom.write) {
            (Some(path), None, None) if path.starts_with('/') => {
                Ok(SettingPlace::Files(path.clone()))
            }
            (None, Some(read), Some(write)) if !read.0.is_empty() && !write.0.is_empty() => {
                Ok(SettingPlace::Commands {
                    read: read.clone(),
                    write: write.clone(),
                })
            }
            _ => Err(
                "a setting of one's own has either an absolute `path`, or both `read` and `write`"
                    .to_owned(),
            ),
        };
    }
    let known = KNOWN.iter().find(|(known, _)| *known == name);
    known
        .map(|(_, path)| SettingPlace::Files((*path).to_owned()))
        .ok_or_else(|| {
            let names: Vec<&str> = KNOWN.iter().map(|(known, _)| *known).collect();
            format!(
                "there is no setting `{name}`; known are {}, and [custom-settings.{name}] can say how it is read and written",
                names.join(", ")
            )
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_and_own_settings_are_found() {
        let own: BTreeMap<String, CustomSetting> = toml::from_str(
            "thp = { path = '/tmp/x' }\nzram = { read = 'a', write = 'b {value}' }\nhalf = { read = 'a' }\nrelative = { path = 'x' }",
        )
        .unwrap();
        let none = BTreeMap::new();
        assert!(
            matches!(place("thp", &none), Ok(SettingPlace::Files(path)) if path.starts_with("/sys/"))
        );
        assert_eq!(
            place("thp", &own),
            Ok(SettingPlace::Files("/tmp/x".to_owned()))
        );
        assert!(matches!(
            place("zram", &own),
            Ok(SettingPlace::Commands { .. })
        ));
        for name in ["half", "relative"] {
            assert!(
                place(name, &own).unwrap_err().contains("absolute `path`"),
                "{name}"
            );
        }
        assert!(place("thb", &none).unwrap_err().contains("known are thp"));
    }
}
