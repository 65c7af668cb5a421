//! Numbers as R prints them, so that a result can be laid beside one of R's.

/// Most significant digits that a double is worth.
const MOST_DIGITS: usize = 15;

/// A number to `digits` significant digits without trailing zeros: R's `format(x, digits)`.
/// Exponents as R writes them, where that is shorter.
pub fn significant(value: f64, digits: usize) -> String {
    significant_together(&[value], digits).remove(0)
}

/// Several numbers with as many decimals as the one that needs most to show `digits` significant
/// digits: R's `format(c(…), digits)`.
pub fn significant_together(values: &[f64], digits: usize) -> Vec<String> {
    let digits = digits.clamp(1, MOST_DIGITS);
    let forms: Vec<Form> = values.iter().map(|v| Form::of(*v, digits)).collect();
    let decimals = forms.iter().map(|f| f.decimals).max().unwrap_or(0);
    let mantissa = forms.iter().map(|f| f.digits - 1).max().unwrap_or(0);
    let fixed: Vec<String> = values.iter().map(|v| format!("{v:.decimals$}")).collect();
    let scientific: Vec<String> = values.iter().map(|v| exponent_form(*v, mantissa)).collect();
    let width = |texts: &[String]| texts.iter().map(String::len).max().unwrap_or(0);
    if width(&fixed) <= width(&scientific) {
        fixed
    } else {
        scientific
    }
}

/// A p-value as R's tests print it: four significant digits, `< 2.2e-16` below what a double
/// tells from 0.
pub fn p_value(p: f64) -> String {
    if p < f64::EPSILON {
        "< 2.2e-16".to_owned()
    } else {
        significant(p, 4)
    }
}

/// How many digits a number needs.
struct Form {
    /// Significant digits without trailing zeros.
    digits: usize,
    /// Decimals that show them.
    decimals: usize,
}

impl Form {
    fn of(value: f64, digits: usize) -> Self {
        let text = format!("{:.*e}", digits - 1, value);
        let Some((mantissa, exponent)) = text.split_once('e') else {
            return Self {
                digits: 1,
                decimals: 0,
            };
        };
        let exponent: i64 = exponent.parse().unwrap_or(0);
        let figures = mantissa.trim_start_matches('-').replace('.', "");
        let digits = figures.trim_end_matches('0').len().max(1);
        let decimals = (digits as i64 - 1 - exponent).max(0) as usize;
        Self { digits, decimals }
    }
}

fn exponent_form(value: f64, mantissa: usize) -> String {
    let text = format!("{value:.mantissa$e}");
    match text.split_once('e') {
        Some((figures, exponent)) => {
            let (sign, size) = match exponent.strip_prefix('-') {
                Some(size) => ('-', size),
                None => ('+', exponent),
            };
            format!("{figures}e{sign}{size:0>2}")
        }
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_r_prints_them() {
        assert_eq!(significant(-2.677_281, 5), "-2.6773");
        assert_eq!(significant(17.980_4, 5), "17.98");
        assert_eq!(significant(0.003_810_87, 5), "0.0038109");
        assert_eq!(significant(3.010_6e-5, 4), "3.011e-05");
        assert_eq!(significant(0.000_324_31, 4), "0.0003243");
        assert_eq!(significant(466_430.5, 7), "466430.5");
        assert_eq!(p_value(1e-20), "< 2.2e-16");
        assert_eq!(p_value(5.981e-14), "5.981e-14");
        assert_eq!(
            significant_together(&[-0.109_265_871, -0.010_734_129], 7),
            ["-0.10926587", "-0.01073413"]
        );
        assert_eq!(
            significant_together(&[-12_216.641, 774.240_02], 7),
            ["-12216.64", "774.24"]
        );
        assert_eq!(significant_together(&[1.84, 1.9], 7), ["1.84", "1.90"]);
    }

    #[test]
    fn odd_numbers_do_no_harm() {
        assert_eq!(significant(0.0, 5), "0");
        assert_eq!(significant(f64::NAN, 5), "NaN");
        assert_eq!(significant(1e300, 3), "1e+300");
        assert!(significant_together(&[], 7).is_empty());
    }
}
