/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Marks (ECN). A BPF qdisc may not write to packets, but, as they arrive, into the field `cb` that
 * travels with them. So a packet that may be marked carries a number there; those that are marked
 * stand in a table, and a second program, where packets come in behind the qdisc (the other end of
 * a veth), sets congestion experienced in their header.
 */
#ifndef SLUICEGATE_MARKS_BPF_H
#define SLUICEGATE_MARKS_BPF_H

#define TCX_NEXT (-1)
/* what nobody else leaves in the upper half of the word that is written into `cb` */
#define CARRIES_NUMBER 0x4ec55c2eULL
/* of packets that are between qdisc and mark, for each instance; more than can be on their way */
#define NUMBERS_LOG2 13

struct {
	u64 set, unmarkable;	/* packets marked, and those without a header to mark */
} marked SECTION(".data.marked") = { 0, 0 };

/* At each number, the last packet that is marked. */
struct {
	int (*type)[MAP_TYPE_ARRAY];
	u32 *key;
	u32 *value;
	int (*max_entries)[INSTANCES << NUMBERS_LOG2];
} to_mark SECTION(".maps");

/* What the packet with this number of an instance carries: never 0. */
static INLINE u32 carried(const struct instance *instance, u32 packet)
{
	return 1U << 31 | instance->number << 28 | (packet & ((1U << 28) - 1));
}

static INLINE u32 *mark_of(u32 number)
{
	u32 instance = number >> 28 & (INSTANCES - 1);
	u32 key = instance << NUMBERS_LOG2 | (number & ((1U << NUMBERS_LOG2) - 1));

	return map_lookup(&to_mark, &key);
}

/* A packet is marked. As with Linux's RED, tc tells of it as an overlimit. */
static INLINE void note_mark(struct Qdisc *sch, const struct instance *instance, u32 packet)
{
	u32 number = carried(instance, packet), *mark;

	sch->qstats.overlimits++;
	if (!fixed.marks)
		return;
	mark = mark_of(number);
	if (mark)
		*mark = number;
}

/* A packet that arrives gets its number: how many have arrived. */
static INLINE void give_number(const struct instance *instance, struct sk_buff *skb)
{
	if (fixed.marks && instance->wish.settings.ecn)
		*(u64 *)((struct qdisc_skb_cb *)skb->cb)->data =
			CARRIES_NUMBER << 32 | carried(instance, (u32)instance->counts.arrivals);
}

/* Whether it is to be marked in place of a drop: ECT(0) or ECT(1), RFC 3168, section 5. */
static INLINE u32 can_be_marked(const struct instance *instance, struct sk_buff *skb)
{
	const struct iphdr *header;
	u32 field;

	if (!fixed.marks || !instance->wish.settings.ecn)
		return 0;
	header = bpf_rdonly_cast(skb->head + skb->network_header,
				 __builtin_btf_type_id(*(struct iphdr *)0, 1));
	field = header->tos;
	if (skb->protocol == PROTOCOL_IPV6)
		field >>= 4;	/* the traffic class lies across the first two bytes */
	else if (skb->protocol != PROTOCOL_IPV4)
		return 0;
	field &= 3;
	return field == 1 || field == 2;
}

SECTION("tcx/ingress") int set_ce(struct __sk_buff *skb)
{
	u32 number = skb->cb[0], *mark;

	if (skb->cb[1] != CARRIES_NUMBER)
		return TCX_NEXT;
	skb->cb[1] = 0;
	mark = mark_of(number);
	if (!mark || *mark != number)
		return TCX_NEXT;
	*mark = 0;
	if (skb_ecn_set_ce(skb))
		__sync_fetch_and_add(&marked.set, 1);
	else
		__sync_fetch_and_add(&marked.unmarkable, 1);
	return TCX_NEXT;
}

#endif
