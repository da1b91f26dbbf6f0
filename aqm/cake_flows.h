/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * CAKE's flows: lists of lanes by what they do, and a hash of eight ways that finds the lane of a
 * flow and the counts of its hosts.
 *
 * A flow whose lane was taken by another one takes the first of the eight lanes of its set that is
 * at rest: with m flows, two share a lane only if more than eight are in one set. In the same way
 * each tin counts the bulk flows of a host, in as many entries as it has lanes; an entry is kept in
 * the lane with its number.
 *
 * Linux, net/sched/sch_cake.c: cake_hash().
 */
#ifndef SLUICEGATE_CAKE_FLOWS_H
#define SLUICEGATE_CAKE_FLOWS_H

#include "cobalt.h"
#include "scheduler.h"

#define CAKE_WAYS 8

/*
 * What a lane's flow does. A sparse flow has not used its first quantum up. One that waits has, and
 * was empty then: it counts as sparse, in the round of bulk flows. A decaying flow is empty, but its
 * AQM is not at rest.
 */
enum cake_set { CAKE_NONE, CAKE_SPARSE, CAKE_SPARSE_WAITS, CAKE_BULK, CAKE_DECAYING };

/* The bits of enum cake_isolation. */
#define CAKE_BY_SOURCE 1
#define CAKE_BY_DESTINATION 2
#define CAKE_PAST_ENDS 3	/* what follows the two in a loop over both */
#define CAKE_BY_FLOW 4

/* A host at one end: its hash, and its bulk flows. */
struct cake_host {
	u32 tag, bulk;
};

struct cake_lane {
	struct aqm_lane waits;
	struct cobalt_state cobalt;
	s64 deficit;		/* bytes that it may still send */
	u32 tag;		/* hash of its flow */
	u32 set;		/* enum cake_set */
	u32 next, previous;	/* in its list */
	u32 source, destination;	/* lanes that have its hosts */
	struct cake_host sources, destinations;	/* not of this flow: entries with its number */
};

static inline struct cake_lane *cake_lane_at(struct aqm_lanes *lanes, u32 number)
{
	return (struct cake_lane *)aqm_lane_at(lanes, number);
}

struct cake_list {
	u32 first, last, count;
};

static inline void cake_append(struct cake_list *list, struct aqm_lanes *lanes, u32 number)
{
	struct cake_lane *lane = cake_lane_at(lanes, number), *last;

	if (!lane)
		return;
	last = list->count ? cake_lane_at(lanes, list->last) : 0;
	if (last)
		last->next = number;
	else
		list->first = number;
	lane->previous = list->last;
	list->last = number;
	list->count++;
}

static inline void cake_remove(struct cake_list *list, struct aqm_lanes *lanes, u32 number)
{
	struct cake_lane *lane = cake_lane_at(lanes, number), *beside;

	if (!lane)
		return;
	if (list->first == number)
		list->first = lane->next;
	else if ((beside = cake_lane_at(lanes, lane->previous)))
		beside->next = lane->next;
	if (list->last == number)
		list->last = lane->previous;
	else if ((beside = cake_lane_at(lanes, lane->next)))
		beside->previous = lane->previous;
	list->count--;
}

/* The bulk flows of a lane's host at an end: CAKE_BY_SOURCE or CAKE_BY_DESTINATION. */
static inline u32 *cake_bulk_at(struct aqm_lanes *lanes, const struct cake_lane *lane, u32 end)
{
	struct cake_lane *entry =
		cake_lane_at(lanes, end == CAKE_BY_SOURCE ? lane->source : lane->destination);

	if (!entry)
		return 0;
	return end == CAKE_BY_SOURCE ? &entry->sources.bulk : &entry->destinations.bulk;
}

/* True if the flows of a host share: dual and triple isolation. */
static inline u32 cake_shares(u32 isolation, u32 end)
{
	return isolation & CAKE_BY_FLOW && isolation & end;
}

/* One bulk flow more, or fewer, of the hosts of a lane. */
static inline void cake_count_bulk(struct aqm_lanes *lanes, const struct cake_lane *lane,
				   u32 isolation, u32 change)
{
	u32 *bulk, end;

	for (end = CAKE_BY_SOURCE; end < CAKE_PAST_ENDS; end++) {
		bulk = cake_shares(isolation, end) ? cake_bulk_at(lanes, lane, end) : 0;
		if (bulk)
			*bulk += change;
	}
}

