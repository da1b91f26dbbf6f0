/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The packet in transmission, where the link's rate varies: it stays in the qdisc until its
 * transmission ends, as on a real link. At a constant rate packets of a size take the same time, and
 * each leaves as its transmission begins. In both cases it no longer waits, and our counts have it as
 * sent.
 */
#ifndef SLUICEGATE_SENDING_BPF_H
#define SLUICEGATE_SENDING_BPF_H

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

/* Counts the delay of the packet whose transmission has just ended. */
static INLINE void count_sent(struct instance *instance)
{
	count_delay(instance, instance->free_ns - instance->sending_since_ns);
}

#endif
