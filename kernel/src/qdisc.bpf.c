/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * One AQM as a queue discipline of Linux (struct_ops of kind Qdisc_ops, Linux 6.16): a FIFO before
 * a link of a rate, with the AQM asked and told what the engine's queue asks and tells it.
 *
 * Given by the compiler's command line: HEADER (the AQM's file), AQM (its name), HAS_DEPART,
 * HAS_TICK, HAS_OCCUPANCY where it has these functions, WANTS_CANDIDATE, and WANTS_FLOW where it
 * looks at flows.
 *
 * A kind of qdisc serves up to INSTANCES interfaces; each has an entry of the map `instances`, with
 * an AQM and state of its own, and a part of the map `ring`, in which its packets wait. The kernel
 * holds a qdisc's lock around enqueue, dequeue and reset, so nothing here is locked. The number of
 * a qdisc's entry, plus 1, stands in its field `limit`: no part of the kernel but the qdisc itself
 * reads that, and a look into a table of hashes would cost more than most AQMs.
 */
#include HEADER
#include "qdisc.bpf.h"
#include "instance.bpf.h"
#include "marks.bpf.h"
#include "telling.bpf.h"
#include "waiting.bpf.h"
#include "heeding.bpf.h"

/* A link that could not send for longer does not make up for it. */
#define CATCH_UP_NS 10000000ULL

static INLINE u32 is_drop(enum aqm_verdict verdict)
{
	return verdict != AQM_ADMIT && verdict != AQM_MARK;
}

static INLINE u32 has_room(struct Qdisc *sch, const struct instance *instance, u32 bytes)
{
	return sch->q.qlen < instance->wish.settings.limit_packets &&
	       instance->tail - instance->head < fixed.places &&
	       (u64)sch->qstats.backlog + bytes <= instance->wish.settings.limit_bytes;
}

/* The verdict on a packet that arrives, and the place of the candidate that it was judged with. */
static INLINE enum aqm_verdict judge_arrival(struct Qdisc *sch, struct instance *instance,
					     struct sk_buff *skb, u64 now_ns, u32 bytes,
					     u32 flow_hash, u32 *candidate)
{
	struct aqm_view view = look(sch, instance, now_ns);
	enum aqm_verdict verdict;

	view.packet_bytes = bytes;
	view.flow_hash = flow_hash;
	view.random = draw(instance, now_ns, ARRIVALS_DRAW);
	view.ecn_capable = can_be_marked(instance, skb);
	view.full = !has_room(sch, instance, bytes);
#ifdef WANTS_CANDIDATE
	if (sch->q.qlen) {
		struct place *place;

		skip_holes(instance);
		*candidate = any_place(instance, now_ns);
		place = place_at(instance, *candidate);
		view.candidate_flow_hash = place ? place->flow_hash : 0;
	}
#endif
	verdict = aqm_settle(OF(_arrive)(&instance->state.own, &instance->wish.config.own, &view),
			     &view);
	if (verdict < AQM_VERDICTS)
		instance->counts.verdicts[verdict]++;
	return verdict;
}

/* Drops the packet of a place; 0 if there is none. */
static INLINE u32 lose(struct Qdisc *sch, struct instance *instance, u32 place, u64 now_ns,
		       struct bpf_sk_buff_ptr *to_free)
{
	struct sk_buff *victim = take(sch, instance, place, place_at(instance, place), now_ns);

	if (!victim)
		return 0;
	tell_loss(sch, instance, packet_bytes(victim));
	bpf_qdisc_skb_drop(victim, to_free);
	return 1;
}

/* Drops the packets that go for the arriving one, or with it; 0: the arriving one is dropped. */
static INLINE u32 make_room(struct Qdisc *sch, struct instance *instance, u64 now_ns, u32 bytes,
			    enum aqm_verdict verdict, u32 candidate,
			    struct bpf_sk_buff_ptr *to_free)
{
	u32 is_room = 0;

