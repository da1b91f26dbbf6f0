/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Deficit round robin: flows are spread over lanes by a hash; each lane in turn sends
 * `quantum_bytes`, and keeps what it could not use while packets wait in it. When the buffer is
 * full, the lane with most bytes loses a packet.
 *
 * M. Shreedhar and G. Varghese, "Efficient fair queuing using deficit round robin", SIGCOMM 1995.
 */
#ifndef SLUICEGATE_DRR_H
#define SLUICEGATE_DRR_H

#include "flow_hash.h"
#include "active_list.h"

#define DRR_PARAMS(P)                                                                      \
	P(queues, COUNT, 1024, 1, AQM_MOST_LANES, "",                                      \
	  "number of queues; flows are spread over them by a hash with a random salt",     \
	  "Shreedhar & Varghese 1995")                                                     \
	/* a smaller quantum would need many turns for one packet */                       \
	P(quantum_bytes, BYTES, 1500, 64, 1e9, "", "what a queue may send in its turn",    \
	  "Shreedhar & Varghese 1995: Q")

AQM_PARAMS(drr, DRR_PARAMS)

struct drr_config {
	s64 quantum_bytes;
	u32 queues;
};

struct drr_state {
	struct flow_hash hash;
	struct active_list active;	/* ActiveList */
	u32 has_quantum;	/* 1 if the first lane has got its quantum */
};

struct drr_lane {
	struct active_lane turn;	/* its credit is DC_i */
};

static inline u32 drr_configure(const struct drr_params *p, struct drr_config *config)
{
	config->quantum_bytes = p->quantum_bytes;
	config->queues = (u32)p->queues;
	return 0;
}

static inline u32 drr_lanes(const struct drr_config *config)
{
	return config->queues;
}

static inline u32 drr_wants_random(const struct drr_state *state, const struct drr_config *config,
				   const struct aqm_view *view)
{
	(void)config;
	return flow_hash_wants_random(&state->hash, view);
}

static inline u32 drr_classify(struct drr_state *state, const struct drr_config *config,
			       struct aqm_lanes *lanes, const struct aqm_view *view)
{
	(void)lanes;
	return flow_hash_lane(&state->hash, 0, config->queues, view);
}

static inline void drr_joined(struct drr_state *state, const struct drr_config *config,
			      struct aqm_lanes *lanes, u32 number)
{
	(void)config;
	active_list_add(&state->active, lanes, number);
}

/* Ends the turn of the first lane; an empty one leaves the round and loses its deficit. */
static inline void drr_end_turn(struct drr_state *state, struct aqm_lanes *lanes, u32 number,
				struct active_lane *lane)
{
	state->has_quantum = 0;
	if (!lane->waits.packets)
		lane->credit_bytes = 0;
	active_list_move_first(&state->active, lane->waits.packets ? &state->active : 0, lanes, number,
			 lane);
}

static inline u32 drr_next(struct drr_state *state, const struct drr_config *config,
			   struct aqm_lanes *lanes, u64 now_ns)
{
	u32 found = AQM_NO_LANE, number;
	struct active_lane *lane;

	(void)now_ns;
	AQM_UP_TO(AQM_MOST_STEPS) {
		if (!state->active.count)
			break;
		number = state->active.first;
		lane = active_lane_at(lanes, number);
		if (!lane)
			break;
		if (lane->waits.packets) {
			if (!state->has_quantum) {
				lane->credit_bytes += config->quantum_bytes;
				state->has_quantum = 1;
			}
			if (lane->waits.head_bytes <= lane->credit_bytes) {
				found = number;
				break;
			}
		}
		drr_end_turn(state, lanes, number, lane);
	}
	return found;
}

static inline void drr_sent(struct drr_state *state, const struct drr_config *config,
			    struct aqm_lanes *lanes, u32 number, u32 bytes)
{
	struct active_lane *lane = active_lane_at(lanes, number);

	(void)config;
	if (!lane)
		return;
	lane->credit_bytes -= bytes;
	if (!lane->waits.packets)
		drr_end_turn(state, lanes, number, lane);
}

static inline u32 drr_victim(const struct drr_state *state, const struct drr_config *config,
			     struct aqm_lanes *lanes, u32 own, u32 bytes)
{
	const struct active_list none = { 0, 0, 0 };

	(void)config;
	return active_list_longest(&state->active, &none, lanes, own, bytes, 1);
}

AQM_SCHEDULER(drr, DRR_PARAMS,
	.title = "Deficit round robin",
	.source = "Shreedhar & Varghese 1995",
	.summary = "`quantum_bytes` of each queue in turn.")

#endif
