/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * PI: a proportional-integral controller that holds the queue at a given length.
 *
 * C. V. Hollot, V. Misra, D. Towsley, W. Gong, "On designing improved controllers for
 * AQM routers supporting TCP flows", INFOCOM 2001.
 *
 * At fixed intervals T the drop probability is updated from the queue q and the one before,
 *
 *   p(k) = p(k-1) + a (q(k) - q_ref) - b (q(k-1) - q_ref),   held within [0, 1].
 *
 * a and b are the controller K (1 + s/z) / s, discretised by Tustin's rule:
 * a, b = K/z +- K T/2. They are given, or designed for a link of C packets/s with at
 * least N- flows and at most R+ seconds of round trip: the zero cancels the pole of TCP's
 * window, z = 2 N- / (R+^2 C), and the loop's gain is 1 at the frequency z,
 *
 *   K = z |1 + j z R+| (2 N-)^2 / (R+ C)^3.
 *
 * With x = z R+ = 2 N- / (R+ C) this is K/z = x^2 sqrt(1 + x^2) / (R+ C) and
 * K T/2 = K/z x T / (2 R+). The paper's own example (N- = 60, C = 3750, R+ = 0.2467)
 * has K = 9.64e-6 and z rounded to 0.53, from which the given defaults come.
 *
 * K T is a few parts in 10^8, so p, a and b have 62 fractional bits.
 */
#ifndef SLUICEGATE_PI_H
#define SLUICEGATE_PI_H

#include "unit.h"

enum pi_coefficients { PI_GIVEN, PI_DESIGNED };

#define PI_PARAMS(P)                                                                      \
	P(q_ref, PACKETS, 100, 0, 1e6, "",                                                \
	  "queue to hold", "Hollot et al. 2001; value: Wang et al. 2007 (LRED), sec. 6")  \
	P(coefficients, CHOICE(given|designed), PI_GIVEN, 0, 1, "",                       \
	  "whether a and b are given, or designed for N-, R+ and C (PI*)",                \
	  "Hollot et al. 2001; Wang et al. 2007 (LRED), sec. 6")                          \
	P(a, GAIN, 1.822e-5, 0, 1, "coefficients=given",                                  \
	  "weight of the queue", "Hollot et al. 2001, sec. IV")                           \
	P(b, GAIN, 1.816e-5, 0, 1, "coefficients=given",                                  \
	  "weight of the queue one interval ago", "Hollot et al. 2001, sec. IV")          \
	P(n_min, COUNT, 100, 1, 1e6, "coefficients=designed",                             \
	  "N-: fewest TCP flows", "Hollot et al. 2001; value: LRED's experiment 1")       \
	P(r_max, SECONDS, 0.45, 1e-4, 10, "coefficients=designed",                        \
	  "R+: longest round trip", "Hollot et al. 2001; value: LRED's experiment 1")     \
	P(capacity, COUNT, 2500, 1, 1e8, "coefficients=designed",                         \
	  "C: packets that the link carries in a second",                                 \
	  "Hollot et al. 2001; value: LRED's 10 Mb/s and 500 bytes")                      \
	P(sampling_interval, SECONDS, 0.005882353, 1e-6, 10, "",                          \
	  "T: time between two updates", "ns-2's 170 Hz, as in LRED; Hollot et al.: 160 Hz") \
	UNIT_PARAMS(P, "unit=bytes")

#define PI_RULES(R)                                                                       \
	R(p->coefficients != PI_GIVEN || p->a > p->b, a, "must exceed", b)                \
	R(p->coefficients != PI_DESIGNED || pi_pipe(p) >= pi_windows(p), n_min,           \
	  "is too many: a flow must have room for 2 packets, r_max capacity / n_min >= 2",) \
	R(p->coefficients != PI_DESIGNED || pi_slope(p) >= PI_LEAST_SLOPE, n_min,         \
	  "is too few for r_max and capacity: the controller would hardly move",)

/* Least designed slope, steps of 2^-62 per packet and interval: rounding changes it by 0.1 %. */
#define PI_LEAST_SLOPE 1000

AQM_PARAMS(pi, PI_PARAMS)

struct pi_config {
	s64 q_ref;	/* Q31.32 packets */
	s64 a, b;	/* Q1.62 */
	u64 sampling_interval_ns;
	struct unit_config unit;
};

struct pi_state {
	s64 p;		/* Q1.62 */
	s64 q_old;	/* Q31.32 packets */
};

#define PI_ONE (1LL << 62)

/* R+ C and 2 N-, packets. */
static inline s64 pi_pipe(const struct pi_params *p)
{
	return fixed_mul(fixed_seconds((u64)p->r_max), p->capacity * FIXED_ONE);
}

static inline s64 pi_windows(const struct pi_params *p)
{
	return 2 * p->n_min * FIXED_ONE;
}

/* K/z, Q1.62: the product of a Q1.62 and a Q31.32 number is Q1.62. */
static inline s64 pi_level(const struct pi_params *p)
{
	s64 x = fixed_div(pi_windows(p), pi_pipe(p));
	s64 square = fixed_mul(x << 30, x);

	square = fixed_mul(square, fixed_sqrt(FIXED_ONE + (square >> 30)));
	return fixed_div(square, pi_pipe(p));
}

/* K T/2, Q1.62. */
static inline s64 pi_slope(const struct pi_params *p)
{
	s64 x = fixed_div(pi_windows(p), pi_pipe(p));

	return fixed_mul(fixed_mul(pi_level(p), x),
			 fixed_div(p->sampling_interval, 2 * p->r_max));
}

static inline u32 pi_configure(const struct pi_params *p, struct pi_config *config)
{
	AQM_OBEY(PI_RULES);
	config->q_ref = p->q_ref;
	config->a = p->a;
	config->b = p->b;
	if (p->coefficients == PI_DESIGNED) {
		config->a = pi_level(p) + pi_slope(p);
		config->b = pi_level(p) - pi_slope(p);
	}
	config->sampling_interval_ns = (u64)p->sampling_interval;
	unit_configure(&config->unit, p->unit, p->mean_packet_bytes);
	return 0;
}

static inline u64 pi_tick_interval_ns(const struct pi_config *config)
{
	return config->sampling_interval_ns;
}

static inline void pi_tick(struct pi_state *state, const struct pi_config *config,
			   const struct aqm_view *view)
{
	s64 q = unit_queue(&config->unit, view);
	s64 change = fixed_sub(fixed_mul(config->a, q - config->q_ref),
			       fixed_mul(config->b, state->q_old - config->q_ref));
	s64 p = fixed_add(state->p, change);

	state->p = p < 0 ? 0 : p > PI_ONE ? PI_ONE : p;
	state->q_old = q;
}

static inline s64 pi_probability(const struct pi_state *state, const struct pi_config *config)
{
	(void)config;
	return state->p >> 30;
}

static inline enum aqm_verdict pi_arrive(struct pi_state *state,
					 const struct pi_config *config,
					 const struct aqm_view *view)
{
	return unit_happens(&config->unit, pi_probability(state, config), view)
		       ? AQM_DROP_EARLY : AQM_ADMIT;
}

AQM_RULES(pi, PI_RULES)
AQM_TICK(pi)
AQM_PROBABILITY(pi)
AQM_CLASS(pi, PI_PARAMS,
	.title = "PI: proportional-integral controller",
	.source = "Hollot et al. 2001",
	.summary = "Holds the queue at a length by a controller that is updated at fixed intervals.",
	AQM_RULED(pi),
	.tick = pi_tick_any,
	.tick_interval_ns = pi_tick_interval_any,
	.probability = pi_probability_any)

#endif
