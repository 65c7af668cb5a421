//! Flags that every command takes.

use std::io::IsTerminal;

/// Flags that every command takes.
#[derive(Debug, Clone, clap::Args)]
pub struct GlobalArgs {
    /// Says nothing but results and errors
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// When to colour
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub color: Color,
}

/// When to colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Color {
    /// Whether standard output is to be coloured.
    pub fn on_stdout(self) -> bool {
        match self {
            Self::Always => true,
            Self::Never => false,
            // https://no-color.org: any value that is not empty.
            Self::Auto => {
                std::io::stdout().is_terminal()
                    && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
            }
        }
    }
}
