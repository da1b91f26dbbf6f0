/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Weighted fair queueing of classes, worst-case fair: each class of service has a lane. The first
 * `strict` lanes have strict priority, in their order; the others share what those leave in proportion
 * to their quanta, packet by packet. A packet waits hardly longer than it would if the link were
 * divided among the classes like a fluid; under round robin it may wait for the turns of all others.
 *
 * J. C. R. Bennett and H. Zhang, "Hierarchical packet fair queueing algorithms", IEEE/ACM
 * Transactions on Networking 5(5), 1997: WF2Q+. Each lane has a virtual start S_i and finish F_i of its
 * first packet, and the link a virtual time V.
 * Of the lanes with S_i <= V that with the smallest F_i sends; of equal ones, the first. V moves on by
 * a packet when it is taken for transmission, as in FreeBSD's dn_sched_wf2q.c.
 *
 * When the buffer is full, the longest of the lanes that share loses a packet, in bytes; if none of
 * them has any, the last strict lane in which packets wait.
 */
#ifndef SLUICEGATE_WF2Q_H
#define SLUICEGATE_WF2Q_H

#include "class_map.h"

#define WF2Q_QUANTUM(P, n)                                                                 \
	P(quantum_##n, BYTES, 1514, 64, 1e9, "classes",                                    \
	  "share of a class among all quanta", "Bennett & Zhang 1997: r_i")

#define WF2Q_PARAMS(P)                                                                     \
	CLASS_MAP_PARAMS(P)                                                                \
	P(strict, COUNT, 0, 0, CLASS_MAP_MOST, "classes", "number of strict classes", "")  \
	WF2Q_QUANTUM(P, 0) WF2Q_QUANTUM(P, 1) WF2Q_QUANTUM(P, 2) WF2Q_QUANTUM(P, 3)        \
	WF2Q_QUANTUM(P, 4) WF2Q_QUANTUM(P, 5) WF2Q_QUANTUM(P, 6) WF2Q_QUANTUM(P, 7)        \
	WF2Q_QUANTUM(P, 8) WF2Q_QUANTUM(P, 9) WF2Q_QUANTUM(P, 10) WF2Q_QUANTUM(P, 11)      \
	WF2Q_QUANTUM(P, 12) WF2Q_QUANTUM(P, 13) WF2Q_QUANTUM(P, 14) WF2Q_QUANTUM(P, 15)

AQM_PARAMS(wf2q, WF2Q_PARAMS)

struct wf2q_config {
	struct class_map map;
	u64 quanta[CLASS_MAP_MOST];	/* bytes */
	u64 round_bytes;		/* quanta of all lanes that share */
	u32 strict, unused;
};

/*
 * Virtual times are in bytes of the link, with 10 fractional bits, so that they mean the same after the
 * quanta change. They wrap around. No lane is far from V: wf2q_next() sees to it.
 */
#define WF2Q_FRACTION_BITS 10

struct wf2q_state {
	u64 now;		/* V */
	u64 round_bytes;	/* of the config at the last packet */
};

struct wf2q_lane {
	struct aqm_lane waits;
	u64 start;	/* S_i of its first packet; while none waits, F_i of its last one */
	u32 sent_bytes;		/* length of the last packet that it sent */
	u32 quantum;		/* of the config at the last packet */
};

#define WF2Q_TAKE(n) config->quanta[n] = (u64)p->quantum_##n;
static inline u32 wf2q_configure(const struct wf2q_params *p, struct wf2q_config *config)
{
	CLASS_MAP_CONFIGURE(&config->map, p, struct wf2q_params);
	CLASS_MAP_TIMES(WF2Q_TAKE)
	config->strict = (u32)p->strict;
	config->unused = 0;
	config->round_bytes = 0;
	for (u32 number = 0; number < CLASS_MAP_MOST; number++)
		if (number >= config->strict && number < config->map.classes)
			config->round_bytes += config->quanta[number];
	return 0;
}

static inline u32 wf2q_lanes(const struct wf2q_config *config)
{
	return config->map.classes;
}

static inline u32 wf2q_wants_random(const struct wf2q_state *state,
				    const struct wf2q_config *config,
				    const struct aqm_view *view)
{
	(void)state, (void)config, (void)view;
	return 0;
}

static inline u32 wf2q_classify(struct wf2q_state *state, const struct wf2q_config *config,
				struct aqm_lanes *lanes, const struct aqm_view *view)
{
	(void)state, (void)lanes;
	return class_map_find(&config->map, view);
}

static inline struct wf2q_lane *wf2q_lane_at(struct aqm_lanes *lanes, u32 number)
{
	return (struct wf2q_lane *)aqm_lane_at(lanes, number);
}

static inline u32 wf2q_is_before(u64 one, u64 other)
{
	return (s64)(one - other) < 0;
}

/*
 * The virtual time in which that lane may send so many bytes: L / r_i, where r_i is its share of the
 * link. Rounded up, so that the shares do not exceed the link and no lane falls ever further behind V.
 * A packet of 512 KiB and 16 quanta of 1e9 bytes make a product of 63 bits.
 */
static inline u64 wf2q_time(const struct wf2q_config *config, u32 number, u32 bytes)
{
	u64 quantum = config->quanta[number & (CLASS_MAP_MOST - 1)];

	return (((u64)bytes << WF2Q_FRACTION_BITS) * config->round_bytes + quantum - 1) / quantum;
}

/* The first packet of a lane that was empty starts at V or later. */
static inline void wf2q_joined(struct wf2q_state *state, const struct wf2q_config *config,
			       struct aqm_lanes *lanes, u32 number)
{
	struct wf2q_lane *lane = wf2q_lane_at(lanes, number);

