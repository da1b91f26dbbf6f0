/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Fixed-point arithmetic for AQMs: signed Q31.32.
 *
 * An s64 holds value * 2^32, so it reaches from -2^31 to 2^31 in steps of 2.3e-10.
 * Every operation saturates; none overflows. Products and quotients round to the
 * nearest step; ties round up. If the compiler has no 128-bit integers (BPF), or if
 * AQM_PORTABLE is defined, 64-bit parts give the same bits.
 */
#ifndef SLUICEGATE_FIXED_H
#define SLUICEGATE_FIXED_H

#include "aqm.h"

#define FIXED_ONE (1LL << 32)
#define FIXED_MAX 0x7fffffffffffffffLL
#define FIXED_MIN (-FIXED_MAX - 1)

#if defined(__SIZEOF_INT128__) && !defined(__BPF__) && !defined(AQM_PORTABLE)
#define FIXED_NATIVE 1
#else
#define FIXED_NATIVE 0
#endif

static inline s64 fixed_from_u32(u32 n)
{
	return n > 0x7fffffffU ? FIXED_MAX : (s64)n << 32;
}

/* Nanoseconds as Q31.32 seconds, rounded down. */
static inline s64 fixed_seconds(u64 ns)
{
	u64 whole = ns / 1000000000, rest = ns % 1000000000;

	return whole >> 31 ? FIXED_MAX : (s64)(whole << 32 | (rest << 32) / 1000000000);
}

static inline s64 fixed_add(s64 a, s64 b)
{
	s64 sum = (s64)((u64)a + (u64)b);

	if (((a ^ sum) & (b ^ sum)) < 0)
		return a < 0 ? FIXED_MIN : FIXED_MAX;
	return sum;
}

static inline s64 fixed_sub(s64 a, s64 b)
{
	s64 difference = (s64)((u64)a - (u64)b);

	if (((a ^ b) & (a ^ difference)) < 0)
		return a < 0 ? FIXED_MIN : FIXED_MAX;
	return difference;
}

/* The 128-bit product of two words; returns the upper half. */
static inline u64 fixed_wide(u64 a, u64 b, u64 *low)
{
#if FIXED_NATIVE
	unsigned __int128 product = (unsigned __int128)a * b;

	*low = (u64)product;
	return (u64)(product >> 64);
#else
	u64 a0 = (u32)a, a1 = a >> 32, b0 = (u32)b, b1 = b >> 32;
	u64 middle = a1 * b0 + ((a0 * b0) >> 32);
	u64 carry = a0 * b1 + (u32)middle;

	*low = (carry << 32) | (u32)(a0 * b0);
	return a1 * b1 + (middle >> 32) + (carry >> 32);
#endif
}

static inline u64 fixed_magnitude(s64 a)
{
	return a < 0 ? 0 - (u64)a : (u64)a;
}

static inline s64 fixed_mul(s64 a, s64 b)
{
#if FIXED_NATIVE
	__int128 product = ((__int128)a * b + (1LL << 31)) >> 32;

	if (product != (s64)product)
		return product < 0 ? FIXED_MIN : FIXED_MAX;
	return (s64)product;
#else
	/* all ones if negative; no branch, since the BPF verifier follows each both ways */
	u64 negative = (u64)((a ^ b) >> 63);
	u64 m = ((u64)a ^ (u64)(a >> 63)) - (u64)(a >> 63);
	u64 n = ((u64)b ^ (u64)(b >> 63)) - (u64)(b >> 63);
	u64 m0 = (u32)m, m1 = m >> 32, n0 = (u32)n, n1 = n >> 32;
	u64 upper = m1 * n1, middle = m1 * n0 + m0 * n1;
	/* ties round up: the magnitude of a negative product rounds down */
	u64 rounded = (upper << 32) + middle + ((m0 * n0 + (1ULL << 31) + negative) >> 32);

	if (upper >> 31 || (middle | rounded) >> 63)
		return negative ? FIXED_MIN : FIXED_MAX;
	return (s64)((rounded ^ negative) - negative);
#endif
}

