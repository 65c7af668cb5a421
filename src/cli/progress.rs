//! The progress of an experiment on a terminal: a bar with the time left.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::experiment::Progress;

/// A bar on standard error where that is a terminal; lines without a bar elsewhere; nothing if quiet.
pub struct Terminal {
    bar: ProgressBar,
    quiet: bool,
    blocks_told: u32,
}

impl Terminal {
    /// A display that has not begun.
    pub fn new(quiet: bool) -> Self {
        Self {
            bar: ProgressBar::hidden(),
            quiet,
            blocks_told: 0,
        }
    }

    fn line(&self, text: &str) {
        if self.quiet {
            return;
        }
        // Subject lines and compilers' output may hold anything.
        let text = super::exit::shown(text);
        match self.bar.is_hidden() {
            true => eprintln!("{text}"),
            false => self.bar.println(text),
        }
    }
}

impl Progress for Terminal {
    fn note(&mut self, text: &str) {
        self.line(text);
    }

    fn trials(&mut self, all: usize, done: usize) {
        if !self.quiet && std::io::stderr().is_terminal() {
            self.bar
                .set_draw_target(ProgressDrawTarget::stderr_with_hz(4));
        }
        let style =
            ProgressStyle::with_template("{msg:16} {wide_bar} {pos}/{len} trials, {prefix} left");
        if let Ok(style) = style {
            self.bar.set_style(style);
        }
        self.bar.set_length(all as u64);
        self.bar.set_position(done as u64);
        self.bar.set_prefix("?");
    }

    fn trial(&mut self, block: u32, arm: &str) {
        self.bar.set_message(format!("block {} {arm}", block + 1));
        self.bar.tick();
        // Where no bar can be drawn, a line a block tells that something goes on.
        if self.bar.is_hidden() && block >= self.blocks_told {
            self.blocks_told = block + 1;
            self.line(&format!("block {}", block + 1));
        }
    }

    fn trial_done(&mut self, left: Duration) {
        let seconds = Duration::from_secs(left.as_secs().max(1));
        self.bar
            .set_prefix(humantime::format_duration(seconds).to_string());
        self.bar.inc(1);
    }

    fn finished(&mut self) {
        self.bar.finish_and_clear();
    }
}
