/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Flow queueing: deficit round robin in which a lane that was empty goes first, for one quantum.
 * Flows are spread over lanes by a hash. When the buffer is full, the lane with most bytes loses a
 * packet. With CoDel in each lane, and drops from the front, this is FQ-CoDel.
 *
 * RFC 8290, "The flow queue CoDel packet scheduler and active queue management algorithm",
 * section 4.
 */
#ifndef SLUICEGATE_FQ_H
#define SLUICEGATE_FQ_H

#include "flow_hash.h"
#include "active_list.h"

#define FQ_PARAMS(P)                                                                       \
	P(queues, COUNT, 1024, 1, AQM_MOST_LANES, "",                                      \
	  "number of queues; flows are spread over them by a hash with a random salt",     \
	  "RFC 8290, section 5.2.4")                                                       \
	/* a smaller quantum would need many turns for one packet */                       \
	P(quantum_bytes, BYTES, 1514, 64, 1e9, "", "what a queue may send in its turn",    \
	  "RFC 8290, section 5.2.3")

AQM_PARAMS(fq, FQ_PARAMS)

struct fq_config {
	s64 quantum_bytes;
	u32 queues;
};

struct fq_state {
	struct flow_hash hash;
	struct active_list new, old;	/* lanes that were empty a short time ago, and the others */
};

struct fq_lane {
	struct active_lane turn;	/* its last packet may exceed the credit */
};

static inline u32 fq_configure(const struct fq_params *p, struct fq_config *config)
{
	config->quantum_bytes = p->quantum_bytes;
	config->queues = (u32)p->queues;
	return 0;
}

static inline u32 fq_lanes(const struct fq_config *config)
{
	return config->queues;
}

static inline u32 fq_wants_random(const struct fq_state *state, const struct fq_config *config,
				  const struct aqm_view *view)
{
	(void)config;
	return flow_hash_wants_random(&state->hash, view);
}

static inline u32 fq_classify(struct fq_state *state, const struct fq_config *config,
			      struct aqm_lanes *lanes, const struct aqm_view *view)
{
	(void)lanes;
	return flow_hash_lane(&state->hash, 0, config->queues, view);
}

/* Section 4.1. */
static inline void fq_joined(struct fq_state *state, const struct fq_config *config,
			     struct aqm_lanes *lanes, u32 number)
{
	struct active_lane *lane;

	if (!active_list_add(&state->new, lanes, number))
		return;
	lane = active_lane_at(lanes, number);
	if (lane)
		lane->credit_bytes = config->quantum_bytes;
}

/* Section 4.2. */
static inline u32 fq_next(struct fq_state *state, const struct fq_config *config,
			  struct aqm_lanes *lanes, u64 now_ns)
{
	u32 found = AQM_NO_LANE, number, is_new, is_spent;
	struct active_lane *lane;

	(void)now_ns;
	AQM_UP_TO(AQM_MOST_STEPS) {
		is_new = state->new.count > 0;
		if (!is_new && !state->old.count)
			break;
		number = is_new ? state->new.first : state->old.first;
		lane = active_lane_at(lanes, number);
		if (!lane)
			break;
		is_spent = lane->credit_bytes <= 0;
		if (!is_spent && lane->waits.packets) {
			found = number;
			break;
		}
		if (is_spent)
			lane->credit_bytes += config->quantum_bytes;
		/* an empty new lane becomes an old one: else it could be new again without end */
		active_list_move_first(is_new ? &state->new : &state->old,
				 is_spent || is_new ? &state->old : 0, lanes, number, lane);
	}
	return found;
}

static inline void fq_sent(struct fq_state *state, const struct fq_config *config,
			   struct aqm_lanes *lanes, u32 number, u32 bytes)
{
	struct active_lane *lane = active_lane_at(lanes, number);

	(void)state, (void)config;
	if (lane)
		lane->credit_bytes -= bytes;
}

static inline u32 fq_victim(const struct fq_state *state, const struct fq_config *config,
			    struct aqm_lanes *lanes, u32 own, u32 bytes)
{
	(void)config;
	return active_list_longest(&state->new, &state->old, lanes, own, bytes, 1);
}

AQM_SCHEDULER(fq, FQ_PARAMS,
	.title = "Flow queueing",
	.source = "RFC 8290",
	.summary = "Deficit round robin in which a queue that was empty goes first. With "
		   "`aqm = \"codel\"` and `victim = \"front\"` this is FQ-CoDel.")

#endif
