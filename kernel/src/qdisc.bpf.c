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
#include "waiting.bpf.h"

/* A link that could not send for longer does not make up for it. */
#define CATCH_UP_NS 10000000ULL

/* whose object this is: user space looks before it fills in a config */
#define TEXT_(a) #a
#define TEXT(a) TEXT_(a)
const char aqm_name[64] SECTION(".rodata.aqm") = TEXT(AQM);

static INLINE u32 is_drop(enum aqm_verdict verdict)
{
	return verdict != AQM_ADMIT && verdict != AQM_MARK;
}

/* The verdict on a packet that arrives, and the place of the candidate that it was judged with. */
static INLINE enum aqm_verdict judge_arrival(struct Qdisc *sch, struct instance *instance,
					     u64 now_ns, u32 bytes, u32 flow_hash, u32 *candidate)
{
	struct aqm_view view = look(sch, instance, now_ns);
	enum aqm_verdict verdict;

	view.packet_bytes = bytes;
	view.flow_hash = flow_hash;
	view.random = draw(instance, now_ns, ARRIVALS_DRAW);
	view.full = sch->q.qlen >= instance->settings.limit_packets ||
		    instance->tail - instance->head >= instance->settings.places;
#ifdef WANTS_CANDIDATE
	if (sch->q.qlen) {
		struct place *place;

		skip_holes(instance);
		*candidate = any_place(instance, now_ns);
		place = place_at(instance, *candidate);
		view.candidate_flow_hash = place ? place->flow_hash : 0;
	}
#endif
	verdict = aqm_settle(OF(_arrive)(&instance->state.own, &instance->config.own, &view),
			     &view);
	if (verdict < AQM_VERDICTS)
		instance->verdicts[verdict]++;
	return verdict;
}

/* Drops the packet that goes for the arriving one, or with it; 0: the arriving one is dropped. */
static INLINE u32 make_room(struct Qdisc *sch, struct instance *instance, u64 now_ns,
			    enum aqm_verdict verdict, u32 candidate,
			    struct bpf_sk_buff_ptr *to_free)
{
	struct sk_buff *victim;
	u32 place = candidate;

	if (!sch->q.qlen)
		return 0;
	if (verdict != AQM_DROP_BOTH) {
		if (instance->settings.victim == VICTIM_TAIL)
			return 0;
		skip_holes(instance);
		place = victim_place(instance, now_ns);
	}
	victim = take(sch, instance, place, place_at(instance, place), now_ns);
	if (!victim)
		return 0;
	sch->qstats.drops++;
	bpf_qdisc_skb_drop(victim, to_free);
	if (verdict == AQM_DROP_BOTH)
		instance->verdicts[AQM_DROP_BOTH]++;
	return verdict != AQM_DROP_BOTH;
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

	if (!instance)
		goto drop;
#ifdef WANTS_FLOW
	flow_hash = bpf_skb_get_hash(skb);
#endif
	make_up_ticks(sch, instance, now_ns);
	verdict = judge_arrival(sch, instance, now_ns, bytes, flow_hash, &candidate);
	if (is_drop(verdict) && !make_room(sch, instance, now_ns, verdict, candidate, to_free))
		goto drop;
	instance->just_now_ns = now_ns;
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
	view.random = draw(instance, now_ns, DEPARTURES_DRAW);
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
	 * The kernel asks after each arrival, and again after each departure. To look at the clock
	 * again takes longer than all the rest here; if too early an instant is taken for now, the
	 * watchdog is late already, and asks again at once.
	 */
	now_ns = instance->just_now_ns;
	if (!instance->settings.is_shaped || now_ns >= instance->free_ns || !now_ns)
		now_ns = ktime_get_ns();
	instance->just_now_ns = 0;
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
	if (skb) {
		instance->just_now_ns = now_ns;
		bpf_qdisc_bstats_update(sch, skb);
	}
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
