/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * CoDel: Controlled Delay.
 *
 * K. Nichols, V. Jacobson, A. McGregor, J. Iyengar, RFC 8289, 2018.
 *
 * A departing packet is "above" if it waited for `target` or longer and more bytes than
 * one largest packet remain in the queue. Once packets have been above for a whole
 * interval, one is dropped, and then another after each interval / sqrt(count), where count
 * is the number of drops so far, until a packet is not above. If dropping starts again
 * soon, count starts from the number of drops of the last time.
 *
 * In addition, every packet that waited longer than `ce_threshold` is marked if it can be;
 * this threshold drops no packet (Linux, codel_impl.h). It is the step function that DCTCP
 * asks for (RFC 8257, section 3.1). With `ce_mask` it is only for packets whose traffic class
 * has the value `ce_selector` in the bits of this mask: 1 and 3 are those of L4S, ECT(1).
 *
 * like = linux (include/net/codel_impl.h, net/sched/sch_fq_codel.c): not this queue, but the whole
 * buffer must have more bytes than one packet, which is `mtu_bytes`, and packets must have been
 * above for longer than an interval. In one queue this is next to nothing. In FQ-CoDel the last
 * packet of a flow is dropped, too, while others wait: half the delay, and more losses.
 *
 * The RFC dequeues in a loop. Here the world calls depart for each packet and, after a drop,
 * for the next one at the same time. The RFC looks at the packet behind the dropped one
 * before it sets the time of the next drop; `is_due` leaves this to the next call. A marked
 * packet is sent, so its call sets that time at once (Linux, codel_impl.h).
 *
 * sqrt = exact computes 1 / sqrt(count) anew each time, as in the RFC. sqrt = newton works as
 * in Linux (include/net/codel_impl.h: codel_Newton_step, codel_control_law) and ns-3: it keeps
 * 1 / sqrt(count) in 16 bits and corrects it by one Newton step for each drop.
 */
#ifndef SLUICEGATE_CODEL_H
#define SLUICEGATE_CODEL_H

#include "fixed.h"

enum codel_like { CODEL_RFC, CODEL_LINUX };
enum codel_sqrt { CODEL_EXACT, CODEL_NEWTON };

#define CODEL_PARAMS(P)                                                                   \
	P(like, CHOICE(rfc|linux), CODEL_RFC, 0, 1, "",                                   \
	  "whose rules", "RFC 8289; Linux, include/net/codel_impl.h")                     \
	P(mtu_bytes, BYTES, 1514, 1, 65535, "like=linux",                                 \
	  "bytes that may wait in the whole buffer without drops", "Linux: psched_mtu()") \
	P(target, SECONDS, 0.005, 0, 10, "",                                              \
	  "delay that may stand", "RFC 8289, sec. 4.2")                                   \
	P(ce_threshold, SECONDS, 0, 0, 10, "",                                            \
	  "delay beyond which every packet that can be is marked; 0: none is for that",   \
	  "Linux, codel_impl.h; RFC 8257, sec. 3.1")                                      \
	P(ce_selector, COUNT, 0, 0, 255, "",                                              \
	  "traffic class of the packets that ce_threshold is for, in the bits of ce_mask", \
	  "Linux, sch_fq_codel.c: ce_threshold_selector")                                 \
	P(ce_mask, COUNT, 0, 0, 255, "",                                                  \
	  "bits of the traffic class that ce_selector gives; 0: ce_threshold is for all", \
	  "Linux, sch_fq_codel.c: ce_threshold_mask")                                     \
	P(interval, SECONDS, 0.1, 1e-6, 100, "",                                          \
	  "how long the delay must stand before a drop: a long round trip",               \
	  "RFC 8289, sec. 4.2")                                                           \
	P(sqrt, CHOICE(exact|newton), CODEL_EXACT, 0, 1, "",                              \
	  "how 1 / sqrt(count) is found: exactly, or by one Newton step a drop, on 16 bits", \
	  "RFC 8289, sec. 5.4; newton: Linux, include/net/codel_impl.h")

#define CODEL_RULES(R) \
	R(p->interval > p->target, interval, "must exceed", target)                       \
	R(!(p->ce_selector & ~p->ce_mask), ce_selector, "must have no bit outside of", ce_mask)

AQM_PARAMS(codel, CODEL_PARAMS)

struct codel_config {
	u64 ce_threshold_ns;	/* 0: none */
	u64 target_ns, interval_ns;
	u64 mtu_bytes;		/* 0: the largest packet so far, and this queue's bytes */
	u32 ce_selector, ce_mask;
	enum codel_sqrt sqrt;
};

struct codel_state {
	u64 first_above_ns;	/* end of the first interval above; 0: not above */
	u64 drop_next_ns;
	u32 count, last_count;	/* the RFC's count, and its value when dropping began */
	u32 inverse_root;	/* 1 / sqrt(count) in 2^-16; only with newton */
	u32 max_packet_bytes;	/* size of the largest packet so far */
	u8 is_dropping;
	u8 is_due;		/* the next call must move drop_next_ns on */
};

static inline u32 codel_configure(const struct codel_params *p, struct codel_config *config)
{
	AQM_OBEY(CODEL_RULES);
	config->ce_threshold_ns = (u64)p->ce_threshold;
	config->target_ns = (u64)p->target;
	config->interval_ns = (u64)p->interval;
	config->mtu_bytes = p->like == CODEL_LINUX ? (u64)p->mtu_bytes : 0;
	config->ce_selector = (u32)p->ce_selector;
	config->ce_mask = (u32)p->ce_mask;
	config->sqrt = (enum codel_sqrt)p->sqrt;
	return 0;
}

