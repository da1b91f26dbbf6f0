/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Stabilized RED: the drop probability depends on the number of flows, which is estimated
 * from how often a packet meets its own flow in a list.
 *
 * T. Ott, T. Lakshman, L. Wong, "SRED: stabilized RED", INFOCOM 1999.
 *
 * A list holds 1000 flows of recent packets, the zombies. Each arriving packet is compared
 * with a random zombie. It is a hit if both are of the same flow. After a miss, the packet's
 * flow replaces the zombie with probability `overwrite`. P, the moving average of hits with
 * weight overwrite / 1000, estimates one over the number of active flows. With
 *
 *   p_sred = max_p      from a third of the buffer on
 *            max_p / 4  from a sixth on
 *            0          below
 *
 * a packet is dropped with probability p_sred min(1, 1 / (256 P)^2) (simple), or (1 + hit / P)
 * times that (full), which drops more packets of flows that take more than their share. P
 * is 0 until the list is full. The zombies' hit counts and time-stamps, by which the paper
 * identifies such flows, are left out: no decision depends on them.
 *
 * Written from what is commonly known of the paper: its text and its figures were not
 * available, so section numbers may be wrong.
 */
#ifndef SLUICEGATE_SRED_H
#define SLUICEGATE_SRED_H

#include "fixed.h"

#define SRED_ZOMBIES 1000

enum sred_variant { SRED_SIMPLE, SRED_FULL };

#define SRED_PARAMS(P)                                                                    \
	P(variant, CHOICE(simple|full), SRED_FULL, 0, 1, "",                              \
	  "whether a packet that meets its own flow is likelier to be dropped",           \
	  "Ott et al. 1999, sec. III and IV")                                             \
	P(max_p, RATIO, 0.15, 0, 1, "",                                                   \
	  "drop probability of a long queue with many flows", "Ott et al. 1999, sec. III") \
	P(overwrite, RATIO, 0.25, 0, 1, "",                                               \
	  "probability that a zombie gives way after a miss", "Ott et al. 1999, sec. II")

AQM_PARAMS(sred, SRED_PARAMS)

struct sred_config {
	s64 max_p, overwrite;	/* Q31.32 */
	u32 full;
};

struct sred_state {
	s64 hits;	/* P, Q2.62: its weight is too small for 32 fractional bits */
	u32 known;	/* zombies so far */
	u32 flows[SRED_ZOMBIES];
};

static inline u32 sred_configure(const struct sred_params *p, struct sred_config *config)
{
	config->max_p = p->max_p;
	config->overwrite = p->overwrite;
	config->full = p->variant == SRED_FULL;
	return 0;
}

/* P(t) = P(t-1) + overwrite / 1000 (hit - P(t-1)) */
static inline void sred_average(struct sred_state *state, const struct sred_config *config,
				u32 hit)
{
	s64 off = (hit ? 1LL << 62 : 0) - state->hits;
	s64 size = fixed_mul((s64)fixed_magnitude(off), config->overwrite);
	s64 change = (s64)((u64)size / SRED_ZOMBIES);

	state->hits += off < 0 ? -change : change;
}

/* Compares the packet with a zombie; 1 for a hit. Uses the lower half of the random word. */
static inline u32 sred_hit(struct sred_state *state, const struct sred_config *config,
			   const struct aqm_view *view)
{
	u64 draw = (view->random & 0xffffffffULL) * SRED_ZOMBIES;
	u32 hit, zombie = (u32)(draw >> 32);

	if (state->known < SRED_ZOMBIES) {
		state->flows[state->known++] = view->flow_hash;
		return 0;
	}
	hit = state->flows[zombie] == view->flow_hash;
	/* the fraction of the draw is uniform, too */
	if (!hit && (s64)(draw & 0xffffffffULL) < config->overwrite)
		state->flows[zombie] = view->flow_hash;
	sred_average(state, config, hit);
	return hit;
}

static inline s64 sred_of_queue(const struct sred_config *config, const struct aqm_view *view)
{
	if (3ULL * view->queue_packets >= view->limit_packets)
		return config->max_p;
	return 6ULL * view->queue_packets >= view->limit_packets ? config->max_p >> 2 : 0;
}

static inline s64 sred_zap(const struct sred_state *state, const struct sred_config *config,
			   const struct aqm_view *view, u32 hit)
{
	s64 p = sred_of_queue(config, view), hits = state->hits >> 30;
	s64 scaled = 256 * hits;

	if (scaled > FIXED_ONE)
		p = fixed_div(p, fixed_mul(scaled, scaled));
	if (config->full && hit)
		p = fixed_add(p, fixed_div(p, hits));
	return p < FIXED_ONE ? p : FIXED_ONE;
}

static inline enum aqm_verdict sred_arrive(struct sred_state *state,
					   const struct sred_config *config,
					   const struct aqm_view *view)
{
	u32 hit = sred_hit(state, config, view);

	return aqm_happens(sred_zap(state, config, view, hit), view->random) ? AQM_DROP_EARLY
									     : AQM_ADMIT;
}

AQM_CLASS(sred, SRED_PARAMS,
	.title = "SRED: Stabilized RED",
	.source = "Ott, Lakshman & Wong 1999",
	.summary = "Drops by the number of flows, which it estimates from a list of late ones.")

#endif
