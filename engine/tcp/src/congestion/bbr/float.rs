//! Conversions and comparisons that are needed at each ACK, in fewer instructions.

/// Returns a number as a floating-point one. Numbers are below 2^63: of a signed one this takes an
/// instruction, of an unsigned one five.
#[inline]
pub(super) fn float(number: u64) -> f64 {
    number as i64 as f64
}

/// Returns the larger and the smaller of two numbers, neither of which is NaN: that rule takes
/// `f64::max` and `f64::min` four more instructions.
#[inline]
pub(super) fn larger(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

#[inline]
pub(super) fn smaller(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}
