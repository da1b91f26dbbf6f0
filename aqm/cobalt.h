/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * COBALT: CoDel whose count decays, and BLUE, side by side; the AQM of CAKE.
 *
 * J. Morton; T. Høiland-Jørgensen, D. Täht, J. Morton, "Piece of CAKE: a comprehensive queue
 * management solution for home gateways", LANMAN 2018; Linux, net/sched/sch_cake.c (cobalt_*);
 * J. Palmei et al., "Design and evaluation of COBALT queue discipline", LANMAN 2019 (ns-3).
 *
 * CoDel: a packet is over if it waited longer than `target`. While packets are, one is marked or
 * dropped after each interval / sqrt(count), and `count` grows by one each time. While they are not,
 * `count` falls by one in each of these times: there is no other memory of the last congestion, and
 * the first interval is one of these times, too. Each packet gets one verdict.
 *
 * BLUE: when the buffer is full, `p` grows by `p_inc`, and when the link finds no packet, it falls by
 * `p_dec`; two changes are more than `target` apart. Packets that leave are dropped with probability
 * p, also those that can be marked.
 *
 * like = linux and like = ns3 differ in:
 *
 *                      linux (CAKE)                            ns3
 *   at slow links      target is 1.5 times the time of a       as given
 *                      packet of `mtu_bytes` at least, and
 *                      interval twice the target
 *   is over            only if it waited 4 such times, too     as above
 *   the last packet    may be marked, is not dropped           is as others
 *   BLUE grows         when the buffer is full                 also if a packet waited
 *                                                              longer than `blue_threshold`
 *   the first time     the second packet that is over is       a first interval passes
 *   that packets are   marked or dropped at once: 1 / sqrt     before, if packets came in
 *   over               is 0 at the start                       the interval before
 *
 * At one packet, `count` falls by at most 64, or to 0, and by what is left at the next ones: Linux and
 * ns-3 have no bound, but BPF needs one. A link finds no packet once where it falls idle; the AQM
 * learns of it from the packet that ends the idle time.
 */
#ifndef SLUICEGATE_COBALT_H
#define SLUICEGATE_COBALT_H

#include "fixed.h"

enum cobalt_like { COBALT_LINUX, COBALT_NS3 };

#define COBALT_PARAMS(P)                                                                  \
	P(like, CHOICE(linux|ns3), COBALT_LINUX, 0, 1, "",                                \
	  "whose rules", "Linux, sch_cake.c; ns-3, cobalt-queue-disc.cc")                 \
	P(target, SECONDS, 0.005, 0, 10, "",                                              \
	  "delay that may stand, and least time between two changes of p", "Linux, sch_cake.c") \
	P(interval, SECONDS, 0.1, 1e-6, 100, "",                                          \
	  "time between two drops while count is 1: a long round trip", "Linux, sch_cake.c") \
	P(p_inc, RATIO, 0.00390625, 0, 1, "",                                             \
	  "what a full buffer adds to BLUE's probability", "Linux, sch_cake.c: 1/256")    \
	P(p_dec, RATIO, 0.000244140625, 0, 1, "",                                         \
	  "what an idle link takes from BLUE's probability", "Linux, sch_cake.c: 1/4096") \
	P(mtu_bytes, BYTES, 1514, 1, 65535, "like=linux",                                 \
	  "packet whose transmission times bound target and interval", "Linux: psched_mtu()") \
	P(blue_threshold, SECONDS, 0.4, 0, 100, "like=ns3",                               \
	  "delay beyond which BLUE's probability grows, too", "ns-3: BlueThreshold")

#define COBALT_RULES(R) \
	R(p->interval > p->target, interval, "must exceed", target)

AQM_PARAMS(cobalt, COBALT_PARAMS)

/* What the law needs to know of its link. */
struct cobalt_law {
	u64 target_ns, interval_ns;
	u64 mtu_ns;		/* transmission time of the largest packet */
	s64 p_inc, p_dec;	/* Q31.32 */
	u32 first_root;		/* 1 / sqrt(count) before count has changed, Q0.32 */
};

struct cobalt_config {
	struct cobalt_law law;	/* without regard to the link's rate */
	u64 blue_threshold_ns;
	u32 mtu_bytes;
	enum cobalt_like like;
};

struct cobalt_state {
	u64 drop_next_ns;	/* of the next drop; or until when count falls */
	u64 changed_ns;		/* when p changed */
	s64 p;			/* BLUE's drop probability, Q31.32, below 1 */
	u32 count;
	u32 inverse_root;	/* 1 / sqrt(count), Q0.32; 0: count has not changed yet */
	u32 is_dropping;
	u32 unused;
};

/* Most steps by which count falls at one packet, unless it falls to 0. */
#define COBALT_MOST_STEPS 64

