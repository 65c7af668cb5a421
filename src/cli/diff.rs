//! `perfblame diff`: a differential flame graph from saved profiles.

use std::path::PathBuf;

use anyhow::{Context as _, bail};

use crate::profile::format::folded::{Column, parse};
use crate::report::diff::{self, DiffTree, Options, Run, SavedRuns, Side, Source};
use crate::report::{plain, write_atomically};

use super::Exit;
use super::folded_file::{FoldedFile, not_in_order};
use super::profile_input::FoldedInput;

/// Draws what changed between saved profiles as a flame graph in which only real changes have colour
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  perfblame diff --base before.folded --head after.folded -o diff.svg
  perfblame diff --base b1.json b2.json b3.json --head h1.json h2.json h3.json -o diff.svg

Give several runs a side: one run cannot tell a change from how runs differ.
A folded file with two counts a line gives its first to --base and its last to --head.")]
pub struct Args {
    /// Profiles of what was before, one a run, in any format that perfblame reads
    #[arg(long, value_name = "FILE", num_args = 1.., required = true)]
    base: Vec<PathBuf>,
    /// Profiles of what is after, one a run
    #[arg(long, value_name = "FILE", num_args = 1.., required = true)]
    head: Vec<PathBuf>,
    /// The picture to write
    #[arg(short, long, value_name = "OUT.svg")]
    output: PathBuf,
    /// Title of the picture
    #[arg(long, default_value = "Differential flame graph")]
    title: String,
    /// Leave out frames narrower than this on both sides, in per cent of all samples
    #[arg(long, value_name = "PCT", default_value_t = 0.01)]
    min_width: f64,
}

/// Runs the command.
pub fn run(args: Args) -> anyhow::Result<Exit> {
    if !(0.0..=100.0).contains(&args.min_width) {
        bail!(
            "--min-width {} is no share in per cent: give 0 to 100",
            args.min_width
        );
    }
    let min_share = args.min_width / 100.0;
    let (tree, judgement) = match one_run_a_side(&args, min_share)? {
        Some(tree) => (tree, None),
        None => all_in_memory(&args, min_share)?,
    };
    let totals = [tree.total(Side::Base), tree.total(Side::Head)];
    if totals == [0, 0] {
        bail!("no profile has any samples: nothing to draw");
    }
    let (judged, subtitle) = match &judgement {
        Some(runs) => (runs.colours(&tree), runs.sentence()),
        None => (diff::poisson(&tree), ONE_RUN.to_string()),
    };
    let svg = diff::render(
        &tree,
        &judged,
        &Options {
            title: &args.title,
            subtitle: &subtitle,
            labels: ["base", "head"],
        },
    );
    write_atomically(&args.output, svg.as_bytes())?;
    say!("{subtitle}");
    if tree.too_deep > 0 {
        say!(
            "warning: {} frames are deeper than {} and are not drawn",
            tree.too_deep,
            diff::MAX_DEPTH
        );
    }
    if let Some(runs) = &judgement {
        let lines: Vec<String> = runs
            .changed()
            .iter()
            .map(|line| plain(line).into_owned())
            .collect();
        super::print(
            &lines
                .iter()
                .map(|line| format!("{line}\n"))
                .collect::<String>(),
        )?;
    }
    let (base, head) = (args.base.len(), args.head.len());
    if base != head {
        say!(
            "warning: {base} runs of base and {head} of head: runs are paired in the order given, \
             the rest is drawn and not judged"
        );
    }
    Ok(match judgement {
        Some(runs) if runs.has_regression() => Exit::Regression,
        _ => Exit::Ok,
    })
}

/// Draws two folded files as they are read; none where either has to be read as a whole first.
fn one_run_a_side(args: &Args, min_share: f64) -> anyhow::Result<Option<DiffTree>> {
    let ([base], [head]) = (args.base.as_slice(), args.head.as_slice()) else {
        return Ok(None);
    };
    let mut sources = Vec::new();
    for (side, column, path) in [
        (Side::Base, Column::Base, base),
        (Side::Head, Column::Head, head),
    ] {
        let Some(stacks) = FoldedFile::open(path, column)? else {
            return Ok(None);
        };
        sources.push(Source {
            side,
            total: stacks.total(),
            stacks,
        });
    }
    DiffTree::build_from(sources, min_share).map(Some)
}

/// Reads all profiles, and judges them where there are several a side.
fn all_in_memory(args: &Args, min_share: f64) -> anyhow::Result<(DiffTree, Option<SavedRuns>)> {
    let base = FoldedInput::read_all(&args.base)?;
    let head = FoldedInput::read_all(&args.head)?;
    let mut runs = Vec::new();
    for (side, column, inputs) in [
        (Side::Base, Column::Base, &base),
        (Side::Head, Column::Head, &head),
    ] {
        for input in inputs {
            let lines = parse(&input.text, column)
                .with_context(|| not_in_order(&input.path.display().to_string()))?;
            runs.push(Run { side, lines });
        }
    }
    let judgement = match base.len().min(head.len()) {
        1 => None,
        _ => Some(SavedRuns::judge(&runs)),
    };
    Ok((DiffTree::build(runs, min_share), judgement))
}

const ONE_RUN: &str =
    "one run a side: nothing here can be called significant; shaded beyond Poisson bounds";
