//! Numbers with a unit behind them, such as `20M` or `20ms`, which a field may have in place of a
//! number in its own unit.

/// A unit that fields have, and what may stand behind a number there.
struct Known {
    unit: &'static str,
    /// What may stand behind a number, with its power of ten.
    scales: &'static [(&'static str, i32)],
    /// What may follow, or be left out.
    tails: &'static [&'static str],
    example: &'static str,
}

const KNOWN: [Known; 2] = [
    Known {
        unit: "bits/s",
        scales: &[("", 0), ("k", 3), ("K", 3), ("M", 6), ("G", 9), ("T", 12)],
        tails: &["", "bit/s", "bits/s", "bit", "b/s", "bps"],
        example: "20M",
    },
    Known {
        unit: "s",
        scales: &[("ns", -9), ("us", -6), ("ms", -3), ("s", 0)],
        tails: &[""],
        example: "20ms",
    },
];

fn known(unit: &str) -> Option<&'static Known> {
    KNOWN.iter().find(|known| known.unit == unit)
}

/// Returns an example of a number with its unit, for a field in `unit`; `None` if such a field takes
/// plain numbers only.
pub fn example(unit: &str) -> Option<&'static str> {
    known(unit).map(|known| known.example)
}

/// Returns the regular expression of the texts that `quantity` reads, for the schema.
pub(crate) fn pattern(unit: &str) -> Option<String> {
    let known = known(unit)?;
    let words = |words: &mut dyn Iterator<Item = &&str>| {
        let words: Vec<&str> = words.copied().filter(|word| !word.is_empty()).collect();
        words.join("|")
    };
    let scales = words(&mut known.scales.iter().map(|(scale, _)| scale));
    let tails = words(&mut known.tails.iter());
    // a scale may be left out where a number alone is known to be in the unit
    let optional = |words: String, left_out: bool| match (words.is_empty(), left_out) {
        (true, _) => String::new(),
        (false, true) => format!("({words})?"),
        (false, false) => format!("({words})"),
    };
    let alone = known.scales.iter().any(|(scale, _)| scale.is_empty());
    Some(format!(
        "^ *-?([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]+)? *{}{} *$",
        optional(scales, alone),
        optional(tails, true)
    ))
}

/// Returns the number that a text means in `unit`; `None` if it means none. It is the same number
/// as when it is written out: `70ms` is 0.07, with no error from a multiplication.
pub fn quantity(text: &str, unit: &str) -> Option<f64> {
    let known = known(unit)?;
    let (mantissa, exponent, behind) = split(text.trim())?;
    let (_, scale) = known.scales.iter().find(|(scale, _)| {
        let tail = behind.strip_prefix(scale);
        tail.is_some_and(|tail| known.tails.contains(&tail))
    })?;
    format!("{mantissa}e{}", exponent.checked_add(*scale)?)
        .parse()
        .ok()
}

/// Splits a text into mantissa, exponent, and what is behind the number.
fn split(text: &str) -> Option<(&str, i32, &str)> {
    let digits = |text: &str| {
        let other = |each: char| !each.is_ascii_digit() && each != '.';
        text.find(other).unwrap_or(text.len())
    };
    let sign = usize::from(text.starts_with('-'));
    let end = sign + digits(&text[sign..]);
    let (mantissa, rest) = text.split_at(end);
    if let Some(power) = rest.strip_prefix(['e', 'E']) {
        let sign = usize::from(power.starts_with(['+', '-']));
        let end = sign + power[sign..].bytes().take_while(u8::is_ascii_digit).count();
        if end > sign {
            return Some((
                mantissa,
                power[..end].parse().ok()?,
                power[end..].trim_start(),
            ));
        }
    }
    Some((mantissa, 0, rest.trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_with_a_unit_is_the_number_written_out() {
        let cases = [
            ("20M", "bits/s", Some(20e6)),
            ("1.5 Gbit/s", "bits/s", Some(1.5e9)),
            ("256kbps", "bits/s", Some(256e3)),
            ("50e6", "bits/s", Some(50e6)),
            (".5T", "bits/s", Some(5e11)),
            ("100 bits/s", "bits/s", Some(100.0)),
            ("70ms", "s", Some(0.07)),
            ("0.3us", "s", Some(3e-7)),
            ("5 s", "s", Some(5.0)),
            ("-5ms", "s", Some(-0.005)),
            ("1e3ms", "s", Some(1.0)),
            // nothing says which unit
            ("20", "s", None),
            ("20M", "s", None),
            ("20ms", "bits/s", None),
            ("20m", "bits/s", None),
            ("M", "bits/s", None),
            ("1.2.3M", "bits/s", None),
            ("0x10M", "bits/s", None),
            ("infM", "bits/s", None),
            ("1e99999999999", "bits/s", None),
            ("", "bits/s", None),
            ("20M", "packets", None),
        ];
        for (text, unit, number) in cases {
            assert_eq!(quantity(text, unit), number, "{text} in {unit}");
        }
    }
}
