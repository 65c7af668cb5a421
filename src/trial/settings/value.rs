//! Values as the kernel shows them, and when one is what was asked for.

/// The value that a reading shows: the choice in brackets, where there are choices.
pub fn chosen(reading: &str) -> &str {
    let choice = reading
        .split_once('[')
        .and_then(|(_, rest)| rest.split_once(']'));
    choice.map_or(reading.trim(), |(choice, _)| choice.trim())
}

/// What has to be written to get back to a reading.
pub fn to_write(reading: &str) -> String {
    chosen(reading).to_owned()
}

/// Whether a reading shows a value. Numbers are numbers in any base, and a switch is on or off by
/// any of its names, so that `lru-gen = "y"` is what `0x0007` shows.
pub fn is(reading: &str, value: &str) -> bool {
    let (shown, value) = (chosen(reading), value.trim());
    if shown == value {
        return true;
    }
    match (number(shown), number(value)) {
        (Some(shown), Some(value)) => shown == value,
        (shown_number, None) => match (switch(value), shown_number, switch(shown)) {
            (Some(wanted), Some(number), _) => wanted == (number != 0),
            (Some(wanted), None, Some(shown)) => wanted == shown,
            _ => false,
        },
        (None, Some(value)) => switch(shown).is_some_and(|on| on == (value != 0) && value <= 1),
    }
}

fn number(text: &str) -> Option<i64> {
    match text.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

fn switch(text: &str) -> Option<bool> {
    match text {
        "y" | "Y" | "on" => Some(true),
        "n" | "N" | "off" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readings_show_values() {
        for (reading, value, same) in [
            ("always [madvise] never\n", "madvise", true),
            ("always [madvise] never\n", "always", false),
            ("60\n", "60", true),
            ("0x0007\n", "7", true),
            ("0x0007\n", "y", true),
            ("0x0000\n", "y", false),
            ("0x0000\n", "n", true),
            ("0x0007\n", "0x3", false),
            ("Y\n", "1", true),
            ("N\n", "0", true),
            ("Y\n", "n", false),
            ("N\n", "7", false),
            ("performance\n", "powersave", false),
            ("performance\n", "performance", true),
        ] {
            assert_eq!(is(reading, value), same, "{reading} {value}");
        }
    }

    #[test]
    fn what_is_written_back_is_the_choice() {
        assert_eq!(to_write("always [madvise] never\n"), "madvise");
        assert_eq!(to_write("0x0007\n"), "0x0007");
    }
}
