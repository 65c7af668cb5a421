//! The whole of a search's `report.json`.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::report::CompareReport;

/// Version of the form of a search's `report.json`.
pub const BISECT_SCHEMA: &str = "perfblame.bisect/1";

/// A search through history: what `report.json` holds and every other form is made from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BisectReport {
    /// [`BISECT_SCHEMA`].
    pub schema: String,
    /// Version of perfblame that made the report.
    pub tool_version: String,
    /// When the search ended, RFC 3339 in UTC.
    pub created: String,
    /// Key of the experiment in the store.
    pub experiment: String,
    /// The end without the change.
    pub good: End,
    /// The end with it.
    pub bad: End,
    /// Whether GOOD is the newer end, so that every change is that from BAD to GOOD.
    pub swapped: bool,
    /// What was looked at: a metric's name, a function's, or a command line.
    pub measured: MeasuredValue,
    /// How the search ended.
    pub outcome: BisectOutcome,
    /// The outcome in a sentence.
    pub sentence: String,
    /// The first culprit that was certified; absent where none was.
    pub culprit: Option<CulpritReport>,
    /// What certified it.
    pub certificate: Option<CertificateReport>,
    /// Culprits after the first, where every step was looked for.
    #[serde(default)]
    pub further: Vec<FurtherCulprit>,
    /// BAD's value against GOOD's, from the trials of both ends; absent where they were not measured.
    pub gap: Option<ChangeReport>,
    /// The part of the gap that no certified culprit explains, in per cent of the gap; absent without
    /// a certified culprit, and for pass or fail.
    pub unexplained_pct: Option<f64>,
    /// Trials by purpose.
    pub trials: TrialCounts,
    /// Builds that were done, failed ones counted too.
    pub builds: u32,
    /// Commits after GOOD on the lines that were searched.
    pub commits: usize,
    /// Classes of commits that cannot differ, both ends among them.
    pub classes: usize,
    /// Commits that could not be measured.
    pub skipped: Vec<SkippedCommit>,
    /// The lines of history that were searched, in that order: the first parents from GOOD to BAD,
    /// then merged branches, then parts that were searched for further steps.
    pub lines: Vec<SearchedLine>,
    /// Functions that changed at the culprit, those that its diff touches first.
    #[serde(default)]
    pub explanation: Vec<Explanation>,
    /// The culprit against its parent, from the blocks of the certificate; absent without one, and
    /// for pass or fail.
    pub comparison: Option<CompareReport>,
    /// What a reader must know.
    #[serde(default)]
    pub notes: Vec<String>,
    /// Kernel, processor, governor, load and whatever else is known of the machine.
    #[serde(default)]
    pub machine: Value,
    /// The plan as it was carried out.
    #[serde(default)]
    pub plan: Value,
    /// Seed of every random choice.
    pub seed: u64,
    /// Seconds that the search took in all.
    pub seconds: f64,
    /// Shell commands that repeat the search.
    #[serde(default)]
    pub commands: Vec<String>,
}

/// An end of the search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// As the user gave it.
    pub rev: String,
    /// The commit that was measured: 40 hexadecimal digits.
    pub commit: String,
    /// First line of the commit message.
    pub subject_line: String,
}

/// What was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeasuredValue {
    /// Its kind.
    pub kind: MeasuredKind,
    /// A metric's name, a function's, or a command line.
    pub name: String,
    /// Which cost of a function: `self`, or `inclusive` of all that it calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<String>,
    /// `slower` or `faster` where only that was looked for.
    pub direction: Option<String>,
}

/// Kinds of value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MeasuredKind {
    /// A metric of the trial.
    Metric,
    /// A function's normalised cost.
    Function,
    /// Pass or fail.
    Script,
}

/// How a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BisectOutcome {
    /// A culprit was found and certified.
    Certified,
    /// The ends do not differ as far as their trials tell.
    EndsAlike,
    /// The ends differ, and the search says that there is no single step.
    NoCulprit,
    /// No two commits of the line can differ.
    SameProgram,
    /// The budget ran out.
    Undecided,
}

