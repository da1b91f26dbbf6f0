/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * CAKE: a shaper, classes of service (tins), flow queues in each that are fair among flows and among
 * hosts, and COBALT in each flow queue.
 *
 * T. Høiland-Jørgensen, D. Täht, J. Morton, "Piece of CAKE: a comprehensive queue management
 * solution for home gateways", LANMAN 2018; Linux, net/sched/sch_cake.c.
 *
 * Tins. With a rate, the link sends from the last of those tins that have not used up their share of
 * it; if all have, from the tin whose time comes first. Without a rate, tins share by their weights.
 *
 * Flows. In a tin, flows take turns (DRR++): one that was empty goes first, for one quantum. A flow's
 * quantum is divided by the number of bulk flows of its source host, of its destination host, or of
 * the one that has more of them, as `isolation` says.
 *
 * When the buffer is full, the longest lane loses a packet, and its COBALT is told. Use victim = front,
 * as Linux does: else the arriving packet may be lost, without its COBALT being told.
 *
 * Differences from Linux:
 *
 * - Linux adds a random number below 2^16 to a quantum in 2^-16 bytes. Here the rest is carried over
 *   to the tin's next quantum, which has the same mean.
 * - What limits the buffer is the scenario's, in packets or bytes; Linux counts the memory of packets.
 * - The hash of a flow has no salt, as in Linux; but it is the world's hash, not the kernel's.
 * - A packet that finds the buffer full loses one before its ACKs are filtered, not after: where a
 *   filtered ACK would have made room, one more is lost. That matters in very small buffers.
 * - No ACK here has a SACK block of a duplicate (RFC 2883), which Linux's filter spares.
 * - Splitting of super-packets, autorate-ingress, wash, nat, fwmark, and filters are left out.
 */
#ifndef SLUICEGATE_CAKE_H
#define SLUICEGATE_CAKE_H

#include "cake_config.h"

struct cake_tin {
	u64 clock_ns;		/* until when it has used up its share */
	s64 deficit;		/* bytes that it may still send, without a rate */
	u32 packets;		/* that wait */
	u32 sparse, bulk;	/* flows; those in `bulks` that wait count as sparse */
	u32 carry;		/* of quanta, 2^-16 bytes */
	struct cake_list sparses, bulks, decaying;
};

struct cake_state {
	u64 now_ns;		/* of the last call of cake_next */
	u64 clock_ns, failsafe_ns;	/* when the link may send again: the earlier of them */
	u32 packets;		/* that wait */
	u32 tin;		/* that sends */
	u32 goes_on;		/* a packet was dropped as it left: its tin goes on */
	u32 unused;
	struct cake_tin tins[CAKE_MOST_TINS];
};

static inline u32 cake_lanes(const struct cake_config *config)
{
	return config->queues * cake_tins_of(config->diffserv);
}

/* What the lists of tins and the counts of hosts depend on, and whether clocks are kept. */
static inline u64 cake_shape(const struct cake_config *config)
{
	return (u64)config->queues << 32 | config->is_shaped << 16 | config->isolation << 8 |
	       (u32)config->diffserv;
}

/* The tin of a lane. */
static inline u32 cake_tin_of(const struct cake_config *config, u32 number)
{
	return number / config->queues & (CAKE_MOST_TINS - 1);
}

static inline u32 cake_wants_random(const struct cake_state *state,
				    const struct cake_config *config,
				    const struct aqm_view *view)
{
	(void)state, (void)config, (void)view;
	return 0;
}

static inline u32 cake_classify(struct cake_state *state, const struct cake_config *config,
				struct aqm_lanes *lanes, const struct aqm_view *view)
{
	u32 tin = cake_tin_for(config->diffserv, aqm_dscp(view));

	(void)state;
	return cake_find_lane(lanes, tin * config->queues, config->queues, config->isolation, view);
}

/* cake_enqueue(): clocks of what is empty do not run behind. */
static inline enum aqm_verdict cake_arrive(struct cake_state *state,
					   const struct cake_config *config,
					   struct aqm_lanes *lanes, const struct aqm_view *view)
{
	struct cake_tin *tin = &state->tins[cake_tin_of(config, view->lane)];

	(void)lanes;
	if (!tin->packets && tin->clock_ns < view->now_ns)
		tin->clock_ns = view->now_ns;
	if (!state->packets && state->clock_ns < view->now_ns) {
		state->clock_ns = view->now_ns;
		state->failsafe_ns = view->now_ns;
	}
	return AQM_ADMIT;
}

