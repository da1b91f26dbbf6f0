/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Settings, counts and state of a qdisc of qdisc.bpf.c. User space reads and writes them: the
 * structs are repeated in settings.rs and counts.rs, and agreement.h (shared.rs) compares them.
 */
#ifndef SLUICEGATE_INSTANCE_BPF_H
#define SLUICEGATE_INSTANCE_BPF_H

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define OF(what) JOIN(AQM, what)

#ifdef SCHEDULER
#define OF_SCHEDULER(what) JOIN(SCHEDULER, what)
#endif

/*
 * AQM and text that the object was compiled from: made_of.rs compares them before it sets a config
 */
const struct {
	char name[512], sha256[64];
} made_of SECTION(".rodata.aqm") = { MADE_OF, SHA256 };

#define INSTANCES 8
/* The odd number nearest to 2^64 divided by the golden ratio. */
#define GOLDEN 0x9e3779b97f4a7c15ULL

enum victim { VICTIM_TAIL, VICTIM_FRONT, VICTIM_RANDOM, VICTIMS };

/* Constants of a kind: the verifier removes the code that they exclude. */
const volatile struct fixed {
	u32 places;	/* for packets, of each instance: a power of 2 */
	u32 is_shaped;	/* 0: the interface sets the pace */
	u32 sampled;	/* 0: neither distributions nor samples; else one packet of so many, on average */
	u32 marks;	/* 1: a program of marks.bpf.h sets marks behind it */
	u32 instances;	/* interfaces that can use it at a time */
	u32 lanes;	/* of each instance, with a scheduler */
	u32 varies;	/* 1: the rate changes while packets wait */
	u32 band_lanes;	/* lanes of a band: a lane of DualPI2, a tin, a class; 0: there are no bands */
} fixed SECTION(".rodata.fixed") = { 1, 0, 0, 0, 1, 1, 0, 0 };

struct settings {
	u64 rate_bps;		/* of the link, at least 1 */
	u64 seed;		/* of the random words, which differ between instances */
	u64 limit_bytes;
	u32 limit_packets;	/* at most half of the places */
	u32 victim;		/* enum victim */
	u32 ecn;		/* whether early drops become marks */
	u32 unused;
};

/* Settings and configs, which can change while the qdisc runs. */
struct params {
	struct settings settings;
#ifdef CLASSES
	struct OF(_config) config[CLASS_MAP_MOST];	/* of each lane's AQM */
#else
	union { u64 least; struct OF(_config) own; } config;
#endif
#ifdef SCHEDULER
	union { u64 least; struct OF_SCHEDULER(_config) own; } scheduler;
#endif
};

struct counts {
	u64 verdicts[AQM_VERDICTS];
	u64 arrivals, arrived_bytes;
	u64 sent, sent_bytes;
	u64 lost, lost_bytes;
	u64 left, left_bytes;	/* waited when the qdisc was reset or taken away */
	u64 sojourn_ns;		/* sums over what was sent */
	u64 sojourn_max_ns;
	u64 delay_ns;
	u64 lateness_ns;
	u64 begun_ns, until_ns;	/* the map `lengths` covers the time between these */
};

/* A lane with its AQM; without a scheduler there is one. */
struct lane {
#ifndef COUPLED
	union { u64 least; struct OF(_state) own; } state;
	u64 tick_ns;		/* when the next tick is due */
#endif
#ifdef SCHEDULER
	u64 edition;		/* of the settings that its AQM has; 0: it has not started */
	u64 idle_since_ns;	/* where nothing waits, and the link sends none of its packets */
	union {			/* what waits, and what the scheduler notes of it */
		struct aqm_lane waits;
		struct OF_SCHEDULER(_lane) own;
	} scheduled;
	u32 head, tail;		/* the first and the last place of the waiting packets */
#endif
};

#ifdef SCHEDULER
/* All lanes together. */
struct several {
	union { u64 least; struct OF_SCHEDULER(_state) own; } state;
	u64 begun_ns;		/* start of the AQMs */
	u64 tick_ns;		/* when the next tick of a coupled discipline is due */
	u64 ready_ns;		/* of X_ready_ns, if X_next has just answered AQM_NOT_YET; else 0 */
	u32 serving;		/* number of the lane whose packet the link sends, plus 1; 0: none */
	u32 unused;		/* first in the list of places that were used and are free */
	u32 unused_count;
	u32 used;		/* places that were ever used */
};
#endif

