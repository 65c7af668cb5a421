//! How numbers are written for people.

/// Writes a value with about four significant digits, and thousands apart: `118,204`, `3.142`.
pub(super) fn value(x: f64) -> String {
    if !x.is_finite() {
        return "–".to_string();
    }
    let magnitude = x.abs();
    let decimals = match magnitude {
        m if m == 0.0 || m >= 1000.0 => 0,
        m if m >= 100.0 => 1,
        m if m >= 10.0 => 2,
        m if m >= 0.001 => 3,
        _ => return format!("{x:.2e}"),
    };
    group(&format!("{x:.decimals$}"))
}

/// Writes a value in its unit in at most nine columns: bytes as kB, MB and so on, others from ten
/// million on as M, G and so on. [`unit_beside`] is what stands beside the metric's name then.
pub(super) fn quantity(x: f64, unit: &str) -> String {
    let bytes = unit == BYTES;
    let least = if bytes { 999.95 } else { 1e7 };
    if !x.is_finite() || x.abs() < least {
        let mark = if bytes && x.is_finite() { " B" } else { "" };
        return value(x) + mark;
    }
    let unit = if bytes { "B" } else { "" };
    let prefixes = ["", "k", "M", "G", "T", "P", "E"];
    let mut scaled = x;
    let mut at = 0;
    // 999.95 would be written with a digit more than the width has.
    while scaled.abs() >= 999.95 && at + 1 < prefixes.len() {
        scaled /= 1e3;
        at += 1;
    }
    if scaled.abs() >= 999.95 {
        return format!("{x:.2e}").replace('-', "−");
    }
    let decimals = match scaled.abs() {
        m if m >= 99.995 => 1,
        m if m >= 9.9995 => 2,
        _ => 3,
    };
    let number = format!("{scaled:.decimals$}").replace('-', "−");
    format!("{number} {}{unit}", prefixes[at])
}

/// The unit that stands beside the name of a metric whose values [`quantity`] writes.
pub(super) fn unit_beside(unit: &str) -> &str {
    if unit == BYTES { "" } else { unit }
}

/// The unit of metrics that are sizes.
const BYTES: &str = "bytes";

/// Writes a statistic such as t with two decimals.
pub(super) fn statistic(x: f64) -> String {
    match x.is_finite() {
        true => format!("{x:.2}").replace('-', "−"),
        false => "–".to_string(),
    }
}

/// Writes a count with its thousands apart.
pub(super) fn count(n: u64) -> String {
    group(&n.to_string())
}

/// Puts commas between the thousands of a decimal number.
fn group(number: &str) -> String {
    let (sign, rest) = match number.strip_prefix('-') {
        Some(rest) => ("−", rest),
        None => ("", number),
    };
    let (whole, fraction) = match rest.find('.') {
        Some(dot) => rest.split_at(dot),
        None => (rest, ""),
    };
    let mut out = String::from(sign);
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out.push_str(fraction);
    out
}

/// Writes a change in per cent with its sign: `+3.1 %`, `−12 %`.
pub(super) fn change(pct: f64) -> String {
    match signed(pct) {
        Some(text) => format!("{text} %"),
        None => "–".to_string(),
    }
}

/// Writes an interval of changes in per cent: `−4.0 to −1.6 %`.
pub(super) fn interval(ci: [f64; 2]) -> String {
    match (signed(ci[0]), signed(ci[1])) {
        (Some(lo), Some(hi)) => format!("{lo} to {hi} %"),
        _ => "–".to_string(),
    }
}

/// A signed percentage without its unit; none for what is not a number.
fn signed(pct: f64) -> Option<String> {
    if pct.is_nan() {
        return None;
    }
    if pct.is_infinite() {
        return Some(if pct > 0.0 { "+∞" } else { "−∞" }.to_string());
    }
    let text = match pct.abs() {
        m if m >= 9.995e11 => "> 999G".to_string(),
        m if m >= 9.995e8 => format!("{:.0}G", m / 1e9),
        m if m >= 9.995e5 => format!("{:.0}M", m / 1e6),
        m if m >= 9.9995e3 => format!("{:.0}k", m / 1e3),
        m if m >= 99.95 => format!("{:.0}", pct.abs()),
        m if m >= 9.995 => format!("{:.1}", pct.abs()),
        _ => format!("{:.2}", pct.abs()),
    };
    let is_zero = text.bytes().all(|b| matches!(b, b'0' | b'.'));
    let sign = match (is_zero, pct < 0.0) {
        (true, _) => "",
        (false, true) => "−",
        (false, false) => "+",
    };
    Some(format!("{sign}{}", group(&text)))
}

/// Writes a share in per cent without its unit: `2.20`, `12.4`.
pub(super) fn share(pct: f64) -> String {
    match pct {
        p if !p.is_finite() => "–".to_string(),
        p if p >= 99.95 => format!("{p:.0}"),
        p if p >= 9.995 => format!("{p:.1}"),
        p => format!("{p:.2}"),
    }
}

/// Writes a p: `.008`, `< .001`.
pub(super) fn p(p: f64) -> String {
    if !p.is_finite() {
        return "–".to_string();
    }
    if p < 0.001 {
        return "< .001".to_string();
    }
    if p >= 0.9995 {
        return "1".to_string();
    }
    let text = if p < 0.1 {
        format!("{p:.3}")
    } else {
        format!("{p:.2}")
    };
    text.trim_start_matches('0').to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(value(118_203.7), "118,204");
        assert_eq!(value(-1_234_567.0), "−1,234,567");
        assert_eq!(value(2.61803), "2.618");
        assert_eq!(value(0.0), "0");
        assert_eq!(value(f64::NAN), "–");
        assert_eq!(count(1_000), "1,000");
        assert_eq!(change(-2.804), "−2.80 %");
        assert_eq!(change(141.2), "+141 %");
        assert_eq!(change(-0.001), "0.00 %");
        assert_eq!(change(f64::INFINITY), "+∞ %");
        assert_eq!(interval([-4.0, 1.6]), "−4.00 to +1.60 %");
        assert_eq!(change(9_999.4), "+9,999 %");
        assert_eq!(change(40_601.98), "+41k %");
        assert_eq!(interval([-99.99, 2_304_450.5]), "−100 to +2M %");
        assert_eq!(share(2.204), "2.20");
        assert_eq!(p(0.0078), ".008");
        assert_eq!(p(0.0001), "< .001");
        assert_eq!(p(0.344), ".34");
        assert_eq!(p(1.0), "1");
    }

    #[test]
    fn quantities_keep_to_nine_columns() {
        for (x, unit, text) in [
            (19_854_336.0, "bytes", "19.85 MB"),
            (999_960.0, "bytes", "1.000 MB"),
            (512.0, "bytes", "512.0 B"),
            (0.0, "bytes", "0 B"),
            (-4.2e12, "bytes", "−4.200 TB"),
            (1_695_728.4, "ops/s", "1,695,728"),
            (16_957_284.0, "ops/s", "16.96 M"),
            (9.994e20, "ops/s", "999.4 E"),
            (1e30, "ops/s", "1.00e30"),
            (0.00012, "ms", "1.20e-4"),
            (f64::NAN, "bytes", "–"),
        ] {
            assert_eq!(quantity(x, unit), text);
            assert!(text.chars().count() <= 9);
        }
        for power in -3..300 {
            let text = quantity(-9.9996 * 10f64.powi(power), "bytes");
            assert!(text.chars().count() <= 9, "{text}");
        }
    }
}
