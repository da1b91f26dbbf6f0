/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Several queues, over which flows are spread by a hash, each with an AQM of its own, as in
 * engine/queue (classify.rs, schedule.rs). turns.bpf.h decides which of them sends next.
 *
 * The packets of a queue are a list of places, linked by their numbers in both directions. A
 * queue's AQM starts, takes new settings and makes up for missed ticks at the queue's next event.
 */
#ifndef SLUICEGATE_FLOWS_BPF_H
#define SLUICEGATE_FLOWS_BPF_H

struct {
	int (*type)[MAP_TYPE_ARRAY];
	u32 *key;
	struct lane *value;
	int (*max_entries)[1];	/* `queues` for each instance */
} lanes SECTION(".maps");

static INLINE struct lane *lane_at(struct instance *instance, u32 number)
{
	u32 place = instance->number * fixed.queues + number;

	if (number >= fixed.queues)
		return 0;
	return map_lookup(&lanes, &place);
}

static INLINE u32 packets_in(const struct Qdisc *sch, const struct lane *lane)
{
	return lane->packets;
}

static INLINE u64 bytes_in(const struct Qdisc *sch, const struct lane *lane)
{
	return lane->bytes;
}

/* `idle_since_ns` is 0 while the link sends a packet of the queue. */
static INLINE u32 is_idle(const struct Qdisc *sch, const struct instance *instance,
			  const struct lane *lane, u64 now_ns)
{
	return !lane->packets && lane->idle_since_ns;
}

static INLINE u64 idle_since(const struct instance *instance, const struct lane *lane)
{
	return lane->idle_since_ns;
}

/* All AQMs start at `now_ns`; bring_up_to_date() starts each one at its queue's next event. */
static INLINE void begin_aqms(struct instance *instance, u32 packets, u64 now_ns)
{
	instance->flows.begun_ns = now_ns;
}

static INLINE void begin_empty(struct instance *instance, u64 now_ns)
{
	struct flow_queues *flows = &instance->flows;
	struct lane *lane;

	flows->next_salt_ns = 0;
	flows->new.count = 0;
	flows->old.count = 0;
	flows->serving = 0;
	flows->has_quantum = 0;
	flows->unused_count = 0;
	flows->used = 0;
	FOR_UP_TO(fixed.queues) {
		lane = lane_at(instance, (u32)turn);
		if (!lane)
			break;
		lane->edition = 0;
		lane->idle_since_ns = now_ns;
		lane->credit_bytes = 0;
		lane->bytes = 0;
		lane->packets = 0;
		lane->is_listed = 0;
	}
}

/*
 * Starts the queue's AQM if it has not started since the last settings, and makes up for its ticks.
 */
VERIFIED_ONCE int bring_up_to_date(struct instance *instance, struct lane *lane, u32 number,
				   u64 now_ns)
{
	if (!instance || !lane)
		return 0;
	if (lane->edition != instance->edition) {
		lane->edition = instance->edition;
		begin_aqm(instance, lane, instance->flows.begun_ns);
#ifdef HAS_OCCUPANCY
		introduce(instance, lane, lane->head, lane->packets, now_ns);
#endif
	}
	make_up_ticks(0, instance, lane, number, now_ns);
	return 0;
}

/* The number of the queue that a packet of a flow joins. */
static INLINE u32 classify(struct instance *instance, u64 now_ns, u32 flow_hash)
{
	struct flow_queues *flows = &instance->flows;
	u64 perturbation_ns = instance->wish.settings.perturbation_ns;

	if (now_ns >= flows->next_salt_ns) {
		struct aqm_view view = { .now_ns = now_ns, .random = draw_more(instance) };

		flows->salt = view.random;
		flows->next_salt_ns = ~0ULL;
		if (perturbation_ns)
			flows->next_salt_ns =
				now_ns - now_ns % perturbation_ns + perturbation_ns;
		log(instance, HAPPENED_SALT, 0, 0, 0, 0, &view);
	}
	return below(mix(flow_hash ^ flows->salt), fixed.queues);
}

