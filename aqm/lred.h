/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * LRED: Loss Ratio based RED.
 *
 * C. Wang, J. Liu, B. Li, K. Sohraby, Y. T. Hou, "LRED: a robust and responsive AQM
 * algorithm using packet loss ratio measurement", IEEE Transactions on Parallel and
 * Distributed Systems 18(1), 2007.
 *
 * The measured loss ratio is the drop probability that the present load needs; the queue
 * only corrects it. At the end of each period of t_m seconds the loss ratio of the last m
 * periods enters the average (equations 1 and 2),
 *
 *   l = w_m l + (1 - w_m) (dropped in m periods) / (arrived in m periods),
 *
 * and each packet is dropped with probability (equation 3)
 *
 *   p = l + beta sqrt(l) (q - q_ref),   held within [0, 1];
 *
 * TCP's rate is proportional to 1/sqrt(l), so beta sqrt(l) corrects all rates by the same
 * share.
 *
 * A packet that finds the buffer full is lost and counts as dropped (the paper's figure 3).
 * A mark counts as a drop: both tell a sender to slow down, and otherwise the ratio would
 * stay 0 if all early drops are marks. If no packet arrived in m periods, the ratio is 0.
 */
#ifndef SLUICEGATE_LRED_H
#define SLUICEGATE_LRED_H

#include "unit.h"

#define LRED_PARAMS(P)                                                                    \
	P(q_ref, PACKETS, 100, 0, 1e6, "",                                                \
	  "q_0: queue to hold", "Wang et al. 2007, sec. 6")                               \
	P(beta, RATIO, 0.001, 1e-6, 1000, "",                                             \
	  "weight of the queue, per packet", "Wang et al. 2007, theorem 2, sec. 6")       \
	P(t_m, SECONDS, 1, 1e-6, 1000, "",                                                \
	  "measurement period", "Wang et al. 2007, sec. 6")                               \
	P(m, COUNT, 4, 1, LRED_PERIODS, "",                                               \
	  "periods that a measurement goes back", "Wang et al. 2007, eq. 1, sec. 6")      \
	P(w_m, RATIO, 0.1, 0, 0.999999, "",                                               \
	  "weight of the old loss ratio against the one just measured",                   \
	  "Wang et al. 2007, eq. 2, sec. 6")                                              \
	UNIT_PARAMS(P, "unit=bytes")

#define LRED_PERIODS 16	/* a power of 2 */

AQM_PARAMS(lred, LRED_PARAMS)

struct lred_config {
	s64 q_ref;	/* Q31.32 packets */
	s64 beta, w_m;	/* Q31.32 */
	u64 t_m_ns;
	u32 m;
	struct unit_config unit;
};

struct lred_state {
	/* in each of the last periods, packets or bytes */
	s64 arrived[LRED_PERIODS], dropped[LRED_PERIODS];
	u32 period;		/* the current period, modulo LRED_PERIODS */
	s64 loss_ratio;		/* l, Q31.32, as all that follow */
	s64 root;		/* sqrt(l) */
	s64 p;			/* of the last arrival */
};

static inline u32 lred_configure(const struct lred_params *p, struct lred_config *config)
{
	config->q_ref = p->q_ref;
	config->beta = p->beta;
	config->w_m = p->w_m;
	config->t_m_ns = (u64)p->t_m;
	config->m = (u32)p->m;
	unit_configure(&config->unit, p->unit, p->mean_packet_bytes);
	return 0;
}

static inline u64 lred_tick_interval_ns(const struct lred_config *config)
{
	return config->t_m_ns;
}

/* Equation 1. */
static inline s64 lred_measured(const struct lred_state *state,
				const struct lred_config *config)
{
	s64 arrived = 0, dropped = 0;
	u32 age;

	for (age = 0; age < LRED_PERIODS && age < config->m; age++) {
		u32 period = (state->period - age) % LRED_PERIODS;

		arrived += state->arrived[period];
		dropped += state->dropped[period];
	}
	return fixed_div(dropped, arrived);
}

static inline void lred_tick(struct lred_state *state, const struct lred_config *config,
			     const struct aqm_view *view)
{
	s64 measured = lred_measured(state, config);

	(void)view;
	state->loss_ratio = measured + fixed_mul(config->w_m, state->loss_ratio - measured);
	state->root = fixed_sqrt(state->loss_ratio);
	state->period = (state->period + 1) % LRED_PERIODS;
	state->arrived[state->period] = 0;
	state->dropped[state->period] = 0;
}

/* Equation 3. */
static inline s64 lred_p(const struct lred_state *state, const struct lred_config *config,
			 const struct aqm_view *view)
{
	s64 off = unit_queue(&config->unit, view) - config->q_ref;
	s64 p = fixed_add(state->loss_ratio,
			  fixed_mul(fixed_mul(config->beta, off), state->root));

	return p < 0 ? 0 : p > FIXED_ONE ? FIXED_ONE : p;
}

static inline s64 lred_probability(const struct lred_state *state,
				   const struct lred_config *config)
{
	(void)config;
	return state->p;
}

static inline enum aqm_verdict lred_arrive(struct lred_state *state,
					   const struct lred_config *config,
					   const struct aqm_view *view)
{
	s64 weight = config->unit.in_bytes ? view->packet_bytes : 1;
	u32 period = state->period % LRED_PERIODS;
	enum aqm_verdict verdict = AQM_ADMIT;

	state->p = lred_p(state, config, view);
	if (!view->full && unit_happens(&config->unit, state->p, view))
		verdict = AQM_DROP_EARLY;
	state->arrived[period] += weight;
	if (view->full || verdict == AQM_DROP_EARLY)
		state->dropped[period] += weight;
	return verdict;
}

AQM_TICK(lred)
AQM_PROBABILITY(lred)
AQM_CLASS(lred, LRED_PARAMS,
	.title = "LRED: Loss Ratio based RED",
	.source = "Wang et al. 2007",
	.summary = "Drops with the loss ratio measured of late, corrected by the queue's length.",
	.tick = lred_tick_any,
	.tick_interval_ns = lred_tick_interval_any,
	.probability = lred_probability_any)

#endif
