/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * One AQM as a queue discipline of Linux (struct_ops of kind Qdisc_ops, Linux 6.16): one queue or,
 * with a scheduler, several lanes, before a link of a rate. It makes the same calls of AQM and
 * scheduler as the engine's queue.
 *
 * Given by the compiler's command line: HEADER (the AQM's file), AQM (its name), SHA256 (of all
 * text), HAS_DEPART, HAS_TICK, HAS_OCCUPANCY if the AQM has these functions, WANTS_CANDIDATE,
 * WANTS_FLOW if the hash of a packet's flow is used, WANTS_TRAFFIC_CLASS if its DSCP or ECN
 * codepoint is, WANTS_HOSTS if the hashes of its hosts are, HAS_READY if its scheduler shapes,
 * HAS_LOST if it is told of losses, HAS_ACK_FILTER if ACKs may be removed, LOGS, and with a
 * scheduler SCHEDULER_HEADER (its file) and SCHEDULER (its name). A coupled discipline is both AQM and
 * scheduler, and COUPLED is defined. With CLASSES the scheduler's lanes are classes of service, and
 * AQM is `classes` of classes.bpf.h. MADE_OF has the names of AQMs and scheduler, and whether there is
 * a log.
 *
 * A kind of qdisc serves up to INSTANCES interfaces. Each has an entry of `instances`, with AQMs
 * and state of its own, and a part of the map `places`, in which its packets wait. The kernel holds
 * a qdisc's lock around enqueue, dequeue and reset, so nothing here is locked. The number of a
 * qdisc's entry is kept in its field `limit`: only the qdisc itself reads that field, and a look-up
 * in a hash table would cost more than most AQMs.
 */
#define AQM_UP_TO(count) FOR_UP_TO(count)
#define AQM_LANES_ELSEWHERE
#include "aqm.h"
#include "qdisc.bpf.h"
#include HEADER
#ifdef SCHEDULER
#include SCHEDULER_HEADER
#endif
#include "instance.bpf.h"
#include "marks.bpf.h"
#include "stats.bpf.h"
#include "logging.bpf.h"
#include "waiting.bpf.h"
#include "sending.bpf.h"
#ifdef SCHEDULER
#include "lanes.bpf.h"
#include "acks.bpf.h"
#else
#include "fifo.bpf.h"
#endif
#include "reload.bpf.h"

/* A shaped link that was late makes up for at most this time. */
#define CATCH_UP_NS 10000000ULL
/* Longest time until a link whose rate has changed goes on at the new rate. */
#define LOOK_NS 1000000ULL

static INLINE u32 is_drop(enum aqm_verdict verdict)
{
	return verdict != AQM_ADMIT && verdict != AQM_MARK;
}

/* A verdict that there is not admits, as in every world. */
static INLINE enum aqm_verdict known(enum aqm_verdict verdict)
{
	return verdict < AQM_VERDICTS ? verdict : AQM_ADMIT;
}

static INLINE u32 has_room(struct Qdisc *sch, const struct instance *instance, u32 bytes)
{
	return sch->q.qlen < instance->params.settings.limit_packets &&
	       (u64)sch->qstats.backlog + bytes <= instance->params.settings.limit_bytes;
}

/* Counts a verdict. As with Linux's RED, tc shows marks as overlimits. */
static INLINE void count_verdict(struct Qdisc *sch, struct instance *instance, u32 lane,
				 enum aqm_verdict verdict)
{
	if (verdict < AQM_VERDICTS)
		instance->counts.verdicts[verdict]++;
	if (verdict == AQM_MARK) {
		sch->qstats.overlimits++;
		count_mark(instance, lane);
	}
}

