/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The packets of a lane, where there are several: a list of places, linked by their numbers in both
 * directions.
 */
#ifndef SLUICEGATE_LANE_PACKETS_BPF_H
#define SLUICEGATE_LANE_PACKETS_BPF_H

static INLINE u32 index_at_random(const struct Qdisc *sch, struct instance *instance,
				  const struct lane *lane)
{
	return below(draw_more(instance), lane->scheduled.waits.packets);
}

static INLINE struct place *place_of(const struct instance *instance, const struct lane *lane,
				     u32 index)
{
	struct place *place;
	u32 number = lane->head;

	if (index + 1 == lane->scheduled.waits.packets)
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
	struct several *several = &instance->several;
	u32 number = several->unused;
	struct place *place;

	if (!several->unused_count)
		return several->used++;
	place = place_at(instance, number);
	if (place)
		several->unused = place->next;
	several->unused_count--;
	return number;
}

/* Tells the scheduler of a lane's first packet. */
static INLINE void update_head(struct instance *instance, struct lane *lane)
{
	const struct place *head = place_at(instance, lane->head);

	if (lane->scheduled.waits.packets && head) {
		lane->scheduled.waits.head_since_ns = head->waiting.since_ns;
		lane->scheduled.waits.head_bytes = head->waiting.bytes;
	} else {
		lane->scheduled.waits.head_since_ns = 0;
		lane->scheduled.waits.head_bytes = 0;
	}
}

/* Appends a packet to a lane. Returns null, or a packet that must be dropped. */
static INLINE struct sk_buff *put(struct Qdisc *sch, struct instance *instance, struct lane *lane,
				  u32 queue, struct sk_buff *skb, const struct waiting *waiting)
{
	u32 number = find_place(instance);
	struct place *place = place_at(instance, number), *last;

	if (!place)
		return skb;
	place->waiting = *waiting;
	if (lane->scheduled.waits.packets) {
		place->previous = lane->tail;
		last = place_at(instance, lane->tail);
		if (last)
			last->next = number;
	} else {
		lane->head = number;
		lane->idle_since_ns = 0;
		lane->scheduled.waits.head_since_ns = waiting->since_ns;
		lane->scheduled.waits.head_bytes = waiting->bytes;
	}
	lane->tail = number;
	lane->scheduled.waits.packets++;
	lane->scheduled.waits.bytes += waiting->bytes;
	OF_SCHEDULER(_joined)(&instance->several.state.own, &instance->params.scheduler.own,
			      lanes_of(instance), queue);
	count_in(sch, instance, waiting->since_ns, waiting->bytes);
	return exchange(place, skb);
}

/* Takes the packet at an index out of a lane; null if there is none. */
static INLINE struct sk_buff *take(struct Qdisc *sch, struct instance *instance, struct lane *lane,
				   u32 queue, u32 index, u64 now_ns, struct waiting *waited)
{
	struct several *several = &instance->several;
	struct aqm_lane *waits = &lane->scheduled.waits;
	struct place *place = index ? place_of(instance, lane, index)
				    : place_at(instance, lane->head);
	struct place *before, *behind;
	struct sk_buff *skb;
	u32 number;

	if (!waits->packets || !place)
		return 0;
	skb = exchange(place, 0);
	if (!skb)
		return 0;
	*waited = place->waiting;
	number = lane->head;
	if (index) {
		before = place_at(instance, place->previous);
		if (before) {
			number = index + 1 == waits->packets ? lane->tail : before->next;
			before->next = place->next;
		}
		if (index + 1 == waits->packets) {
			lane->tail = place->previous;
		} else {
			behind = place_at(instance, place->next);
			if (behind)
				behind->previous = place->previous;
		}
	} else {
		lane->head = place->next;
	}
	place->next = several->unused;
	several->unused = number;
	several->unused_count++;
	waits->packets--;
	waits->bytes -= waited->bytes;
	if (!index)
		update_head(instance, lane);
	if (!waits->packets && several->serving != queue + 1)
		lane->idle_since_ns = now_ns;
	count_out(sch, instance, now_ns, waited->bytes);
	return skb;
}

#endif
