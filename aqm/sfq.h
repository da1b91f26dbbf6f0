/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Stochastic fair queueing: flows are spread over lanes by a hash; each lane in turn sends one
 * packet. When the buffer is full, the lane with most packets loses one.
 *
 * P. McKenney, "Stochastic fairness queueing", INFOCOM 1990.
 *
 * ns-2's SFQ differs (sfq.cc). It hashes the addresses of nodes, not flows, has 16 buckets, and
 * holds 40 packets (`maxqueue_`), whatever its `limit_` is. It never drops a waiting packet. It
 * drops the arriving one if its bucket holds at least half as many packets as there are free
 * places, or, once there are fewer free places than buckets, if its bucket holds more than its fair
 * share, `maxqueue_` / 16 packets.
 */
#ifndef SLUICEGATE_SFQ_H
#define SLUICEGATE_SFQ_H

#include "flow_hash.h"
#include "active_list.h"

#define SFQ_PARAMS(P)                                                                      \
	P(queues, COUNT, 1024, 1, AQM_MOST_LANES, "", "number of queues", "McKenney 1990")   \
	P(perturbation_s, SECONDS, 0, 0, 1e6, "",                                          \
	  "time after which the salt is drawn anew; 0: never", "McKenney 1990")

AQM_PARAMS(sfq, SFQ_PARAMS)

struct sfq_config {
	u64 perturbation_ns;
	u32 queues;
};

struct sfq_state {
	struct flow_hash hash;
	struct active_list active;
};

struct sfq_lane {
	struct active_lane turn;
};

static inline u32 sfq_configure(const struct sfq_params *p, struct sfq_config *config)
{
	config->perturbation_ns = (u64)p->perturbation_s;
	config->queues = (u32)p->queues;
	return 0;
}

static inline u32 sfq_lanes(const struct sfq_config *config)
{
	return config->queues;
}

static inline u32 sfq_wants_random(const struct sfq_state *state, const struct sfq_config *config,
				   const struct aqm_view *view)
{
	(void)config;
	return flow_hash_wants_random(&state->hash, view);
}

static inline u32 sfq_classify(struct sfq_state *state, const struct sfq_config *config,
			       struct aqm_lanes *lanes, const struct aqm_view *view)
{
	(void)lanes;
	return flow_hash_lane(&state->hash, config->perturbation_ns, config->queues, view);
}

static inline void sfq_joined(struct sfq_state *state, const struct sfq_config *config,
			      struct aqm_lanes *lanes, u32 number)
{
	(void)config;
	active_list_add(&state->active, lanes, number);
}

/* Ends the turn of the first lane; an empty one leaves the round. */
static inline void sfq_end_turn(struct sfq_state *state, struct aqm_lanes *lanes, u32 number,
				struct active_lane *lane)
{
	active_list_move_first(&state->active, lane->waits.packets ? &state->active : 0, lanes, number,
			 lane);
}

static inline u32 sfq_next(struct sfq_state *state, const struct sfq_config *config,
			   struct aqm_lanes *lanes, u64 now_ns)
{
	u32 found = AQM_NO_LANE, number;
	struct active_lane *lane;

	(void)config, (void)now_ns;
	AQM_UP_TO(AQM_MOST_STEPS) {
		if (!state->active.count)
			break;
		number = state->active.first;
		lane = active_lane_at(lanes, number);
		if (!lane)
			break;
		if (lane->waits.packets) {
			found = number;
			break;
		}
		/* its last packets were lost */
		sfq_end_turn(state, lanes, number, lane);
	}
	return found;
}

static inline void sfq_sent(struct sfq_state *state, const struct sfq_config *config,
			    struct aqm_lanes *lanes, u32 number, u32 bytes)
{
	struct active_lane *lane = active_lane_at(lanes, number);

	(void)config, (void)bytes;
	if (lane)
		sfq_end_turn(state, lanes, number, lane);
}

static inline u32 sfq_victim(const struct sfq_state *state, const struct sfq_config *config,
			     struct aqm_lanes *lanes, u32 own, u32 bytes)
{
	const struct active_list none = { 0, 0, 0 };

	(void)config;
	return active_list_longest(&state->active, &none, lanes, own, bytes, 0);
}

AQM_SCHEDULER(sfq, SFQ_PARAMS,
	.title = "Stochastic fair queueing",
	.source = "McKenney 1990",
	.summary = "One packet of each queue in turn. When the limit is reached, the longest "
		   "queue loses a packet. ns-2's SFQ hashes the addresses of nodes instead, has "
		   "16 queues, and holds 40 packets whatever its limit.")

#endif
