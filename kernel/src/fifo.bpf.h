/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * One queue: all places form a ring, in which the waiting packets stand without a gap.
 */
#ifndef SLUICEGATE_FIFO_BPF_H
#define SLUICEGATE_FIFO_BPF_H

static INLINE struct lane *lane_at(struct instance *instance, u32 number)
{
	return &instance->lane;
}

static INLINE u32 packets_in(const struct Qdisc *sch, const struct lane *lane)
{
	return sch->q.qlen;
}

static INLINE u64 bytes_in(const struct Qdisc *sch, const struct lane *lane)
{
	return sch->qstats.backlog;
}

static INLINE u32 is_idle(const struct Qdisc *sch, const struct instance *instance,
			  const struct lane *lane, u64 now_ns)
{
	return !sch->q.qlen && now_ns >= instance->free_ns;
}

static INLINE u64 idle_since(const struct instance *instance, const struct lane *lane)
{
	return instance->ended_ns;
}

static INLINE void tick_together(struct instance *instance, u64 now_ns) {}

static INLINE u32 classify(struct instance *instance, const struct waiting *arrived,
			   struct sk_buff *skb)
{
	return 0;
}

static INLINE struct lane *lane_for(const struct Qdisc *sch, struct instance *instance,
				    u32 number, u64 now_ns)
{
	make_up_ticks(sch, instance, &instance->lane, 0, now_ns);
	return &instance->lane;
}

static INLINE void begin_aqms(struct instance *instance, u64 now_ns)
{
	begin_aqm(instance, &instance->lane, 0, now_ns);
}

static INLINE void retune_aqms(struct instance *instance, u64 now_ns)
{
	retune_aqm(instance, &instance->lane, 0, now_ns);
}

static INLINE void begin_empty(struct instance *instance, u64 now_ns)
{
	instance->head = 0;
}

static INLINE u32 victim_lane(struct instance *instance, u32 own, u32 bytes)
{
	return own;
}

static INLINE u32 index_at_random(const struct Qdisc *sch, struct instance *instance,
				  const struct lane *lane)
{
	return below(draw_more(instance), sch->q.qlen);
}

static INLINE struct place *place_of(const struct instance *instance, const struct lane *lane,
				     u32 index)
{
	return place_at(instance, instance->head + index);
}

/* Appends a packet to the queue. Returns null, or a packet that must be dropped. */
static INLINE struct sk_buff *put(struct Qdisc *sch, struct instance *instance, struct lane *lane,
				  u32 number, struct sk_buff *skb, const struct waiting *waiting)
{
	struct place *place = place_at(instance, instance->head + sch->q.qlen);

	if (!place)
		return skb;
	place->waiting = *waiting;
	count_in(sch, instance, waiting->since_ns, waiting->bytes);
	return exchange(place, skb);
}

/*
 * Moves the packets before `index` one place towards the tail, into `gap`: the first place is free.
 */
static INLINE void close_gap(struct instance *instance, struct place *gap, u32 index)
{
	struct sk_buff *skb;
	struct place *before;

	FOR_UP_TO(index) {
		before = place_at(instance, instance->head + index - 1 - (u32)turn);
		if (!before)
			break;
		skb = exchange(before, 0);
		if (skb)
			skb = exchange(gap, skb);
		if (skb)
			bpf_kfree_skb(skb);	/* the place was free */
		gap->waiting = before->waiting;
		gap = before;
	}
}

/* Takes the packet at an index out of the queue; null if there is none. */
static INLINE struct sk_buff *take(struct Qdisc *sch, struct instance *instance, struct lane *lane,
				   u32 number, u32 index, u64 now_ns, struct waiting *waited)
{
	struct place *place = place_of(instance, lane, index);
	struct sk_buff *skb;

	if (!place)
		return 0;
	skb = exchange(place, 0);
	if (!skb)
		return 0;
	*waited = place->waiting;
	if (index)
		close_gap(instance, place, index);
	instance->head++;
	count_out(sch, instance, now_ns, waited->bytes);
	return skb;
}

static INLINE u32 next_lane(struct instance *instance, u64 now_ns)
{
	return 0;
}

static INLINE u64 ready_ns(const struct instance *instance)
{
	return 0;
}

static INLINE void note_loss(const struct Qdisc *sch, struct instance *instance,
			     const struct lane *lane, u32 number, const struct waiting *lost,
			     u64 now_ns, u32 is_needless) {}

static INLINE void serve(struct instance *instance, u32 number) {}

static INLINE void sent(struct instance *instance, u32 number, u32 bytes) {}

static INLINE void end_service(const struct Qdisc *sch, struct instance *instance, u64 at_ns) {}

static INLINE void fall_idle(const struct Qdisc *sch, struct instance *instance) {}

#endif
