/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The contract of an AQM.
 *
 * An AQM X is one header that defines
 *
 *   1. X_PARAMS(P)     its parameters, one P(...) line each (see AQM_PARAM below);
 *   2. struct X_params made from that list by AQM_PARAMS(x, X_PARAMS); every field
 *                      an integer in the scale that the parameter's kind names;
 *   3. struct X_config the form of the parameters that the other functions use; made once by
 *                      `u32 X_configure(const struct X_params *p, struct X_config *)`,
 *                      which starts with AQM_OBEY(X_RULES), if X has rules between
 *                      parameters, and ends with `return 0`;
 *   4. struct X_state  what changes: no pointers, fixed size, valid when zeroed;
 *   5. `enum aqm_verdict X_arrive(state, config, view)` for every packet, before it
 *      joins the queue;
 *   6. if it needs them, each with the macro that makes a function for the class from it, and
 *      with that function named in AQM_CLASS, as in `.depart = X_depart_any`:
 *      X_depart(state, config, view)        when a packet leaves the queue (AQM_DEPART)
 *      X_tick(state, config, view)          every X_tick_interval_ns      (AQM_TICK)
 *      X_drop_probability(config, average)  its drop function, Q31.32 (AQM_DROP_FUNCTION)
 *      X_average(state)                     its average queue, Q31.32     (AQM_AVERAGE)
 *      X_probability(state, config)         its present drop probability, (AQM_PROBABILITY)
 *                                           Q31.32
 *      X_occupancy(state, config, view, change)  when a packet joins      (AQM_OCCUPANCY)
 *                                           the waiting ones (+1) or leaves
 *                                           them (-1), for any reason
 *      and, in AQM_CLASS, `.wants_candidate = 1` if the view shall show a candidate
 *   7. AQM_CLASS(x, ...) at the end, which puts all of this into one table entry.
 *
 * A scheduler divides a queue into lanes, and a coupled discipline judges the packets of several
 * lanes together: scheduler.h says what their headers define.
 *
 * These functions see the world only through the view. They read no clock, draw no
 * number, allocate nothing, hold no global, use no floating point and no unbounded
 * loop: the same file serves the simulators, the exact chain, a router in user space
 * and the kernel's BPF verifier.
 *
 * An AQM does not decide which packet is lost when the verdict is a drop, what the limit
 * of the buffer is (in packets, in bytes, shared by several queues), or whether an early
 * drop becomes a mark. The queue says whether the buffer is `full`. For arrivals,
 * aqm_settle() below is the one place that decides overflow and marking. No limit concerns
 * a departure, so its verdict only goes through aqm_mark_instead().
 */
#ifndef SLUICEGATE_AQM_H
#define SLUICEGATE_AQM_H

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long s64;

/*
 * A loop of at most `count` turns, and never more than AQM_MOST_STEPS, numbered by `turn`, a u32. It
 * is left by `break`, not by `return`. A program for BPF defines it before, as its verifier demands.
 */
#define AQM_MOST_STEPS (1 << 20)
#ifndef AQM_UP_TO
#define AQM_UP_TO(count)                                                              \
	for (u32 turn = 0, turns_ = (count); turn < AQM_MOST_STEPS && turn < turns_; turn++)
#endif

/*
 * Everything that an AQM may see. A field that a call does not use is 0: at a tick every
 * field of a packet, and the random word except at arrivals and departures.
 *
 * Every packet takes the same path in every world, also if it finds the link idle:
 * X_arrive, X_occupancy(+1), X_occupancy(-1), X_depart. The packet in service does not
 * wait; in X_occupancy and X_depart, the packet of the call is not counted either.
 */