/* Flows that share the quantum of a flow with it: of the host that has more of them. */
static inline u32 cake_load(struct aqm_lanes *lanes, const struct cake_lane *lane, u32 isolation)
{
	u32 load = 1, *bulk, end;

	for (end = CAKE_BY_SOURCE; end < CAKE_PAST_ENDS; end++) {
		bulk = cake_shares(isolation, end) ? cake_bulk_at(lanes, lane, end) : 0;
		if (bulk && *bulk > load)
			load = *bulk;
	}
	return load;
}

/* The place of a turn in the set of `place`: first itself, then the others in a ring. */
static inline u32 cake_way(u32 place, u32 turn)
{
	return place - place % CAKE_WAYS + (place + turn) % CAKE_WAYS;
}

/* Finds or takes the entry of a host, in the tin of `queues` lanes from `base` on. */
static inline u32 cake_find_host(struct aqm_lanes *lanes, u32 base, u32 queues, u32 hash, u32 end)
{
	u32 place = hash % queues, free = CAKE_WAYS, way = CAKE_WAYS;
	struct cake_lane *lane;
	struct cake_host *host;

	AQM_UP_TO(CAKE_WAYS) {
		lane = cake_lane_at(lanes, base + cake_way(place, (u32)turn));
		if (!lane)
			break;
		host = end == CAKE_BY_SOURCE ? &lane->sources : &lane->destinations;
		if (host->tag == hash) {
			way = (u32)turn;
			break;
		}
		if (free == CAKE_WAYS && !host->bulk)
			free = (u32)turn;
	}
	if (way == CAKE_WAYS)
		way = free % CAKE_WAYS;
	lane = cake_lane_at(lanes, base + cake_way(place, way));
	if (lane && end == CAKE_BY_SOURCE)
		lane->sources.tag = hash;
	else if (lane)
		lane->destinations.tag = hash;
	return base + cake_way(place, way);
}

/* A lane gets its hosts. */
static inline void cake_settle_hosts(struct aqm_lanes *lanes, u32 number, u32 base, u32 queues,
				     u32 isolation, const struct aqm_view *view)
{
	struct cake_lane *lane = cake_lane_at(lanes, number);

	if (!lane)
		return;
	if (cake_shares(isolation, CAKE_BY_SOURCE))
		lane->source = cake_find_host(lanes, base, queues, view->source_hash, CAKE_BY_SOURCE);
	if (cake_shares(isolation, CAKE_BY_DESTINATION))
		lane->destination = cake_find_host(lanes, base, queues, view->destination_hash,
						   CAKE_BY_DESTINATION);
}

/* The hash of what counts as a flow. */
static inline u32 cake_flow_of(u32 isolation, const struct aqm_view *view)
{
	u32 hash = 0;

	if (isolation & CAKE_BY_FLOW)
		return view->flow_hash;
	if (isolation & CAKE_BY_SOURCE)
		hash ^= view->source_hash;
	if (isolation & CAKE_BY_DESTINATION)
		hash ^= view->destination_hash;
	return hash;
}

/* The lane of the view's packet, in the tin of `queues` lanes from `base` on. */
static inline u32 cake_find_lane(struct aqm_lanes *lanes, u32 base, u32 queues, u32 isolation,
				 const struct aqm_view *view)
{
	u32 hash = cake_flow_of(isolation, view), place = hash % queues;
	u32 way = CAKE_WAYS, free = CAKE_WAYS, is_known, number;
	struct cake_lane *lane;

	AQM_UP_TO(CAKE_WAYS) {
		lane = cake_lane_at(lanes, base + cake_way(place, (u32)turn));
		if (!lane)
			break;
		if (lane->tag == hash) {
			way = (u32)turn;
			break;
		}
		if (free == CAKE_WAYS && lane->set == CAKE_NONE)
			free = (u32)turn;
	}
	is_known = way < CAKE_WAYS;
	if (!is_known)
		way = free % CAKE_WAYS;	/* no lane is at rest: two flows share one */
	number = base + cake_way(place, way);
	lane = cake_lane_at(lanes, number);
	if (!lane || (is_known && lane->set != CAKE_NONE))
		return number;
	if (lane->set == CAKE_BULK)
		cake_count_bulk(lanes, lane, isolation, ~0U);
	lane->tag = hash;
	cake_settle_hosts(lanes, number, base, queues, isolation, view);
	if (lane->set == CAKE_BULK)
		cake_count_bulk(lanes, lane, isolation, 1);
	return number;
}

#endif
