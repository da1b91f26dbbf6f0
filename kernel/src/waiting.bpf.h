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

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define OF(what) JOIN(AQM, what)

#define INSTANCES 8
/* Ticks that are made up for after an idle time; what an AQM forgets is forgotten by then. */
#define MOST_TICKS 1024
/* Looks for a waiting packet at random, where others have gone from between */
#define TRIES 16
/* Random words of an instant: for an arrival, for a departure, and TRIES others */
#define ARRIVALS_DRAW 0
#define DEPARTURES_DRAW 1
#define OTHERS_DRAW 2

enum victim { VICTIM_TAIL, VICTIM_FRONT, VICTIM_RANDOM };

struct settings {
	u64 rate_bps;		/* of the link */
	u64 seed;		/* of the instance's random words */
	u32 limit_packets;	/* at most `places` */
	u32 victim;		/* enum victim */
	u32 is_shaped;		/* 0: the interface sets the pace */
	u32 first_place;	/* of its part of the ring, */
	u32 places;		/* which has so many: a power of 2 */
	u32 unused;
};

struct instance {
	struct settings settings;
	union { u64 least; struct OF(_config) own; } config;
	union { u64 least; struct OF(_state) own; } state;
	u64 free_ns;		/* when the link has sent, or had, its last packet */
	u64 tick_ns;		/* when the next tick is due */
	u64 just_now_ns;	/* when a packet arrived or left, if none was asked for since; else 0 */
	u64 verdicts[AQM_VERDICTS];
	u64 sent, sojourn_ns, sojourn_max_ns;	/* packets, and the sum of their sojourns */
	u32 head, tail;		/* places of the next packet to leave, and of the next arrival */
	u32 holes;		/* places between them without a packet */
	u32 is_used;
};

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
	struct instance *value;
	int (*max_entries)[INSTANCES];
} instances SECTION(".maps");

struct {
	int (*type)[MAP_TYPE_ARRAY];
	u32 *key;
	struct place *value;
	int (*max_entries)[INSTANCES];
} ring SECTION(".maps");

static INLINE struct instance *instance_of(struct Qdisc *sch)
{
	u32 number = sch->limit - 1;

	return map_lookup(&instances, &number);
}

static INLINE struct place *place_at(struct instance *instance, u32 place)
{
	u32 number = instance->settings.first_place + (place & (instance->settings.places - 1));

	return map_lookup(&ring, &number);
}

/*
 * The random word of an instant, of which there are 32: Steele et al. 2014, SplitMix64. Unlike a
 * generator with a state, it costs nothing where nobody looks at it.
 */
static INLINE u64 draw(const struct instance *instance, u64 now_ns, u32 number)
{
	u64 word = instance->settings.seed + (now_ns << 5 | number) * 0x9e3779b97f4a7c15ULL;

	word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9ULL;
	word = (word ^ word >> 27) * 0x94d049bb133111ebULL;
	return word ^ word >> 31;
}

static INLINE u32 below(u64 random, u32 count)
{
	return (u32)((random >> 32) * count >> 32);
}

/* What every call shows: the queue and the link. */
static INLINE struct aqm_view look(struct Qdisc *sch, struct instance *instance, u64 now_ns)
{
	struct aqm_view view = {
		.now_ns = now_ns,
		.rate_bps = instance->settings.rate_bps,
		.queue_bytes = sch->qstats.backlog,
		.queue_packets = sch->q.qlen,
		.limit_packets = instance->settings.limit_packets,
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
	u64 interval_ns = OF(_tick_interval_ns)(&instance->config.own);
	struct aqm_view view;

	if (!interval_ns || now_ns < instance->tick_ns)
		return;
	FOR_UP_TO(MOST_TICKS) {
		if (now_ns < instance->tick_ns)
			break;
		view = look(sch, instance, instance->tick_ns);
		OF(_tick)(&instance->state.own, &instance->config.own, &view);
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
	OF(_occupancy)(&instance->state.own, &instance->config.own, &view, change);
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
	FOR_UP_TO(instance->settings.places) {
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
	return instance->settings.victim == VICTIM_RANDOM ? any_place(instance, now_ns)
							  : instance->head;
}

/* Puts the packet to those that wait; null, or a packet that is to be dropped. */
static INLINE struct sk_buff *put(struct Qdisc *sch, struct instance *instance,
				  struct sk_buff *skb, u64 now_ns, u32 bytes, u32 flow_hash)
{
	struct place *place = place_at(instance, instance->tail);

	if (!place || instance->tail - instance->head >= instance->settings.places)
		return skb;
	tell(sch, instance, now_ns, bytes, flow_hash, 1);
	place->since_ns = now_ns;
	place->bytes = bytes;
	place->flow_hash = flow_hash;
	instance->tail++;
	sch->q.qlen++;
	sch->qstats.backlog += bytes;
	return kptr_exchange(&place->skb, skb);
}

#endif
