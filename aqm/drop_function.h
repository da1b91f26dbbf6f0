/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Drop functions of the RED family: from the average queue to the probability that a packet
 * is dropped. All are 0 below min_th; u = (average - min_th) / (max_th - min_th).
 *
 *   linear        max_p u;                           1 from max_th on
 *                 Floyd & Jacobson 1993, section IV
 *   gentle        max_p u;  from max_th to 2 max_th a line from max_p to 1
 *                 Floyd, "Recommendation on using the gentle variant of RED", 2000
 *   double_slope  a line from 0 to 1 - gamma at u = `middle`, then a line to 1
 *                 Zheng & Atiquzzaman 2000 (DSRED), with min_th = K_l, max_th = K_h
 *                 and middle = (K_m - K_l) / (K_h - K_l). The paper's slopes 2 (1 - gamma)
 *                 and 2 gamma hold for middle = 1/2 only; with any other bend the function
 *                 would jump there. So each slope is computed from its line
 *   cubic         max_p ((1 - c2 - c3) u + c2 u^2 + c3 u^3), held within [0, 1];
 *                                                    1 from max_th on
 *                 c2 = 1, c3 = 0: Zhou, Yeung & Li 2006 (NLRED); any cubic: Domanska,
 *                 Augustyn & Domanski 2012, whose basis max_p u + A1 u (1 - u)
 *                 + A2 u^2 (1 - u) is c2 = (A2 - A1) / max_p, c3 = -A2 / max_p
 */
#ifndef SLUICEGATE_DROP_FUNCTION_H
#define SLUICEGATE_DROP_FUNCTION_H

#include "fixed.h"

enum drop_function {
	DROP_FUNCTION_LINEAR,
	DROP_FUNCTION_GENTLE,
	DROP_FUNCTION_DOUBLE_SLOPE,
	DROP_FUNCTION_CUBIC,
};

struct drop_function_config {
	s64 min_th, max_th;		/* Q31.32 packets */
	s64 max_p;			/* Q31.32, as all that follow */
	s64 middle, bend_p;		/* the bend, and the probability there */
	s64 slope_below, slope_above;
	s64 c1, c2, c3;			/* max_p included */
	struct fixed_divisor range, max_th_divisor;
	enum drop_function shape;
};

static inline s64 drop_function_double_slope(const struct drop_function_config *c, s64 u)
{
	if (u < c->middle)
		return fixed_mul(c->slope_below, u);
	return c->bend_p + fixed_mul(c->slope_above, u - c->middle);
}

static inline s64 drop_function_cubic(const struct drop_function_config *c, s64 u)
{
	return fixed_mul(u, c->c1 + fixed_mul(u, c->c2 + fixed_mul(u, c->c3)));
}

static inline s64 drop_function_gentle(const struct drop_function_config *c, s64 average)
{
	s64 v = fixed_ratio(average - c->max_th, &c->max_th_divisor);

	return c->max_p + fixed_share(FIXED_ONE - c->max_p, v);
}

static inline s64 drop_function_inside(const struct drop_function_config *c, s64 average)
{
	s64 u = fixed_ratio(average - c->min_th, &c->range);

	switch (c->shape) {
	case DROP_FUNCTION_DOUBLE_SLOPE:
		return drop_function_double_slope(c, u);
	case DROP_FUNCTION_CUBIC:
		return drop_function_cubic(c, u);
	default:
		return fixed_share(u, c->max_p);
	}
}

/* Returns the drop probability for this average (Q31.32 packets), Q31.32, within [0, 1]. */
static inline s64 drop_function_probability(const struct drop_function_config *c, s64 average)
{
	s64 p;

	if (average < c->min_th)
		return 0;
	if (average < c->max_th)
		p = drop_function_inside(c, average);
	else if (c->shape == DROP_FUNCTION_GENTLE && average < 2 * c->max_th)
		p = drop_function_gentle(c, average);
	else
		return FIXED_ONE;
	return p < 0 ? 0 : p > FIXED_ONE ? FIXED_ONE : p;
}

#endif