struct aqm_view {
	u64 now_ns;		/* time of the call, by the world's clock */
	u64 idle_since_ns;	/* when server and queue fell empty; only if idle */
	u64 sojourn_ns;		/* departures: how long this packet has waited */
	u64 rate_bps;		/* of the link behind the queue */
	u64 random;		/* a fresh random word, all 64 bits usable */
	u64 queue_bytes;	/* bytes that wait; with a scheduler, in this AQM's queue */
	u64 buffer_bytes;	/* bytes that wait in all queues together; not at ticks */
	u32 queue_packets;	/* packets that wait, in the same queue */
	u32 limit_packets;	/* of the buffer; with a scheduler, of all queues together */
	u32 packet_bytes;	/* size of the packet of this call */
	u32 flow_hash;		/* flow of the packet of this call */
	u32 candidate_flow_hash; /* arrivals: flow of a waiting packet, drawn at random */
	u32 source_hash;	/* X_classify: the hosts of the packet; 0 if the world knows none */
	u32 destination_hash;
	u32 lane;		/* number of this AQM's queue; without a scheduler 0 */
	u8 idle;		/* 1 if no packet waits and none is in service */
	u8 ecn_capable;		/* 1 if the queue marks and this packet can be marked */
	u8 full;		/* arrivals: 1 if the buffer has no room for this packet */
	u8 traffic_class;	/* of the packet of this call, with CE once it is marked; see
				 * aqm_ecn() and aqm_dscp() */
};

enum aqm_ecn { AQM_NOT_ECT, AQM_ECT1, AQM_ECT0, AQM_CE };

/* The ECN codepoint: the two low bits of the traffic class (RFC 3168, section 5; RFC 9331). */
static inline enum aqm_ecn aqm_ecn(const struct aqm_view *view)
{
	return (enum aqm_ecn)(view->traffic_class & 3);
}

/* The differentiated services codepoint, 0 to 63 (RFC 2474). */
static inline u32 aqm_dscp(const struct aqm_view *view)
{
	return view->traffic_class >> 2;
}

/*
 * What becomes of a packet, and why. An AQM returns one of the first three, or, for an
 * arrival and if it wants a candidate, the last. aqm_settle() adds the other two.
 */
enum aqm_verdict {
	AQM_ADMIT,
	AQM_DROP_EARLY,		/* by chance, before the queue must drop: may become a mark */
	AQM_DROP_FORCED,	/* the drop function gives 1, or a mark is ruled out: never a mark */
	AQM_DROP_OVERFLOW,	/* the buffer is full */
	AQM_MARK,		/* admitted, with congestion experienced set */
	AQM_DROP_BOTH,		/* this packet and the candidate: never a mark */
	AQM_VERDICTS
};

/* Turns an early drop into a mark if the packet can be marked; for arrivals and departures. */
static inline enum aqm_verdict
aqm_mark_instead(enum aqm_verdict verdict, const struct aqm_view *view)
{
	return verdict == AQM_DROP_EARLY && view->ecn_capable ? AQM_MARK : verdict;
}

/* Adds marking and overflow to the verdict for an arrival. */
static inline enum aqm_verdict
aqm_settle(enum aqm_verdict verdict, const struct aqm_view *view)
{
	u32 is_drop;

	verdict = aqm_mark_instead(verdict, view);
	is_drop = (verdict >= AQM_DROP_EARLY && verdict <= AQM_DROP_OVERFLOW) ||
		  verdict == AQM_DROP_BOTH;
	/* a packet that is not dropped needs room */
	if (!is_drop && view->full)
		return AQM_DROP_OVERFLOW;
	return verdict;
}

/* True with probability p (Q31.32); uses the upper half of the random word. */
static inline u32 aqm_happens(s64 p, u64 random)
{
	return (s64)(random >> 32) < p;
}

/*
 * One parameter:
 *   P(name, kind, default, least, greatest, when, help, source)
 * The kind fixes the unit and the scale of the integer in struct X_params:
 *   PACKETS      Q31.32 packets           SECONDS  integer nanoseconds
 *   RATIO        Q31.32, no unit          RATE     integer bits/s
 *   COUNT        integer                  BYTES    integer bytes
 *   SWITCH       0 or 1                   CHOICE(a|b|c) the index of the word
 *   GAIN         Q1.62, no unit, for gains that need more than 32 fractional bits
 * `when` is for help texts: the value of another parameter with which this one is used
 * ("drop_function=gentle"), or "".
 */
