/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The packets that wait in a qdisc of qdisc.bpf.c, and what the AQM is shown and told of them.
 *
 * They wait in places of a ring. One that goes from the middle leaves a hole, which is skipped when
 * all before it have gone. A place is taken by an exchange of pointers: no list, no lock and no
 * memory to be had for each packet.
 */
#ifndef SLUICEGATE_WAITING_BPF_H
#define SLUICEGATE_WAITING_BPF_H

/* Ticks that are made up for after an idle time; what an AQM forgets is forgotten by then. */
#define MOST_TICKS 1024

/* A place where a packet waits. */
struct place {
	struct sk_buff __kptr *skb;
	u64 since_ns;
	u32 bytes;		/* 0: no packet */
	u32 flow_hash;
};

struct {
	int (*type)[MAP_TYPE_ARRAY];
	u32 *key;
	struct place *value;
	int (*max_entries)[INSTANCES];
} ring SECTION(".maps");

static INLINE struct place *place_at(struct instance *instance, u32 place)
{
	u32 number = instance->first_place + (place & (fixed.places - 1));

	return map_lookup(&ring, &number);
}

/* What every call shows: the queue and the link. */
static INLINE struct aqm_view look(struct Qdisc *sch, struct instance *instance, u64 now_ns)
{
	struct aqm_view view = {
		.now_ns = now_ns,
		.rate_bps = instance->wish.settings.rate_bps,
		.queue_bytes = sch->qstats.backlog,
		.queue_packets = sch->q.qlen,
		.limit_packets = instance->wish.settings.limit_packets,
		.idle = !sch->q.qlen && now_ns >= instance->free_ns,
	};

	if (view.idle)
		view.idle_since_ns = instance->free_ns;
	return view;
}

/* The packets that wait are the same between events: a tick in between can be made up for. */
static INLINE void make_up_ticks(struct Qdisc *sch, struct instance *instance, u64 now_ns)
{
#ifdef HAS_TICK
	u64 interval_ns = OF(_tick_interval_ns)(&instance->wish.config.own);
	struct aqm_view view;

	if (!interval_ns || now_ns < instance->tick_ns)
		return;
	FOR_UP_TO(MOST_TICKS) {
		if (now_ns < instance->tick_ns)
			break;
		view = look(sch, instance, instance->tick_ns);
		OF(_tick)(&instance->state.own, &instance->wish.config.own, &view);
		instance->tick_ns += interval_ns;
	}
	if (instance->tick_ns <= now_ns)
		instance->tick_ns = now_ns + interval_ns;
#endif
}

/* Tells the AQM that a packet is about to join those that wait, or has left them. */
static INLINE void tell(struct Qdisc *sch, struct instance *instance, u64 now_ns, u32 bytes,
			u32 flow_hash, s64 change)
{
#ifdef HAS_OCCUPANCY
	struct aqm_view view = look(sch, instance, now_ns);

	view.packet_bytes = bytes;
	view.flow_hash = flow_hash;
	OF(_occupancy)(&instance->state.own, &instance->wish.config.own, &view, change);
#endif
}

/* Takes the packet at a place out of those that wait; null where there is none. */
static INLINE struct sk_buff *take(struct Qdisc *sch, struct instance *instance, u32 number,
				   struct place *place, u64 now_ns)
{
	struct sk_buff *skb;

	if (!place)
		return 0;
	skb = kptr_exchange(&place->skb, 0);
	if (!skb)
		return 0;
	if (number == instance->head)
		instance->head++;
	else
		instance->holes++;
	tell_length(sch, instance, now_ns);
	sch->q.qlen--;
	sch->qstats.backlog -= place->bytes;
	tell(sch, instance, now_ns, place->bytes, place->flow_hash, -1);
	place->bytes = 0;
	return skb;
}

/* Lets `head` be the place of a packet, if any waits. */
static INLINE void skip_holes(struct instance *instance)
{
	struct place *place;

	if (!instance->holes)
		return;
	FOR_UP_TO(fixed.places) {
		place = place_at(instance, instance->head);
		if (!instance->holes || !place || place->bytes)
			break;
		instance->head++;
		instance->holes--;
	}
}

/* A place at random, each packet's with the same probability; that of the first if unlucky. */
static INLINE u32 any_place(struct instance *instance, u64 now_ns)
{
	u32 number = instance->head;
	struct place *place;

	FOR_UP_TO(TRIES) {
		number = instance->head +
			 below(draw(instance, now_ns, OTHERS_DRAW + (u32)turn),
			       instance->tail - instance->head);
		place = place_at(instance, number);
		if (!place || place->bytes)
			break;
		number = instance->head;
	}
	return number;
}

static INLINE u32 victim_place(struct instance *instance, u64 now_ns)
{
	return instance->wish.settings.victim == VICTIM_RANDOM ? any_place(instance, now_ns)
							  : instance->head;
}

/* Puts the packet to those that wait; null, or a packet that is to be dropped. */
static INLINE struct sk_buff *put(struct Qdisc *sch, struct instance *instance,
				  struct sk_buff *skb, u64 now_ns, u32 bytes, u32 flow_hash)
{
	struct place *place = place_at(instance, instance->tail);

	if (!place || instance->tail - instance->head >= fixed.places)
		return skb;
	tell(sch, instance, now_ns, bytes, flow_hash, 1);
	place->since_ns = now_ns;
	place->bytes = bytes;
	place->flow_hash = flow_hash;
	instance->tail++;
	tell_length(sch, instance, now_ns);
	sch->q.qlen++;
	sch->qstats.backlog += bytes;
	return kptr_exchange(&place->skb, skb);
}

#endif
