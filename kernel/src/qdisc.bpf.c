/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * One AQM as a queue discipline of Linux (struct_ops of kind Qdisc_ops, Linux 6.16): a FIFO before
 * a link of a rate, with the AQM asked and told what the engine's queue asks and tells it.
 *
 * Given by the compiler's command line: HEADER (the AQM's file), AQM (its name), HAS_DEPART,
 * HAS_TICK, HAS_OCCUPANCY where it has these functions, WANTS_CANDIDATE, and WANTS_FLOW where it
 * looks at flows. `struct settings` is laid out as in qdisc.rs.
 *
 * A kind of qdisc serves up to INSTANCES interfaces; each has an entry of the map `instances`, with
 * its own settings, AQM and state, and a part of the map `ring`, in which its packets wait. The
 * kernel holds a qdisc's lock around enqueue, dequeue and reset, so nothing here is locked. The
 * number of a qdisc's entry, plus 1, stands in its field `limit`: no part of the kernel but the
 * qdisc itself reads that, and a look into a table of hashes would cost more than most AQMs.
 */
#include HEADER
#include "qdisc.bpf.h"

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define OF(what) JOIN(AQM, what)

#define INSTANCES 8
/* A link that could not send for longer does not make up for it. */
#define CATCH_UP_NS 10000000ULL
/* Ticks that are made up for after an idle time; what an AQM forgets is forgotten by then. */
#define MOST_TICKS 1024
/* Looks for a waiting packet at random, where others have gone from between */
#define TRIES 16

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
	u64 arrived_ns;		/* when a packet arrived, if nothing was asked for since; else 0 */
	u64 random;
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

/* whose object this is: user space looks before it fills in a config */
#define TEXT_(a) #a
#define TEXT(a) TEXT_(a)
const char aqm_name[64] SECTION(".rodata.aqm") = TEXT(AQM);

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

