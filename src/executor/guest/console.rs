//! What a guest's console tells: where the guest is, and what became of it.

use std::path::Path;

/// What the init script puts before all that it says.
const OWN: &str = "perfblame-guest: ";
/// Lines of a console that are shown.
const SHOWN_LINES: usize = 12;
/// Characters of a line that are shown.
const SHOWN_COLUMNS: usize = 160;

/// The text of a console, without what a terminal would not show.
#[derive(Debug, Clone, Default)]
pub struct Console {
    lines: Vec<String>,
}

/// How a guest ended, as seen from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The machine ended by itself.
    Itself,
    /// It was ended, because no trial had begun in time.
    NotBooted,
    /// It was ended, because the trial was not done in time.
    NotDone,
}

/// Whose fault a guest's failure is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The plan's, or the kernel's configuration: every further guest would fail too.
    Setup,
    /// The kernel did not boot.
    Boot,
    /// It failed during the trial.
    Run,
}

impl Console {
    /// The console's file; empty where there is none.
    pub fn read(path: &Path) -> Self {
        Self::parse(&std::fs::read(path).unwrap_or_default())
    }

    /// The console of bytes.
    pub fn parse(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let lines = plain(&text)
            .split(['\n', '\r'])
            .map(str::trim_end)
            .filter(|line| !line.is_empty())
            .map(str::to_owned)
            .collect();
        Self { lines }
    }

    /// What the init script said after a word, the last time.
    fn said(&self, word: &str) -> Option<&str> {
        let of_own = self.lines.iter().rev().filter_map(|line| {
            let (_, own) = line.split_once(OWN)?;
            own.strip_prefix(word)
        });
        of_own.map(str::trim).next()
    }

    /// Whether a test boot reached the first process.
    pub fn is_alive(&self) -> bool {
        self.said("alive").is_some()
    }

    /// Whether the trial has begun.
    pub fn has_started(&self) -> bool {
        self.said("started").is_some()
    }

    /// The last line.
    pub fn last(&self) -> Option<&str> {
        self.lines.last().map(String::as_str)
    }

    /// Whether it has ended, well or not.
    pub fn has_ended(&self) -> bool {
        self.said("ended ").is_some()
    }

    /// Whether a Linux kernel has printed anything.
    pub fn shows_kernel(&self) -> bool {
        self.lines
            .iter()
            .any(|line| line.contains("Linux version "))
    }

    /// The kernel's release.
    pub fn release(&self) -> Option<&str> {
        self.said("kernel ")
    }

    /// Bytes that were swapped out, where the kernel counts them.
    pub fn swapped_out_bytes(&self) -> Option<u64> {
        const PAGE: u64 = 4096;
        self.said("swapped ")?
            .parse::<u64>()
            .ok()?
            .checked_mul(PAGE)
    }

    /// The process that the guest's kernel killed for want of memory.
    pub fn out_of_memory(&self) -> Option<String> {
        let line = self.lines.iter().rev().find_map(|line| {
            let (_, rest) = line.split_once("Killed process ")?;
            line.to_lowercase()
                .contains("out of memory")
                .then_some(rest)
        })?;
        let name = line.split_once('(')?.1.split_once(')')?.0;
        Some(format!(
            "the guest ran out of memory, and its kernel killed {name}: raise guest.memory or guest.swap, or load less"
        ))
    }

    /// What went wrong in the guest while its trial ran, although the trial may not have noticed.
    pub fn mishap(&self) -> Option<String> {
        let found = self.panic().or_else(|| self.out_of_memory());
        found.or_else(|| self.oops())
    }

