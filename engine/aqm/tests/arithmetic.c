/* The arithmetic of fixed.h behind linkable names. */
#include "fixed.h"

s64 add(s64 a, s64 b) { return fixed_add(a, b); }
s64 sub(s64 a, s64 b) { return fixed_sub(a, b); }
s64 mul(s64 a, s64 b) { return fixed_mul(a, b); }
s64 share(s64 a, s64 ratio) { return fixed_share(a, ratio); }
s64 quotient(s64 a, s64 b) { return fixed_div(a, b); }
s64 power(s64 base, u64 n) { return fixed_pow(base, n); }

/* functions of one word; the second is not used */
s64 root(s64 a, s64 b) { (void)b; return fixed_sqrt(a); }
s64 exponential(s64 a, s64 b) { (void)b; return fixed_exp2(a); }
s64 seconds(s64 ns, s64 b) { (void)b; return fixed_seconds((u64)ns); }
s64 logarithm(s64 a, s64 b) { (void)b; return fixed_log2(a); }

s64 ratio(s64 a, s64 divisor)
{
	struct fixed_divisor d = fixed_divisor(divisor);

	return fixed_ratio(a, &d);
}

u32 is_native(void) { return FIXED_NATIVE; }
