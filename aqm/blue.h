/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * BLUE: a drop probability moved by overflow and idleness, not by the queue's length.
 *
 * W. Feng, D. Kandlur, D. Saha, K. Shin, "BLUE: a new class of active queue management
 * algorithms", University of Michigan CSE-TR-387-99, 1999.
 *
 * When a packet is lost because the buffer is full, p rises by d1; when the link becomes
 * idle, p falls by d2. Two changes are more than freeze_time apart, so that the first
 * can take effect.
 *
 * Written from what is commonly known of the paper: its text and its figures were not
 * available, so section numbers may be wrong.
 *
 * The AQM learns of an idle time from the packet that ends it: p falls by one step for
 * each idle time, however long it was.
 */
#ifndef SLUICEGATE_BLUE_H
#define SLUICEGATE_BLUE_H

#include "fixed.h"

#define BLUE_PARAMS(P)                                                                    \
	P(d1, RATIO, 0.0025, 0, 1, "",                                                    \
	  "what a loss adds to the drop probability", "Feng et al. 1999, sec. 3")         \
	P(d2, RATIO, 0.00025, 0, 1, "",                                                   \
	  "what an idle link takes from the drop probability", "Feng et al. 1999, sec. 3") \
	P(freeze_time, SECONDS, 0.1, 0, 1000, "",                                         \
	  "least time between two changes", "Feng et al. 1999, sec. 3")

AQM_PARAMS(blue, BLUE_PARAMS)

struct blue_config {
	s64 d1, d2;	/* Q31.32 */
	u64 freeze_time_ns;
};

struct blue_state {
	s64 p;			/* Q31.32 */
	u64 changed_ns;
};

static inline u32 blue_configure(const struct blue_params *p, struct blue_config *config)
{
	config->d1 = p->d1;
	config->d2 = p->d2;
	config->freeze_time_ns = (u64)p->freeze_time;
	return 0;
}

static inline void blue_change(struct blue_state *state, const struct blue_config *config,
			       s64 change, const struct aqm_view *view)
{
	s64 p = state->p + change;

	if (view->now_ns - state->changed_ns <= config->freeze_time_ns)
		return;
	state->p = p < 0 ? 0 : p > FIXED_ONE ? FIXED_ONE : p;
	state->changed_ns = view->now_ns;
}

static inline s64 blue_probability(const struct blue_state *state,
				   const struct blue_config *config)
{
	(void)config;
	return state->p;
}

static inline enum aqm_verdict blue_arrive(struct blue_state *state,
					   const struct blue_config *config,
					   const struct aqm_view *view)
{
	if (view->full)
		blue_change(state, config, config->d1, view);
	else if (view->idle)
		blue_change(state, config, -config->d2, view);
	return aqm_happens(state->p, view->random) ? AQM_DROP_EARLY : AQM_ADMIT;
}

AQM_PROBABILITY(blue)
AQM_CLASS(blue, BLUE_PARAMS,
	.title = "BLUE",
	.source = "Feng et al. 1999 (CSE-TR-387-99)",
	.summary = "Drops with a probability that rises by overflow and sinks by idleness.",
	.probability = blue_probability_any)

#endif