/*
 * fixed_mul(a, ratio) for 0 <= ratio <= 1, with half of the multiplications where there are no
 * 128-bit integers: the product is no larger than a, so nothing saturates.
 */
static inline s64 fixed_share(s64 a, s64 ratio)
{
#if FIXED_NATIVE
	return (s64)(((__int128)a * ratio + (1LL << 31)) >> 32);
#else
	u64 negative = (u64)(a >> 63), m = ((u64)a ^ negative) - negative;
	u64 rounding = (1ULL << 31) + negative;
	u64 share = (m >> 32) * (u64)ratio + (((u32)m * (u64)ratio + rounding) >> 32);

	return (s64)((share ^ negative) - negative);
#endif
}

/* Returns the number of zeros above the highest bit that is set; a != 0. */
static inline u32 fixed_leading_zeros(u64 a)
{
	return (u32)__builtin_clzll(a);
}

/*
 * a / b; a division by zero saturates, and 0 / 0 is 0.
 *
 * The fraction is one digit of 32 bits: Knuth, The Art of Computer Programming, volume 2,
 * 4.3.1, algorithm D. There is no loop: the BPF verifier follows every path of a loop.
 */
static inline s64 fixed_div(s64 a, s64 b)
{
	u32 negative = (a < 0) != (b < 0), shift;
	u64 dividend = fixed_magnitude(a), divisor = fixed_magnitude(b);
	u64 whole, rest, upper, digit, left, quotient;

	if (!a)
		return 0;
	if (!b || dividend / divisor >> 31)
		return negative ? FIXED_MIN : FIXED_MAX;
	whole = dividend / divisor;
	shift = fixed_leading_zeros(divisor);
	rest = (dividend - whole * divisor) << shift;	/* below the divisor, so it fits */
	divisor <<= shift;
	upper = divisor >> 32;
	digit = rest / upper;
	left = rest - digit * upper;
	/* computed with the upper half of the divisor, the digit is at most 2 too large */
	if (digit >> 32 || digit * (u32)divisor > left << 32) {
		digit--;
		left += upper;
		if (!(left >> 32) && (digit >> 32 || digit * (u32)divisor > left << 32))
			digit--;
	}
	rest = (rest << 32) - digit * divisor;
	quotient = whole << 32 | digit;
	quotient += negative ? rest > divisor - rest : rest >= divisor - rest;
	if (negative)
		return (s64)(0 - quotient);
	return quotient >> 63 ? FIXED_MAX : (s64)quotient;
}

/* A divisor that is known in advance; to divide by it costs one multiplication. */
struct fixed_divisor {
	u64 inverse;	/* 2^127 / (divisor << shift) */
	u32 shift;
};

/* divisor > 0 */
static inline struct fixed_divisor fixed_divisor(s64 divisor)
{
	struct fixed_divisor d = { 0, 0 };
	u64 normal = (u64)divisor, rest = FIXED_MAX;
	u32 bit;

	for (bit = 0; bit < 63 && !(normal >> 63); bit++) {
		normal <<= 1;
		d.shift++;
	}
	/* (2^127 - 1) / normal by long division: all bits of the dividend are 1 */
	for (bit = 0; bit < 64; bit++) {
		u32 carry = rest >> 63;

		rest = rest << 1 | 1;
		d.inverse <<= 1;
		if (carry || rest >= normal) {
			rest -= normal;
			d.inverse |= 1;
		}
	}
	return d;
}

/* a / divisor for 0 <= a <= divisor, within one step; exact at both ends. */
static inline s64 fixed_ratio(s64 a, const struct fixed_divisor *d)
{
	u64 low, high = fixed_wide((u64)a << d->shift, d->inverse, &low);

	return (s64)((high + (1ULL << 30)) >> 31);
}

/*
 * base^n for 0 <= base <= 1; the error stays under one step up to n = 2^31. Masks of all ones or
 * none choose by the bits of n: of a branch the BPF verifier would follow both sides at each bit.
 */
