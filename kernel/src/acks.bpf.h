/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The ACK filter of Linux's CAKE (sch_cake.c: cake_ack_filter()), the same rule as in the engine's
 * ack_filter.rs: an ACK that waits is removed when a newer one of its connection joins its lane, if
 * that tells the sender all that it would.
 *
 * A waiting packet's headers cannot be read: it is in a map, and BPF has it back only by taking it out.
 * So what an ACK says is read as it arrives, and kept beside its place.
 */
#ifndef SLUICEGATE_ACKS_BPF_H
#define SLUICEGATE_ACKS_BPF_H

#ifdef HAS_ACK_FILTER

#define PROTOCOL_TCP 6
/* byte 13 of a TCP header (RFC 9293, section 3.1) */
#define TCP_SYN 0x02
#define TCP_ACK 0x10
#define TCP_ECE_CWR 0xc0
/* bits of byte 12 that are reserved, of which AccECN uses one */
#define TCP_RESERVED 0x0f

enum tcp_option { TCP_END = 0, TCP_NO_OPERATION = 1, TCP_SACK = 5, TCP_TIMESTAMPS = 8, TCP_MD5 = 19 };

#define TCP_MD5_BYTES 18

struct {
	int (*type)[MAP_TYPE_ARRAY];
	u32 *key;
	struct ack *value;
	int (*max_entries)[1];	/* as many as places */
} acks SECTION(".maps");

static INLINE u32 filters_acks(const struct instance *instance)
{
	return OF_SCHEDULER(_ack_filter)(&instance->params.scheduler.own) != AQM_ACKS_STAY;
}

/* Four bytes in network byte order. */
static INLINE u32 word_of(const u8 *bytes)
{
	return (u32)bytes[0] << 24 | (u32)bytes[1] << 16 | (u32)bytes[2] << 8 | bytes[3];
}

/* 1 if two words differ, else 0; without a branch. */
static INLINE u32 differ(u32 one, u32 other)
{
	u32 both = one ^ other;

	return (both | -both) >> 31;
}

/*
 * Takes the blocks of an option of `size` bytes; without a branch, of which there would be many. Returns
 * 1 if there are some and none is empty, else 0.
 */
static INLINE u32 take_blocks(struct ack *ack, const u8 *option, u32 size)
{
	u32 are_whole = size > 2;

	for (u32 block = 0; block < SACK_BLOCKS; block++) {
		const u8 *at = &option[2 + 8 * block];
		u32 start = word_of(at), end = word_of(at + 4), *own = &ack->sacks[2 * block];
		/* all bits, if the option has this block */
		u32 has = (u32)((int)(2 + 8 * block - size) >> 31);

		are_whole &= ~has | differ(start, end);
		own[0] = (start & has) | (own[0] & ~has);
		own[1] = (end & has) | (own[1] & ~has);
	}
	return are_whole & 1;
}

/*
 * Reads the options of instance->newest, whose header is at an address and has `end` bytes; 0 if one is
 * not known, comes twice or is malformed, as in ack.rs: Linux is less strict. Each is copied first, and
 * where it is, is kept in memory: else the verifier, which knows registers but not what is in maps, would
 * follow each combination of options by itself.
 */
VERIFIED_ONCE u32 read_options(struct instance *instance, u64 header, u32 end)
{
	u32 at, kind, size;
	struct ack *ack;
	const u8 *option;

	if (!instance)
		return 0;
	ack = &instance->newest;
	option = instance->option;
	ack->is_pure = 1;
	instance->option_at = TCP_BYTES;
	FOR_UP_TO(TCP_OPTIONS_BYTES) {
		at = instance->option_at;
		if (at >= end)
			break;
		if (probe_read_kernel(instance->option, TCP_OPTIONS_BYTES, (const void *)(header + at))) {
			ack->is_pure = 0;
			break;
		}
		kind = option[0];
		if (kind == TCP_END)
			break;
		size = kind == TCP_NO_OPERATION ? 1 : at + 1 < end ? option[1] : 0;
		/* where the next one begins, nobody knows */
		if ((size < 2 && kind != TCP_NO_OPERATION) || size > end - at) {
			ack->is_pure = 0;
			break;
		}
		if (kind == TCP_SACK && size % 8 == 2 && !(ack->sacks[0] | ack->sacks[1])) {
			ack->is_pure &= take_blocks(ack, option, size);
		} else if (kind == TCP_TIMESTAMPS && size == 10 && !ack->has_timestamps) {
			ack->has_timestamps = 1;
			ack->timestamps[0] = word_of(&option[2]);
			ack->timestamps[1] = word_of(&option[6]);
		} else if (kind != TCP_NO_OPERATION && (kind != TCP_MD5 || size != TCP_MD5_BYTES)) {
			ack->is_pure = 0;
		}
		instance->option_at = at + size;
	}
	return ack->is_pure;
}

