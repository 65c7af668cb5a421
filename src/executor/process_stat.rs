//! What the kernel says of a process in one line, `/proc/PID/stat`; see `proc_pid_stat(5)`.

/// A process at one moment. Times are in clock ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessStat {
    /// `R` running, `S` sleeping, `Z` ended and not waited for, and others.
    pub state: char,
    /// The parent's number.
    pub parent: i32,
    /// Minor and major faults, of its ended children too.
    pub page_faults: u64,
    /// Time in user and in system mode.
    pub own_ticks: [u64; 2],
    /// The same of its ended children.
    pub children_ticks: [u64; 2],
    /// When it started, since boot.
    pub start_ticks: u64,
    /// Resident pages.
    pub resident_pages: u64,
}

impl ProcessStat {
    /// Reads what is known of a process; `None` where there is none.
    pub fn read(pid: i32) -> Option<Self> {
        let text = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
        Self::parse(&String::from_utf8_lossy(&text))
    }

    /// The command name stands in parentheses and may itself hold any character, so the fields are
    /// counted from the last closing parenthesis.
    fn parse(text: &str) -> Option<Self> {
        let (_, rest) = text.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
        // Those of children are printed as signed numbers.
        let ticks = |at: usize| number(at).unwrap_or(0);
        Some(Self {
            state: fields.first()?.chars().next()?,
            parent: fields.get(1)?.parse().ok()?,
            page_faults: (7..=10).map(ticks).sum(),
            own_ticks: [11, 12].map(ticks),
            children_ticks: [13, 14].map(ticks),
            start_ticks: number(19)?,
            resident_pages: number(21).unwrap_or(0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_and_spaces_does_not_shift_the_fields() {
        let text = "42 (a) b (c) S 7 42 42 0 -1 4194560 1 2 3 4 5 6 7 -8 20 0 1 0 987654 9 12 3";
        let stat = ProcessStat {
            state: 'S',
            parent: 7,
            page_faults: 1 + 2 + 3 + 4,
            own_ticks: [5, 6],
            children_ticks: [7, 0],
            start_ticks: 987_654,
            resident_pages: 12,
        };
        assert_eq!(ProcessStat::parse(text), Some(stat));
    }

    #[test]
    fn half_a_line_is_no_process() {
        assert_eq!(ProcessStat::parse("42 (sh) S 7 42"), None);
        assert_eq!(ProcessStat::parse(""), None);
    }
}
