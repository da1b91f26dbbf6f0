/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * REM: Random Exponential Marking.
 *
 * S. Athuraliya, V. H. Li, S. H. Low, Q. Yin, "REM: active queue management", IEEE
 * Network 15(3), 2001.
 *
 * A price u rises while the queue q is above q_ref or the input rate is above the link's,
 * and falls otherwise. The drop probability is exponential in the price, so that the prices
 * of several links on a path add up:
 *
 *   p = 1 - phi^-u.
 *
 * At fixed intervals u = max(0, u + gamma (alpha (q - q_ref) + x - c)), where x is the
 * number of packets that arrived in the interval, and c how many the link carries in it.
 * x - c is
 *
 *   queue  the growth of the queue, so that x is not needed:
 *          u = max(0, u + gamma (q - (1 - alpha) q_old - alpha q_ref))
 *          (the paper's simplification; Wang et al. 2007 (LRED), eq. 36)
 *   rate   measured: x is a moving average of weight w, c follows from the link's rate
 *          (ns-2's rem.cc, by the paper's first author)
 *
 * With `queue`, packets that were dropped are not part of the input; with `rate` they are.
 */
#ifndef SLUICEGATE_REM_H
#define SLUICEGATE_REM_H

#include "unit.h"

enum rem_congestion { REM_QUEUE, REM_RATE };

#define REM_PARAMS(P)                                                                     \
	P(q_ref, PACKETS, 100, 0, 1e6, "",                                                \
	  "queue to hold", "Athuraliya et al. 2001; value: Wang et al. 2007 (LRED), sec. 6") \
	P(gamma, RATIO, 0.001, 1e-6, 100, "",                                             \
	  "step of the price", "Athuraliya et al. 2001")                                  \
	P(alpha, RATIO, 0.1, 0, 100, "",                                                  \
	  "weight of the queue against that of the rate", "Athuraliya et al. 2001")       \
	P(phi, RATIO, 1.001, 1.000001, 1000, "",                                          \
	  "base of the drop probability 1 - phi^-price", "Athuraliya et al. 2001")        \
	P(congestion, CHOICE(queue|rate), REM_QUEUE, 0, 1, "",                            \
	  "where the input's excess is seen: in the queue's growth, or in its rate",      \
	  "Wang et al. 2007 (LRED), eq. 36; ns-2's rem.cc")                               \
	P(w, RATIO, 0.02, 0, 1, "congestion=rate",                                        \
	  "weight of the newest interval in the input rate", "ns-2's inw_")               \
	P(sampling_interval, SECONDS, 0.002, 1e-6, 10, "",                                \
	  "time between two updates of the price", "Wang et al. 2007 (LRED), sec. 6; ns-2: 0.01") \
	UNIT_PARAMS(P, "")

AQM_PARAMS(rem, REM_PARAMS)

struct rem_config {
	s64 q_ref;		/* Q31.32, as all that follow */
	s64 gamma, alpha, w;
	s64 log_phi;		/* to base 2 */
	s64 interval;		/* seconds */
	u64 sampling_interval_ns;
	struct unit_config unit;
	u32 by_rate;
};

struct rem_state {
	s64 price, p;		/* Q31.32, as all that follow */
	s64 q_old;		/* packets */
	s64 arrived, rate;	/* packets in this interval, and their moving average */
};

static inline u32 rem_configure(const struct rem_params *p, struct rem_config *config)
{
	config->q_ref = p->q_ref;
	config->gamma = p->gamma;
	config->alpha = p->alpha;
	config->w = p->w;
	config->log_phi = fixed_log2(p->phi);
	config->interval = fixed_seconds((u64)p->sampling_interval);
	config->sampling_interval_ns = (u64)p->sampling_interval;
	config->by_rate = p->congestion == REM_RATE;
	unit_configure(&config->unit, p->unit, p->mean_packet_bytes);
	return 0;
}

static inline u64 rem_tick_interval_ns(const struct rem_config *config)
{
	return config->sampling_interval_ns;
}

/* x - c, measured. */
static inline s64 rem_excess_rate(struct rem_state *state, const struct rem_config *config,
				  const struct aqm_view *view)
{
	s64 capacity = fixed_mul(unit_from_bytes(&config->unit, view->rate_bps / 8),
				 config->interval);

	state->rate += fixed_mul(config->w, state->arrived - state->rate);
	state->arrived = 0;
	return state->rate - capacity;
}

static inline void rem_tick(struct rem_state *state, const struct rem_config *config,
			    const struct aqm_view *view)
{
	s64 q = unit_queue(&config->unit, view);
	s64 excess = config->by_rate ? rem_excess_rate(state, config, view)
				     : q - state->q_old;
	/* in the published forms alpha multiplies q_old - q_ref (`queue`) or q - q_ref (`rate`) */
	s64 late = config->by_rate ? q : state->q_old;
	s64 mismatch = fixed_add(fixed_mul(config->alpha, late - config->q_ref), excess);
	s64 price = fixed_add(state->price, fixed_mul(config->gamma, mismatch));

	state->price = price > 0 ? price : 0;
	state->p = FIXED_ONE - fixed_exp2(-fixed_mul(state->price, config->log_phi));
	state->q_old = q;
}

static inline s64 rem_probability(const struct rem_state *state, const struct rem_config *config)
{
	(void)config;
	return state->p;
}

static inline enum aqm_verdict rem_arrive(struct rem_state *state,
					  const struct rem_config *config,
					  const struct aqm_view *view)
{
	state->arrived = fixed_add(state->arrived, unit_weight(&config->unit, view));
	return unit_happens(&config->unit, state->p, view) ? AQM_DROP_EARLY : AQM_ADMIT;
}

AQM_TICK(rem)
AQM_PROBABILITY(rem)
AQM_CLASS(rem, REM_PARAMS,
	.title = "REM: Random Exponential Marking",
	.source = "Athuraliya et al. 2001",
	.summary = "Drops with a probability exponential in a price that follows queue and rate.",
	.tick = rem_tick_any,
	.tick_interval_ns = rem_tick_interval_any,
	.probability = rem_probability_any)

#endif
