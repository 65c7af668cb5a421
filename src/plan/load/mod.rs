//! What load is put on a server: the `[load]` table of a plan and the options of `perfblame load`.

mod check;
mod external;
mod pattern;
mod spec;
mod values;

pub use check::LoadSpecError;
pub use external::{ExternalLoad, Preparation, ReaderKind};
pub use pattern::{KeyPattern, KeyPatterns};
pub use spec::{DEFAULT_REQUESTS, DEFAULT_SEED, LoadSpec};
pub use values::{Protocol, Range, Ratio, Requests, SizePattern, SizeWeights, ValueError};
