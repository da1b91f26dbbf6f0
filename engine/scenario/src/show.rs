//! Values in messages, always short.

use crate::value::Value;

/// Greatest number of characters of a text or a number.
const MOST: usize = 80;
/// Greatest number of items of a list or a table.
const MOST_ITEMS: usize = 6;
/// Greatest number of digits with which a whole number is shown.
const MOST_DIGITS: usize = 300;

impl Value {
    /// Returns the value in a form that its writer will recognise.
    pub fn shown(&self) -> String {
        match self {
            Self::Nothing => "None".into(),
            Self::Switch(on) => on.to_string(),
            Self::Whole(whole) => shortened(whole.to_string()),
            Self::Huge(digits) if digits.len() > MOST_DIGITS => "a far too large number".into(),
            Self::Huge(digits) => shortened(digits.clone()),
            Self::Number(number) => plain(*number),
            Self::Text(text) => shortened(quoted(text)),
            Self::Unprintable(shown) | Self::Other(shown) => shortened(shown.clone()),
            Self::Foreign(foreign) => foreign.name.clone(),
            Self::List(items) => {
                let mut shown: Vec<_> = items.iter().take(MOST_ITEMS).map(Self::shown).collect();
                if items.len() > MOST_ITEMS {
                    shown.push("...".into());
                }
                format!("[{}]", shown.join(", "))
            }
            Self::Table(fields) if fields.rows.is_empty() => "{}".into(),
            Self::Table(fields) => {
                let rows = fields.rows.iter().take(MOST_ITEMS);
                let mut shown: Vec<_> = rows
                    .map(|(name, value)| format!("{} = {}", shortened(name.clone()), value.shown()))
                    .collect();
                if fields.rows.len() > MOST_ITEMS {
                    shown.push("...".into());
                }
                format!("{{ {} }}", shown.join(", "))
            }
        }
    }
}

/// Shortens a long text to its first and its last part.
fn shortened(text: String) -> String {
    let count = text.chars().count();
    if count <= MOST {
        return text;
    }
    let first: String = text.chars().take((MOST - 3) / 2).collect();
    let last: String = text.chars().skip(count - MOST / 2 + 1).collect();
    format!("{first}...{last}")
}

/// Returns a text in quotation marks, on one line.
pub fn quoted(text: &str) -> String {
    let mut shown = String::from("'");
    for each in text.chars() {
        match each {
            '\'' => shown.push_str("\\'"),
            '\\' => shown.push_str("\\\\"),
            '\n' => shown.push_str("\\n"),
            '\t' => shown.push_str("\\t"),
            '\r' => shown.push_str("\\r"),
            each if each.is_control() && u32::from(each) < 256 => {
                shown.push_str(&format!("\\x{:02x}", u32::from(each)));
            }
            each if active_list_text(each) => {
                shown.push_str(&format!("\\u{:04x}", u32::from(each)))
            }
            each => shown.push(each),
        }
    }
    shown + "'"
}

/// True if what stands behind it is shown in another direction, to the end of the line: in a table,
/// other cells, too (Unicode, UAX #9: embeddings, overrides and isolates).
pub(crate) fn active_list_text(character: char) -> bool {
    matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Returns all digits of a number, with a point or an exponent: 0.0, 1e+16, 1e-09.
pub fn plain(number: f64) -> String {
    let (mantissa, exponent) = parts(format!("{number:e}"));
    match exponent {
        None if number.is_nan() => "nan".into(),
        None => mantissa,
        Some(exponent @ -4..16) => {
            let shown = number.to_string();
            if exponent >= 0 && !shown.contains('.') {
                return shown + ".0";
            }
            shown
        }
        Some(exponent) => format!("{mantissa}e{exponent:+03}"),
    }
}

/// Returns a number with at most six digits: 50000, 1e+06, 0.25, 1e-09.
pub fn rounded(number: f64) -> String {
    let (mantissa, exponent) = parts(format!("{number:.5e}"));
    let trimmed = |shown: String| match shown.contains('.') {
        true => shown.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => shown,
    };
    match exponent {
        None => plain(number),
        Some(exponent @ -4..6) => trimmed(format!("{number:.*}", (5 - exponent) as usize)),
        Some(exponent) => format!("{}e{exponent:+03}", trimmed(mantissa)),
    }
}

/// Returns mantissa and exponent of the output of `{:e}`; no exponent if the number is not finite.
fn parts(shown: String) -> (String, Option<i32>) {
    match shown.split_once('e') {
        Some((mantissa, exponent)) => (mantissa.into(), exponent.parse().ok()),
        None => (shown, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shown_with_all_digits_or_with_six() {
        let cases = [
            (0.0, "0.0", "0"),
            (-1.0, "-1.0", "-1"),
            (0.1, "0.1", "0.1"),
            (1.0 / 3.0, "0.3333333333333333", "0.333333"),
            (1e-4, "0.0001", "0.0001"),
            (1e-9, "1e-09", "1e-09"),
            (65_535.0, "65535.0", "65535"),
            (999_999.5, "999999.5", "1e+06"),
            (1e15, "1000000000000000.0", "1e+15"),
            (1e16, "1e+16", "1e+16"),
            (2_f64.powi(64), "1.8446744073709552e+19", "1.84467e+19"),
            (f64::INFINITY, "inf", "inf"),
            (f64::NEG_INFINITY, "-inf", "-inf"),
            (f64::NAN, "nan", "nan"),
        ];
        for (number, all, six) in cases {
            assert_eq!(
                (plain(number).as_str(), rounded(number).as_str()),
                (all, six)
            );
        }
    }

    #[test]
    fn long_values_are_shown_short() {
        let nines = "9".repeat(5000);
        assert_eq!(
            Value::Text(nines.clone()).shown(),
            format!("'{}...{}'", "9".repeat(37), "9".repeat(38))
        );
        assert_eq!(Value::Huge(nines).shown(), "a far too large number");
        let list = Value::List(vec![Value::Number(0.5); 1000]);
        assert_eq!(list.shown(), "[0.5, 0.5, 0.5, 0.5, 0.5, 0.5, ...]");
        assert_eq!(Value::Text("\u{1b}[31m\n".into()).shown(), "'\\x1b[31m\\n'");
    }
}