/* A number that no host knows, set before the program is loaded. */
const volatile u64 secret SECTION(".rodata.secret") = 1;

/*
 * The same for all packets of a connection in one direction; two others have it by chance in 2^64. With
 * the secret, as else a host could make its ACKs remove those of another connection.
 */
static INLINE u64 connection_of(const struct instance *instance, u64 source, u64 destination)
{
	return mix(mix(source + secret) + mix(destination + secret + GOLDEN) +
		   word_of(&instance->tcp[0]));
}

static INLINE u64 address_of(const struct in6_addr *address)
{
	u64 upper = address->in6_u.u6_addr32[0] ^ (u64)address->in6_u.u6_addr32[1] << 32;
	u64 lower = address->in6_u.u6_addr32[2] ^ (u64)address->in6_u.u6_addr32[3] << 32;

	return mix(mix(upper + secret) ^ lower);
}

/*
 * Reads the TCP header at `at` of a packet, which is `bytes` long with its data. Returns 1 if it is an
 * ACK that opens no connection: then instance->newest has what it says, but for the connection.
 */
static INLINE u32 read_tcp(struct instance *instance, struct sk_buff *skb, u32 at, u32 bytes)
{
	struct ack *ack = &instance->newest;
	u32 header_bytes, flags;
	u64 header;

	/* as a number: an address that the verifier knows is no argument of read_options() */
	if (probe_read_kernel(&header, sizeof(header), &skb->head))
		return 0;
	header += at;
	if (bytes < TCP_BYTES || at + TCP_BYTES > skb->tail ||
	    probe_read_kernel(instance->tcp, TCP_BYTES, (const void *)header))
		return 0;
	header_bytes = instance->tcp[12] >> 4 << 2;
	flags = instance->tcp[13];
	if (header_bytes < TCP_BYTES || header_bytes > bytes || at + header_bytes > skb->tail ||
	    (flags & (TCP_ACK | TCP_SYN)) != TCP_ACK)
		return 0;
	*ack = (struct ack){ .acked = word_of(&instance->tcp[8]), .ecn_flags = flags & TCP_ECE_CWR };
	ack->is_pure = read_options(instance, header, header_bytes) &&
		       bytes == header_bytes &&
		       !(instance->tcp[12] & TCP_RESERVED) && (flags & ~TCP_ECE_CWR) == TCP_ACK;
	return 1;
}

/*
 * Reads an arriving packet. Returns 1 if it is an ACK, 0 if it is none, if it is a fragment, or if its
 * version of IP has options before TCP's header.
 */
static INLINE u32 read_ack(struct instance *instance, struct sk_buff *skb)
{
	const void *header = skb->head + skb->network_header;
	u32 at = skb->network_header;

	if (!filters_acks(instance))
		return 0;
	if (skb->protocol == PROTOCOL_IPV4) {
		const struct iphdr *v4 =
			bpf_rdonly_cast(header, __builtin_btf_type_id(*(struct iphdr *)0, 1));
		u32 own = v4->ihl * 4, whole = __builtin_bswap16(v4->tot_len);

		/* all but the bit "do not fragment" */
		if (v4->protocol != PROTOCOL_TCP || v4->frag_off & __builtin_bswap16(0xbfff) ||
		    whole < own || !read_tcp(instance, skb, at + own, whole - own))
			return 0;
		instance->newest.connection = connection_of(instance, v4->saddr, v4->daddr);
		return 1;
	}
	if (skb->protocol == PROTOCOL_IPV6) {
		const struct ipv6hdr *v6 =
			bpf_rdonly_cast(header, __builtin_btf_type_id(*(struct ipv6hdr *)0, 1));

		if (v6->nexthdr != PROTOCOL_TCP ||
		    !read_tcp(instance, skb, at + 40, __builtin_bswap16(v6->payload_len)))
			return 0;
		instance->newest.connection =
			connection_of(instance, address_of(&v6->saddr), address_of(&v6->daddr));
		return 1;
	}
	return 0;
}

static INLINE struct ack *ack_at(const struct instance *instance, u32 place)
{
	u32 number = instance->first_place + (place & (fixed.places - 1));

	return map_lookup(&acks, &number);
}

/* Keeps what the packet says that has just joined a lane. */
static INLINE void keep_ack(const struct instance *instance, const struct lane *lane)
{
	struct ack *ack = ack_at(instance, lane->tail);

	if (ack)
		*ack = instance->newest;
}

