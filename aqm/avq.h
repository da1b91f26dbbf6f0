/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * AVQ: Adaptive Virtual Queue.
 *
 * S. Kunniyur, R. Srikant, "Analysis and design of an adaptive virtual queue (AVQ)
 * algorithm for active queue management", SIGCOMM 2001; IEEE/ACM Transactions on
 * Networking 12(2), 2004.
 *
 * A virtual queue has the same arrivals as the real one, a buffer of its own, and a
 * capacity c that is at most the link's C. A packet that would overflow it is marked or
 * dropped. c follows the input so that the link's utilisation becomes gamma: a token
 * bucket fills at the rate gamma C, and each packet takes its weight out of it. At each
 * arrival of weight w, t seconds after the last one:
 *
 *   v = max(v - c t, 0);  if v + w > B: drop, else v = v + w
 *   c = max(min(c + alpha gamma C t, C) - alpha w, 0)
 *
 * If packets are dropped instead of marked, only accepted packets count as input: a
 * dropped packet takes no tokens (the authors' code in ns-2, vq.cc).
 *
 * Lengths are in packets of the mean size. The state holds C - c, so that a zeroed state
 * is a virtual link at full capacity.
 */
#ifndef SLUICEGATE_AVQ_H
#define SLUICEGATE_AVQ_H

#include "unit.h"

#define AVQ_PARAMS(P)                                                                     \
	P(gamma, RATIO, 0.98, 0, 1, "",                                                   \
	  "utilisation of the link to reach", "Kunniyur & Srikant 2001, sec. 3")          \
	P(alpha, RATIO, 0.15, 0, 1000, "",                                                \
	  "how fast the virtual capacity follows the input, 1/s",                         \
	  "Kunniyur & Srikant 2001, sec. 3")                                              \
	P(virtual_buffer, RATIO, 1, 0.001, 1000, "",                                      \
	  "virtual buffer over the real one", "Kunniyur & Srikant 2001; ns-2's buflim_")  \
	UNIT_PARAMS(P, "")

AQM_PARAMS(avq, AVQ_PARAMS)

struct avq_config {
	s64 gamma, alpha;	/* Q31.32, also virtual_buffer */
	s64 virtual_buffer;
	struct unit_config unit;
};

struct avq_state {
	s64 queue;		/* virtual; Q31.32 packets */
	s64 missing;		/* C - c; Q31.32 packets/s */
	/* times of the last packet, and of the last one that counted as input, Q31.32 s;
	 * converted before they are subtracted, so that rounding errors do not add up */
	s64 arrived, adapted;
};

static inline u32 avq_configure(const struct avq_params *p, struct avq_config *config)
{
	config->gamma = p->gamma;
	config->alpha = p->alpha;
	config->virtual_buffer = p->virtual_buffer;
	unit_configure(&config->unit, p->unit, p->mean_packet_bytes);
	return 0;
}

/* Takes from the virtual queue what the virtual link sends until this arrival. */
static inline void avq_drain(struct avq_state *state, s64 capacity,
			     const struct aqm_view *view)
{
	s64 virtual = capacity > state->missing ? capacity - state->missing : 0;
	s64 now = fixed_seconds(view->now_ns);
	s64 sent = fixed_mul(virtual, now - state->arrived);

	state->queue = state->queue > sent ? fixed_sub(state->queue, sent) : 0;
	state->arrived = now;
}

/* Updates the token bucket, which is held as what the virtual capacity lacks. */
static inline void avq_adapt(struct avq_state *state, const struct avq_config *config,
			     s64 capacity, s64 weight)
{
	s64 filling = fixed_mul(fixed_mul(config->alpha, config->gamma), capacity);
	s64 tokens = fixed_mul(filling, state->arrived - state->adapted);
	s64 missing = state->missing > tokens ? fixed_sub(state->missing, tokens) : 0;

	missing = fixed_add(missing, fixed_mul(config->alpha, weight));
	state->missing = missing < capacity ? missing : capacity;
	state->adapted = state->arrived;
}

static inline enum aqm_verdict avq_arrive(struct avq_state *state,
					  const struct avq_config *config,
					  const struct aqm_view *view)
{
	s64 capacity = unit_from_bytes(&config->unit, view->rate_bps / 8);
	s64 buffer = fixed_mul(config->virtual_buffer, fixed_from_u32(view->limit_packets));
	s64 weight = unit_weight(&config->unit, view);
	u32 overflows;

	avq_drain(state, capacity, view);
	overflows = weight > buffer - state->queue;
	if (!overflows)
		state->queue += weight;
	if (!overflows || view->ecn_capable)
		avq_adapt(state, config, capacity, weight);
	return overflows ? AQM_DROP_EARLY : AQM_ADMIT;
}

AQM_CLASS(avq, AVQ_PARAMS,
	.title = "AVQ: Adaptive Virtual Queue",
	.source = "Kunniyur & Srikant 2001",
	.summary = "Drops what would overflow a virtual link whose capacity follows the input.")

#endif
