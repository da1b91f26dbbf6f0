/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The link: until when it is busy, when the kernel asks for the next packet, and the packet in
 * transmission where the rate varies. That one stays in the qdisc until its transmission ends, as on a
 * real link. At a constant rate packets of a size take the same time, and each leaves as its
 * transmission begins. In both cases it no longer waits, and our counts have it as sent.
 */
#ifndef SLUICEGATE_SENDING_BPF_H
#define SLUICEGATE_SENDING_BPF_H

/* A shaped link that was late makes up for at most this time. */
#define CATCH_UP_NS 10000000ULL
/* Longest time until a link whose rate has changed goes on at the new rate. */
#define CHECK_NS 1000000ULL

struct on_link {
	struct sk_buff __kptr *skb;
};

/* The packet of each instance; none where keeps_sending() says no. */
struct {
	int (*type)[MAP_TYPE_ARRAY];
	u32 *key;
	struct on_link *value;
	int (*max_entries)[INSTANCES];
} on_link SECTION(".maps");

static INLINE u32 is_sending(const struct instance *instance)
{
	return keeps_sending() && instance->is_sending;
}

/* Puts a packet, or none, on the link. Returns the one before it, or null. */
static INLINE struct sk_buff *follow(struct instance *instance, struct sk_buff *skb)
{
	u32 number = instance->number;
	struct on_link *link = map_lookup(&on_link, &number);

	if (!link)
		return skb;
	instance->is_sending = skb != 0;
	return kptr_exchange(&link->skb, skb);
}

/*
 * The link is free: the transmission of a packet that was kept has ended, and its delay is counted.
 * Returns 0 if it was kept and nothing waits behind it.
 */
static INLINE u32 end_transmission(const struct Qdisc *sch, struct instance *instance)
{
	if (!is_sending(instance))
		return 1;
	count_delay(instance, instance->free_ns - instance->sending_since_ns);
	return sch->q.qlen != 0;
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

/* When to ask again whether the link is free: nobody else asks if its rate rises meanwhile. */
static INLINE u64 next_check_ns(const struct instance *instance, u64 now_ns)
{
	if (fixed.varies && instance->free_ns > now_ns + CHECK_NS)
		return now_ns + CHECK_NS;
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

#endif