/* Vigna 2016, xorshift64*: the same words on every machine, and few instructions. */
static INLINE u64 draw(struct instance *instance)
{
	instance->random ^= instance->random >> 12;
	instance->random ^= instance->random << 25;
	instance->random ^= instance->random >> 27;
	return instance->random * 0x2545f4914f6cdd1dULL;
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
static INLINE u32 any_place(struct instance *instance)
{
	u32 number = instance->head;
	struct place *place;

	FOR_UP_TO(TRIES) {
		number = instance->head +
			 below(draw(instance), instance->tail - instance->head);
		place = place_at(instance, number);
		if (!place || place->bytes)
			break;
		number = instance->head;
	}
	return number;
}

static INLINE u32 victim_place(struct instance *instance)
{
	return instance->settings.victim == VICTIM_RANDOM ? any_place(instance)
							  : instance->head;
}

/* Puts the packet to those that wait; null, or a packet that is to be dropped. */
static INLINE struct sk_buff *put(struct Qdisc *sch, struct instance *instance,
				  struct sk_buff *skb, u64 now_ns, u32 bytes, u32 flow_hash)
{
	struct place *place = place_at(instance, instance->tail);

	if (!place)
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

static INLINE u32 is_drop(enum aqm_verdict verdict)
{
	return verdict != AQM_ADMIT && verdict != AQM_MARK;
}

SECTION("struct_ops/enqueue") int enqueue(u64 *context)
{
	struct sk_buff *skb = (struct sk_buff *)context[0], *victim = 0;
	struct Qdisc *sch = (struct Qdisc *)context[1];
	struct bpf_sk_buff_ptr *to_free = (struct bpf_sk_buff_ptr *)context[2];
	struct instance *instance = instance_of(sch);
	u32 bytes = packet_bytes(skb), flow_hash = 0, candidate = 0, chosen;
	u64 now_ns = ktime_get_ns();
	enum aqm_verdict verdict;
	struct aqm_view view;

	if (!instance)
		goto drop;
#ifdef WANTS_FLOW
	flow_hash = bpf_skb_get_hash(skb);
#endif
	make_up_ticks(sch, instance, now_ns);
	view = look(sch, instance, now_ns);
	view.packet_bytes = bytes;
	view.flow_hash = flow_hash;
	view.random = draw(instance);
	view.full = sch->q.qlen >= instance->settings.limit_packets ||
		    instance->tail - instance->head >= instance->settings.places;
#ifdef WANTS_CANDIDATE
	if (sch->q.qlen) {
		struct place *place;

		candidate = any_place(instance);
		place = place_at(instance, candidate);
		view.candidate_flow_hash = place ? place->flow_hash : 0;
	}
#endif
	verdict = aqm_settle(OF(_arrive)(&instance->state.own, &instance->config.own, &view),
			     &view);
	if (verdict < AQM_VERDICTS)
		instance->verdicts[verdict]++;
	if (is_drop(verdict)) {
		skip_holes(instance);
		if (verdict == AQM_DROP_BOTH && sch->q.qlen)
			chosen = candidate;
		else if (instance->settings.victim != VICTIM_TAIL && sch->q.qlen)
			chosen = victim_place(instance);
		else
			goto drop;
		victim = take(sch, instance, chosen, place_at(instance, chosen), now_ns);
		if (!victim)
			goto drop;
		sch->qstats.drops++;
		bpf_qdisc_skb_drop(victim, to_free);
		if (verdict == AQM_DROP_BOTH)
			goto drop;
	}
	instance->arrived_ns = now_ns;
	skb = put(sch, instance, skb, now_ns, bytes, flow_hash);
	if (skb)
		goto drop;
	return is_drop(verdict) ? NET_XMIT_CN : NET_XMIT_SUCCESS;
drop:
	sch->qstats.drops++;
	bpf_qdisc_skb_drop(skb, to_free);
	return NET_XMIT_DROP;
}

/* The link is busy with the packet from the end of what it sent before, or from its arrival. */
static INLINE void occupy(struct instance *instance, u64 now_ns, u64 since_ns, u32 bytes)
{
	u64 begin_ns = instance->free_ns > since_ns ? instance->free_ns : since_ns;

	if (!instance->settings.is_shaped || !instance->settings.rate_bps) {
		instance->free_ns = now_ns;
		return;
	}
	if (begin_ns + CATCH_UP_NS < now_ns)
		begin_ns = now_ns - CATCH_UP_NS;
	instance->free_ns = begin_ns + (u64)bytes * 8000000000ULL / instance->settings.rate_bps;
}

/* The verdict on the packet that leaves. */
static INLINE enum aqm_verdict judge(struct Qdisc *sch, struct instance *instance, u64 now_ns,
				     const struct place *place, u32 bytes)
{
#ifdef HAS_DEPART
	struct aqm_view view = look(sch, instance, now_ns);
	enum aqm_verdict verdict;

	/* what leaves is in service */
	view.idle = 0;
	view.idle_since_ns = 0;
	view.packet_bytes = bytes;
	view.flow_hash = place->flow_hash;
	view.random = draw(instance);
	view.sojourn_ns = now_ns - place->since_ns;
	verdict = aqm_mark_instead(
		OF(_depart)(&instance->state.own, &instance->config.own, &view), &view);
	if (verdict != AQM_ADMIT && verdict < AQM_VERDICTS)
		instance->verdicts[verdict]++;
	return verdict;
#else
	return AQM_ADMIT;
#endif
}

/* The packet at the head, unless the AQM drops it: then null. */
static INLINE struct sk_buff *leave(struct Qdisc *sch, struct instance *instance, u64 now_ns)
{
	struct place *place;
	struct sk_buff *skb;
	u64 sojourn_ns;
	u32 bytes;

	skip_holes(instance);
	place = place_at(instance, instance->head);
	if (!place)
		return 0;
	bytes = place->bytes;
	skb = take(sch, instance, instance->head, place, now_ns);
	if (!skb)
		return 0;
	if (is_drop(judge(sch, instance, now_ns, place, bytes))) {
		instance->free_ns = now_ns;
		sch->qstats.drops++;
		bpf_kfree_skb(skb);
		return 0;
	}
	sojourn_ns = now_ns - place->since_ns;
	instance->sent++;
	instance->sojourn_ns += sojourn_ns;
	if (sojourn_ns > instance->sojourn_max_ns)
		instance->sojourn_max_ns = sojourn_ns;
	occupy(instance, now_ns, place->since_ns, bytes);
	return skb;
}

SECTION("struct_ops/dequeue") struct sk_buff *dequeue(u64 *context)
{
	struct Qdisc *sch = (struct Qdisc *)context[0];
	struct sk_buff *skb = 0;
	struct instance *instance;
	u64 now_ns;

	if (!sch->q.qlen)
		return 0;
	instance = instance_of(sch);
	if (!instance)
		return 0;
	/*
	 * The kernel asks after each arrival. To look at the clock again takes longer than all the
	 * rest here; if too early an instant is taken for now, the watchdog asks again at once.
	 */
	now_ns = instance->arrived_ns;
	if (!instance->settings.is_shaped || now_ns >= instance->free_ns || !now_ns)
		now_ns = ktime_get_ns();
	instance->arrived_ns = 0;
	if (instance->settings.is_shaped && now_ns < instance->free_ns) {
		bpf_qdisc_watchdog_schedule(sch, instance->free_ns, 0);
		return 0;
	}
	make_up_ticks(sch, instance, now_ns);
	skb = leave(sch, instance, now_ns);
#ifdef HAS_DEPART
	if (!skb) {
		FOR_UP_TO(instance->settings.places) {
			if (!sch->q.qlen)
				break;
			skb = leave(sch, instance, now_ns);
			if (skb)
				break;
		}
	}
#endif
	if (skb)
		bpf_qdisc_bstats_update(sch, skb);
	return skb;
}

/* An AQM that has seen nothing yet. */
static INLINE void forget(struct instance *instance)
{
	u64 *words = (u64 *)&instance->state, now_ns = ktime_get_ns();
	const u32 count = sizeof(instance->state) / sizeof(u64);

	FOR_UP_TO(count) {
		if (turn < count)
			words[turn] = 0;
	}
	instance->free_ns = now_ns;
	instance->tick_ns = now_ns;
#ifdef HAS_TICK
	instance->tick_ns += OF(_tick_interval_ns)(&instance->config.own);
#endif
	instance->random = instance->settings.seed | 1;
}

SECTION("struct_ops/init") int init(u64 *context)
{
	struct Qdisc *sch = (struct Qdisc *)context[0];
	struct instance *instance;
	u32 number;

	FOR_UP_TO(INSTANCES) {
		number = (u32)turn;
		instance = map_lookup(&instances, &number);
		if (!instance || instance->is_used)
			continue;
		instance->is_used = 1;
		forget(instance);
		sch->limit = number + 1;
		break;
	}
	return sch->limit ? 0 : NO_SPACE_LEFT;
}

SECTION("struct_ops/reset") void reset(u64 *context)
{
	struct Qdisc *sch = (struct Qdisc *)context[0];
	struct instance *instance = instance_of(sch);
	struct sk_buff *skb;

	if (!instance)
		return;
	FOR_UP_TO(instance->settings.places) {
		if (instance->head == instance->tail)
			break;
		skb = take(sch, instance, instance->head, place_at(instance, instance->head), 0);
		if (skb)
			bpf_kfree_skb(skb);
		else
			instance->head++;
	}
	instance->holes = 0;
	sch->q.qlen = 0;
	sch->qstats.backlog = 0;
	forget(instance);
}

SECTION("struct_ops/destroy") void destroy(u64 *context)
{
	struct Qdisc *sch = (struct Qdisc *)context[0];
	struct instance *instance = instance_of(sch);

	/* also called after an `init` that found no entry */
	if (instance)
		instance->is_used = 0;
}

SECTION(".struct_ops.link") struct Qdisc_ops qdisc = {
	.enqueue = (void *)enqueue,
	.dequeue = (void *)dequeue,
	.init = (void *)init,
	.reset = (void *)reset,
	.destroy = (void *)destroy,
	.id = "sluice",
};

char license_of_all[] SECTION("license") = "Dual BSD/GPL";
