/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What a qdisc of qdisc.bpf.c is set to, what it has counted, and where it stands. User space reads
 * and writes it: qdisc.rs, settings.rs and counts.rs know the structs.
 */
#ifndef SLUICEGATE_INSTANCE_BPF_H
#define SLUICEGATE_INSTANCE_BPF_H

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define OF(what) JOIN(AQM, what)

/* whose object this is: user space looks before it fills in a config */
#define TEXT_(a) #a
#define TEXT(a) TEXT_(a)
const char aqm_name[64] SECTION(".rodata.aqm") = TEXT(AQM);

#define INSTANCES 8
/* Looks for a waiting packet at random, where others have gone from between */
#define TRIES 16
/* Random words of an instant: for an arrival, a departure, a sample, and TRIES others */
#define ARRIVALS_DRAW 0
#define DEPARTURES_DRAW 1
#define OTHERS_DRAW 2
#define SAMPLES_DRAW (OTHERS_DRAW + TRIES)

enum victim { VICTIM_TAIL, VICTIM_FRONT, VICTIM_RANDOM };

/* What holds as long as the kind is there: the verifier leaves out what is not asked for. */
const volatile struct {
	u32 places;	/* for packets, of each instance: a power of 2 */
	u32 is_shaped;	/* 0: the interface sets the pace */
	u32 tells;	/* keeps distributions and samples */
	u32 marks;	/* marks.bpf.h stands behind it */
} fixed SECTION(".rodata.fixed") = { 1, 0, 0, 0 };

struct settings {
	u64 rate_bps;		/* of the link, at least 1 */
	u64 seed;		/* of random words; each instance has others */
	u64 limit_bytes;
	u32 limit_packets;	/* at most half of the places */
	u32 victim;		/* enum victim */
	u32 ecn;		/* whether early drops become marks */
	u32 owner;		/* the process that is to take it away; 0: none */
};

/* What can change while the qdisc is at work. */
struct wish {
	struct settings settings;
	union { u64 least; struct OF(_config) own; } config;
};

struct counts {
	u64 verdicts[AQM_VERDICTS];
	u64 arrivals, arrived_bytes;
	u64 sent, sent_bytes;
	u64 lost, lost_bytes;
	u64 left;		/* packets that waited when the qdisc was reset or taken away */
	u64 sojourn_ns;		/* sums over what was sent */
	u64 sojourn_max_ns;
	u64 delay_ns;
	u64 lateness_ns;
	u64 begun_ns, until_ns;	/* how long how many waited is counted between these */
};

struct instance {
	struct counts counts;
	u32 is_used;
	u32 number;
	struct wish wish;
	union { u64 least; struct OF(_state) own; } state;
	u32 first_place;	/* of its part of the ring */
	u32 head, tail;		/* places of the next packet to leave, and of the next arrival */
	u32 holes;		/* places between them without a packet */
	u32 until_sample;	/* arrivals before the next one that is told as a whole */
	u64 free_ns;		/* when the link has sent, or had, its last packet */
	u64 watched_ns;		/* when the watchdog asks, or has asked last */
	u64 tick_ns;		/* when the next tick is due */
	u64 just_now_ns;	/* when a packet arrived or left, if none was asked for since; else 0 */
	u64 seed;
	u64 edition;		/* of the wish that it heeds */
	struct wish spare;
};

struct {
	int (*type)[MAP_TYPE_ARRAY];
	u32 *key;
	struct instance *value;
	int (*max_entries)[INSTANCES];
} instances SECTION(".maps");

static INLINE struct instance *instance_of(struct Qdisc *sch)
{
	u32 number = sch->limit - 1;

	return map_lookup(&instances, &number);
}

/* The last step of SplitMix64: Steele et al. 2014. */
static INLINE u64 mix(u64 word)
{
	word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9ULL;
	word = (word ^ word >> 27) * 0x94d049bb133111ebULL;
	return word ^ word >> 31;
}

/*
 * The random word of an instant, of which there are 32. Unlike a generator with a state, it costs
 * nothing where nobody looks at it.
 */
static INLINE u64 draw(const struct instance *instance, u64 now_ns, u32 number)
{
	return mix(instance->seed + (now_ns << 5 | number) * 0x9e3779b97f4a7c15ULL);
}

static INLINE u32 below(u64 random, u32 count)
{
	return (u32)((random >> 32) * count >> 32);
}

static INLINE u64 transmission_ns(const struct instance *instance, u32 bytes)
{
	return (u64)bytes * 8000000000ULL / instance->wish.settings.rate_bps;
}

#endif
