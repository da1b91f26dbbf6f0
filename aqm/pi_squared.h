/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What PI2 and DualPI2 share: a controller of the base probability p, and what p does to a packet.
 *
 * K. De Schepper, O. Bondarenko, I. Tsang, B. Briscoe, "PI2: a linearized AQM for both classic and
 * scalable TCP", CoNEXT 2016; RFC 9332, appendix A.2; Linux, net/sched/sch_dualpi2.c.
 *
 * Every t_update, p changes by
 *
 *   alpha (delay - target) + beta (delay - delay_old).
 *
 * The window of a classic sender goes with 1 / sqrt(its drop probability), that of a scalable one
 * with 1 / (its mark probability). So a classic packet is dropped or marked with probability p^2, a
 * scalable one is marked with k p: then the controller sees the same loop for both, whatever the
 * load. If k p exceeds 1, the link is overloaded: both kinds are dropped with probability p^2,
 * whatever could be marked, and the other scalable packets are marked.
 */
#ifndef SLUICEGATE_PI_SQUARED_H
#define SLUICEGATE_PI_SQUARED_H

#include "fixed.h"

struct pi_squared_config {
	s64 target, alpha, beta;	/* Q31.32 */
	s64 coupling, most_p;		/* Q31.32 */
	u64 floor_bytes;		/* while less waits, nothing is dropped or marked */
};

struct pi_squared {
	s64 p;		/* Q31.32 */
	s64 delay_old;	/* Q31.32 s */
};

/* RFC 9332, appendix A.2, dualpi2_update(). The delay is in seconds, Q31.32. */
static inline void pi_squared_update(struct pi_squared *state,
				     const struct pi_squared_config *config, s64 delay)
{
	s64 p = fixed_add(state->p, fixed_mul(config->alpha, delay - config->target));

	p = fixed_add(p, fixed_mul(config->beta, delay - state->delay_old));
	state->p = p < 0 ? 0 : p > config->most_p ? config->most_p : p;
	state->delay_old = delay;
}

/*
 * sch_dualpi2.c, must_drop(): an early drop of a packet that can be marked becomes a mark. p^2 is p
 * twice, by the two halves of the random word.
 */
static inline enum aqm_verdict pi_squared_by_chance(const struct pi_squared *state,
						    const struct pi_squared_config *config,
						    const struct aqm_view *view,
						    u64 waiting_bytes, u32 is_scalable)
{
	s64 p_scalable = fixed_mul(config->coupling, state->p);
	u32 is_overload = p_scalable > FIXED_ONE;
	u32 once = aqm_happens(state->p, view->random);
	u32 twice = once && aqm_happens(state->p, view->random << 32);

	if (waiting_bytes < config->floor_bytes)
		return AQM_ADMIT;
	if (twice && is_overload)
		return AQM_DROP_FORCED;
	if (is_scalable)
		return is_overload || aqm_happens(p_scalable, view->random) ? AQM_DROP_EARLY
									    : AQM_ADMIT;
	return twice ? AQM_DROP_EARLY : AQM_ADMIT;
}

#endif