/* 1 if one sequence number comes after another, modulo 2^32, else 0; without a branch. */
static INLINE u32 is_after(u32 one, u32 other)
{
	return (other - one) >> 31;
}

/*
 * Compares SACK blocks. Returns 0 if `ack` has some that `newer` has not, or a duplicate (RFC 2883),
 * which must be told; 1 if `newer` has no more packets in its blocks; 2 if it has.
 */
static INLINE u32 compare_sacks(const struct ack *ack, const struct ack *newer)
{
	u32 own_bytes = 0, newer_bytes = 0, is_kept = 1, is_own = 1, is_newer, is_covered;

	for (u32 own = 0; own < SACK_BLOCKS; own++) {
		u32 start = ack->sacks[2 * own], end = ack->sacks[2 * own + 1];

		/* an empty block ends the list */
		is_own &= differ(start, end);
		is_covered = 0;
		is_newer = 1;
		for (u32 other = 0; other < SACK_BLOCKS; other++) {
			u32 from = newer->sacks[2 * other], to = newer->sacks[2 * other + 1];

			is_newer &= differ(from, to);
			is_covered |= is_newer & ~is_after(from, start) & ~is_after(end, to);
			newer_bytes += own ? 0 : is_newer * (to - from);
		}
		is_kept &= ~is_own | (is_covered & ~is_after(ack->acked, start));
		own_bytes += is_own * (end - start);
	}
	if (!(is_kept & 1))
		return 0;
	return newer_bytes > own_bytes ? 2 : 1;
}

/* 1 if `newer` tells the sender all that `ack` would, and more. */
VERIFIED_ONCE u32 supersedes(const struct ack *ack, const struct ack *newer)
{
	u32 sacks;

	if (!ack || !newer || !ack->is_pure || is_after(ack->acked, newer->acked))
		return 0;
	/* those of an ACK without them are 0 */
	if (ack->has_timestamps && (is_after(ack->timestamps[0], newer->timestamps[0]) ||
				    is_after(ack->timestamps[1], newer->timestamps[1])))
		return 0;
	sacks = compare_sacks(ack, newer);
	return sacks == 2 || (sacks == 1 && ack->acked != newer->acked);
}

/*
 * Returns the index of the packet in a lane, plus 1, that instance->newest makes needless, which has
 * just joined the lane; 0 if there is none.
 */
VERIFIED_ONCE u32 needless_ack(struct instance *instance, u32 number)
{
	u32 last, at, found = 0, flags = 0, is_second = 0;
	struct lane *lane;

	if (!instance)
		return 0;
	lane = lane_at(instance, number);
	if (!lane)
		return 0;
	at = lane->head;
	last = lane->scheduled.waits.packets - 1;
	FOR_UP_TO(last) {
		const struct place *place = place_at(instance, at);
		const struct ack *ack;
		u32 own = at;

		if (!place)
			break;
		at = place->next;
		if (!place->waiting.is_ack)
			continue;
		ack = ack_at(instance, own);
		if (!ack)
			break;
		if (ack->connection != instance->newest.connection)
			continue;
		/* the one found tells of a change of the flags */
		if (found && flags != ack->ecn_flags)
			found = 0;
		if (!supersedes(ack, &instance->newest))
			continue;
		is_second = found > 0;
		if (is_second)
			break;
		found = (u32)turn + 1;
		flags = ack->ecn_flags;
	}
	if (is_second)
		return found;
	/* right before the newest */
	if (OF_SCHEDULER(_ack_filter)(&instance->params.scheduler.own) == AQM_ACKS_AGGRESSIVE &&
	    found == last && flags == instance->newest.ecn_flags)
		return found;
	return 0;
}

/* In the log, what an ACK says that arrives next: of() of gate/tests/kernel_log/acks.rs. */
static INLINE void log_ack(const struct instance *instance, u64 now_ns)
{
#ifdef LOGS
	const struct ack *ack = &instance->newest;
	const u32 *sacks = ack->sacks;
	struct aqm_view view = {
		.now_ns = now_ns,
		.random = ack->connection,
		.idle_since_ns = (u64)sacks[0] << 32 | sacks[1],
		.sojourn_ns = (u64)sacks[2] << 32 | sacks[3],
		.rate_bps = (u64)sacks[4] << 32 | sacks[5],
		.queue_bytes = (u64)sacks[6] << 32 | sacks[7],
		.buffer_bytes = (u64)ack->timestamps[0] << 32 | ack->timestamps[1],
		.queue_packets = ack->acked,
		.idle = ack->has_timestamps,
		.ecn_capable = ack->is_pure,
		.traffic_class = ack->ecn_flags,
	};

	log(instance, HAPPENED_ACK, 0, 0, 0, 0, &view);
#endif
}

#endif

#endif