    /// Says why there is no outcome.
    pub fn diagnose(&self, ending: Ending) -> (Fault, String) {
        let during = match self.has_started() {
            true => Fault::Run,
            false => Fault::Boot,
        };
        if let Some(reason) = self.said("failed: ") {
            return (Fault::Setup, format!("the guest: {reason}"));
        }
        if let Some(what) = self.mishap() {
            return (during, what);
        }
        if let (Ending::Itself, Some(code)) = (ending, self.said("ended ")) {
            return (
                Fault::Run,
                format!("the trial in the guest ended with code {code} and left no outcome"),
            );
        }
        let stalled = match self.stall() {
            Some(what) => format!("; its kernel says: {what}"),
            None => String::new(),
        };
        match ending {
            Ending::NotDone => (
                Fault::Run,
                format!("the guest hung: the trial was not done in time{stalled}"),
            ),
            Ending::NotBooted => (
                Fault::Boot,
                format!(
                    "the guest did not boot in time (guest.boot-timeout): {}{stalled}",
                    self.place()
                ),
            ),
            Ending::Itself => (
                during,
                format!("the guest ended by itself: {}", self.place()),
            ),
        }
    }

    fn panic(&self) -> Option<String> {
        let (_, reason) = self.find("Kernel panic - not syncing: ")?;
        let hint = match reason {
            _ if reason.contains("deadlocked on memory") || reason.contains("Out of memory") => {
                "; the guest has too little memory: raise guest.memory"
            }
            _ if reason.contains("Unable to mount root fs") => {
                "; the kernel took no initramfs: it needs CONFIG_BLK_DEV_INITRD"
            }
            _ if reason.contains("No working init") || reason.contains("Requested init") => {
                "; the kernel cannot run the initramfs: it needs CONFIG_BINFMT_ELF, CONFIG_BINFMT_SCRIPT and CONFIG_64BIT"
            }
            _ => "",
        };
        Some(format!("the guest's kernel panicked: {reason}{hint}"))
    }

    fn oops(&self) -> Option<String> {
        let marks = [
            "BUG: unable to handle ",
            "BUG: kernel ",
            "kernel BUG at ",
            "general protection fault",
            "Oops: ",
        ];
        let (line, _) = marks.iter().find_map(|mark| self.find(mark))?;
        Some(format!(
            "the guest's kernel met a fault of its own: {}",
            stamped_off(line)
        ))
    }

    fn stall(&self) -> Option<&str> {
        let marks = [
            "soft lockup",
            "hard LOCKUP",
            "detected stalls",
            "self-detected stall",
            "blocked for more than",
        ];
        let (line, _) = marks.iter().find_map(|mark| self.find(mark))?;
        Some(stamped_off(line))
    }

    fn find(&self, mark: &str) -> Option<(&str, &str)> {
        self.lines.iter().find_map(|line| {
            let (_, rest) = line.split_once(mark)?;
            Some((line.as_str(), rest))
        })
    }

    /// How far the guest got.
    fn place(&self) -> String {
        match (self.lines.last(), self.shows_kernel()) {
            (None, _) => {
                "it printed nothing: is it an x86-64 bzImage, with CONFIG_SERIAL_8250_CONSOLE?"
                    .to_owned()
            }
            (Some(_), true) => "its kernel ran and never reached the trial".to_owned(),
            (Some(last), false) => format!(
                "it stands at \"{}\", before its kernel has printed anything (CONFIG_SERIAL_8250_CONSOLE, CONFIG_PRINTK)",
                cut(last)
            ),
        }
    }

    /// The last lines, indented.
    pub fn tail(&self) -> String {
        let first = self.lines.len().saturating_sub(SHOWN_LINES);
        let shown: Vec<String> = self.lines[first..]
            .iter()
            .map(|line| format!("  {}", cut(line)))
            .collect();
        match shown.is_empty() {
            true => "  (nothing)".to_owned(),
            false => shown.join("\n"),
        }
    }
}

/// A kernel's line without `[    1.234567]`.
fn stamped_off(line: &str) -> &str {
    match line.split_once("] ") {
        Some((stamp, rest)) if stamp.trim_start().starts_with('[') => rest.trim(),
        _ => line.trim(),
    }
}