/* Returns the verdict on an arriving packet; `candidate` gets the index of CHOKe's candidate. */
static INLINE enum aqm_verdict judge_arrival(struct Qdisc *sch, struct instance *instance,
					     struct lane *lane, u32 number,
					     const struct waiting *arrived, u32 *candidate)
{
	u64 now_ns = arrived->since_ns;
	struct aqm_view view = packet_view(sch, instance, lane, number, arrived, now_ns);
	enum aqm_verdict verdict;

	view.random = draw(instance, now_ns);
	view.full = !has_room(sch, instance, arrived->bytes);
#ifdef WANTS_CANDIDATE
	if (packets_in(sch, lane) && LANE_HAS(candidate, instance, number)) {
		struct place *place;

		*candidate = index_at_random(sch, instance, lane);
		place = place_of(instance, lane, *candidate);
		view.candidate_flow_hash = place ? place->waiting.flow_hash : 0;
	}
#endif
	verdict = known(aqm_settle(ARRIVE(instance, lane, &view), &view));
	count_verdict(sch, instance, number, verdict);
	log(instance, HAPPENED_ARRIVE, number, arrived->packet, *candidate, verdict, &view);
	return verdict;
}

/*
 * Drops the packet at an index of a queue, in place of an arrival or because it is an ACK that is
 * needless; 0 if there is none.
 */
static INLINE u32 lose(struct Qdisc *sch, struct instance *instance, u32 number, u32 index,
		       u64 now_ns, enum aqm_verdict why, u32 is_needless,
		       struct bpf_sk_buff_ptr *to_free)
{
	struct lane *lane = lane_for(sch, instance, number, now_ns);
	struct waiting lost;
	struct sk_buff *victim;

	if (!lane)
		return 0;
	victim = take(sch, instance, lane, number, index, now_ns, &lost);
	if (!victim)
		return 0;
	change_occupancy(sch, instance, lane, number, &lost, now_ns, -1);
	note_loss(sch, instance, lane, number, &lost, now_ns, is_needless);
	log_time(instance, HAPPENED_LOSE, number, lost.packet, index, why, now_ns, 0);
	count_loss(sch, instance, lost.bytes);
	bpf_qdisc_skb_drop(victim, to_free);
	return 1;
}

/* An arriving packet that is not admitted as it is. */
struct refused {
	struct bpf_sk_buff_ptr *to_free;
	u64 now_ns;
	u32 lane, bytes, candidate;
	enum aqm_verdict why;	/* for which a packet is lost: at first the verdict */
};

/*
 * Drops waiting packets instead of the arriving one, or together with it (drop both). Returns 0 if
 * the arriving packet must be dropped.
 */
OUTLINED u32 make_room(struct Qdisc *sch, struct instance *instance, struct refused *arrived)
{
	u32 victim = instance->params.settings.victim, is_room = 0, number, index;
	struct bpf_sk_buff_ptr *to_free = arrived->to_free;
	u32 own = arrived->lane, bytes = arrived->bytes;
	enum aqm_verdict why = arrived->why;
	u64 now_ns = arrived->now_ns;
	struct lane *lane;

	if (!sch->q.qlen)
		return 0;
	if (why == AQM_DROP_BOTH) {
		lane = lane_at(instance, own);
		if (lane && packets_in(sch, lane) &&
		    lose(sch, instance, own, arrived->candidate, now_ns, why, 0, to_free))
			instance->counts.verdicts[AQM_DROP_BOTH]++;
		return 0;
	}
	if (bytes > instance->params.settings.limit_bytes)
		return 0;
	FOR_UP_TO(fixed.places) {
		number = why == AQM_DROP_OVERFLOW ? victim_lane(instance, own, bytes) : own;
		lane = lane_at(instance, number);
		if (!lane || !packets_in(sch, lane) || (victim == VICTIM_TAIL && number == own))
			break;
		index = 0;
		if (victim == VICTIM_RANDOM)
			index = index_at_random(sch, instance, lane);
		else if (victim == VICTIM_TAIL)
			index = packets_in(sch, lane) - 1;
		if (!lose(sch, instance, number, index, now_ns, why, 0, to_free))
			break;
		is_room = has_room(sch, instance, bytes);
		if (is_room)
			break;
		/* one victim was smaller than the arriving packet: another one is lost */
		why = AQM_DROP_OVERFLOW;
		instance->counts.verdicts[why]++;
	}
	arrived->why = why;
	return is_room;
}

#ifdef HAS_ACK_FILTER
/*
 * Removes the ACK that the one which has just joined a lane makes needless. To the kernel nothing was
 * dropped: a sender of its own must not slow down for it.
 */
