/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Enhanced transmission selection: each class of service has a lane. The first `strict` lanes have
 * strict priority, in their order; the others share what those leave by deficit round robin, each
 * with a quantum of its own. Only lanes behind a strict one may starve.
 *
 * When the buffer is full, the longest of the lanes that share loses a packet, in bytes; if none of
 * them has any, the last strict lane in which packets wait.
 *
 * IEEE 802.1Qaz-2011, in IEEE 802.1Q since 2012; Linux, net/sched/sch_ets.c. There each band has a limit of its own.
 */
#ifndef SLUICEGATE_ETS_H
#define SLUICEGATE_ETS_H

#include "active_list.h"
#include "class_map.h"

#define ETS_QUANTUM(P, n)                                                                  \
	/* a smaller quantum would need many turns for one packet */                       \
	P(quantum_##n, BYTES, 1514, 64, 1e9, "classes", "what a class may send in its turn", \
	  "Linux: the device's MTU with its link header")

#define ETS_PARAMS(P)                                                                      \
	CLASS_MAP_PARAMS(P)                                                                \
	P(strict, COUNT, 0, 0, CLASS_MAP_MOST, "classes", "number of strict classes", "")  \
	ETS_QUANTUM(P, 0) ETS_QUANTUM(P, 1) ETS_QUANTUM(P, 2) ETS_QUANTUM(P, 3)            \
	ETS_QUANTUM(P, 4) ETS_QUANTUM(P, 5) ETS_QUANTUM(P, 6) ETS_QUANTUM(P, 7)            \
	ETS_QUANTUM(P, 8) ETS_QUANTUM(P, 9) ETS_QUANTUM(P, 10) ETS_QUANTUM(P, 11)          \
	ETS_QUANTUM(P, 12) ETS_QUANTUM(P, 13) ETS_QUANTUM(P, 14) ETS_QUANTUM(P, 15)

AQM_PARAMS(ets, ETS_PARAMS)

struct ets_config {
	struct class_map map;
	s64 quanta[CLASS_MAP_MOST];	/* bytes */
	u32 strict, unused;
};

struct ets_state {
	struct active_list active;	/* of the lanes that share */
};

struct ets_lane {
	struct active_lane turn;
};

#define ETS_TAKE(n) config->quanta[n] = p->quantum_##n;
static inline u32 ets_configure(const struct ets_params *p, struct ets_config *config)
{
	CLASS_MAP_CONFIGURE(&config->map, p, struct ets_params);
	CLASS_MAP_TIMES(ETS_TAKE)
	config->strict = (u32)p->strict;
	config->unused = 0;
	return 0;
}

static inline u32 ets_lanes(const struct ets_config *config)
{
	return config->map.classes;
}

static inline u32 ets_wants_random(const struct ets_state *state, const struct ets_config *config,
				   const struct aqm_view *view)
{
	(void)state, (void)config, (void)view;
	return 0;
}

static inline u32 ets_classify(struct ets_state *state, const struct ets_config *config,
			       struct aqm_lanes *lanes, const struct aqm_view *view)
{
	(void)state, (void)lanes;
	return class_map_find(&config->map, view);
}

static inline s64 ets_quantum(const struct ets_config *config, u32 number)
{
	return config->quanta[number & (CLASS_MAP_MOST - 1)];
}

/* ets_qdisc_enqueue(): a lane that was empty has one quantum. */
static inline void ets_joined(struct ets_state *state, const struct ets_config *config,
			      struct aqm_lanes *lanes, u32 number)
{
	struct active_lane *lane;

	if (number < config->strict || !active_list_add(&state->active, lanes, number))
		return;
	lane = active_lane_at(lanes, number);
	if (lane)
		lane->credit_bytes = ets_quantum(config, number);
}

/* ets_qdisc_dequeue(). A lane that lost its packets in other ways is found here, and leaves. */
static inline u32 ets_next(struct ets_state *state, const struct ets_config *config,
			   struct aqm_lanes *lanes, u64 now_ns)
{
	u32 found = class_map_strict(config->strict, lanes, 1), number;
	struct active_lane *lane;

	(void)now_ns;
	if (found != AQM_NO_LANE)
		return found;
	AQM_UP_TO(AQM_MOST_STEPS) {
		if (!state->active.count)
			break;
		number = state->active.first;
		lane = active_lane_at(lanes, number);
		if (!lane)
			break;
		if (lane->waits.packets && lane->waits.head_bytes <= lane->credit_bytes) {
			found = number;
			break;
		}
		if (lane->waits.packets)
			lane->credit_bytes += ets_quantum(config, number);
		active_list_move_first(&state->active, lane->waits.packets ? &state->active : 0,
				       lanes, number, lane);
	}
	return found;
}

/* A lane that is empty after a packet leaves the round, and loses its credit. */
static inline void ets_sent(struct ets_state *state, const struct ets_config *config,
			    struct aqm_lanes *lanes, u32 number, u32 bytes)
{
	struct active_lane *lane = active_lane_at(lanes, number);

	if (number < config->strict || !lane)
		return;
	lane->credit_bytes -= bytes;
	if (!lane->waits.packets)
		active_list_move_first(&state->active, 0, lanes, number, lane);
}

static inline u32 ets_victim(const struct ets_state *state, const struct ets_config *config,
			     struct aqm_lanes *lanes, u32 own, u32 bytes)
{
	const struct active_list none = { 0, 0, 0 };
	u32 last;

	if (own >= config->strict)
		return active_list_longest(&state->active, &none, lanes, own, bytes, 1);
	if (state->active.count) {
		u32 found = active_list_longest(&state->active, &none, lanes, state->active.first,
						0, 1);
		const struct active_lane *lane = active_lane_at(lanes, found);

		if (lane && lane->waits.packets)
			return found;
	}
	last = class_map_strict(config->strict, lanes, 0);
	return last != AQM_NO_LANE && last > own ? last : own;
}

/* Lanes that were strict are in no list. */
static inline u64 ets_shape(const struct ets_config *config)
{
	return config->strict;
}

AQM_SHAPE(ets)
AQM_SCHEDULER(ets, ETS_PARAMS,
	.title = "Enhanced transmission selection",
	.source = "Linux: sch_ets.c",
	.summary = "Strict classes of service first. Those with a quantum share the rest by deficit "
		   "round robin.",
	.shape = ets_shape_any)

#endif