#ifdef HAS_ACK_FILTER
#define SACK_BLOCKS 4
#define TCP_BYTES 20	/* of a header without options */
#define TCP_OPTIONS_BYTES 40	/* at most */

/* What an ACK says: acks.bpf.h. */
struct ack {
	u64 connection;		/* the same for all packets of a connection in one direction */
	u32 acked;		/* sequence number before which all has arrived */
	u32 sacks[2 * SACK_BLOCKS];	/* begin and end of each block; an empty one ends the list */
	u32 timestamps[2];	/* value and echo (RFC 7323); 0 without them */
	u8 has_timestamps;
	u8 ecn_flags;		/* ECE and CWR */
	u8 is_pure;		/* no data, no other flags, and no options that would be missed */
	u8 unused;
};
#endif

struct instance {
	struct counts counts;
	u32 is_used;
	u32 number;
	struct params params;
#ifdef SCHEDULER
	struct several several;
#else
	struct lane lane;
	u32 head;		/* the place of the next packet to leave */
#endif
	u32 first_place;	/* of its part of the map of places */
	u32 until_sample;	/* arrivals before the next one that is sampled */
	u32 is_sending;		/* the map `on_link` has its packet */
	u64 sending_since_ns;	/* when that one arrived */
	u64 free_ns;		/* when the link has sent, or will have sent, its last packet */
	u64 ended_ns;		/* the same, or when a later packet was dropped as it left */
	u64 watched_ns;		/* time for which the watchdog was last set */
	u64 just_now_ns;	/* last arrival or departure, until dequeue is called; then NO_EVENT */
	u64 seed;
	u64 drawn;		/* random words that `draw_more` has given */
	u64 edition;		/* of its settings */
	struct params spare;
#ifdef HAS_ACK_FILTER
	struct ack newest;	/* the ACK that arrives */
	u8 tcp[TCP_BYTES], option[TCP_OPTIONS_BYTES];	/* its header, and an option there */
	u32 option_at;		/* where that is */
#endif
};

/* All entries are one value of one map, so finding an entry takes four instructions. */
struct instance instances[INSTANCES] SECTION(".data.instances") = { { { { 0 } } } };

/* In place of the time of an event: later than any. */
#define NO_EVENT (~0ULL)

/* Bit in the field `limit` of a qdisc that has an entry, beside the entry's number. */
#define HAS_ENTRY INSTANCES

static INLINE struct instance *instance_of(struct Qdisc *sch)
{
	return &instances[sch->limit & (INSTANCES - 1)];
}

/* The config of a lane's AQM. */
static INLINE const struct OF(_config) *config_of(const struct instance *instance, u32 number)
{
#ifdef CLASSES
	return &instance->params.config[number & (CLASS_MAP_MOST - 1)];
#else
	return &instance->params.config.own;
#endif
}

/* True if a lane's AQM has a function of those that the program has code for. */
#ifdef CLASSES
#define LANE_HAS(what, instance, number) classes_has_##what(config_of(instance, number))
#else
#define LANE_HAS(what, instance, number) 1
#endif

/* The last step of SplitMix64: Steele et al. 2014. */
static INLINE u64 mix(u64 word)
{
	word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9ULL;
	word = (word ^ word >> 27) * 0x94d049bb133111ebULL;
	return word ^ word >> 31;
}

/*
 * The random word for an arrival at `now_ns`. Unlike a generator with a state, it costs nothing if
 * the AQM does not use it.
 */
static INLINE u64 draw(const struct instance *instance, u64 now_ns)
{
	return mix(instance->seed + now_ns * GOLDEN);
}

/* A random word for anything else; the words of several calls at one time differ. */
static INLINE u64 draw_more(struct instance *instance)
{
	return mix(mix(instance->seed) + ++instance->drawn * GOLDEN);
}

/* Uniform on 0 .. `count` - 1: the upper half of the product, as in the engine. */
static INLINE u32 below(u64 random, u32 count)
{
	u64 lower = (u64)(u32)random * count >> 32;

	return (u32)(((random >> 32) * count + lower) >> 32);
}

/* 1: a packet stays until its transmission ends: sending.bpf.h. */
static INLINE u32 keeps_sending(void)
{
	return fixed.is_shaped && fixed.varies;
}

static INLINE u64 transmission_ns(const struct instance *instance, u32 bytes)
{
	return (u64)bytes * 8000000000ULL / instance->params.settings.rate_bps;
}

#endif