OUTLINED void filter_acks(struct Qdisc *sch, struct instance *instance, const struct lane *lane,
			  u32 number, u64 now_ns, struct bpf_sk_buff_ptr *to_free)
{
	enum aqm_verdict why = AQM_DROP_FORCED;
	u32 found;

	keep_ack(instance, lane);
	found = needless_ack(instance, number);
	if (found && lose(sch, instance, number, found - 1, now_ns, why, 1, to_free))
		count_verdict(sch, instance, number, why);
}
#endif

SECTION("struct_ops/enqueue") int enqueue(u64 *context)
{
	struct sk_buff *skb = (struct sk_buff *)context[0];
	struct Qdisc *sch = (struct Qdisc *)context[1];
	struct bpf_sk_buff_ptr *to_free = (struct bpf_sk_buff_ptr *)context[2];
	struct instance *instance = instance_of(sch);
	u64 now_ns = ktime_get_ns();
	struct waiting arrived = { .since_ns = now_ns, .bytes = packet_bytes(skb) };
	u32 candidate = 0, number;
	struct refused refused;
	enum aqm_verdict verdict;
	struct lane *lane;

	take_params(instance, now_ns);
	if (!sch->q.qlen && now_ns >= instance->free_ns)
		fall_idle(sch, instance);
	tick_together(instance, now_ns);
#ifdef WANTS_FLOW
	arrived.flow_hash = bpf_skb_get_hash(skb);
#endif
	arrived.traffic_class = traffic_class(instance, skb);
#ifdef HAS_ACK_FILTER
	arrived.is_ack = read_ack(instance, skb);
	if (arrived.is_ack)
		log_ack(instance, now_ns);
#endif
	number = classify(instance, &arrived, skb);
	lane = lane_for(sch, instance, number, now_ns);
	count_arrival(instance, skb, arrived.bytes, now_ns);
	arrived.packet = (u32)instance->counts.arrivals;
	refused.why = AQM_DROP_OVERFLOW;
	if (!lane)
		goto drop;
	verdict = judge_arrival(sch, instance, lane, number, &arrived, &candidate);
	give_number(instance, skb);
	arrived.is_marked = verdict == AQM_MARK;
	if (arrived.is_marked)
		arrived.traffic_class |= AQM_CE;
	if (is_drop(verdict)) {
		refused = (struct refused){ to_free, now_ns, number, arrived.bytes, candidate,
					    verdict };
		if (!make_room(sch, instance, &refused))
			goto drop;
	}
	instance->just_now_ns = now_ns;
	change_occupancy(sch, instance, lane, number, &arrived, now_ns, 1);
	skb = put(sch, instance, lane, number, skb, &arrived);
	if (skb)
		goto drop;
#ifdef HAS_ACK_FILTER
	if (arrived.is_ack)
		filter_acks(sch, instance, lane, number, now_ns, to_free);
#endif
	return is_drop(verdict) ? NET_XMIT_CN : NET_XMIT_SUCCESS;
drop:
	log_time(instance, HAPPENED_LOSE, number, arrived.packet, 0, refused.why, now_ns, 0);
	count_loss(sch, instance, arrived.bytes);
	bpf_qdisc_skb_drop(skb, to_free);
	return NET_XMIT_DROP;
}

/*
 * Makes the link busy with a packet, from the end of the transmission before it or from its
 * arrival. Returns the time from which it could have been sent.
 */
static INLINE u64 occupy(struct instance *instance, u64 now_ns, u64 since_ns, u32 bytes)
{
	u64 ready_ns = instance->free_ns > since_ns ? instance->free_ns : since_ns;
	u64 begin_ns = ready_ns;

	if (!fixed.is_shaped) {
		ready_ns = now_ns;
		instance->free_ns = now_ns;
	} else {
		if (begin_ns + CATCH_UP_NS < now_ns)
			begin_ns = now_ns - CATCH_UP_NS;
		instance->free_ns = begin_ns + transmission_ns(instance, bytes);
	}
	instance->ended_ns = instance->free_ns;
	return ready_ns;
}

