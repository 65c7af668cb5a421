//! `--command` and the options that go with the one before them.

use clap::{Arg, ArgAction, ArgMatches, Command, FromArgMatches};

use crate::plan::load::KeyPattern;

/// Commands of the user's own, in order, each with its ratio and key pattern.
#[derive(Debug, Clone, Default)]
pub struct OwnCommands {
    /// Command lines.
    pub commands: Vec<String>,
    /// How often each is sent in a row.
    pub ratios: Vec<u32>,
    /// How each chooses keys.
    pub patterns: Vec<KeyPattern>,
}

impl clap::Args for OwnCommands {
    fn augment_args(command: Command) -> Command {
        let repeated = |id: &'static str| {
            Arg::new(id)
                .long(id)
                .action(ArgAction::Append)
                .help_heading("Own commands")
        };
        command
            .arg(repeated("command").value_name("COMMAND").help(
                "Command to send in place of SET and GET; __key__ and __data__ are filled in",
            ))
            .arg(
                repeated("command-ratio")
                    .value_name("N")
                    .value_parser(clap::value_parser!(u32))
                    .help("Times that the command before it is sent in a row [default: 1]"),
            )
            .arg(
                repeated("command-key-pattern")
                    .value_name("PATTERN")
                    .value_parser(|text: &str| text.parse::<KeyPattern>())
                    .help("How the command before it chooses keys [default: R]"),
            )
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for OwnCommands {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let commands: Vec<String> = values(matches, "command");
        let places: Vec<usize> = indices(matches, "command");
        let mut own = OwnCommands {
            ratios: vec![1; commands.len()],
            patterns: vec![KeyPattern::Random; commands.len()],
            commands,
        };
        let owner = |option: &str, place: usize| {
            places
                .iter()
                .rposition(|command| *command < place)
                .ok_or_else(|| {
                    clap::Error::raw(
                        clap::error::ErrorKind::MissingRequiredArgument,
                        format!("--{option} stands before any --command\n"),
                    )
                })
        };
        let ratios: Vec<u32> = values(matches, "command-ratio");
        for (ratio, place) in ratios.into_iter().zip(indices(matches, "command-ratio")) {
            let index = owner("command-ratio", place)?;
            own.ratios[index] = ratio;
        }
        let patterns: Vec<KeyPattern> = values(matches, "command-key-pattern");
        let places = indices(matches, "command-key-pattern");
        for (pattern, place) in patterns.into_iter().zip(places) {
            let index = owner("command-key-pattern", place)?;
            own.patterns[index] = pattern;
        }
        Ok(own)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

fn values<T: Clone + Send + Sync + 'static>(matches: &ArgMatches, id: &str) -> Vec<T> {
    matches
        .get_many::<T>(id)
        .map_or_else(Vec::new, |values| values.cloned().collect())
}

fn indices(matches: &ArgMatches, id: &str) -> Vec<usize> {
    matches
        .indices_of(id)
        .map_or_else(Vec::new, Iterator::collect)
}
