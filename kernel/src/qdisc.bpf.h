/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What a BPF qdisc uses of Linux: structs, with the fields that are used here (libbpf finds their
 * offsets in the running kernel), BPF helpers, and kernel functions (kfuncs).
 */
#ifndef SLUICEGATE_QDISC_BPF_H
#define SLUICEGATE_QDISC_BPF_H

#include "loop.bpf.h"

#define SECTION(name) __attribute__((section(name), used))
#define INLINE inline __attribute__((always_inline))
/*
 * A global function, which the verifier follows once, with any arguments. `weak` makes the compiler
 * pass even the arguments that the function does not use, as the verifier demands.
 */
#define VERIFIED_ONCE __attribute__((noinline, weak))
/*
 * In a function of its own, so that the registers are for what is needed more often. With a
 * scheduler the stack, which has 512 bytes, has no room for more functions.
 */
#ifdef SCHEDULER
#define OUTLINED static INLINE
#else
#define OUTLINED static __attribute__((noinline))
#endif
#define FOUND_BY_LIBBPF __attribute__((preserve_access_index))
#define __kptr __attribute__((btf_type_tag("kptr")))

#define MAP_TYPE_ARRAY 2
#define MAP_TYPE_LRU_HASH 9
#define MAP_TYPE_RINGBUF 27
#define NET_XMIT_SUCCESS 0
#define NET_XMIT_DROP 1
#define NET_XMIT_CN 2	/* admitted, but another packet was dropped */
#define NO_SPACE_LEFT (-28)
/* network byte order, read as little-endian */
#define PROTOCOL_IPV4 0x0008
#define PROTOCOL_IPV6 0xdd86

struct sk_buff {
	char cb[48] __attribute__((aligned(8)));
	u32 len;
	unsigned short protocol, network_header;
	u32 tail;	/* end of what is in one piece, from `head` on */
	unsigned char *head, *data;
} FOUND_BY_LIBBPF;

struct qdisc_skb_cb {
	u32 pkt_len;
	unsigned char data[20];
} FOUND_BY_LIBBPF;

struct iphdr {
	u8 ihl : 4, version : 4;
	u8 tos;
	unsigned short tot_len, frag_off;
	u8 protocol;
	u32 saddr, daddr;
} FOUND_BY_LIBBPF;

struct in6_addr {
	union {
		u32 u6_addr32[4];
	} in6_u;
} FOUND_BY_LIBBPF;

struct ipv6hdr {
	unsigned short payload_len;
	u8 nexthdr;
	struct in6_addr saddr, daddr;
} FOUND_BY_LIBBPF;

/* what tcx programs see of a packet (linux/bpf.h) */
struct __sk_buff {
	u32 other[12];
	u32 cb[5];
};

struct qdisc_skb_head {
	u32 qlen;
} FOUND_BY_LIBBPF;

struct gnet_stats_queue {
	u32 backlog, drops, overlimits;
} FOUND_BY_LIBBPF;

struct Qdisc {
	u32 limit;
	struct qdisc_skb_head q;
	struct gnet_stats_queue qstats;
} FOUND_BY_LIBBPF;

struct bpf_sk_buff_ptr {
	struct sk_buff *skb;
};

/* libbpf finds the members by their names */
struct Qdisc_ops {
	char id[16];
	int (*enqueue)(struct sk_buff *, struct Qdisc *, struct sk_buff **);
	struct sk_buff *(*dequeue)(struct Qdisc *);
	int (*init)(struct Qdisc *, void *, void *);
	void (*reset)(struct Qdisc *);
	void (*destroy)(struct Qdisc *);
};

static void *(*const map_lookup)(void *map, const void *key) = (void *)1;
static long (*const map_update)(void *map, const void *key, const void *value,
				u64 flags) = (void *)2;
static long (*const map_delete)(void *map, const void *key) = (void *)3;
static u64 (*const ktime_get_ns)(void) = (void *)5;
static long (*const skb_ecn_set_ce)(struct __sk_buff *skb) = (void *)97;
static long (*const probe_read_kernel)(void *to, u32 size, const void *from) = (void *)113;
static void *(*const ringbuf_reserve)(void *map, u64 size, u64 flags) = (void *)131;
static void (*const ringbuf_submit)(void *sample, u64 flags) = (void *)132;
static void *(*const kptr_exchange)(void *field, void *value) = (void *)194;

KERNEL_FUNCTION void *bpf_rdonly_cast(const void *pointer, u32 type);
KERNEL_FUNCTION u32 bpf_skb_get_hash(struct sk_buff *skb);
KERNEL_FUNCTION void bpf_kfree_skb(struct sk_buff *skb);
KERNEL_FUNCTION void bpf_qdisc_skb_drop(struct sk_buff *skb, struct bpf_sk_buff_ptr *to_free);
KERNEL_FUNCTION void bpf_qdisc_watchdog_schedule(struct Qdisc *sch, u64 expire, u64 delta_ns);
KERNEL_FUNCTION void bpf_qdisc_bstats_update(struct Qdisc *sch, const struct sk_buff *skb);

static INLINE u32 packet_bytes(const struct sk_buff *skb)
{
	return ((struct qdisc_skb_cb *)skb->cb)->pkt_len;
}

#endif
