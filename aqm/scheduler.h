/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The contract of a scheduler: it divides the queue before a link into lanes, and decides which
 * lane sends next and which one loses a packet when the buffer is full. Each lane has an AQM.
 *
 * A scheduler X is one header that defines
 *
 *   1. X_PARAMS(P), struct X_params, struct X_config, X_configure(): as an AQM does (aqm.h);
 *   2. struct X_state  of all lanes together: no pointers, fixed size, valid when zeroed;
 *   3. struct X_lane   of each lane, valid when zeroed; its first member is a struct aqm_lane;
 *   4. X_lanes(config) the number of lanes, 1 to AQM_MOST_LANES;
 *   5. X_classify(state, config, lanes, view)   the lane that the view's packet joins. The view has
 *                      the time and what is known of the packet, and a random word if
 *      X_wants_random(state, config, view) is 1;
 *   6. X_joined(state, config, lanes, number)      a packet has joined that lane
 *   7. X_next(state, config, lanes, now_ns)        the lane whose first packet is sent next, the
 *                      same until X_sent or until that lane's first packet changes; AQM_NO_LANE if
 *                      no packet waits, or if all its turns were not enough: it is then called
 *                      again. A lane may also lose its packets in other ways, without a
 *                      call: X_next finds lanes that are empty.
 *   8. X_sent(state, config, lanes, number, bytes) that lane's first packet was sent
 *   9. X_victim(state, config, lanes, own, bytes)  the lane that loses a packet for an arrival of
 *                      `bytes` at lane `own`, which counts as if it had joined: `own`, or a lane
 *                      in which packets wait;
 *  10. if it needs them, each with the macro that makes a function for the class from it:
 *      X_ready_ns(state)          X_next may answer AQM_NOT_YET: packets wait, and none (AQM_WAITS)
 *                                 may be sent before this time
 *      X_lost(state, config, lanes, view)  the view's packet, which waited in lane  (AQM_LOST)
 *                                 view->lane, was lost in place of an arrival
 *      X_ack_filter(config)       an enum aqm_ack_filter: whether the world removes  (AQM_ACK_FILTER)
 *                                 an ACK that waits when a newer one of its connection joins
 *                                 its lane, which tells the sender all that it would;
 *      X_thinned(state, config, lanes, view)  the view's packet was removed so
 *      X_shape(config)            equal for two configs if the state of one can go on with the other;
 *                                 without it: if they have as many lanes          (AQM_SHAPE)
 *  11. AQM_SCHEDULER(x, ...) at the end, which puts all of this into one table entry.
 *
 * A coupled discipline is a scheduler that also judges the packets of its lanes, all with its one
 * state: its lanes have no AQMs. It defines, too,
 *
 *  12. X_arrive(state, config, lanes, view), X_depart(state, config, lanes, view): as an AQM does;
 *      view->lane is the packet's lane;
 *  13. X_tick(state, config, lanes, view) every X_tick_interval_ns(config). What waits is in the
 *      lanes: the view has it only of lane 0;
 *  14. AQM_COUPLED(x) before AQM_SCHEDULER, and in that AQM_COUPLES(x).
 *
 * The rules of aqm.h hold here, too: no clock, no allocation, no unbounded loop. The packets
 * themselves are stored by the world. It keeps each lane's struct aqm_lane up to date before every
 * call, and gives access to lanes by number, wherever they are.
 */
#ifndef SLUICEGATE_SCHEDULER_H
#define SLUICEGATE_SCHEDULER_H

#include "aqm.h"

#define AQM_MOST_LANES 65536
/* The number of no lane. */
#define AQM_NO_LANE 0xffffffffU
/* X_next: packets wait, but none may be sent now. */
#define AQM_NOT_YET 0xfffffffeU

/* What the world tells of a lane. */
struct aqm_lane {
	u64 bytes;		/* that wait in it */
	u64 head_since_ns;	/* since when its first packet waits; 0 if none does */
	u32 packets;		/* that wait in it */
	u32 head_bytes;		/* size of its first packet; 0 if none waits */
};

struct aqm_lanes;

/* Returns a lane, a struct X_lane; null if none has the number. */
static inline void *aqm_lane_at(struct aqm_lanes *lanes, u32 number);

#ifndef AQM_LANES_ELSEWHERE	/* defined by a program whose lanes are not in an array */
struct aqm_lanes {
	u8 *first;
	u64 size;		/* of a lane, bytes */
	u32 count;
};

static inline void *aqm_lane_at(struct aqm_lanes *lanes, u32 number)
{
	return number < lanes->count ? lanes->first + number * lanes->size : 0;
}
#endif

enum aqm_ack_filter {
	AQM_ACKS_STAY,
	AQM_ACKS_CAREFUL,	/* once two of a connection wait that may go */
	AQM_ACKS_AGGRESSIVE,	/* once one does, if the newer one stands right behind it */
};

#ifndef AQM_HOSTED
#define AQM_ACK_FILTER(x)
#define AQM_COUPLED(x)
#define AQM_WAITS(x)
#define AQM_LOST(x)
#define AQM_SHAPE(x)
#else
#define AQM_SHAPE(x)                                                               \
	static u64 x##_shape_any(const void *c)                                    \
	{                                                                          \
		return x##_shape(c);                                               \
	}