impl BisectOutcome {
    /// The word that stands before the sentence.
    pub fn word(self) -> &'static str {
        match self {
            Self::Certified => "certified",
            Self::EndsAlike => "no difference",
            Self::NoCulprit => "no culprit",
            Self::SameProgram => "same program",
            Self::Undecided => "undecided",
        }
    }
}

/// A culprit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CulpritReport {
    /// The commits that cannot be told apart, the oldest first; one as a rule. 40 hexadecimal digits
    /// each.
    pub commits: Vec<String>,
    /// First lines of their messages.
    pub subject_lines: Vec<String>,
    /// The commit that it was certified against.
    pub parent: String,
    /// First line of its message.
    pub parent_subject_line: String,
    /// What the search believed before the certificate.
    pub probability: f64,
    /// The step, from the certificate's blocks; for pass or fail in failures per trial.
    pub change: ChangeReport,
    /// The part of the gap between the ends that the step explains, in per cent.
    pub share_of_gap_pct: Option<f64>,
    /// The merge commit whose side branch it was found in.
    pub merged_by: Option<String>,
}

/// A culprit after the first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FurtherCulprit {
    /// The culprit.
    pub culprit: CulpritReport,
    /// What certified it.
    pub certificate: CertificateReport,
}

/// What certified a culprit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CertificateReport {
    /// Two-sided sign-flip p.
    pub p: f64,
    /// Number of fresh blocks.
    pub blocks: usize,
    /// Level of the attempt.
    pub alpha: f64,
    /// Which attempt, from 1.
    pub attempt: u32,
    /// Number of the first block in the store.
    pub first_block: u32,
}

/// A change, in per cent.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ChangeReport {
    /// The estimate: per cent of the earlier value, or percentage points of failures.
    pub change_pct: f64,
    /// About a 95 % interval: two standard errors on either side, on the scale of the search.
    pub ci95_pct: Option<[f64; 2]>,
}

/// Trials by purpose.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrialCounts {
    /// Of the ends.
    pub endpoints: usize,
    /// Of candidates, anchors among them.
    pub search: usize,
    /// Of certificates.
    pub certificate: usize,
}

/// A commit that could not be measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedCommit {
    /// 40 hexadecimal digits.
    pub commit: String,
    /// First line of the commit message.
    pub subject_line: String,
    /// Why.
    pub reason: String,
}

/// A line of history, and what the search believes of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchedLine {
    /// What line it is, in words.
    pub title: String,
    /// Classes of commits that cannot differ, the oldest first.
    pub classes: Vec<Belief>,
    /// Probability that there is no step on it.
    pub no_step_probability: f64,
    /// Place of the class that was certified.
    pub culprit: Option<usize>,
}

/// What the search believes of a class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Belief {
    /// Its commits, the oldest first.
    pub commits: Vec<String>,
    /// First line of the first one's message.
    pub subject_line: String,
    /// Probability that the step is here; 0 for the class of GOOD.
    pub probability: f64,
    /// Values of its trials on the scale of the search: log cost, log metric, or 0 and 1.
    pub values: Vec<f64>,
    /// Whether it was skipped.
    pub skipped: bool,
}

/// A function that changed at the culprit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// Canonical name.
    pub function: String,
    /// File name of its module.
    pub module: String,
    /// `regressed` or `improved`.
    pub verdict: crate::verdict::Verdict,
    /// Change in percentage points of the parent's CPU time.
    pub change_points: f64,
    /// Change in per cent; absent for new and gone functions.
    pub change_pct: Option<f64>,
    /// Whether the culprit's diff touches its lines, or only its file, or neither.
    pub touched: Touched,
    /// Source file, relative to the root of the tree, where debug information tells.
    pub file: Option<String>,
    /// First and last source line that was sampled.
    pub lines: Option<[u32; 2]>,
}

/// What a diff does to a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Touched {
    /// A hunk lies in or next to its sampled lines.
    Lines,
    /// Its file is changed elsewhere.
    File,
    /// Neither.
    No,
    /// Its source is not known.
    Unknown,
}

impl Touched {
    /// The words for it.
    pub fn words(self) -> &'static str {
        match self {
            Self::Lines => "the commit changes its lines",
            Self::File => "the commit changes its file",
            Self::No => "the commit does not touch it",
            Self::Unknown => "its source is not known",
        }
    }
}