/* The quantum of a flow among those of its hosts, 2^-16 bytes. */
static inline s64 cake_quantum(const struct cake_config *config, struct aqm_lanes *lanes,
			       const struct cake_lane *lane, u32 number)
{
	s64 quantum = config->tins[cake_tin_of(config, number)].quantum;

	return quantum * (65535 / cake_load(lanes, lane, config->isolation));
}

/* cake_enqueue(), below "flowchain". */
static inline void cake_joined(struct cake_state *state, const struct cake_config *config,
			       struct aqm_lanes *lanes, u32 number)
{
	struct cake_tin *tin = &state->tins[cake_tin_of(config, number)];
	struct cake_lane *lane = cake_lane_at(lanes, number);

	state->packets++;
	tin->packets++;
	if (!lane)
		return;
	if (lane->set == CAKE_NONE || lane->set == CAKE_DECAYING) {
		if (lane->set == CAKE_DECAYING)
			cake_remove(&tin->decaying, lanes, number);
		cake_append(&tin->sparses, lanes, number);
		lane->set = CAKE_SPARSE;
		tin->sparse++;
		lane->deficit = cake_quantum(config, lanes, lane, number) >> 16;
	} else if (lane->set == CAKE_SPARSE_WAITS) {
		lane->set = CAKE_BULK;
		tin->sparse--;
		tin->bulk++;
		cake_count_bulk(lanes, lane, config->isolation, 1);
	}
}

static inline u32 cake_has_flows(const struct cake_tin *tin)
{
	return tin->sparse + tin->bulk > 0;
}

/* With a rate: the last tin whose time has come, or the one whose time comes first. */
static inline u32 cake_due_tin(const struct cake_state *state, const struct cake_config *config)
{
	s64 best_ns = FIXED_MAX, wait_ns;
	u32 found = 0;

	AQM_UP_TO(cake_tins_of(config->diffserv)) {
		const struct cake_tin *tin = &state->tins[(u32)turn & (CAKE_MOST_TINS - 1)];

		if (!cake_has_flows(tin))
			continue;
		wait_ns = (s64)(tin->clock_ns - state->now_ns);
		if (wait_ns <= 0 || wait_ns <= best_ns) {
			best_ns = wait_ns;
			found = (u32)turn;
		}
	}
	return found & (CAKE_MOST_TINS - 1);
}

/* Without a rate: tins take turns by their weights. */
static inline u32 cake_drr_tin(struct cake_state *state, const struct cake_config *config)
{
	u32 tins = cake_tins_of(config->diffserv), at = state->tin;

	AQM_UP_TO(AQM_MOST_STEPS) {
		struct cake_tin *tin = &state->tins[at & (CAKE_MOST_TINS - 1)];

		if (tin->deficit >= 0 && cake_has_flows(tin))
			break;
		if (tin->deficit <= 0)
			tin->deficit += config->tins[at & (CAKE_MOST_TINS - 1)].weight;
		at = at + 1 < tins ? at + 1 : 0;
	}
	return at & (CAKE_MOST_TINS - 1);
}

/* A flow has used up its quantum and gets another, in the round of bulk flows. */
static inline void cake_refill(const struct cake_config *config, struct cake_tin *tin,
			       struct aqm_lanes *lanes, struct cake_lane *lane, u32 number)
{
	s64 quantum;

	if (lane->set == CAKE_SPARSE && lane->waits.packets) {
		lane->set = CAKE_BULK;
		tin->sparse--;
		tin->bulk++;
		cake_count_bulk(lanes, lane, config->isolation, 1);
	} else if (lane->set == CAKE_SPARSE) {
		lane->set = CAKE_SPARSE_WAITS;
	}
	quantum = cake_quantum(config, lanes, lane, number) + tin->carry;
	lane->deficit += quantum >> 16;
	tin->carry = quantum & 0xffff;
	cake_append(&tin->bulks, lanes, number);
}

/* A flow was to send and is empty: it rests, or decays until its AQM does. */
static inline void cake_retire(const struct cake_config *config, struct cake_tin *tin,
			       struct aqm_lanes *lanes, struct cake_lane *lane, u32 number,
			       u64 now_ns)
{
	struct cobalt_state *cobalt = &lane->cobalt;

	cobalt_queue_empty(cobalt, &config->tins[cake_tin_of(config, number)].law, now_ns);
	if (lane->set == CAKE_BULK) {
		tin->bulk--;
		cake_count_bulk(lanes, lane, config->isolation, ~0U);
	} else if (lane->set != CAKE_DECAYING) {
		tin->sparse--;
	}
	lane->set = CAKE_NONE;
	if (cobalt->p || cobalt->count || now_ns < cobalt->drop_next_ns) {
		lane->set = CAKE_DECAYING;
		cake_append(&tin->decaying, lanes, number);
	}
}

