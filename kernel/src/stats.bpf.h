/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What a qdisc reports of its packets: exact counts and, if `fixed.sampled`, distributions and the
 * first bytes of some packets or of all, by which user space knows flows and arrivals.
 */
#ifndef SLUICEGATE_STATS_BPF_H
#define SLUICEGATE_STATS_BPF_H

/*
 * The layout of a histogram with two significant digits (hdrhistogram.org): 128 steps for each
 * power of 2. The longest time, 2^42 ns, is more than an hour.
 */
#define STEPS_LOG2 7
#define LONGEST_LOG2 42
#define STEPS ((LONGEST_LOG2 - STEPS_LOG2 + 1) << STEPS_LOG2)
#define SAMPLE_BYTES 64
#define SAMPLES_BYTES (1 << 20)
#define NO_WAKEUP 1

enum times { SOJOURNS, DELAYS, LATENESSES, TIMES };

struct histogram {
	u64 counts[STEPS];
};

struct sample {
	u64 now_ns;
	u32 bytes;	/* of the packet, as the link counts them */
	u32 ip_bytes;	/* length of the IP packet */
	u8 data[SAMPLE_BYTES];
};

struct {
	int (*type)[MAP_TYPE_ARRAY];
	u32 *key;
	struct histogram *value;
	int (*max_entries)[1];	/* TIMES for each instance */
} times SECTION(".maps");

/* Time with each queue length, ns: as many numbers for each instance as it has places. */
struct {
	int (*type)[MAP_TYPE_ARRAY];
	u32 *key;
	u64 *value;
	int (*max_entries)[1];
} lengths SECTION(".maps");

struct {
	int (*type)[MAP_TYPE_RINGBUF];
	int (*max_entries)[SAMPLES_BYTES];
} samples SECTION(".maps");

/* Samples that were lost because the ring buffer was full. */
u64 unsampled SECTION(".data.unsampled") = 0;

#ifdef SCHEDULER
#define MOST_BANDS 16

/* Marks of each band of each instance, ever. */
u64 marks_of_bands[INSTANCES][MOST_BANDS] SECTION(".data.of_bands") = { { 0 } };
#endif

/* Counts a mark of a packet of a lane. */
static INLINE void count_mark(const struct instance *instance, u32 lane)
{
#ifdef SCHEDULER
	u32 band = fixed.band_lanes ? lane / fixed.band_lanes : MOST_BANDS;

	if (band < MOST_BANDS)
		marks_of_bands[instance->number & (INSTANCES - 1)][band]++;
#endif
}

/* The step of the histogram in which a time is counted. */
static INLINE u32 step_of(u64 ns)
{
	u32 shift = 0;
	u64 rest;

	if (ns >> LONGEST_LOG2)
		ns = (1ULL << LONGEST_LOG2) - 1;
	rest = ns >> (STEPS_LOG2 + 1);
	if (rest >> 32) { rest >>= 32; shift += 32; }
	if (rest >> 16) { rest >>= 16; shift += 16; }
	if (rest >> 8) { rest >>= 8; shift += 8; }
	if (rest >> 4) { rest >>= 4; shift += 4; }
	if (rest >> 2) { rest >>= 2; shift += 2; }
	if (rest >> 1) { rest >>= 1; shift += 1; }
	shift += (u32)rest;
	return (shift << STEPS_LOG2) + (u32)(ns >> shift);
}

static INLINE void count_time(const struct instance *instance, u32 which, u64 ns)
{
	u32 number = instance->number * TIMES + which, step = step_of(ns);
	struct histogram *histogram = map_lookup(&times, &number);

	if (histogram && step < STEPS)
		histogram->counts[step]++;
}

/* Counts the time with the present queue length, which is about to change. */
static INLINE void count_length(struct Qdisc *sch, struct instance *instance, u64 now_ns)
{
	u32 number;
	u64 *ns;

	if (!fixed.sampled)
		return;
	number = instance->first_place + (sch->q.qlen & (fixed.places - 1));
	ns = map_lookup(&lengths, &number);
	if (ns)
		*ns += now_ns - instance->counts.until_ns;
	instance->counts.until_ns = now_ns;
}

/* Gives user space the first bytes of a packet, from its IP header on. */
OUTLINED void count_sample(struct instance *instance, struct sk_buff *skb, u32 bytes, u64 now_ns)
{
	unsigned char *header = skb->head + skb->network_header;
	struct sample *sample = ringbuf_reserve(&samples, sizeof(*sample), 0);

	instance->until_sample = below(draw_more(instance), 2 * fixed.sampled - 1);
	if (!sample) {
		unsampled++;
		return;
	}
	sample->now_ns = now_ns;
	sample->bytes = bytes;
	sample->ip_bytes = skb->len - (u32)(header - skb->data);
	probe_read_kernel(sample->data, SAMPLE_BYTES, header);
	ringbuf_submit(sample, NO_WAKEUP);
}

static INLINE void count_arrival(struct instance *instance, struct sk_buff *skb, u32 bytes,
				u64 now_ns)
{
	instance->counts.arrivals++;
	if (!fixed.sampled)
		return;
	instance->counts.arrived_bytes += bytes;
	if (instance->until_sample)
		instance->until_sample--;
	else
		count_sample(instance, skb, bytes, now_ns);
}

static INLINE void count_loss(struct Qdisc *sch, struct instance *instance, u32 bytes)
{
	sch->qstats.drops++;
	instance->counts.lost++;
	instance->counts.lost_bytes += bytes;
}

/* Counts the time from a packet's arrival to the end of its transmission. */
static INLINE void count_delay(struct instance *instance, u64 delay_ns)
{
	if (!fixed.sampled)
		return;
	instance->counts.delay_ns += delay_ns;
	count_time(instance, DELAYS, delay_ns);
}

/* Counts a packet sent at `now_ns` that arrived at `since_ns` and could have left at `ready_ns`. */
static INLINE void count_departure(struct instance *instance, u64 now_ns, u64 since_ns,
				  u64 ready_ns, u32 bytes)
{
	u64 sojourn_ns = now_ns - since_ns;

	instance->counts.sent++;
	instance->counts.sojourn_ns += sojourn_ns;
	if (sojourn_ns > instance->counts.sojourn_max_ns)
		instance->counts.sojourn_max_ns = sojourn_ns;
	if (!fixed.sampled)
		return;
	instance->counts.sent_bytes += bytes;
	instance->counts.lateness_ns += now_ns - ready_ns;
	count_time(instance, SOJOURNS, sojourn_ns);
	count_time(instance, LATENESSES, now_ns - ready_ns);
	if (!keeps_sending())
		count_delay(instance,
			    sojourn_ns + (fixed.is_shaped ? transmission_ns(instance, bytes) : 0));
}

#endif