static inline u32 cobalt_configure(const struct cobalt_params *p, struct cobalt_config *config)
{
	AQM_OBEY(COBALT_RULES);
	config->like = (enum cobalt_like)p->like;
	config->law.target_ns = (u64)p->target;
	config->law.interval_ns = (u64)p->interval;
	config->law.mtu_ns = 0;
	config->law.p_inc = p->p_inc;
	config->law.p_dec = p->p_dec;
	config->law.first_root = config->like == COBALT_NS3 ? ~0U : 0;
	config->mtu_bytes = (u32)p->mtu_bytes;
	config->blue_threshold_ns = (u64)p->blue_threshold;
	return 0;
}

/* sch_cake.c, cake_set_rate(): the law for a link that sends the largest packet in `mtu_ns`. */
static inline void cobalt_fit(struct cobalt_law *law, u64 mtu_ns)
{
	u64 given_ns = law->target_ns;

	law->mtu_ns = mtu_ns;
	if (law->target_ns < mtu_ns * 3 / 2)
		law->target_ns = mtu_ns * 3 / 2;
	law->interval_ns += law->target_ns - given_ns;
	if (law->interval_ns < 2 * law->target_ns)
		law->interval_ns = 2 * law->target_ns;
}

static inline struct cobalt_law cobalt_law_at(const struct cobalt_config *config,
					      const struct aqm_view *view)
{
	struct cobalt_law law = config->law;

	/* a link whose rate varies may stand still */
	if (config->like == COBALT_LINUX && view->rate_bps)
		cobalt_fit(&law, config->mtu_bytes * 8000000000ULL / view->rate_bps);
	return law;
}

/* sch_cake.c, cobalt_newton_step(): r (3 - count r^2) / 2. */
static inline u32 cobalt_newton_step(u32 inverse_root, u32 count)
{
	u64 r = inverse_root, rest = (3ULL << 32) - count * (r * r >> 32);

	/* without the shift by 2 bits, the product would not fit into 64 */
	return (u32)((rest >> 2) * r >> 31);
}

/* 1 / sqrt(count) for a count below 16: Linux, inv_sqrt_cache[]. */
static inline u32 cobalt_small_root(u32 count)
{
	static const u32 roots[16] = {
		~0U, ~0U, 3037000500U, 2479700525U, 2147483647U, 1920767767U, 1753413056U,
		1623345051U, 1518500250U, 1431655765U, 1358187914U, 1294981364U, 1239850263U,
		1191209601U, 1147878294U, 1108955788U,
	};

	/* the compiler forgets what it knows of the count, and keeps the mask for BPF's verifier */
	__asm__ volatile("" : "+r"(count));
	return roots[count & 15];
}

/* For small counts a step of Newton's would be far off. */
static inline void cobalt_set_count(struct cobalt_state *state, u32 count)
{
	state->count = count;
	state->inverse_root = count < 16 ? cobalt_small_root(count)
					 : cobalt_newton_step(state->inverse_root, count);
}

/* interval / sqrt(count) */
static inline u64 cobalt_gap_ns(const struct cobalt_state *state, const struct cobalt_law *law)
{
	u64 low, root = state->inverse_root ? state->inverse_root : law->first_root;

	return fixed_wide(law->interval_ns, root << 32, &low);
}

static inline u32 cobalt_is_due(const struct cobalt_state *state, u64 now_ns)
{
	return state->count && now_ns >= state->drop_next_ns;
}

/* count falls by one, which takes a gap. */
static inline void cobalt_fall(struct cobalt_state *state, const struct cobalt_law *law)
{
	cobalt_set_count(state, state->count - 1);
	state->drop_next_ns += cobalt_gap_ns(state, law);
}

/* count falls for the time that has passed. */
static inline void cobalt_decay(struct cobalt_state *state, const struct cobalt_law *law,
				u64 now_ns)
{
	/* the gaps of all counts down to 1 together are shorter than 2 interval sqrt(count) */
	if ((now_ns - state->drop_next_ns) / 2 / state->count >= cobalt_gap_ns(state, law)) {
		cobalt_set_count(state, 0);
		return;
	}
	AQM_UP_TO(COBALT_MOST_STEPS) {
		if (!cobalt_is_due(state, now_ns))
			break;
		cobalt_fall(state, law);
	}
}

/* p has changed last more than a target ago. */
static inline u32 cobalt_may_change(const struct cobalt_state *state,
				    const struct cobalt_law *law, u64 now_ns)
{
	return now_ns - state->changed_ns > law->target_ns;
}

