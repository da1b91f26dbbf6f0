//! Compares `fixed.h` with exact rational arithmetic, with and without 128-bit integers.

use std::{fs, path::PathBuf, sync::OnceLock};

use libloading::{Library, Symbol};
use num_bigint::BigInt;
use num_rational::BigRational;
use proptest::{prelude::*, sample::select};

const ONE: i64 = 1 << 32;

type Binary = unsafe extern "C" fn(i64, i64) -> i64;

/// One build of `arithmetic.c`.
struct Arithmetic(Library);

impl Arithmetic {
    fn compile(name: &str, flags: &[&str]) -> Self {
        let folder = crate::common::headers("arithmetic");
        let source = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/arithmetic.c");
        fs::copy(source, folder.join("arithmetic.c")).unwrap();
        let library = crate::common::shared_library(&folder, "arithmetic.c", name, flags);
        // SAFETY: the library has no initialisers.
        Self(unsafe { Library::new(library.unwrap()) }.unwrap())
    }

    fn call(&self, operation: &str, a: i64, b: i64) -> i64 {
        // SAFETY: every operation of arithmetic.c takes two 64-bit words and returns one.
        unsafe {
            let function: Symbol<Binary> = self.0.get(operation.as_bytes()).unwrap();
            function(a, b)
        }
    }

    fn is_native(&self) -> bool {
        // SAFETY: as arithmetic.c declares it.
        unsafe {
            let function: Symbol<unsafe extern "C" fn() -> u32> = self.0.get(b"is_native").unwrap();
            function() != 0
        }
    }
}

/// Returns the native and the portable build.
fn builds() -> &'static [Arithmetic; 2] {
    static BUILDS: OnceLock<[Arithmetic; 2]> = OnceLock::new();
    BUILDS.get_or_init(|| {
        [
            Arithmetic::compile("native", &[]),
            Arithmetic::compile("portable", &["-DAQM_PORTABLE"]),
        ]
    })
}

/// Returns the result of both builds, which must have the same bits.
fn both(operation: &str, a: i64, b: i64) -> i64 {
    let [native, portable] = builds();
    let result = native.call(operation, a, b);
    assert_eq!(
        portable.call(operation, a, b),
        result,
        "portable {operation}({a}, {b})"
    );
    result
}

/// Any word; edge cases are frequent.
fn word() -> impl Strategy<Value = i64> {
    let edges = vec![0, 1, -1, ONE, ONE - 1, ONE + 1, -ONE, 1 - ONE, -ONE - 1];
    let ends = vec![i64::MIN, i64::MIN + 1, i64::MAX, i64::MAX - 1];
    let power = (0..63_u32, -1..=1_i64, any::<bool>()).prop_map(|(bit, off, negative)| {
        let word = (1_i64 << bit) + off;
        if negative { -word } else { word }
    });
    prop_oneof![
        3 => any::<i64>(),
        2 => select(edges),
        2 => select(ends),
        3 => power,
        2 => -4 * ONE..=4 * ONE,
    ]
}

/// A word within 0..=ONE, often close to an end.
fn share() -> impl Strategy<Value = i64> {
    prop_oneof![0..=ONE, 0..=16_i64, (0..=16_i64).prop_map(|off| ONE - off)]
}

fn big(word: i64) -> BigInt {
    BigInt::from(word)
}

/// Rounds to the nearest step, ties up, and clamps to 64 bits.
fn rounded(exact: BigRational) -> i64 {
    let half = BigRational::new(1.into(), 2.into());
    let step = (exact + half).floor().to_integer();
    i64::try_from(step.clamp(big(i64::MIN), big(i64::MAX))).unwrap()
}

/// Returns base^n in steps of 2^-288, too low by less than n steps.
fn power(base: i64, n: u64) -> BigInt {
    let (mut result, mut square) = (BigInt::from(1) << 288, big(base) << 256);
    for bit in 0..64 - n.leading_zeros() {
        if n >> bit & 1 == 1 {
            result = (result * &square) >> 288;
        }
        square = (&square * &square) >> 288;
    }
    result
}

/// Returns 2^a for 0 <= a < 1 (Q0.32) in steps of 2^-160, too low by less than 64 steps: the
/// product of 2^(1/2), 2^(1/4), ... for the bits of a that are set.
fn fractional_exponential(a: u32) -> BigInt {
    static ROOTS: OnceLock<Vec<BigInt>> = OnceLock::new();
    let roots = ROOTS.get_or_init(|| {
        let halve = |root: &BigInt| Some((root << 160_u32).sqrt());
        std::iter::successors(Some(BigInt::from(2) << 160), halve)
            .skip(1)
            .take(32)
            .collect()
    });
    (0..32).fold(BigInt::from(1) << 160, |product, bit| {
        if a >> (31 - bit) & 1 == 1 {
            (product * &roots[bit]) >> 160
        } else {
            product
        }
    })
}

/// Returns 2^a (Q31.32, |a| < 64) in steps of 2^-96, too low by less than one step.
fn exponential(a: i64) -> BigInt {
    let (whole, fraction) = (a >> 32, a as u32);
    (fractional_exponential(fraction) << 64_u32) >> (128 - whole) as u32
}

/// A word a for which 2^a fits into Q31.32, or nearly.
fn exponent() -> impl Strategy<Value = i64> {
    let near = (-36..=32_i64, -2..=2_i64).prop_map(|(whole, off)| whole * ONE + off);
    prop_oneof![4 => -36 * ONE..=32 * ONE, 1 => near]
}

