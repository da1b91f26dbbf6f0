/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Packets that leave: which one the free link takes, and when it asks again if it takes none.
 */
#ifndef SLUICEGATE_LEAVING_BPF_H
#define SLUICEGATE_LEAVING_BPF_H

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

/* Takes the packet that the free link sends next; null if there is none, or a shaper holds all. */
static INLINE struct sk_buff *choose(struct Qdisc *sch, struct instance *instance, u64 now_ns)
{
	struct sk_buff *skb;

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
	return skb;
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
		ask_again(sch, instance, next_check_ns(instance, now_ns));
		return 0;
	}
	take_params(instance, now_ns);
	if (end_transmission(sch, instance))
		skb = choose(sch, instance, now_ns);
	if (keeps_sending()) {
		skb = follow(instance, skb);
		/* if one goes, the kernel asks again at once */
		if (!skb && instance->is_sending)
			ask_again(sch, instance, next_check_ns(instance, now_ns));
	}
	if (skb) {
		instance->just_now_ns = now_ns;
		bpf_qdisc_bstats_update(sch, skb);
	}
	return skb;
}

#endif
