/* The arithmetic of fixed.h behind linkable names, for the tests. */
#include "fixed.h"

#define JOIN(a, b) a##_##b
#define NAME(prefix, operation) JOIN(prefix, operation)

s64 NAME(PREFIX, add)(s64 a, s64 b) { return fixed_add(a, b); }
s64 NAME(PREFIX, sub)(s64 a, s64 b) { return fixed_sub(a, b); }
s64 NAME(PREFIX, mul)(s64 a, s64 b) { return fixed_mul(a, b); }
s64 NAME(PREFIX, div)(s64 a, s64 b) { return fixed_div(a, b); }
s64 NAME(PREFIX, pow)(s64 base, u64 n) { return fixed_pow(base, n); }

s64 NAME(PREFIX, ratio)(s64 a, s64 divisor)
{
	struct fixed_divisor d = fixed_divisor(divisor);

	return fixed_ratio(a, &d);
}