#define AQM_WAITS(x)                                                               \
	static u64 x##_ready_ns_any(const void *s)                                 \
	{                                                                          \
		return x##_ready_ns(s);                                            \
	}
#define AQM_ACK_FILTER(x)                                                          \
	static u64 x##_ack_filter_any(const void *c)                               \
	{                                                                          \
		return x##_ack_filter(c);                                          \
	}                                                                          \
	static void x##_thinned_any(void *s, const void *c, struct aqm_lanes *lanes, \
				    const struct aqm_view *v)                      \
	{                                                                          \
		x##_thinned(s, c, lanes, v);                                       \
	}
#define AQM_LOST(x)                                                                \
	static void x##_lost_any(void *s, const void *c, struct aqm_lanes *lanes,  \
				 const struct aqm_view *v)                         \
	{                                                                          \
		x##_lost(s, c, lanes, v);                                          \
	}
#define AQM_COUPLED(x)                                                             \
	static u32 x##_arrive_among_any(void *s, const void *c, struct aqm_lanes *lanes, \
					const struct aqm_view *v)                  \
	{                                                                          \
		return aqm_settle(x##_arrive(s, c, lanes, v), v);                  \
	}                                                                          \
	static u32 x##_depart_among_any(void *s, const void *c, struct aqm_lanes *lanes, \
					const struct aqm_view *v)                  \
	{                                                                          \
		return aqm_mark_instead(x##_depart(s, c, lanes, v), v);            \
	}                                                                          \
	static void x##_tick_among_any(void *s, const void *c, struct aqm_lanes *lanes, \
				       const struct aqm_view *v)                   \
	{                                                                          \
		x##_tick(s, c, lanes, v);                                          \
	}                                                                          \
	static u64 x##_tick_interval_any(const void *c)                            \
	{                                                                          \
		return x##_tick_interval_ns(c);                                    \
	}
#define AQM_COUPLES(x)                                                             \
	.arrive_among = x##_arrive_among_any, .depart_among = x##_depart_among_any, \
	.tick_among = x##_tick_among_any, .tick_interval_ns = x##_tick_interval_any

/* AQM_SCHEDULER(x, X_PARAMS, .title = "...", .source = "...", .summary = "...") */
#define AQM_SCHEDULER(x, LIST, ...)                                                \
	static u32 x##_configure_any(const s64 *params, void *config)              \
	{                                                                          \
		return x##_configure((const struct x##_params *)params, config);   \
	}                                                                          \
	static u64 x##_lanes_any(const void *c)                                    \
	{                                                                          \
		return x##_lanes(c);                                               \
	}                                                                          \
	static u32 x##_wants_random_any(const void *s, const void *c,              \
					const struct aqm_view *v)                  \
	{                                                                          \
		return x##_wants_random(s, c, v);                                  \
	}                                                                          \
	static u32 x##_classify_any(void *s, const void *c, struct aqm_lanes *lanes, \
				    const struct aqm_view *v)                      \
	{                                                                          \
		return x##_classify(s, c, lanes, v);                               \
	}                                                                          \
	static void x##_joined_any(void *s, const void *c, struct aqm_lanes *lanes, \
				   u32 number)                                     \
	{                                                                          \
		x##_joined(s, c, lanes, number);                                   \
	}                                                                          \
	static u32 x##_next_any(void *s, const void *c, struct aqm_lanes *lanes,   \
				u64 now_ns)                                        \
	{                                                                          \
		return x##_next(s, c, lanes, now_ns);                              \
	}                                                                          \
	static void x##_sent_any(void *s, const void *c, struct aqm_lanes *lanes,  \
				 u32 number, u32 bytes)                            \
	{                                                                          \
		x##_sent(s, c, lanes, number, bytes);                              \
	}                                                                          \
	static u32 x##_victim_any(const void *s, const void *c,                    \
				  struct aqm_lanes *lanes, u32 own, u32 bytes)     \
	{                                                                          \
		return x##_victim(s, c, lanes, own, bytes);                        \
	}                                                                          \
	static const struct aqm_param x##_param_table[] = { LIST(AQM_DESCRIBE) };  \
	static const struct aqm_class x##_class = {                                \
		.name = #x,                                                        \
		.params = x##_param_table,                                         \
		.params_count = AQM_LENGTH(x##_param_table),                       \
		.config_size = sizeof(struct x##_config),                          \
		.state_size = sizeof(struct x##_state),                            \
		.lane_size = sizeof(struct x##_lane),                              \
		.configure = x##_configure_any,                                    \
		.lanes = x##_lanes_any,                                            \
		.wants_random = x##_wants_random_any,                              \
		.classify = x##_classify_any,                                      \
		.joined = x##_joined_any,                                          \
		.next = x##_next_any,                                              \
		.sent = x##_sent_any,                                              \
		.victim = x##_victim_any,                                          \
		__VA_ARGS__                                                        \
	};
#endif

#endif
