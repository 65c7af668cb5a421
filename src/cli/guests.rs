//! What `doctor` tells of guests: whether kernels can be measured here, and how fast.

use std::path::{Path, PathBuf};

use crate::executor::guest::{GuestError, KvmMemory, Programs, device_fault, tested};
use crate::executor::{Cancel, Supervisor};
use crate::trial::Advice;

/// Where a machine keeps its own kernels.
const KERNELS: &str = "/boot";

/// What was found of guests.
pub struct Guests {
    programs: Result<Programs, GuestError>,
    kvm: Kvm,
}

/// Whether KVM boots a kernel.
enum Kvm {
    /// It did.
    Boots,
    /// It cannot, or did not.
    Unusable(String),
    /// There is no kernel to try it with.
    Untried,
}

impl Guests {
    /// Looks for programs, and boots a kernel with KVM where there are both.
    pub fn look(kernel: Option<&Path>) -> Self {
        let programs = Programs::find();
        let kvm = match (&programs, device_fault()) {
            (_, Some(fault)) => Kvm::Unusable(fault),
            (Err(_), None) => Kvm::Untried,
            (Ok(programs), None) => match kernel.map(Path::to_owned).or_else(own_kernel) {
                Some(kernel) => try_boot(programs, &kernel),
                None => Kvm::Untried,
            },
        };
        Self { programs, kvm }
    }

    /// The row.
    pub fn in_words(&self) -> String {
        let programs = match &self.programs {
            Ok(programs) => format!(
                "QEMU {}, {}",
                programs.qemu_version,
                programs.busybox.display()
            ),
            Err(error) => return format!("no: {error}"),
        };
        match &self.kvm {
            Kvm::Boots => format!("by KVM ({programs})"),
            Kvm::Unusable(_) => format!("by translation, many times slower ({programs})"),
            Kvm::Untried => format!(
                "{programs}; KVM is tried with the first guest, or now with --kernel BZIMAGE"
            ),
        }
    }

    /// What is amiss.
    pub fn advice(&self) -> Option<Advice> {
        // What is not installed is told with the other tools for kernels.
        let (Ok(_), Kvm::Unusable(fault)) = (&self.programs, &self.kvm) else {
            return None;
        };
        Some(Advice {
            about: "guests".to_owned(),
            effect: format!(
                "KVM cannot be used ({fault}): guests are translated, and what is timed in them means little"
            ),
            mend: "use a machine whose KVM boots a kernel, or compare profiles under guest.icount"
                .to_owned(),
        })
    }

    /// The same for programs.
    pub fn json(&self) -> serde_json::Value {
        serde_json::json!({
            "qemu": self.programs.as_ref().ok().map(|programs| &programs.qemu_version),
            "busybox": self.programs.as_ref().ok().map(|programs| &programs.busybox),
            "missing": self.programs.as_ref().err().map(ToString::to_string),
            "kvm": match &self.kvm {
                Kvm::Boots => "boots",
                Kvm::Unusable(_) => "unusable",
                Kvm::Untried => "untried",
            },
            "why_not_kvm": match &self.kvm {
                Kvm::Unusable(fault) => Some(fault),
                Kvm::Boots | Kvm::Untried => None,
            },
        })
    }
}

/// The newest kernel of this machine's own that may be read.
fn own_kernel() -> Option<PathBuf> {
    let entries = std::fs::read_dir(KERNELS).into_iter().flatten().flatten();
    let kernels = entries.filter(|entry| {
        let name = entry.file_name();
        name.to_string_lossy().starts_with("vmlinuz-") && std::fs::File::open(entry.path()).is_ok()
    });
    let newest = kernels.max_by_key(|entry| entry.metadata().and_then(|file| file.modified()).ok());
    Some(newest?.path())
}

fn try_boot(programs: &Programs, kernel: &Path) -> Kvm {
    let tried = || -> Result<Option<String>, String> {
        let text = |error: std::io::Error| error.to_string();
        let dir = tempfile::tempdir().map_err(text)?;
        let supervisor = Supervisor::current().map_err(text)?;
        let cancel = Cancel::on_signals().map_err(text)?;
        let memory = KvmMemory::default();
        tested(kernel, programs, &memory, dir.path(), &supervisor, &cancel)
            .map(|test| test.fault)
            .map_err(|error| error.to_string())
    };
    match tried() {
        Ok(None) => Kvm::Boots,
        Ok(Some(fault)) | Err(fault) => Kvm::Unusable(fault),
    }
}
