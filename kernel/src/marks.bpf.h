/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Marks (ECN). A BPF qdisc may not write to a packet's data, but on arrival it may write to the
 * field `cb` that travels with the packet. So each packet that may be marked carries a number
 * there. When a marked packet leaves, its number is put into a table. A second program, at the
 * ingress behind the qdisc (the other end of a veth), finds it there and sets congestion
 * experienced in the header.
 */
#ifndef SLUICEGATE_MARKS_BPF_H
#define SLUICEGATE_MARKS_BPF_H

#define TCX_NEXT (-1)
/*
 * upper half of the word in `cb`: a pattern that no other part of the kernel is likely to leave
 * there
 */
#define CARRIES_NUMBER 0x4ec55c2eULL

struct marked {
	u64 set, unmarkable;	/* packets marked, and those without a header to mark */
} marked SECTION(".data.marked") = { 0, 0 };

/*
 * Numbers of marked packets between the qdisc and set_ce(): a veth keeps up to 1000 packets for
 * each processor (net.core.netdev_max_backlog). Numbers of packets lost there are the oldest (LRU)
 * and are replaced by new ones.
 */
struct {
	int (*type)[MAP_TYPE_LRU_HASH];
	u32 *key;
	u32 *value;
	int (*max_entries)[1];	/* MARKS, where marks are set */
} to_mark SECTION(".maps");

/* The number that a packet carries: the instance in the upper 4 bits, the packet below. */
static INLINE u32 carried(const struct instance *instance, u32 packet)
{
	return instance->number << 28 | (packet & ((1U << 28) - 1));
}

/* Records that a packet that leaves must be marked. */
static INLINE void mark(const struct instance *instance, u32 packet)
{
	u32 number = carried(instance, packet), is_marked = 1;

	if (fixed.marks)
		map_update(&to_mark, &number, &is_marked, 0);
}

/* Gives an arriving packet its number: the count of arrivals. */
static INLINE void give_number(const struct instance *instance, struct sk_buff *skb)
{
	if (fixed.marks && instance->params.settings.ecn)
		*(u64 *)((struct qdisc_skb_cb *)skb->cb)->data =
			CARRIES_NUMBER << 32 | carried(instance, (u32)instance->counts.arrivals);
}

/*
 * The traffic class of a packet: DSCP and ECN codepoint. 0 if nothing here uses it, and of what is
 * not IP.
 */
static INLINE u8 traffic_class(const struct instance *instance, struct sk_buff *skb)
{
	const struct iphdr *header;

#ifndef WANTS_TRAFFIC_CLASS
	if (!fixed.marks || !instance->params.settings.ecn)
		return 0;
#endif
	header = bpf_rdonly_cast(skb->head + skb->network_header,
				 __builtin_btf_type_id(*(struct iphdr *)0, 1));
	if (skb->protocol == PROTOCOL_IPV4)
		return header->tos;
	if (skb->protocol == PROTOCOL_IPV6)	/* the lower half of the first byte, and the upper one of the second */
		return (u8)(header->ihl << 4 | header->tos >> 4);
	return 0;
}

/*
 * 1 if a packet of a traffic class can be marked instead of dropped: ECT(0), ECT(1), or CE, with
 * which it passes as it is (RFC 3168, section 5).
 */
static INLINE u32 can_be_marked(const struct instance *instance, u8 traffic_class)
{
	return fixed.marks && instance->params.settings.ecn && (traffic_class & 3);
}

SECTION("tcx/ingress") int set_ce(struct __sk_buff *skb)
{
	u32 number = skb->cb[0];

	if (skb->cb[1] != CARRIES_NUMBER)
		return TCX_NEXT;
	skb->cb[1] = 0;
	/* an error means that the number is not in the table: the packet is not marked */
	if (map_delete(&to_mark, &number))
		return TCX_NEXT;
	if (skb_ecn_set_ce(skb))
		__sync_fetch_and_add(&marked.set, 1);
	else
		__sync_fetch_and_add(&marked.unmarkable, 1);
	return TCX_NEXT;
}

#endif