static inline void cobalt_raise(struct cobalt_state *state, const struct cobalt_law *law,
				u64 now_ns)
{
	if (!cobalt_may_change(state, law, now_ns))
		return;
	state->p += law->p_inc;
	if (state->p > FIXED_ONE - 1)
		state->p = FIXED_ONE - 1;
	state->changed_ns = now_ns;
}

/* sch_cake.c, cobalt_queue_full(): a packet is lost because the buffer is full. */
static inline void cobalt_queue_full(struct cobalt_state *state, const struct cobalt_law *law,
				     u64 now_ns)
{
	cobalt_raise(state, law, now_ns);
	state->is_dropping = 1;
	state->drop_next_ns = now_ns;
	if (!state->count)
		state->count = 1;
}

/* sch_cake.c, cobalt_queue_empty(): the queue was to send, and is empty. */
static inline void cobalt_queue_empty(struct cobalt_state *state, const struct cobalt_law *law,
				      u64 now_ns)
{
	if (state->p && cobalt_may_change(state, law, now_ns)) {
		state->p = state->p > law->p_dec ? state->p - law->p_dec : 0;
		state->changed_ns = now_ns;
	}
	state->is_dropping = 0;
	if (cobalt_is_due(state, now_ns))
		cobalt_fall(state, law);
}

/* sch_cake.c, cobalt_should_drop(), for the packet of the view, which is over or not. */
static inline enum aqm_verdict cobalt_judge(struct cobalt_state *state,
					    const struct cobalt_law *law,
					    const struct aqm_view *view, u32 is_over)
{
	u64 now_ns = view->now_ns;
	u32 is_due = cobalt_is_due(state, now_ns), is_late = now_ns > state->drop_next_ns;
	enum aqm_verdict verdict = AQM_ADMIT;

	if (is_over && !state->is_dropping)
		state->drop_next_ns = now_ns + cobalt_gap_ns(state, law);
	if (is_over && !state->count)
		state->count = 1;
	state->is_dropping = is_over;
	if (is_due && is_over) {
		verdict = AQM_DROP_EARLY;
		cobalt_set_count(state, state->count + (state->count < ~0U));
		state->drop_next_ns += cobalt_gap_ns(state, law);
	} else if (is_due) {
		cobalt_decay(state, law, now_ns);
	}
	/* if count has further to fall, the next packet goes on */
	if (is_due)
		is_late = now_ns > state->drop_next_ns && (is_over || !cobalt_is_due(state, now_ns));
	if (state->p && aqm_happens(state->p, view->random))
		verdict = AQM_DROP_FORCED;
	if (!state->count)
		state->drop_next_ns = now_ns + law->interval_ns;
	else if (is_late && (verdict == AQM_ADMIT ||
			     (verdict == AQM_DROP_EARLY && view->ecn_capable)))
		state->drop_next_ns = now_ns;
	return verdict;
}

static inline enum aqm_verdict cobalt_depart(struct cobalt_state *state,
					     const struct cobalt_config *config,
					     const struct aqm_view *view)
{
	struct cobalt_law law = cobalt_law_at(config, view);
	u32 is_over = view->sojourn_ns > law.target_ns && view->sojourn_ns > 4 * law.mtu_ns;
	enum aqm_verdict verdict;

	if (config->like == COBALT_NS3 && view->sojourn_ns > config->blue_threshold_ns)
		cobalt_raise(state, &law, view->now_ns);
	verdict = cobalt_judge(state, &law, view, is_over);
	if (config->like == COBALT_LINUX && !view->queue_packets &&
	    aqm_mark_instead(verdict, view) != AQM_MARK)
		return AQM_ADMIT;
	return verdict;
}

static inline enum aqm_verdict cobalt_arrive(struct cobalt_state *state,
					     const struct cobalt_config *config,
					     const struct aqm_view *view)
{
	struct cobalt_law law = cobalt_law_at(config, view);

	if (view->idle)
		cobalt_queue_empty(state, &law, view->idle_since_ns);
	if (view->full)
		cobalt_queue_full(state, &law, view->now_ns);
	return AQM_ADMIT;	/* aqm_settle() makes it an overflow if there is no room */
}

static inline s64 cobalt_probability(const struct cobalt_state *state,
				     const struct cobalt_config *config)
{
	(void)config;
	return state->p;
}

AQM_RULES(cobalt, COBALT_RULES)
AQM_DEPART(cobalt)
AQM_PROBABILITY(cobalt)
AQM_CLASS(cobalt, COBALT_PARAMS,
	.title = "COBALT: CoDel and BLUE",
	.source = "Linux, sch_cake.c; Palmei et al. 2019",
	.summary = "CoDel whose count decays, against lasting delay, and BLUE, against flows that "
		   "do not react to it.",
	AQM_RULED(cobalt),
	.depart = cobalt_depart_any,
	.probability = cobalt_probability_any)

#endif
