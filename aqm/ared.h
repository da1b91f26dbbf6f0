/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Adaptive RED: max_p moves slowly until the average queue is half-way between the
 * thresholds.
 *
 * S. Floyd, R. Gummadi, S. Shenker, "Adaptive RED: an algorithm for increasing the
 * robustness of RED's active queue management", 2001.
 *
 * Every `interval`: while the average is above min_th + 0.6 (max_th - min_th) and max_p
 * is at most max_p_greatest, max_p grows by min(increment, max_p / 4); while it is below
 * min_th + 0.4 (max_th - min_th) and max_p is at least max_p_least, max_p shrinks by the
 * factor `decrease`. The gentle drop function follows max_p on both sides of max_th.
 *
 * For a link of C packets/s the rest can be set automatically: w = 1 - exp(-1/C), a time
 * constant of one second; min_th = max(5, target_delay C / 2); max_th = 3 min_th.
 */
#ifndef SLUICEGATE_ARED_H
#define SLUICEGATE_ARED_H

#include "moving_red.h"

enum ared_thresholds { ARED_GIVEN, ARED_AUTOMATIC };

#define ARED_PARAMS(P)                                                                    \
	P(thresholds, CHOICE(given|automatic), ARED_GIVEN, 0, 1, "",                      \
	  "whether min_th, max_th and w are given, or follow from target_delay and capacity", \
	  "Floyd et al. 2001, sec. 5")                                                    \
	P(target_delay, SECONDS, 0.005, 0, 10, "thresholds=automatic",                    \
	  "average queueing delay to hold", "Floyd et al. 2001, sec. 5.2")                \
	P(capacity, COUNT, 2500, 1, 1e8, "thresholds=automatic",                          \
	  "C: packets that the link carries in a second", "Floyd et al. 2001, sec. 5.3")  \
	P(interval, SECONDS, 0.5, 1e-6, 1000, "",                                         \
	  "time between two changes of max_p", "Floyd et al. 2001, figure 2")             \
	P(increment, RATIO, 0.01, 0, 1, "",                                               \
	  "alpha: max_p grows by this, or by a quarter if that is less",                  \
	  "Floyd et al. 2001, figure 2")                                                  \
	P(decrease, RATIO, 0.9, 0, 1, "",                                                 \
	  "beta: max_p shrinks by this factor", "Floyd et al. 2001, figure 2")            \
	P(max_p_least, RATIO, 0.01, 0, 1, "",                                             \
	  "below this max_p does not shrink", "Floyd et al. 2001, figure 2")              \
	P(max_p_greatest, RATIO, 0.5, 0, 1, "",                                           \
	  "above this max_p does not grow", "Floyd et al. 2001, figure 2")                \
	MOVING_RED_PARAMS(P, DROP_FUNCTION_GENTLE, "thresholds=given")

#define ARED_RULES(R)                                                                     \
	R(p->thresholds != ARED_GIVEN || p->max_th > p->min_th, max_th, "must exceed", min_th) \
	R(p->thresholds != ARED_AUTOMATIC || ared_half(p) <= 1000000 * FIXED_ONE, capacity, \
	  "is too high for target_delay: min_th must not exceed 1000000 packets",)            \
	R(p->max_p_greatest > p->max_p_least, max_p_greatest, "must exceed", max_p_least)   \
	RED_LIKE_RULE(R)

AQM_PARAMS(ared, ARED_PARAMS)

struct ared_config {
	struct red_config red;
	s64 target_low, target_high;	/* Q31.32 packets */
	s64 increment, decrease;	/* Q31.32, as all that follow */
	s64 max_p_least, max_p_greatest;
	u64 interval_ns;
};

struct ared_state {
	struct moving_red_state moving;
};

#define ARED_LOG2_E 0x171547653LL	/* Q31.32 */

/* Packets that the link carries in half the target delay, Q31.32. */
static inline s64 ared_half(const struct ared_params *p)
{
	return fixed_mul(fixed_seconds((u64)p->target_delay), p->capacity * FIXED_ONE) >> 1;
}

/* Floyd et al. 2001, section 5. */
static inline void ared_set_automatically(struct red_params *red, const struct ared_params *p)
{
	s64 capacity = p->capacity * FIXED_ONE;

	red->min_th = ared_half(p) > 5 * FIXED_ONE ? ared_half(p) : 5 * FIXED_ONE;
	red->max_th = 3 * red->min_th;
	red->w = FIXED_ONE - fixed_exp2(-fixed_div(ARED_LOG2_E, capacity));
}

static inline u32 ared_configure(const struct ared_params *p, struct ared_config *config)
{
	struct red_params red = MOVING_RED_START(p);
	s64 range;
	u32 broken;

	AQM_OBEY(ARED_RULES);
	if (p->thresholds == ARED_AUTOMATIC)
		ared_set_automatically(&red, p);
	broken = red_configure(&red, &config->red);
	range = red.max_th - red.min_th;
	config->target_low = red.min_th + (s64)((u64)range / 5 * 2);
	config->target_high = red.min_th + (s64)((u64)range / 5 * 3);
	config->increment = p->increment;
	config->decrease = p->decrease;
	config->max_p_least = p->max_p_least;
	config->max_p_greatest = p->max_p_greatest;
	config->interval_ns = (u64)p->interval;
	return broken;
}

static inline u64 ared_tick_interval_ns(const struct ared_config *config)
{
	return config->interval_ns;
}

static inline void ared_tick(struct ared_state *state, const struct ared_config *config,
			     const struct aqm_view *view)
{
	s64 average = red_average(&state->moving.red);
	s64 max_p = moving_red_max_p(&state->moving, &config->red), quarter = max_p >> 2;

	(void)view;
	if (average > config->target_high && max_p <= config->max_p_greatest)
		max_p += config->increment < quarter ? config->increment : quarter;
	else if (average < config->target_low && max_p >= config->max_p_least)
		max_p = fixed_mul(max_p, config->decrease);
	moving_red_set_max_p(&state->moving, &config->red, max_p);
}

static inline s64 ared_average(const struct ared_state *state)
{
	return red_average(&state->moving.red);
}

static inline s64 ared_probability(const struct ared_state *state,
				   const struct ared_config *config)
{
	return moving_red_probability(&state->moving, &config->red);
}

static inline enum aqm_verdict ared_arrive(struct ared_state *state,
					   const struct ared_config *config,
					   const struct aqm_view *view)
{
	red_observe(&state->moving.red, &config->red, view);
	return red_decide(&state->moving.red, &config->red, ared_probability(state, config), view);
}

AQM_RULES(ared, ARED_RULES)
AQM_TICK(ared)
AQM_AVERAGE(ared)
AQM_PROBABILITY(ared)
AQM_CLASS(ared, ARED_PARAMS,
	.title = "ARED: Adaptive RED",
	.source = "Floyd et al. 2001",
	.summary = "RED that moves max_p until the average is half-way between the thresholds.",
	AQM_RULED(ared),
	.tick = ared_tick_any,
	.tick_interval_ns = ared_tick_interval_any,
	.average = ared_average_any,
	.probability = ared_probability_any)

#endif
