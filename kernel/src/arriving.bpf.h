/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A packet that arrives: it joins its lane, is dropped, or takes the place of packets that waited.
 */
#ifndef SLUICEGATE_ARRIVING_BPF_H
#define SLUICEGATE_ARRIVING_BPF_H

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

/*
 * Judges an arriving packet and puts it into its lane. Returns null, or the packet if it must be
 * dropped, for the reason in `refused`.
 */
static INLINE struct sk_buff *join(struct Qdisc *sch, struct instance *instance, struct lane *lane,
				   u32 number, struct sk_buff *skb, struct waiting *arrived,
				   struct bpf_sk_buff_ptr *to_free, struct refused *refused,
				   enum aqm_verdict *verdict)
{
	u64 now_ns = arrived->since_ns;
	u32 candidate = 0;

	*verdict = judge_arrival(sch, instance, lane, number, arrived, &candidate);
	give_number(instance, skb);
	arrived->is_marked = *verdict == AQM_MARK;
	if (arrived->is_marked)
		arrived->traffic_class |= AQM_CE;
	if (is_drop(*verdict)) {
		*refused = (struct refused){ to_free, now_ns, number, arrived->bytes, candidate,
					     *verdict };
		if (!make_room(sch, instance, refused))
			return skb;
	}
	instance->just_now_ns = now_ns;
	change_occupancy(sch, instance, lane, number, arrived, now_ns, 1);
	skb = put(sch, instance, lane, number, skb, arrived);
#ifdef HAS_ACK_FILTER
	if (!skb && arrived->is_ack)
		filter_acks(sch, instance, lane, number, now_ns, to_free);
#endif
	return skb;
}

#endif
