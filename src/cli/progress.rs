//! The progress of an experiment on a terminal: a bar with the time left.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::experiment::{Progress, SearchState};
use crate::trial::settings::recover;

/// A bar on standard error where that is a terminal; lines without a bar elsewhere; nothing if quiet.
pub struct Terminal {
    bar: ProgressBar,
    quiet: bool,
    blocks_told: u32,
    id: Option<String>,
}

impl Terminal {
    /// A display that has not begun.
    pub fn new(quiet: bool) -> Self {
        Self {
            bar: ProgressBar::hidden(),
            quiet,
            blocks_told: 0,
            id: None,
        }
    }

    /// How an interrupted experiment of this kind is gone on with.
    pub fn resumable(&self, command: &str) -> String {
        let id = self.id.as_deref().unwrap_or("ID");
        format!(
            "interrupted; what was measured is kept: `perfblame {command} --resume {id}` goes on"
        )
    }

    /// Restores settings of the machine that a killed run, or a trial that was just interrupted, left
    /// changed, and says so. What cannot be restored stops only a trial that has settings itself.
    pub fn restore_settings(&self) {
        match recover() {
            Ok(names) => {
                for name in names {
                    self.line(&format!("setting {name} was left changed, and is restored"));
                }
            }
            Err(error) => self.line(&format!("warning: {error}")),
        }
    }

    fn line(&self, text: &str) {
        if self.quiet {
            return;
        }
        // Subject lines and compilers' output may hold anything.
        let text = super::exit::shown(text);
        match self.bar.is_hidden() {
            true => say!("{text}"),
            false => self.bar.println(text),
        }
    }
}

impl Progress for Terminal {
    fn note(&mut self, text: &str) {
        self.line(text);
    }

    fn began(&mut self, id: &str) {
        self.id = Some(id.to_owned());
    }

    fn trials(&mut self, all: usize, done: usize) {
        if self.bar.is_finished() {
            self.bar = ProgressBar::hidden();
        }
        self.blocks_told = 0;
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

    fn search(&mut self, state: &SearchState) {
        let left = Duration::from_secs(state.left.as_secs().max(1));
        let text = format!(
            "trial {}: {} of {} commits left; {:.0} % {}; no step {:.0} %; about {} left",
            state.trials,
            state.commits_left,
            state.commits,
            100.0 * state.probability,
            super::exit::shown(&state.candidate),
            100.0 * state.no_step,
            humantime::format_duration(left)
        );
        if self.quiet {
            return;
        }
        if !std::io::stderr().is_terminal() {
            self.line(&text);
            return;
        }
        if self.bar.is_hidden() || self.bar.is_finished() {
            self.bar = ProgressBar::new_spinner();
            self.bar
                .set_draw_target(ProgressDrawTarget::stderr_with_hz(4));
        }
        if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
            self.bar.set_style(style);
        }
        self.bar.set_message(text);
        self.bar.tick();
    }

    fn finished(&mut self) {
        self.bar.finish_and_clear();
    }
}
