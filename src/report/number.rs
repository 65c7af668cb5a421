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
        assert_eq!(share(2.204), "2.20");
        assert_eq!(p(0.0078), ".008");
        assert_eq!(p(0.0001), "< .001");
        assert_eq!(p(0.344), ".34");
        assert_eq!(p(1.0), "1");
    }
}