#define AQM_FIELD(name, ...) s64 name;
#define AQM_PARAMS(x, LIST) struct x##_params { LIST(AQM_FIELD) };

/*
 * Rules between parameters: R(condition on p, left, says, right), where left and
 * right name parameters (right may be empty). AQM_OBEY returns the number, from 1,
 * of the first rule that is broken.
 */
#define AQM_TRY(condition, ...) rule++; if (!(condition)) return rule;
#define AQM_OBEY(RULES) do { u32 rule = 0; RULES(AQM_TRY) } while (0)

#ifndef AQM_HOSTED

#define AQM_RULES(x, RULES)
#define AQM_DEPART(x)
#define AQM_TICK(x)
#define AQM_DROP_FUNCTION(x)
#define AQM_AVERAGE(x)
#define AQM_PROBABILITY(x)
#define AQM_OCCUPANCY(x)
#define AQM_CLASS(x, LIST, ...)
#define AQM_SCHEDULER(x, LIST, ...)
#define AQM_PRESET(x, of, ...)

#else /* a program with an operating system: the table that describes the AQM */

struct aqm_param {
	const char *name, *kind;
	double initial, least, greatest;
	const char *when, *help, *source;
};

struct aqm_rule {
	const char *left, *says, *right;
};

struct aqm_default {
	const char *name;
	double value;
};

struct aqm_lanes;

struct aqm_class {
	const char *name, *title, *source, *summary;
	const struct aqm_class *base;		/* of a preset; otherwise null */
	const struct aqm_default *defaults;	/* of a preset: its own */
	u64 defaults_count;
	const struct aqm_param *params;
	u64 params_count;
	const struct aqm_rule *rules;
	u64 rules_count;
	u64 config_size, state_size;
	u32 (*configure)(const s64 *params, void *config);
	/* X_arrive and aqm_settle() in one, X_depart and aqm_mark_instead() in one */
	u32 (*arrive)(void *state, const void *config, const struct aqm_view *view);
	u32 (*depart)(void *state, const void *config, const struct aqm_view *view);
	void (*tick)(void *state, const void *config, const struct aqm_view *view);
	u64 (*tick_interval_ns)(const void *config);
	s64 (*drop_probability)(const void *config, s64 average);
	s64 (*average)(const void *state);
	s64 (*probability)(const void *state, const void *config);
	void (*occupancy)(void *state, const void *config, const struct aqm_view *view,
			  s64 change);
	u64 wants_candidate;
	/* of a scheduler (scheduler.h); otherwise 0 */
	u64 lane_size;
	u64 (*lanes)(const void *config);
	u32 (*wants_random)(const void *state, const void *config, const struct aqm_view *view);
	u32 (*classify)(void *state, const void *config, struct aqm_lanes *lanes,
			const struct aqm_view *view);
	void (*joined)(void *state, const void *config, struct aqm_lanes *lanes, u32 number);
	u32 (*next)(void *state, const void *config, struct aqm_lanes *lanes, u64 now_ns);
	void (*sent)(void *state, const void *config, struct aqm_lanes *lanes, u32 number,
		     u32 bytes);
	u32 (*victim)(const void *state, const void *config, struct aqm_lanes *lanes, u32 own,
		      u32 bytes);
	u64 (*ready_ns)(const void *state);
	u64 (*shape)(const void *config);
	void (*lost)(void *state, const void *config, struct aqm_lanes *lanes,
		     const struct aqm_view *view);
	u64 (*ack_filter)(const void *config);
	void (*thinned)(void *state, const void *config, struct aqm_lanes *lanes,
			const struct aqm_view *view);
	/* of a coupled discipline; otherwise 0. As `arrive`, `depart` and `tick` */
	u32 (*arrive_among)(void *state, const void *config, struct aqm_lanes *lanes,
			    const struct aqm_view *view);
	u32 (*depart_among)(void *state, const void *config, struct aqm_lanes *lanes,
			    const struct aqm_view *view);
	void (*tick_among)(void *state, const void *config, struct aqm_lanes *lanes,
			   const struct aqm_view *view);
};

