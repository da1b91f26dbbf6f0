/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The contract of an AQM.
 *
 * An AQM X is one header that defines
 *
 *   1. X_PARAMS(P)     its parameters, one P(...) line each (see AQM_PARAM below);
 *   2. struct X_params made from that list by AQM_PARAMS(x, X_PARAMS); every field
 *                      an integer in the scale that the parameter's kind names;
 *   3. struct X_config the parameters made ready for use, once, by
 *                      `u32 X_configure(const struct X_params *p, struct X_config *)`,
 *                      which starts with AQM_OBEY(X_RULES), where X has rules that
 *                      tie parameters to each other, and ends with `return 0`;
 *   4. struct X_state  what changes: no pointers, fixed size, valid when zeroed;
 *   5. `enum aqm_verdict X_arrive(state, config, view)` for every packet, before it
 *      joins the queue;
 *   6. where it needs them, each made known to the class by the macro beside it:
 *      X_depart(state, config, view)        as a packet leaves the queue  (AQM_DEPART)
 *      X_tick(state, config, view)          every X_tick_interval_ns      (AQM_TICK)
 *      X_drop_probability(config, average)  its drop function, Q31.32 (AQM_DROP_FUNCTION)
 *      X_average(state)                     its average queue, Q31.32     (AQM_AVERAGE)
 *      X_probability(state, config)         its drop probability of this  (AQM_PROBABILITY)
 *                                           moment, Q31.32
 *      X_occupancy(state, config, view, change)  as a packet joins those  (AQM_OCCUPANCY)
 *                                           that wait (+1), or leaves them (-1) for
 *                                           whatever reason
 *      and, in AQM_CLASS, `.wants_candidate = 1` if the view shall show a candidate
 *   7. AQM_CLASS(x, ...) at the end, which puts all of this into one table entry.
 *
 * These functions see the world only through the view. They read no clock, draw no
 * number, allocate nothing, hold no global, use no floating point and no unbounded
 * loop: the same file serves the simulators, the exact chain, a router in user space
 * and the kernel's BPF verifier.
 *
 * What is not an AQM's business: which packet goes when the verdict is a drop, the
 * limit of the buffer (in packets, in bytes, shared by several queues), and whether an
 * early drop becomes a mark. The queue says whether the buffer is `full`, and
 * aqm_settle() below is the one place where overflow and marking are decided; a
 * departure, which no limit concerns, takes its aqm_mark_instead().
 */
#ifndef SLUICEGATE_AQM_H
#define SLUICEGATE_AQM_H

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long s64;

/*
 * Everything that an AQM may see. What a call has no use for is 0: at a tick all that
 * describes a packet, the random word except at arrivals and departures.
 *
 * Every packet takes the same way in every world, also one that finds the link idle:
 * X_arrive, X_occupancy(+1), X_occupancy(-1), X_depart. "Waiting" is without the packet
 * in service, and in X_occupancy and X_depart without the packet that the call is about.
 */
struct aqm_view {
	u64 now_ns;		/* the world's clock */
	u64 idle_since_ns;	/* when server and queue fell empty; only if idle */
	u64 sojourn_ns;		/* departures: how long this packet has waited */
	u64 rate_bps;		/* of the link behind the queue */
	u64 random;		/* a fresh random word, all 64 bits usable */
	u64 queue_bytes;	/* waiting; with a scheduler, in this AQM's queue */
	u32 queue_packets;	/* likewise */
	u32 limit_packets;	/* of the buffer; with a scheduler, of all queues together */
	u32 packet_bytes;	/* of the packet that the call is about */
	u32 flow_hash;		/* likewise */
	u32 candidate_flow_hash; /* arrivals: of one of those waiting, drawn at random */
	u8 idle;		/* neither a packet waiting nor one in service */
	u8 ecn_capable;		/* the queue marks, and this packet can be marked */
	u8 full;		/* arrivals: the buffer has no room for this packet */
};

/*
 * What becomes of a packet, and why. An AQM answers with the first three, or, on an
 * arrival, with the last, if it wants a candidate; aqm_settle() adds the other two.
 */
enum aqm_verdict {
	AQM_ADMIT,
	AQM_DROP_EARLY,		/* by chance, before it must: may become a mark */
	AQM_DROP_FORCED,	/* the drop function leaves no chance: never a mark */
	AQM_DROP_OVERFLOW,	/* the buffer is full */
	AQM_MARK,		/* admitted, with congestion experienced set */
	AQM_DROP_BOTH,		/* this packet and the candidate: never a mark */
	AQM_VERDICTS
};

/* An early drop becomes a mark where it can: on arrival and on departure alike. */
static inline enum aqm_verdict
aqm_mark_instead(enum aqm_verdict verdict, const struct aqm_view *view)
{
	return verdict == AQM_DROP_EARLY && view->ecn_capable ? AQM_MARK : verdict;
}

static inline enum aqm_verdict
aqm_settle(enum aqm_verdict verdict, const struct aqm_view *view)
{
	u32 is_drop;

	verdict = aqm_mark_instead(verdict, view);
	is_drop = (verdict >= AQM_DROP_EARLY && verdict <= AQM_DROP_OVERFLOW) ||
		  verdict == AQM_DROP_BOTH;
	/* whatever is no drop needs room */
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
 *   GAIN         Q1.62, no unit, for gains that 32 bits behind the point hold too coarsely
 * `when` says, for help texts, on which other parameter's value it depends
 * ("drop_function=gentle"), or is "".
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

struct aqm_class {
	const char *name, *title, *source, *summary;
	const struct aqm_class *base;		/* of a preset, else null */
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
		/* a number that is no verdict is told as it is */               \
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