	if (!sch->q.qlen)
		return 0;
	if (verdict == AQM_DROP_BOTH) {
		if (lose(sch, instance, candidate, now_ns, to_free))
			instance->counts.verdicts[AQM_DROP_BOTH]++;
		return 0;
	}
	if (instance->wish.settings.victim == VICTIM_TAIL ||
	    bytes > instance->wish.settings.limit_bytes)
		return 0;
	FOR_UP_TO(fixed.places) {
		/* one packet more is lost */
		if (turn)
			instance->counts.verdicts[AQM_DROP_OVERFLOW]++;
		skip_holes(instance);
		if (!lose(sch, instance, victim_place(instance, now_ns), now_ns, to_free))
			break;
		is_room = has_room(sch, instance, bytes);
		if (is_room)
			break;
	}
	return is_room;
}

SECTION("struct_ops/enqueue") int enqueue(u64 *context)
{
	struct sk_buff *skb = (struct sk_buff *)context[0];
	struct Qdisc *sch = (struct Qdisc *)context[1];
	struct bpf_sk_buff_ptr *to_free = (struct bpf_sk_buff_ptr *)context[2];
	struct instance *instance = instance_of(sch);
	u32 bytes = packet_bytes(skb), flow_hash = 0, candidate = 0;
	u64 now_ns = ktime_get_ns();
	enum aqm_verdict verdict;

	if (!instance) {
		sch->qstats.drops++;
		bpf_qdisc_skb_drop(skb, to_free);
		return NET_XMIT_DROP;
	}
	heed(instance, now_ns);
#ifdef WANTS_FLOW
	flow_hash = bpf_skb_get_hash(skb);
#endif
	make_up_ticks(sch, instance, now_ns);
	tell_arrival(instance, skb, now_ns, bytes);
	verdict = judge_arrival(sch, instance, skb, now_ns, bytes, flow_hash, &candidate);
	give_number(instance, skb);
	if (verdict == AQM_MARK)
		note_mark(instance, instance->tail);
	if (is_drop(verdict) &&
	    !make_room(sch, instance, now_ns, bytes, verdict, candidate, to_free))
		goto drop;
	instance->just_now_ns = now_ns;
	skb = put(sch, instance, skb, now_ns, bytes, flow_hash);
	if (skb)
		goto drop;
	return is_drop(verdict) ? NET_XMIT_CN : NET_XMIT_SUCCESS;
drop:
	tell_loss(sch, instance, bytes);
	bpf_qdisc_skb_drop(skb, to_free);
	return NET_XMIT_DROP;
}

/*
 * The link is busy with the packet from the end of what it sent before, or from its arrival.
 * Gives the instant from which it could have been sent.
 */
static INLINE u64 occupy(struct instance *instance, u64 now_ns, u64 since_ns, u32 bytes)
{
	u64 ready_ns = instance->free_ns > since_ns ? instance->free_ns : since_ns;
	u64 begin_ns = ready_ns;

	if (!fixed.is_shaped) {
		instance->free_ns = now_ns;
		return now_ns;
	}
	if (begin_ns + CATCH_UP_NS < now_ns)
		begin_ns = now_ns - CATCH_UP_NS;
	instance->free_ns = begin_ns + transmission_ns(instance, bytes);
	return ready_ns;
}

/* The verdict on the packet that leaves. */
static INLINE enum aqm_verdict judge(struct Qdisc *sch, struct instance *instance, u64 now_ns,
				     const struct place *place, struct sk_buff *skb, u32 bytes)
{
#ifdef HAS_DEPART
	struct aqm_view view = look(sch, instance, now_ns);
	enum aqm_verdict verdict;

	/* what leaves is in service */
	view.idle = 0;
	view.idle_since_ns = 0;
	view.packet_bytes = bytes;
	view.flow_hash = place->flow_hash;
	view.random = draw(instance, now_ns, DEPARTURES_DRAW);
	view.ecn_capable = can_be_marked(instance, skb);
	view.sojourn_ns = now_ns - place->since_ns;
	verdict = aqm_mark_instead(
		OF(_depart)(&instance->state.own, &instance->wish.config.own, &view), &view);
	if (verdict != AQM_ADMIT && verdict < AQM_VERDICTS)
		instance->counts.verdicts[verdict]++;
	return verdict;
#else
	return AQM_ADMIT;
#endif
}