fn cut(line: &str) -> String {
    match line.char_indices().nth(SHOWN_COLUMNS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

/// Removes the sequences by which firmware moves a terminal's cursor, and other control characters.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => match chars.next() {
                // Parameters, up to the letter that ends them.
                Some('[') => {
                    let end = chars.find(|c| ('\u{40}'..='\u{7e}').contains(c));
                    // Where the cursor moves, a line ends.
                    if matches!(end, Some('H' | 'f' | 'J')) {
                        plain.push('\n');
                    }
                }
                _ => plain.push('\n'),
            },
            '\n' | '\r' => plain.push('\n'),
            c if c.is_control() => {}
            c => plain.push(c),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(name: &str) -> Console {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/recorded/guest");
        let text = std::fs::read(dir.join(name)).unwrap();
        assert!(!text.is_empty());
        Console::parse(&text)
    }

    #[test]
    fn recorded_consoles_are_understood() {
        for (name, ending, fault, said) in [
            (
                "panic.txt",
                Ending::Itself,
                Fault::Boot,
                "panicked: VFS: Unable to mount root fs",
            ),
            (
                "hangs-in-firmware.txt",
                Ending::NotBooted,
                Fault::Boot,
                "it stands at \"Booting from ROM...\"",
            ),
            (
                "cannot-mount.txt",
                Ending::Itself,
                Fault::Setup,
                "cannot mount the host's root",
            ),
            (
                "out-of-memory.txt",
                Ending::Itself,
                Fault::Run,
                "ran out of memory, and its kernel killed python3",
            ),
        ] {
            let console = recorded(name);
            let (found, what) = console.diagnose(ending);
            assert_eq!(found, fault, "{name}: {what}");
            assert!(what.contains(said), "{name}: {what}");
            let tail = console.tail();
            assert!(
                !tail.contains('\u{1b}') && tail.lines().count() <= SHOWN_LINES,
                "{tail}"
            );
        }
        let booted = recorded("out-of-memory.txt");
        assert!(booted.has_started() && booted.shows_kernel());
        assert_eq!(booted.release(), Some("6.1.192"));
        assert!(!recorded("hangs-in-firmware.txt").shows_kernel());
    }

    #[test]
    fn what_happened_is_told_in_words() {
        let booted =
            "Linux version 6.1.0\nperfblame-guest: kernel 6.1.0\nperfblame-guest: started\n";
        for (text, ending, fault, said) in [
            ("", Ending::NotBooted, Fault::Boot, "it printed nothing"),
            (
                "Linux version 6.1.0\nclocksource: x\n",
                Ending::NotBooted,
                Fault::Boot,
                "never reached the trial",
            ),
            (booted, Ending::NotDone, Fault::Run, "the guest hung"),
            (
                &format!(
                    "{booted}[   61.2] watchdog: BUG: soft lockup - CPU#0 stuck for 22s! [redis:7]\n"
                ),
                Ending::NotDone,
                Fault::Run,
                "its kernel says: watchdog: BUG: soft lockup",
            ),
            (
                &format!("{booted}[    9.1] BUG: unable to handle page fault for address: 0\n"),
                Ending::Itself,
                Fault::Run,
                "met a fault of its own: BUG: unable to handle page fault",
            ),
            (
                &format!(
                    "{booted}[    9.1] Kernel panic - not syncing: System is deadlocked on memory\n"
                ),
                Ending::Itself,
                Fault::Run,
                "raise guest.memory",
            ),
            (
                &format!("{booted}perfblame-guest: ended 101\n"),
                Ending::Itself,
                Fault::Run,
                "ended with code 101",
            ),
            (
                "perfblame-guest: failed: guest.swap: this kernel has no zram (CONFIG_ZRAM)\n",
                Ending::Itself,
                Fault::Setup,
                "no zram",
            ),
            (booted, Ending::Itself, Fault::Run, "ended by itself"),
        ] {
            let (found, what) = Console::parse(text.as_bytes()).diagnose(ending);
            assert_eq!(found, fault, "{text}: {what}");
            assert!(what.contains(said), "{text}: {what}");
        }
    }

    #[test]
    fn the_last_thing_said_counts() {
        let text = "perfblame-guest: swapped 3\nnoise perfblame-guest: swapped 256\r\nperfblame-guest: ended 0\n";
        let console = Console::parse(text.as_bytes());
        assert_eq!(console.swapped_out_bytes(), Some(1 << 20));
        assert_eq!(console.out_of_memory(), None);
        assert!(console.has_ended() && !console.has_started());
        assert_eq!(Console::parse(b"").tail(), "  (nothing)");
    }
}