/* Returns the verdict on a packet that leaves. */
static INLINE enum aqm_verdict judge(struct Qdisc *sch, struct instance *instance,
				     struct lane *lane, u32 number, u64 now_ns,
				     const struct waiting *waited)
{
#ifdef HAS_DEPART
	struct aqm_view view = packet_view(sch, instance, lane, number, waited, now_ns);
	enum aqm_verdict verdict;

	if (!LANE_HAS(depart, instance, number))
		return AQM_ADMIT;
	/* the packet that leaves is in service, so the queue is not idle */
	view.idle = 0;
	view.idle_since_ns = 0;
	view.random = draw_more(instance);
	view.sojourn_ns = now_ns - waited->since_ns;
	verdict = known(aqm_mark_instead(DEPART(instance, lane, &view), &view));
	if (verdict != AQM_ADMIT)
		count_verdict(sch, instance, number, verdict);
	log(instance, HAPPENED_DEPART, number, waited->packet, 0, verdict, &view);
	return verdict;
#else
	return AQM_ADMIT;
#endif
}

/* Takes the packet at the head of the next queue; null if its AQM drops it or there is none. */
static INLINE struct sk_buff *leave(struct Qdisc *sch, struct instance *instance, u64 now_ns)
{
	u32 number = next_lane(instance, now_ns);
	struct lane *lane = lane_for(sch, instance, number, now_ns);
	struct waiting waited;
	enum aqm_verdict verdict;
	struct sk_buff *skb;
	u64 ready_ns;

	if (!lane)
		return 0;
	serve(instance, number);
	skb = take(sch, instance, lane, number, 0, now_ns, &waited);
	if (!skb)
		return 0;
	change_occupancy(sch, instance, lane, number, &waited, now_ns, -1);
	verdict = judge(sch, instance, lane, number, now_ns, &waited);
	if (is_drop(verdict)) {
		/* the link has sent nothing: what it is late by stays */
		instance->ended_ns = now_ns;
		end_service(sch, instance, now_ns);
		log_time(instance, HAPPENED_LOSE, number, waited.packet, 0, verdict, now_ns, 0);
		count_loss(sch, instance, waited.bytes);
		bpf_kfree_skb(skb);
		return 0;
	}
	if (waited.is_marked || verdict == AQM_MARK)
		mark(instance, waited.packet);
	ready_ns = occupy(instance, now_ns, waited.since_ns, waited.bytes);
	sent(instance, number, waited.bytes);
	log_time(instance, HAPPENED_SEND, number, waited.packet, 0, 0, now_ns, instance->free_ns);
	count_departure(instance, now_ns, waited.since_ns, ready_ns, waited.bytes);
	if (keeps_sending())
		instance->sending_since_ns = waited.since_ns;
	return skb;
}

/* When to look again whether the link is free: nobody else asks if its rate rises meanwhile. */
static INLINE u64 next_look_ns(const struct instance *instance, u64 now_ns)
{
	if (fixed.varies && instance->free_ns > now_ns + LOOK_NS)
		return now_ns + LOOK_NS;
	return instance->free_ns;
}

/* Makes the kernel call dequeue at `when_ns`. */
static INLINE void ask_again(struct Qdisc *sch, struct instance *instance, u64 when_ns)
{
	if (instance->watched_ns == when_ns)
		return;
	instance->watched_ns = when_ns;
	bpf_qdisc_watchdog_schedule(sch, when_ns, 0);
}

/* Takes the packet that goes at `now_ns`, or the time now if that is NO_EVENT; null if none. */
OUTLINED struct sk_buff *next_packet(struct Qdisc *sch, struct instance *instance, u64 now_ns)
{
	struct sk_buff *skb = 0;

	if (!fixed.is_shaped || now_ns >= instance->free_ns)
		now_ns = ktime_get_ns();
	if (fixed.varies)
		take_params(instance, now_ns);
	if (fixed.is_shaped && now_ns < instance->free_ns) {
		ask_again(sch, instance, next_look_ns(instance, now_ns));
		return 0;
	}
	take_params(instance, now_ns);
	if (is_sending(instance)) {
		count_sent(instance);
		if (!sch->q.qlen)
			goto sent;
	}
	log_time(instance, HAPPENED_ASK, 0, 0, 0, 0, now_ns, 0);
	tick_together(instance, now_ns);
	end_service(sch, instance, now_ns);
	skb = leave(sch, instance, now_ns);
#if defined(HAS_DEPART) || defined(SCHEDULER)
	if (!skb) {
		FOR_UP_TO(fixed.places) {
			if (!sch->q.qlen || ready_ns(instance))
				break;
			skb = leave(sch, instance, now_ns);
			if (skb)
				break;
		}
	}
#endif
	if (!skb && ready_ns(instance)) {
		/* until then the link has nothing to send: it is not late */
		instance->free_ns = ready_ns(instance);
		log_time(instance, HAPPENED_HOLD, 0, 0, 0, 0, now_ns, instance->free_ns);
		ask_again(sch, instance, ready_ns(instance));
	}
sent:
	if (keeps_sending()) {
		skb = follow(instance, skb);
		/* if one goes, the kernel asks again at once */
		if (!skb && instance->is_sending)
			ask_again(sch, instance, next_look_ns(instance, now_ns));
	}
	if (skb) {
		instance->just_now_ns = now_ns;
		bpf_qdisc_bstats_update(sch, skb);
	}
	return skb;
}