/* The packet at the head, unless the AQM drops it: then null. */
static INLINE struct sk_buff *leave(struct Qdisc *sch, struct instance *instance, u64 now_ns)
{
	enum aqm_verdict verdict;
	struct place *place;
	struct sk_buff *skb;
	u32 bytes, number;
	u64 since_ns;

	skip_holes(instance);
	number = instance->head;
	place = place_at(instance, number);
	if (!place)
		return 0;
	bytes = place->bytes;
	skb = take(sch, instance, number, place, now_ns);
	if (!skb)
		return 0;
	verdict = judge(sch, instance, now_ns, place, skb, bytes);
	if (is_drop(verdict)) {
		instance->free_ns = now_ns;
		tell_loss(sch, instance, bytes);
		bpf_kfree_skb(skb);
		return 0;
	}
	if (verdict == AQM_MARK)
		note_mark(instance, number);
	since_ns = place->since_ns;
	tell_departure(instance, now_ns, since_ns, occupy(instance, now_ns, since_ns, bytes),
		       bytes);
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
	 * The kernel asks after each arrival, and again after each departure. To look at the clock
	 * again takes longer than all the rest here; if too early an instant is taken for now, the
	 * watchdog is late already, and asks again at once.
	 */
	now_ns = instance->just_now_ns;
	if (!fixed.is_shaped || now_ns >= instance->free_ns || !now_ns)
		now_ns = ktime_get_ns();
	instance->just_now_ns = 0;
	if (fixed.is_shaped && now_ns < instance->free_ns) {
		if (instance->watched_ns != instance->free_ns) {
			instance->watched_ns = instance->free_ns;
			bpf_qdisc_watchdog_schedule(sch, instance->free_ns, 0);
		}
		return 0;
	}
	heed(instance, now_ns);
	make_up_ticks(sch, instance, now_ns);
	skb = leave(sch, instance, now_ns);
#ifdef HAS_DEPART
	if (!skb) {
		FOR_UP_TO(fixed.places) {
			if (!sch->q.qlen)
				break;
			skb = leave(sch, instance, now_ns);
			if (skb)
				break;
		}
	}
#endif
	if (skb) {
		instance->just_now_ns = now_ns;
		bpf_qdisc_bstats_update(sch, skb);
	}
	return skb;
}

SECTION("struct_ops/init") int init(u64 *context)
{
	struct Qdisc *sch = (struct Qdisc *)context[0];
	struct instance *instance;
	u64 now_ns = ktime_get_ns();
	u32 number;

	FOR_UP_TO(INSTANCES) {
		number = (u32)turn;
		instance = map_lookup(&instances, &number);
		if (!instance || instance->is_used)
			continue;
		instance->is_used = 1;
		instance->number = number;
		instance->first_place = number * fixed.places;
		instance->free_ns = now_ns;
		instance->counts.begun_ns = now_ns;
		instance->counts.until_ns = now_ns;
		heed(instance, now_ns);
		begin_aqm(instance, now_ns);
		sch->limit = number + 1;
		break;
	}
	return sch->limit ? 0 : NO_SPACE_LEFT;
}

SECTION("struct_ops/reset") void reset(u64 *context)
{
	struct Qdisc *sch = (struct Qdisc *)context[0];
	struct instance *instance = instance_of(sch);
	u64 now_ns = ktime_get_ns();
	struct sk_buff *skb;

	if (!instance)
		return;
	FOR_UP_TO(fixed.places) {
		if (instance->head == instance->tail)
			break;
		skb = take(sch, instance, instance->head, place_at(instance, instance->head),
			   now_ns);
		if (skb) {
			instance->counts.left++;
			bpf_kfree_skb(skb);
		} else {
			instance->head++;
		}
	}
	instance->holes = 0;
	instance->free_ns = now_ns;
	instance->watched_ns = 0;	/* the kernel stops the watchdog */
	sch->q.qlen = 0;
	sch->qstats.backlog = 0;
	begin_aqm(instance, now_ns);
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