/* cake_dequeue(), up to the AQM. */
static inline u32 cake_next(struct cake_state *state, const struct cake_config *config,
			    struct aqm_lanes *lanes, u64 now_ns)
{
	u32 found = AQM_NO_LANE, number, chooses = !state->goes_on, is_first = chooses;

	state->now_ns = now_ns;
	if (!state->clock_ns) {	/* packets came from another discipline */
		state->clock_ns = now_ns;
		state->failsafe_ns = now_ns;
		for (u32 tin = 0; tin < CAKE_MOST_TINS; tin++)
			state->tins[tin].clock_ns = now_ns;
	}
	AQM_UP_TO(AQM_MOST_STEPS) {
		struct cake_tin *tin;
		struct cake_list *list;
		struct cake_lane *lane;

		if (!state->packets)
			break;
		if (chooses && config->is_shaped && state->clock_ns > now_ns &&
		    state->failsafe_ns > now_ns) {
			found = AQM_NOT_YET;
			break;
		}
		if (chooses)
			state->tin = config->is_shaped ? cake_due_tin(state, config)
						       : cake_drr_tin(state, config);
		tin = &state->tins[state->tin & (CAKE_MOST_TINS - 1)];
		list = is_first && tin->decaying.count ? &tin->decaying
		     : tin->sparses.count	       ? &tin->sparses
		     : tin->bulks.count		       ? &tin->bulks
						       : &tin->decaying;
		chooses = 0;
		number = list->first;
		lane = list->count ? cake_lane_at(lanes, number) : 0;
		if (!lane) {
			chooses = 1;
			continue;
		}
		is_first = 0;
		if (lane->deficit > 0 && lane->waits.packets) {
			found = number;
			break;
		}
		cake_remove(list, lanes, number);
		if (lane->deficit <= 0) {
			cake_refill(config, tin, lanes, lane, number);
		} else {
			cake_retire(config, tin, lanes, lane, number, now_ns);
			chooses = 1;
		}
	}
	state->goes_on = 0;
	return found;
}

/* After AQM_NOT_YET: the time from which the link may ask again. */
static inline u64 cake_ready_ns(const struct cake_state *state)
{
	return state->clock_ns < state->failsafe_ns ? state->clock_ns : state->failsafe_ns;
}

/* cake_advance_shaper(): the time of a packet is used up, and what its flow may send. */
static inline void cake_use(struct cake_state *state, const struct cake_config *config,
			    struct cake_lane *lane, u32 number, u32 bytes, u32 is_lost)
{
	u32 place = cake_tin_of(config, number), framed = cake_framed(&config->link, bytes);
	struct cake_tin *tin = &state->tins[place];
	u64 time_ns = cake_time_ns(&config->tins[place].rate, framed);
	u64 whole_ns = cake_time_ns(&config->tins[0].rate, framed);

	if (config->is_shaped) {
		tin->clock_ns = cake_tin_clock(tin->clock_ns, state->now_ns, time_ns);
		state->clock_ns += whole_ns;
		if (!is_lost)
			state->failsafe_ns += whole_ns + (whole_ns >> 1);
	}
	if (lane) {
		lane->deficit -= framed;
		tin->deficit -= framed;
	}
}

static inline void cake_sent(struct cake_state *state, const struct cake_config *config,
			     struct aqm_lanes *lanes, u32 number, u32 bytes)
{
	cake_use(state, config, cake_lane_at(lanes, number), number, bytes, 0);
}

/* One packet fewer waits. */
static inline void cake_count_out(struct cake_state *state, const struct cake_config *config,
				  u32 number)
{
	state->packets--;
	state->tins[cake_tin_of(config, number)].packets--;
}

/* cake_dequeue(), from the AQM on. */
static inline enum aqm_verdict cake_depart(struct cake_state *state,
					   const struct cake_config *config,
					   struct aqm_lanes *lanes, const struct aqm_view *view)
{
	u32 number = view->lane, place = cake_tin_of(config, number);
	const struct cobalt_law *law = &config->tins[place].law;
	u32 flows = config->is_ingress ? state->tins[place].bulk : 0;
	struct cake_lane *lane = cake_lane_at(lanes, number);
	enum aqm_verdict verdict;
	u32 is_over;