	(void)config;
	if (lane && lane->waits.packets == 1 && wf2q_is_before(lane->start, state->now))
		lane->start = state->now;
}

/*
 * A lane starts its next packet when its last one ends, and that one started at V or before. After its
 * quantum has grown this is too late: the last packet would have ended earlier.
 */
static inline void wf2q_limit_start(const struct wf2q_state *state,
				    const struct wf2q_config *config, struct wf2q_lane *lane,
				    u32 number)
{
	u64 latest;

	if (!wf2q_is_before(state->now, lane->start))
		return;
	latest = state->now + wf2q_time(config, number, lane->sent_bytes);
	if (wf2q_is_before(latest, lane->start))
		lane->start = latest;
}

/*
 * A lane may be as far behind V as its first packet takes: it is owed a part of this packet. After its
 * share has grown the packet takes less, and no more than this packet is owed. Otherwise the lane would
 * catch up with a run of packets.
 */
static inline void wf2q_keep_share(const struct wf2q_state *state,
				   const struct wf2q_config *config, struct wf2q_lane *lane,
				   u32 number)
{
	u32 quantum = (u32)config->quanta[number & (CLASS_MAP_MOST - 1)];
	u64 earliest;

	if (state->round_bytes == config->round_bytes && lane->quantum == quantum)
		return;
	lane->quantum = quantum;
	if (!lane->waits.packets)
		return;
	earliest = state->now - wf2q_time(config, number, lane->waits.head_bytes);
	if (wf2q_is_before(lane->start, earliest))
		lane->start = earliest;
}

/* V is not before the first start of the lanes in which packets wait. */
static inline void wf2q_catch_up(struct wf2q_state *state, const struct wf2q_config *config,
				 struct aqm_lanes *lanes)
{
	struct wf2q_lane *lane;
	u64 first = 0;
	u32 waits = 0;

	AQM_UP_TO(config->map.classes) {
		lane = wf2q_lane_at(lanes, (u32)turn);
		if (!lane || (u32)turn < config->strict)
			continue;
		wf2q_limit_start(state, config, lane, (u32)turn);
		wf2q_keep_share(state, config, lane, (u32)turn);
		if (!lane->waits.packets) {
			/* so that it is not taken for a later one once times wrap around */
			if (wf2q_is_before(lane->start, state->now))
				lane->start = state->now;
		} else if (!waits || wf2q_is_before(lane->start, first)) {
			first = lane->start;
			waits = 1;
		}
	}
	state->round_bytes = config->round_bytes;
	if (waits && wf2q_is_before(state->now, first))
		state->now = first;
}

static inline u32 wf2q_next(struct wf2q_state *state, const struct wf2q_config *config,
			    struct aqm_lanes *lanes, u64 now_ns)
{
	u32 found = class_map_strict(config->strict, lanes, 1);
	const struct wf2q_lane *lane;
	u64 finish, smallest = 0;

	(void)now_ns;
	if (found != AQM_NO_LANE)
		return found;
	wf2q_catch_up(state, config, lanes);
	AQM_UP_TO(config->map.classes) {
		lane = wf2q_lane_at(lanes, (u32)turn);
		if (!lane || (u32)turn < config->strict || !lane->waits.packets ||
		    wf2q_is_before(state->now, lane->start))
			continue;
		finish = lane->start + wf2q_time(config, (u32)turn, lane->waits.head_bytes);
		if (found == AQM_NO_LANE || wf2q_is_before(finish, smallest)) {
			smallest = finish;
			found = (u32)turn;
		}
	}
	return found;
}

/* V moves on by L / r, and the next packet starts where this one ends. */
static inline void wf2q_sent(struct wf2q_state *state, const struct wf2q_config *config,
			     struct aqm_lanes *lanes, u32 number, u32 bytes)
{
	struct wf2q_lane *lane = wf2q_lane_at(lanes, number);

	if (number < config->strict || !lane || !config->round_bytes)
		return;
	lane->start += wf2q_time(config, number, bytes);
	lane->sent_bytes = bytes;
	state->now += (u64)bytes << WF2Q_FRACTION_BITS;
}

static inline u32 wf2q_victim(const struct wf2q_state *state, const struct wf2q_config *config,
			      struct aqm_lanes *lanes, u32 own, u32 bytes)
{
	u32 found = AQM_NO_LANE, last;
	const struct wf2q_lane *lane;
	u64 length, most = 0;

	(void)state;
	AQM_UP_TO(config->map.classes) {
		lane = wf2q_lane_at(lanes, (u32)turn);
		if (!lane || (u32)turn < config->strict)
			continue;
		length = lane->waits.bytes + ((u32)turn == own ? bytes : 0);
		if (length > most || (length == most && length && (u32)turn == own)) {
			most = length;
			found = (u32)turn;
		}
	}
	if (found != AQM_NO_LANE)
		return found;
	last = class_map_strict(config->strict, lanes, 0);
	return last != AQM_NO_LANE && last > own ? last : own;
}

/* The times of lanes that were strict have no meaning. */
static inline u64 wf2q_shape(const struct wf2q_config *config)
{
	return config->strict;
}

AQM_SHAPE(wf2q)
AQM_SCHEDULER(wf2q, WF2Q_PARAMS,
	.title = "Weighted fair queueing",
	.source = "Bennett & Zhang 1997: WF2Q+",
	.summary = "Strict classes of service first. Those with a quantum share the rest in proportion "
		   "to it, packet by packet, as evenly as packets can.",
	.shape = wf2q_shape_any)

#endif
