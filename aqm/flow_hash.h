/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Spreads flows over lanes by a hash with a random salt.
 *
 * The salt is drawn at the first arrival, and again at the first arrival of each period
 * `perturbation_ns`; 0: never again. Packets that wait then stay in their lanes.
 */
#ifndef SLUICEGATE_FLOW_HASH_H
#define SLUICEGATE_FLOW_HASH_H

#include "scheduler.h"

struct flow_hash {
	u64 salt;
	u64 next_salt_ns;	/* a new one is drawn at the first arrival from this time on */
};

/* The finaliser of SplitMix64 (Steele, Lea & Flood 2014). */
static inline u64 flow_hash_mix(u64 word)
{
	word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9ULL;
	word = (word ^ word >> 27) * 0x94d049bb133111ebULL;
	return word ^ word >> 31;
}

static inline u32 flow_hash_wants_random(const struct flow_hash *s, const struct aqm_view *view)
{
	return view->now_ns >= s->next_salt_ns;
}

/* Returns the lane of the view's flow, one of `lanes`: the upper half of a product. */
static inline u32 flow_hash_lane(struct flow_hash *s, u64 perturbation_ns, u32 lanes,
				 const struct aqm_view *view)
{
	u64 hash;

	if (flow_hash_wants_random(s, view)) {
		s->salt = view->random;
		s->next_salt_ns = ~0ULL;
		if (perturbation_ns)
			s->next_salt_ns = view->now_ns - view->now_ns % perturbation_ns +
					  perturbation_ns;
	}
	hash = flow_hash_mix(view->flow_hash ^ s->salt);
	return (u32)(((hash >> 32) * lanes + ((u64)(u32)hash * lanes >> 32)) >> 32);
}

#endif