#define AQM_DESCRIBE(name, kind, initial, least, greatest, when, help, source) \
	{ #name, #kind, initial, least, greatest, when, help, source },
#define AQM_LENGTH(array) (sizeof(array) / sizeof((array)[0]))

#define AQM_RULES(x, RULES)                                                      \
	static const struct aqm_rule x##_rule_table[] = { RULES(AQM_DESCRIBE_RULE) };
#define AQM_RULED(x) \
	.rules = x##_rule_table, .rules_count = AQM_LENGTH(x##_rule_table)
#define AQM_DEPART(x)                                                            \
	static u32 x##_depart_any(void *s, const void *c, const struct aqm_view *v) \
	{                                                                        \
		return aqm_mark_instead(x##_depart(s, c, v), v);                 \
	}
#define AQM_TICK(x)                                                              \
	static void x##_tick_any(void *s, const void *c, const struct aqm_view *v) \
	{                                                                        \
		x##_tick(s, c, v);                                               \
	}                                                                        \
	static u64 x##_tick_interval_any(const void *c)                          \
	{                                                                        \
		return x##_tick_interval_ns(c);                                  \
	}
#define AQM_DROP_FUNCTION(x)                                                     \
	static s64 x##_drop_probability_any(const void *c, s64 average)          \
	{                                                                        \
		return x##_drop_probability(c, average);                         \
	}
#define AQM_AVERAGE(x)                                                           \
	static s64 x##_average_any(const void *s)                                \
	{                                                                        \
		return x##_average(s);                                           \
	}
#define AQM_PROBABILITY(x)                                                       \
	static s64 x##_probability_any(const void *s, const void *c)             \
	{                                                                        \
		return x##_probability(s, c);                                    \
	}
#define AQM_OCCUPANCY(x)                                                         \
	static void x##_occupancy_any(void *s, const void *c,                    \
				      const struct aqm_view *v, s64 change)      \
	{                                                                        \
		x##_occupancy(s, c, v, change);                                  \
	}

#define AQM_DESCRIBE_RULE(condition, left, says, right) { #left, says, #right },

/*
 * AQM_CLASS(x, X_PARAMS, .title = "...", .source = "...", .summary = "...",
 *           AQM_RULED(x), .drop_probability = x_drop_probability_any, ...)
 */
#define AQM_CLASS(x, LIST, ...)                                                  \
	static u32 x##_configure_any(const s64 *params, void *config)            \
	{                                                                        \
		return x##_configure((const struct x##_params *)params, config); \
	}                                                                        \
	static u32 x##_arrive_any(void *s, const void *c, const struct aqm_view *v) \
	{                                                                        \
		enum aqm_verdict verdict = x##_arrive(s, c, v);                  \
		/* an invalid number is passed on, for the caller to report */   \
		return verdict < AQM_VERDICTS ? aqm_settle(verdict, v) : verdict; \
	}                                                                        \
	static const struct aqm_param x##_param_table[] = { LIST(AQM_DESCRIBE) }; \
	static const struct aqm_class x##_class = {                              \
		.name = #x,                                                      \
		.params = x##_param_table,                                       \
		.params_count = AQM_LENGTH(x##_param_table),                     \
		.config_size = sizeof(struct x##_config),                        \
		.state_size = sizeof(struct x##_state),                          \
		.configure = x##_configure_any,                                  \
		.arrive = x##_arrive_any,                                        \
		__VA_ARGS__                                                      \
	};

/* Another name for the class `of`, with defaults of its own. */
#define AQM_PRESET(x, of, title_, source_, summary_, ...)                        \
	static const struct aqm_default x##_defaults[] = { __VA_ARGS__ };        \
	static const struct aqm_class x##_class = {                              \
		.name = #x, .title = title_, .source = source_, .summary = summary_, \
		.base = &of##_class,                                             \
		.defaults = x##_defaults,                                        \
		.defaults_count = AQM_LENGTH(x##_defaults),                      \
	};

#endif /* AQM_HOSTED */
#endif