#[test]
fn the_two_builds_differ() {
    let [native, portable] = builds();
    assert!(cfg!(not(target_pointer_width = "64")) || native.is_native());
    assert!(!portable.is_native());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6_000))]

    #[test]
    fn sums_saturate(a in word(), b in word()) {
        prop_assert_eq!(both("add", a, b), a.saturating_add(b));
        prop_assert_eq!(both("sub", a, b), a.saturating_sub(b));
    }

    #[test]
    fn products_round_to_the_nearest_step(a in word(), b in word()) {
        let exact = BigRational::new(big(a) * big(b), big(ONE));
        prop_assert_eq!(both("mul", a, b), rounded(exact));
    }

    #[test]
    fn products_that_are_ties_go_up(odd in -(1_i64 << 30)..1 << 30, bit in 0..32_u32) {
        let (a, b) = ((2 * odd + 1) << bit, 1 << (31 - bit));
        prop_assert_eq!(both("mul", a, b), odd + 1);
    }

    #[test]
    fn shares_are_the_products(a in word(), ratio in share()) {
        prop_assert_eq!(both("share", a, ratio), both("mul", a, ratio));
    }

    #[test]
    fn quotients_round_to_the_nearest_step(a in word(), b in word()) {
        let expected = match (a, b) {
            (0, 0) => 0,
            (_, 0) => if a < 0 { i64::MIN } else { i64::MAX },
            _ => rounded(BigRational::new(big(a) << 32, big(b))),
        };
        prop_assert_eq!(both("quotient", a, b), expected);
    }

    #[test]
    fn quotients_that_are_ties_go_up(odd in -(1_i64 << 30)..1 << 30, bit in 0..30_u32) {
        let (a, b) = ((2 * odd + 1) << bit, 1 << (33 + bit));
        prop_assert_eq!(both("quotient", a, b), odd + 1);
    }

    #[test]
    fn ratios_are_within_a_step(
        (divisor, a) in word()
            .prop_filter_map("a divisor is positive", |w| (w > 0).then_some(w))
            .prop_flat_map(|divisor| {
                let near = (0..=8_i64).prop_map(move |off| (divisor - off).max(0));
                (Just(divisor), prop_oneof![0..=divisor, near])
            })
    ) {
        let ratio = both("ratio", a, divisor);
        let off: BigInt = big(ratio) * big(divisor) - (big(a) << 32);
        prop_assert!(off.magnitude() < big(divisor).magnitude(), "{ratio}");
        prop_assert_eq!(both("ratio", 0, divisor), 0);
        prop_assert_eq!(both("ratio", divisor, divisor), ONE);
    }

    #[test]
    fn powers_are_within_a_step(base in share(), n in prop_oneof![0..=64_u64, 0..=1_u64 << 31]) {
        let off: BigInt = (big(both("power", base, n as i64)) << 256) - power(base, n);
        let step: BigInt = big(1) << 256;
        prop_assert!(off.magnitude() < step.magnitude());
    }

    #[test]
    fn powers_stay_within_0_and_1(base in share(), n in any::<u64>()) {
        let result = both("power", base, n as i64);
        prop_assert!((0..=ONE).contains(&result));
        prop_assert!(n == 0 || result <= base);
    }

    #[test]
    fn roots_round_to_the_nearest_step(a in word()) {
        let root = big(both("root", a, 0));
        let twice = 2 * &root;
        // (root - 1/2)^2 <= a 2^32 < (root + 1/2)^2, multiplied by 4
        let four_times = big(a.max(0)) << 34;
        prop_assert!(a <= 0 || (&twice - 1) * (&twice - 1) <= four_times);
        prop_assert!(four_times < (&twice + 1) * (&twice + 1));
        prop_assert!(a > 0 || root == big(0));
    }

    #[test]
    fn exponentials_are_within_a_step_up_to_2_to_the_26th(a in exponent()) {
        let found = both("exponential", a, 0);
        let exact = exponential(a);
        if a >= 31 * ONE {
            prop_assert_eq!(found, i64::MAX);
        } else {
            let off: BigInt = (big(found) << 64) - &exact;
            let slack: BigInt = (BigInt::from(1) << 64) + (exact >> 59);
            prop_assert!(off.magnitude() <= slack.magnitude(), "2^{a}: {found}");
        }
        let is_exact = a % ONE == 0 && (-32 * ONE..31 * ONE).contains(&a);
        prop_assert!(!is_exact || found.count_ones() == 1);
    }

    #[test]
    fn logarithms_are_within_a_step(a in word()) {
        let found = both("logarithm", a, 0);
        if a <= 0 {
            prop_assert_eq!(found, i64::MIN);
        } else {
            prop_assert!(exponential(found - 1) < big(a) << 64, "{found}");
            prop_assert!(big(a) << 64 < exponential(found + 1), "{found}");
        }
        prop_assert!(a <= 0 || a.count_ones() != 1 || found % ONE == 0);
    }

    #[test]
    fn extreme_exponents_saturate(a in word()) {
        let found = both("exponential", a, 0);
        prop_assert!(found >= 0);
        prop_assert!(a >= -34 * ONE || found == 0);
        prop_assert!(a < 31 * ONE || found == i64::MAX);
    }

    #[test]
    fn nanoseconds_become_seconds(ns in any::<u64>(), shift in 0..64_u32) {
        let ns = ns >> shift;
        let exact: BigInt = (BigInt::from(ns) << 32) / BigInt::from(1_000_000_000);
        let found = both("seconds", ns as i64, 0);
        prop_assert_eq!(big(found), exact.min(big(i64::MAX)));
    }
}