/*
 * The kernel calls dequeue after each arrival and after each departure. Reading the clock again
 * takes longer than all the rest here, so the time of that event is used. If the time is too early,
 * the watchdog's time has passed already, and it calls dequeue again at once.
 */
SECTION("struct_ops/dequeue") struct sk_buff *dequeue(u64 *context)
{
	struct Qdisc *sch = (struct Qdisc *)context[0];
	struct instance *instance;
	u64 event_ns;

	if (!sch->q.qlen && (!keeps_sending() || !instance_of(sch)->is_sending))
		return 0;
	instance = instance_of(sch);
	event_ns = instance->just_now_ns;
	instance->just_now_ns = NO_EVENT;
	/* most calls find that the link is busy */
	if (fixed.is_shaped && !fixed.varies && event_ns < instance->free_ns) {
		ask_again(sch, instance, instance->free_ns);
		return 0;
	}
	return next_packet(sch, instance, event_ns);
}

SECTION("struct_ops/init") int init(u64 *context)
{
	struct Qdisc *sch = (struct Qdisc *)context[0];
	struct instance *instance;
	u64 now_ns = ktime_get_ns();
	u32 number;

	FOR_UP_TO(fixed.instances) {
		number = (u32)turn & (INSTANCES - 1);
		instance = &instances[number];
		if (instance->is_used)
			continue;
		/* what an earlier interface counted stays readable until here */
		__builtin_memset(&instance->counts, 0, sizeof(instance->counts));
		instance->just_now_ns = NO_EVENT;
		instance->is_used = 1;
		instance->number = number;
		instance->first_place = number * fixed.places;
		instance->free_ns = now_ns;
		instance->ended_ns = now_ns;
		instance->counts.begun_ns = now_ns;
		instance->counts.until_ns = now_ns;
		begin_empty(instance, now_ns);
		take_params(instance, now_ns);
		begin_aqms(instance, now_ns);
		log_time(instance, HAPPENED_BEGIN, 0, 0, 0, 0, now_ns, 0);
		sch->limit = HAS_ENTRY | number;
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
	struct place *place;

	/* also called after an `init` that found no entry */
	if (!sch->limit)
		return;
	count_length(sch, instance, now_ns);
	instance->counts.left += sch->q.qlen;
	instance->counts.left_bytes += sch->qstats.backlog;
	FOR_UP_TO(fixed.places) {
		place = place_at(instance, (u32)turn);
		if (!place)
			break;
		skb = exchange(place, 0);
		if (skb)
			bpf_kfree_skb(skb);
	}
	if (keeps_sending()) {
		skb = follow(instance, 0);
		if (skb)
			bpf_kfree_skb(skb);
	}
	instance->free_ns = now_ns;
	instance->ended_ns = now_ns;
	instance->watched_ns = 0;	/* the kernel stops the watchdog */
	sch->q.qlen = 0;
	sch->qstats.backlog = 0;
	begin_empty(instance, now_ns);
	begin_aqms(instance, now_ns);
}

SECTION("struct_ops/destroy") void destroy(u64 *context)
{
	struct Qdisc *sch = (struct Qdisc *)context[0];
	struct instance *instance = instance_of(sch);

	/* also called after an `init` that found no entry */
	if (sch->limit)
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
