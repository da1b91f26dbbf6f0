//! Parses the numbers of a trace, eight digits at a time, without a branch that depends on their
//! length.
//!
//! The digits of a 64-bit word are combined pairwise: bytes to pairs, pairs to fours, fours to
//! eight (Lemire, "Number parsing at a gigabyte per second", 2021).

use std::ops::Range;

const ZEROS: u64 = 0x3030_3030_3030_3030;

/// Parses a whole number of at most 19 digits.
#[inline(always)]
pub(crate) fn whole(text: &[u8], field: Range<usize>) -> Option<u64> {
    let length = field.end.wrapping_sub(field.start);
    if length.wrapping_sub(1) < 8 {
        let word = u64::from_le_bytes(load(text, field.start));
        // the shift removes what follows the field, and adds leading zeros
        eight((word ^ ZEROS) << (64 - 8 * length))
    } else {
        long(&text[field])
    }
}

/// Parses a time, s, which must not be negative. A number of at most 15 digits is a whole number
/// divided by a power of ten. Both are exact, so that one division rounds the result correctly
/// (Clinger 1990). The standard library parses other numbers.
#[inline(always)]
pub(crate) fn seconds(text: &[u8], field: Range<usize>) -> Option<f64> {
    let length = field.end.wrapping_sub(field.start);
    let point = point(u64::from_le_bytes(load(text, field.start)));
    if (1..8).contains(&point) && point < length && length <= 16 {
        let units = whole(text, field.start..field.start + point);
        let (start, decimals) = (field.start + point + 1, length - point - 1);
        let parts = match decimals {
            0 => Some(0),
            1..=8 => whole(text, start..field.end),
            _ => whole(text, start..start + 8)
                .zip(whole(text, start + 8..field.end))
                .map(|(high, low)| high * POWERS[decimals - 8] + low),
        };
        if let (Some(units), Some(parts)) = (units, parts) {
            let power = POWERS[decimals];
            // signed, because processors convert signed integers faster
            return Some((units * power + parts) as i64 as f64 / power as i64 as f64);
        }
    }
    other(&text[field])
}

/// Returns the place of the first decimal point among eight bytes, 8 if there is none.
#[inline(always)]
fn point(word: u64) -> usize {
    const ONES: u64 = u64::MAX / 0xff;
    let zero_there = word ^ (ONES * b'.' as u64);
    let marks = zero_there.wrapping_sub(ONES) & !zero_there & (ONES << 7);
    marks.trailing_zeros() as usize / 8
}

/// Returns the eight bytes from `start` on, with zeros behind the end of the text.
#[inline(always)]
fn load(text: &[u8], start: usize) -> [u8; 8] {
    match text.get(start..start + 8) {
        Some(bytes) => bytes.try_into().expect("as long as asked for"),
        None => {
            let rest = &text[start.min(text.len())..];
            std::array::from_fn(|k| rest.get(k).copied().unwrap_or(0))
        }
    }
}

/// Returns the number that eight digits form, the first one in the lowest byte; `None` if one is no
/// digit.
#[inline(always)]
fn eight(digits: u64) -> Option<u64> {
    if (digits.wrapping_add(0x0606_0606_0606_0606) | digits) & 0xf0f0_f0f0_f0f0_f0f0 != 0 {
        return None;
    }
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8);
    let even = (pairs & 0x0000_00ff_0000_00ff).wrapping_mul((1_000_000 << 32) + 100);
    let odd = (pairs >> 16 & 0x0000_00ff_0000_00ff).wrapping_mul((10_000 << 32) + 1);
    Some(even.wrapping_add(odd) >> 32)
}

#[cold]
fn long(field: &[u8]) -> Option<u64> {
    let digits = (1..=19).contains(&field.len()) && field.iter().all(u8::is_ascii_digit);
    // 19 digits always fit
    digits.then(|| {
        field
            .iter()
            .fold(0, |value, digit| 10 * value + u64::from(digit - b'0'))
    })
}

#[cold]
fn other(field: &[u8]) -> Option<f64> {
    let value: f64 = std::str::from_utf8(field).ok()?.parse().ok()?;
    (value.is_finite() && value >= 0.0).then_some(value)
}

/// Powers of ten; a double holds each exactly.
const POWERS: [u64; 16] = {
    let mut powers = [1; 16];
    let mut k = 1;
    while k < 16 {
        powers[k] = 10 * powers[k - 1];
        k += 1;
    }
    powers
};

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn whole_numbers(text in "[0-9]{1,21}", rest in "[ 0-9]{0,9}") {
            let found = whole(format!("7 {text}{rest}").as_bytes(), 2..2 + text.len());
            prop_assert_eq!(found, text.parse().ok().filter(|_| text.len() <= 19));
        }

        #[test]
        fn times_are_rounded_as_the_library_does(
            text in "[0-9]{1,8}(\\.[0-9]{0,15})?(e-[0-9])?", rest in "[ 0-9]{0,17}"
        ) {
            let found = seconds(format!("7 {text}{rest}").as_bytes(), 2..2 + text.len());
            prop_assert_eq!(found, text.parse().ok(), "{}", text);
        }

        #[test]
        fn what_is_no_number_is_none(text in "[-+.:/ex0-9\u{80}]{0,17}") {
            let bytes = text.as_bytes();
            let number = !bytes.is_empty() && bytes.iter().all(u8::is_ascii_digit);
            prop_assert_eq!(whole(bytes, 0..bytes.len()).is_some(), number);
            let time = text.parse::<f64>().ok().filter(|time| *time >= 0.0);
            prop_assert_eq!(seconds(bytes, 0..bytes.len()), time);
        }
    }
}