	cake_count_out(state, config, number);
	if (!lane)
		return AQM_ADMIT;
	is_over = view->sojourn_ns > law->target_ns && view->sojourn_ns > law->mtu_ns * 4 &&
		  view->sojourn_ns > law->mtu_ns * 2 * flows;
	verdict = cobalt_judge(&lane->cobalt, law, view, is_over);
	if (verdict == AQM_ADMIT || aqm_mark_instead(verdict, view) == AQM_MARK)
		return verdict;
	if (!view->queue_packets)	/* the last packet may be marked, is not dropped */
		return AQM_ADMIT;
	state->goes_on = 1;
	if (config->is_ingress)
		cake_use(state, config, lane, number, view->packet_bytes, 1);
	return verdict;
}

static inline enum aqm_ack_filter cake_ack_filter(const struct cake_config *config)
{
	return config->ack_filter;
}

/* cake_enqueue(): an ACK that waited is gone, as a newer one tells all that it would. */
static inline void cake_thinned(struct cake_state *state, const struct cake_config *config,
				struct aqm_lanes *lanes, const struct aqm_view *view)
{
	(void)lanes;
	cake_count_out(state, config, view->lane);
	if (config->is_ingress) {
		state->now_ns = view->now_ns;
		cake_use(state, config, 0, view->lane, view->packet_bytes, 1);
	}
}

/* cake_drop(): a lane has lost its first packet because the buffer was full. */
static inline void cake_lost(struct cake_state *state, const struct cake_config *config,
			     struct aqm_lanes *lanes, const struct aqm_view *view)
{
	struct cake_lane *lane = cake_lane_at(lanes, view->lane);

	if (lane)
		cobalt_queue_full(&lane->cobalt,
				  &config->tins[cake_tin_of(config, view->lane)].law,
				  view->now_ns);
	cake_thinned(state, config, lanes, view);
}

/* The lane with most bytes among those of a list. */
static inline u32 cake_longest_in(const struct cake_list *list, struct aqm_lanes *lanes, u32 own,
				  u32 found, u64 *most)
{
	u32 number = list->first;

	AQM_UP_TO(list->count) {
		const struct cake_lane *lane = cake_lane_at(lanes, number);

		if (!lane)
			break;
		if (number != own && lane->waits.bytes > *most) {
			*most = lane->waits.bytes;
			found = number;
		}
		number = lane->next;
	}
	return found;
}

static inline u32 cake_victim(const struct cake_state *state, const struct cake_config *config,
			      struct aqm_lanes *lanes, u32 own, u32 bytes)
{
	const struct cake_lane *lane = cake_lane_at(lanes, own);
	u64 most = lane ? lane->waits.bytes + bytes : bytes;
	u32 found = own;

	AQM_UP_TO(cake_tins_of(config->diffserv)) {
		const struct cake_tin *tin = &state->tins[(u32)turn & (CAKE_MOST_TINS - 1)];

		found = cake_longest_in(&tin->sparses, lanes, own, found, &most);
		found = cake_longest_in(&tin->bulks, lanes, own, found, &most);
	}
	return found;
}

static inline u64 cake_tick_interval_ns(const struct cake_config *config)
{
	(void)config;
	return 0;
}

static inline void cake_tick(struct cake_state *state, const struct cake_config *config,
			     struct aqm_lanes *lanes, const struct aqm_view *view)
{
	(void)state, (void)config, (void)lanes, (void)view;
}

AQM_RULES(cake, CAKE_RULES)
AQM_COUPLED(cake)
AQM_WAITS(cake)
AQM_LOST(cake)
AQM_ACK_FILTER(cake)
AQM_SHAPE(cake)
AQM_SCHEDULER(cake, CAKE_PARAMS,
	.title = "CAKE: shaper, tins, flow queues and COBALT",
	.source = "Høiland-Jørgensen et al. 2018",
	.summary = "What a home gateway needs in one: it shapes, separates classes of service, is fair "
		   "among flows and hosts, and holds each flow's delay. Use `victim = \"front\"`.",
	AQM_RULED(cake),
	AQM_COUPLES(cake),
	.ready_ns = cake_ready_ns_any,
	.lost = cake_lost_any,
	.ack_filter = cake_ack_filter_any,
	.thinned = cake_thinned_any,
	.shape = cake_shape_any)

#endif