static INLINE struct lane *lane_for(const struct Qdisc *sch, struct instance *instance,
				    u32 number, u64 now_ns)
{
	struct lane *lane = lane_at(instance, number);

	if (lane)
		bring_up_to_date(instance, lane, number, now_ns);
	return lane;
}

/* The link has sent its last packet, whose queue is idle from then on if it is empty. */
static INLINE void end_service(const struct Qdisc *sch, struct instance *instance, u64 at_ns)
{
	u32 number = instance->flows.serving - 1;
	struct lane *lane;

	if (!instance->flows.serving)
		return;
	instance->flows.serving = 0;
	lane = lane_for(sch, instance, number, at_ns);
	if (lane && !lane->packets)
		lane->idle_since_ns = at_ns;
}

static INLINE void serve(struct instance *instance, u32 number)
{
	instance->flows.serving = number + 1;
}

#include "turns.bpf.h"

/* The packets of a queue. */

static INLINE u32 index_at_random(const struct Qdisc *sch, struct instance *instance,
				  const struct lane *lane)
{
	return below(draw_more(instance), lane->packets);
}

static INLINE struct place *place_of(const struct instance *instance, const struct lane *lane,
				     u32 index)
{
	struct place *place;
	u32 number = lane->head;

	if (index + 1 == lane->packets)
		return place_at(instance, lane->tail);
	FOR_UP_TO(index) {
		place = place_at(instance, number);
		if (!place)
			break;
		number = place->next;
	}
	return place_at(instance, number);
}

/* Returns the number of a place that holds no packet. */
static INLINE u32 find_place(struct instance *instance)
{
	struct flow_queues *flows = &instance->flows;
	u32 number = flows->unused;
	struct place *place;

	if (!flows->unused_count)
		return flows->used++;
	place = place_at(instance, number);
	if (place)
		flows->unused = place->next;
	flows->unused_count--;
	return number;
}

/* Appends a packet to a queue. Returns null, or a packet that must be dropped. */
static INLINE struct sk_buff *put(struct Qdisc *sch, struct instance *instance, struct lane *lane,
				  u32 queue, struct sk_buff *skb, const struct waiting *waiting)
{
	u32 number = find_place(instance);
	struct place *place = place_at(instance, number), *last;

	if (!place)
		return skb;
	place->waiting = *waiting;
	if (lane->packets) {
		place->previous = lane->tail;
		last = place_at(instance, lane->tail);
		if (last)
			last->next = number;
	} else {
		lane->head = number;
		lane->idle_since_ns = 0;
	}
	lane->tail = number;
	lane->packets++;
	lane->bytes += waiting->bytes;
	wake(instance, queue, lane);
	count_in(sch, instance, waiting->since_ns, waiting->bytes);
	return lay(place, skb);
}

/* Takes the packet at an index out of a queue; null if there is none. */
static INLINE struct sk_buff *take(struct Qdisc *sch, struct instance *instance, struct lane *lane,
				   u32 queue, u32 index, u64 now_ns, struct waiting *waited)
{
	struct flow_queues *flows = &instance->flows;
	struct place *place = index ? place_of(instance, lane, index)
				    : place_at(instance, lane->head);
	struct place *before, *behind;
	struct sk_buff *skb;
	u32 number;

	if (!lane->packets || !place)
		return 0;
	skb = lay(place, 0);
	if (!skb)
		return 0;
	*waited = place->waiting;
	number = lane->head;
	if (index) {
		before = place_at(instance, place->previous);
		if (before) {
			number = index + 1 == lane->packets ? lane->tail : before->next;
			before->next = place->next;
		}
		if (index + 1 == lane->packets) {
			lane->tail = place->previous;
		} else {
			behind = place_at(instance, place->next);
			if (behind)
				behind->previous = place->previous;
		}
	} else {
		lane->head = place->next;
	}
	place->next = flows->unused;
	flows->unused = number;
	flows->unused_count++;
	lane->packets--;
	lane->bytes -= waited->bytes;
	if (!lane->packets && flows->serving != queue + 1)
		lane->idle_since_ns = now_ns;
	count_out(sch, instance, now_ns, waited->bytes);
	return skb;
}

#endif
