/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * PI2: a PI controller of the delay whose probability is squared for classic senders.
 *
 * K. De Schepper, O. Bondarenko, I. Tsang, B. Briscoe, "PI2: a linearized AQM for both classic and
 * scalable TCP", CoNEXT 2016. Controller and chances are in pi_squared.h. Both kinds of packets
 * stand in one queue here: ECT(1) and CE are those of scalable senders. DualPI2 gives them two.
 *
 * Decided is as packets arrive, as in the paper, which changes PIE. The delay is the sojourn of the
 * packet that left last, 0 while none waits. PIE's steps that grow with p, its burst allowance and
 * its other exceptions are not needed: of them only the floor of two packets is left, as in Linux's
 * DualPI2, whose defaults are taken.
 */
#ifndef SLUICEGATE_PI2_H
#define SLUICEGATE_PI2_H

#include "pi_squared.h"

#define PI2_PARAMS(P)                                                                     \
	P(target, SECONDS, 0.015, 0, 10, "",                                              \
	  "delay to hold", "RFC 9332, app. A.1")                                          \
	P(t_update, SECONDS, 0.016, 1e-6, 10, "",                                         \
	  "time between two changes of the base probability", "RFC 9332, app. A.1")       \
	P(alpha, RATIO, 0.16, 0, 1000, "",                                                \
	  "weight of the delay above the target, per second", "RFC 9332, app. A.1")       \
	P(beta, RATIO, 3.2, 0, 1000, "",                                                  \
	  "weight of the delay's growth, per second", "RFC 9332, app. A.1")               \
	P(coupling, RATIO, 2, 1, 100, "",                                                 \
	  "k: marking probability of ECT(1) over the base probability",                   \
	  "De Schepper et al. 2016, sec. 4; RFC 9332, sec. 2.1")                          \
	P(mtu_bytes, BYTES, 1514, 1, 65535, "",                                           \
	  "up to twice this may wait without drops or marks", "Linux: psched_mtu()")

AQM_PARAMS(pi2, PI2_PARAMS)

struct pi2_config {
	struct pi_squared_config base;
	u64 t_update_ns;
};

struct pi2_state {
	struct pi_squared base;
	s64 sojourn;	/* of the packet that left last, Q31.32 s */
};

static inline u32 pi2_configure(const struct pi2_params *p, struct pi2_config *config)
{
	config->base.target = fixed_seconds((u64)p->target);
	config->base.alpha = p->alpha;
	config->base.beta = p->beta;
	config->base.coupling = p->coupling;
	config->base.most_p = FIXED_ONE;
	config->base.floor_bytes = 2 * (u64)p->mtu_bytes;
	config->t_update_ns = (u64)p->t_update;
	return 0;
}

static inline enum aqm_verdict pi2_arrive(struct pi2_state *state,
					  const struct pi2_config *config,
					  const struct aqm_view *view)
{
	return pi_squared_by_chance(&state->base, &config->base, view, view->queue_bytes,
				    aqm_ecn(view) & 1);
}

static inline enum aqm_verdict pi2_depart(struct pi2_state *state,
					  const struct pi2_config *config,
					  const struct aqm_view *view)
{
	(void)config;
	state->sojourn = view->queue_packets ? fixed_seconds(view->sojourn_ns) : 0;
	return AQM_ADMIT;
}

static inline u64 pi2_tick_interval_ns(const struct pi2_config *config)
{
	return config->t_update_ns;
}

static inline void pi2_tick(struct pi2_state *state, const struct pi2_config *config,
			    const struct aqm_view *view)
{
	(void)view;
	pi_squared_update(&state->base, &config->base, state->sojourn);
}

static inline s64 pi2_probability(const struct pi2_state *state,
				  const struct pi2_config *config)
{
	(void)config;
	return state->base.p;
}

AQM_DEPART(pi2)
AQM_TICK(pi2)
AQM_PROBABILITY(pi2)
AQM_CLASS(pi2, PI2_PARAMS,
	.title = "PI2: PI improved with a square",
	.source = "De Schepper et al. 2016",
	.summary = "Holds the delay by a controller; classic packets are dropped with the square of "
		   "its probability, L4S ones are marked with twice this probability.",
	.depart = pi2_depart_any,
	.tick = pi2_tick_any,
	.tick_interval_ns = pi2_tick_interval_any,
	.probability = pi2_probability_any)

#endif