static inline s64 fixed_pow(s64 base, u64 n)
{
	u64 power = (u64)base << 32, result = 0, low;	/* Q0.64 */
	u64 started = 0;	/* all ones once the result has a factor */
	u32 bit;

	if (!n || base >= FIXED_ONE)
		return FIXED_ONE;
	for (bit = 0; bit < 64 && n; bit++, n >>= 1) {
		u64 taken = 0 - (n & 1), product = fixed_wide(result, power, &low);

		product = (product & started) | (power & ~started);
		result ^= (product ^ result) & taken;
		started |= taken;
		power = fixed_wide(power, power, &low);
	}
	return (s64)((result >> 32) + (result >> 31 & 1));
}

#define FIXED_ROOT_LINE ((2ULL << 62) + 0xa1cac083126e980ULL)	/* 2.158, Q2.62 */

/*
 * The square root, rounded to the nearest step; 0 if a is not positive.
 *
 * m is the argument scaled to 1/4 <= m < 1. Newton's iteration y (3 - m y^2) / 2 converges to
 * 1 / sqrt(m) from below, and sqrt(m) is m / sqrt(m). It starts from a straight line whose error is
 * at most a tenth. Each step makes 3/2 e^2 of an error e, so after five steps only rounding errors
 * are left, below 2^-56. As in fixed_div(), no bit of the result costs a branch.
 */
static inline s64 fixed_sqrt(s64 a)
{
	u64 above = (u64)a >> 32, below = (u64)a << 32;	/* a 2^32, in 128 bits */
	u64 m, y, root, high, low;			/* m: Q0.64, y: Q2.62 */
	u32 shift, step;

	if (a <= 0)
		return 0;
	shift = fixed_leading_zeros((u64)a) & ~1U;
	m = (u64)a << shift;
	y = FIXED_ROOT_LINE - (m >> 2) - (m >> 4);
	for (step = 0; step < 5; step++) {
		u64 square = fixed_wide(y, y, &low);	/* Q4.60 */

		y = fixed_wide(y, (3ULL << 60) - fixed_wide(m, square, &low), &low) << 3;
	}
	root = fixed_wide(m, y, &low) >> (14 + shift / 2);
	/* (root + 1/2)^2 is root (root + 1) + 1/4 */
	high = fixed_wide(root, root + 1, &low);
	return (s64)(root + (high < above || (high == above && low < below)));
}

#define FIXED_LN2 0xb17217f7d1cf79acULL	/* ln 2, Q0.64 */

/* 2^a; results below 2^26 are within one step. */
static inline s64 fixed_exp2(s64 a)
{
	s64 whole = a >> 32;
	u64 low, y = fixed_wide((u64)a << 32, FIXED_LN2, &low);	/* fraction ln 2, Q0.64 */
	u64 power = 1ULL << 62;
	u32 n, shift;

	if (whole >= 31)
		return FIXED_MAX;
	if (whole < -33)
		return 0;
	/* e^y = 1 + y (1 + y/2 (1 + y/3 (...))), Q2.62; y^20 / 20! is below 2^-71 */
	for (n = 19; n > 0; n--)
		power = (1ULL << 62) + fixed_wide(y, power, &low) / n;
	shift = (u32)(30 - whole);
	return shift ? (s64)(((power >> (shift - 1)) + 1) >> 1) : (s64)power;
}

/* The logarithm to base 2, within one step; FIXED_MIN if a is not positive. */
static inline s64 fixed_log2(s64 a)
{
	u64 mantissa = (u64)a, fraction = 0, low;
	s64 whole = 31;
	u32 bit;

	if (a <= 0)
		return FIXED_MIN;
	for (bit = 0; bit < 63 && !(mantissa >> 63); bit++) {
		mantissa <<= 1;
		whole--;
	}
	/* squaring doubles the logarithm, which shows its next bit */
	for (bit = 0; bit < 33; bit++) {
		mantissa = fixed_wide(mantissa, mantissa, &low);
		fraction = fraction << 1 | mantissa >> 63;
		if (!(mantissa >> 63))
			mantissa <<= 1;
	}
	return whole * FIXED_ONE + (s64)((fraction + 1) >> 1);
}

#endif