/* Linux, codel_Newton_step(): r (3 - count r^2) / 2, r in 2^-32. */
static inline u32 codel_newton_step(u32 inverse_root, u32 count)
{
	u64 r = (u64)inverse_root << 16, rest = (3ULL << 32) - count * (r * r >> 32);

	/* without the shift by 2 bits, the product would not fit into 64 */
	return (u32)((rest >> 2) * r >> 31) >> 16;
}

static inline void codel_set_count(struct codel_state *state, const struct codel_config *config,
				   u32 count)
{
	state->count = count;
	if (config->sqrt == CODEL_NEWTON)
		state->inverse_root =
			count > 1 ? codel_newton_step(state->inverse_root, count) : 0xffff;
}

/* RFC 8289, section 5.4: t + interval / sqrt(count). */
static inline u64 codel_control_law(const struct codel_state *state,
				    const struct codel_config *config, u64 t)
{
	s64 root;

	if (config->sqrt == CODEL_NEWTON)
		return t + (config->interval_ns * state->inverse_root >> 16);
	root = fixed_sqrt(fixed_from_u32(state->count));
	/* whole nanoseconds times a Q31.32 number are whole nanoseconds */
	return t + (u64)fixed_mul((s64)config->interval_ns, fixed_div(FIXED_ONE, root));
}

/* True if no more bytes wait than a packet may have. */
static inline u32 codel_is_short(struct codel_state *state, const struct codel_config *config,
				 const struct aqm_view *view)
{
	if (view->packet_bytes > state->max_packet_bytes)
		state->max_packet_bytes = view->packet_bytes;
	if (config->mtu_bytes)
		return view->buffer_bytes <= config->mtu_bytes;
	return view->queue_bytes <= state->max_packet_bytes;
}

/* RFC 8289, section 5.5, dodequeue(). */
static inline u32 codel_is_ok_to_drop(struct codel_state *state,
				      const struct codel_config *config,
				      const struct aqm_view *view)
{
	u32 is_short = codel_is_short(state, config, view);

	if (view->sojourn_ns < config->target_ns || is_short) {
		state->first_above_ns = 0;
		return 0;
	}
	if (!state->first_above_ns) {
		state->first_above_ns = view->now_ns + config->interval_ns;
		return 0;
	}
	/* Linux: later than that */
	return view->now_ns >= state->first_above_ns + (config->mtu_bytes > 0);
}

/* RFC 8289, section 5.6: a drop rate that was right a short time ago is a good start. */
static inline void codel_begin(struct codel_state *state, const struct codel_config *config,
			       u64 now_ns)
{
	u32 delta = state->count - state->last_count;
	s64 since = (s64)(now_ns - state->drop_next_ns);

	codel_set_count(state, config,
			delta > 1 && since < (s64)(16 * config->interval_ns) ? delta : 1);
	state->last_count = state->count;
	state->drop_next_ns = codel_control_law(state, config, now_ns);
	state->is_dropping = 1;
	state->is_due = 0;
}

static inline void codel_go_on(struct codel_state *state, const struct codel_config *config)
{
	state->drop_next_ns = codel_control_law(state, config, state->drop_next_ns);
	state->is_due = 0;
}

/* RFC 8289, section 5.6, deque(), for one packet. */
static inline enum aqm_verdict codel_dequeue(struct codel_state *state,
					     const struct codel_config *config,
					     const struct aqm_view *view)
{
	if (!codel_is_ok_to_drop(state, config, view)) {
		state->is_dropping = 0;
		return AQM_ADMIT;
	}
	if (!state->is_dropping) {
		codel_begin(state, config, view->now_ns);
		return AQM_DROP_EARLY;
	}
	if (state->is_due)
		codel_go_on(state, config);
	if (view->now_ns < state->drop_next_ns)
		return AQM_ADMIT;
	codel_set_count(state, config, state->count + 1);
	state->is_due = 1;
	if (view->ecn_capable)
		codel_go_on(state, config);
	return AQM_DROP_EARLY;
}

static inline enum aqm_verdict codel_depart(struct codel_state *state,
					    const struct codel_config *config,
					    const struct aqm_view *view)
{
	enum aqm_verdict verdict = codel_dequeue(state, config, view);
	u32 is_above = config->ce_threshold_ns && view->sojourn_ns > config->ce_threshold_ns;
	u32 is_meant = (view->traffic_class & config->ce_mask) == config->ce_selector;

	/* an early drop of a packet that can be marked becomes a mark */
	return is_above && is_meant && view->ecn_capable ? AQM_DROP_EARLY : verdict;
}

static inline enum aqm_verdict codel_arrive(struct codel_state *state,
					    const struct codel_config *config,
					    const struct aqm_view *view)
{
	(void)state, (void)config, (void)view;
	return AQM_ADMIT;
}

AQM_RULES(codel, CODEL_RULES)
AQM_DEPART(codel)
AQM_CLASS(codel, CODEL_PARAMS,
	.title = "CoDel: Controlled Delay",
	.source = "RFC 8289",
	.summary = "Drops ever more often at departure while packets wait too long for too long.",
	AQM_RULED(codel),
	.depart = codel_depart_any)

#endif
