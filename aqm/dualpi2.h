/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * DualPI2: two lanes, one for L4S and one for classic traffic, whose AQMs are coupled.
 *
 * K. De Schepper, B. Briscoe, G. White, RFC 9332, 2023, appendix A; Linux, net/sched/sch_dualpi2.c
 * (6.17).
 *
 * ECT(1) and CE go to lane L, ECT(0) and Not-ECT to lane C. The controller of pi_squared.h changes
 * the base probability p by the age of the older of the two first packets. A packet that leaves C is
 * marked or dropped with probability p^2, one that leaves L is marked with probability k p at least.
 * If k p exceeds 1, the link is overloaded: both lanes then drop with probability p^2, whatever could
 * be marked, and L marks the rest.
 *
 * like = linux and like = rfc differ in:
 *
 *              linux                                     rfc
 *   L's own    marks what waited longer than `step`      a ramp from `min_th` over `range`, while more
 *   AQM                                                  than one packet waits
 *   with k p   two independent chances                   the greater of the two probabilities
 *   chance     random words: p^2 is p twice              an accumulator for each lane (recur())
 *   no drops   while less than 2 packets of `mtu_bytes`  never
 *   or marks   wait in both lanes; the step still marks
 *   C drops    if k p > 1                                if p^2 >= 1 / k^2
 *   what could
 *   be marked
 *
 * Of the weighted scheduler, C gets `classic_share` while both lanes wait: Linux has 10 %, the RFC
 * 1/16. The time-shifted FIFO sends the packet that waited longest, where those of L count as if they
 * had waited `shift` longer.
 *
 * The step spares a packet that found fewer than `min_qlen_step` waiting in L. Linux has had that
 * parameter, with 0, since 6.17; the versions of the L4S team that earlier measurements used spare a
 * packet that found none or one: 2. Which ones it spares is kept by their places in L, so that
 * `victim = "front"` or "random" may shift it to others until L is empty.
 *
 * Linux's choices to drop at the enqueue, to count the step in packets, to limit memory, and to
 * classify by filters are left out. Its random comparison is `<=`, here `<`: it drops one packet of
 * 2^32 at p = 0.
 */
#ifndef SLUICEGATE_DUALPI2_H
#define SLUICEGATE_DUALPI2_H

#include "pi_squared.h"
#include "scheduler.h"

enum dualpi2_like { DUALPI2_LINUX, DUALPI2_RFC };
enum dualpi2_overload { DUALPI2_DROP, DUALPI2_OVERFLOW };
enum dualpi2_order { DUALPI2_WEIGHTED, DUALPI2_SHIFTED };
enum dualpi2_number { DUALPI2_C, DUALPI2_L, DUALPI2_LANES };

#define DUALPI2_PARAMS(P)                                                                 \
	P(like, CHOICE(linux|rfc), DUALPI2_LINUX, 0, 1, "",                               \
	  "whose rules", "RFC 9332, app. A; Linux, sch_dualpi2.c")                        \
	P(target, SECONDS, 0.015, 0, 10, "",                                              \
	  "delay of the classic lane to hold", "RFC 9332, app. A.1")                      \
	P(t_update, SECONDS, 0.016, 1e-6, 10, "",                                         \
	  "time between two changes of the base probability", "RFC 9332, app. A.1")       \
	P(alpha, RATIO, 0.16, 0, 1000, "",                                                \
	  "weight of the delay above the target, per second", "RFC 9332, app. A.1")       \
	P(beta, RATIO, 3.2, 0, 1000, "",                                                  \
	  "weight of the delay's growth, per second", "RFC 9332, app. A.1")               \
	P(coupling, RATIO, 2, 1, 100, "",                                                 \
	  "k: marking probability of L over the base probability", "RFC 9332, sec. 2.1")  \
	P(step, SECONDS, 0.001, 0, 10, "like=linux",                                      \
	  "delay beyond which packets of L are marked", "Linux: step_thresh")             \
	P(min_qlen_step, COUNT, 0, 0, 64, "like=linux",                                   \
	  "packets in L that a packet must find for the step to mark it",                 \
	  "Linux: min_qlen_step")                                                         \
	P(overload, CHOICE(drop|overflow), DUALPI2_DROP, 0, 1, "like=linux",              \
	  "whether overload makes both lanes drop, or fills the buffer",                  \
	  "Linux: drop_overload, overflow")                                               \
	P(mtu_bytes, BYTES, 1514, 1, 65535, "",                                           \
	  "up to twice this may wait without drops or marks", "Linux: psched_mtu()")      \
	P(min_th, SECONDS, 0.0008, 0, 10, "like=rfc",                                     \
	  "delay from which packets of L are marked", "RFC 9332, app. A.1: minTh")        \
	P(range, SECONDS, 0.0004, 0, 10, "like=rfc",                                      \
	  "further delay at which all are", "RFC 9332, app. A.1: range")                  \
	P(order, CHOICE(weighted|shifted), DUALPI2_WEIGHTED, 0, 1, "",                    \
	  "weighted round robin, or a time-shifted FIFO", "RFC 9332, app. A.1")           \
	P(classic_share, RATIO, 0.1, 0.001, 0.999, "order=weighted",                  \
	  "share of the link that C has while both lanes wait", "Linux: classic_protection") \
	P(shift, SECONDS, 0.05, 0, 10, "order=shifted",                               \
	  "time by which packets of L go before others", "RFC 9332, app. A.1: tshift")

AQM_PARAMS(dualpi2, DUALPI2_PARAMS)

struct dualpi2_config {
	struct pi_squared_config base;
	s64 classic_share;		/* Q31.32 */
	s64 most_c;			/* rfc: p^2 from which C drops all that it picks, Q31.32 */
	u64 t_update_ns, step_ns, min_th_ns, range_ns, shift_ns;
	s64 credit;			/* of C where nothing waits */
	u32 min_qlen_step;
	enum dualpi2_like like;
	enum dualpi2_overload overload;
	enum dualpi2_order order;
};

struct dualpi2_state {
	struct pi_squared base;
	s64 credit;	/* of C, above what it starts with, bytes in Q31.32 */
	s64 sums[DUALPI2_LANES];	/* rfc: recur()'s counts, Q31.32 */
	u64 spared;	/* linux: bit n is 1 if the step spares the packet with n before it in L */
};

struct dualpi2_lane {
	struct aqm_lane waits;
};

static inline u32 dualpi2_configure(const struct dualpi2_params *p, struct dualpi2_config *config)
{
	s64 root = fixed_div(FIXED_ONE, p->coupling);

	/* rounded down: the coupling times it must not exceed 1, which would be overload */
	root -= fixed_mul(p->coupling, root) > FIXED_ONE;
	config->base.target = fixed_seconds((u64)p->target);
	config->base.alpha = p->alpha;
	config->base.beta = p->beta;
	config->base.coupling = p->coupling;
	config->like = (enum dualpi2_like)p->like;
	config->overload = (enum dualpi2_overload)p->overload;
	config->order = (enum dualpi2_order)p->order;
	config->base.most_p = FIXED_ONE;
	if (config->like == DUALPI2_LINUX && config->overload == DUALPI2_OVERFLOW)
		config->base.most_p = root;
	config->most_c = fixed_mul(root, root);
	config->classic_share = p->classic_share;
	config->credit = p->mtu_bytes * (2 * p->classic_share - FIXED_ONE);
	config->base.floor_bytes = 2 * (u64)p->mtu_bytes;
	config->t_update_ns = (u64)p->t_update;
	config->step_ns = (u64)p->step;
	config->min_qlen_step = (u32)p->min_qlen_step;
	config->min_th_ns = (u64)p->min_th;
	config->range_ns = (u64)p->range;
	config->shift_ns = (u64)p->shift;
	return 0;
}

static inline u32 dualpi2_lanes(const struct dualpi2_config *config)
{
	(void)config;
	return DUALPI2_LANES;
}

static inline u32 dualpi2_wants_random(const struct dualpi2_state *state,
				       const struct dualpi2_config *config,
				       const struct aqm_view *view)
{
	(void)state, (void)config, (void)view;
	return 0;
}

/* RFC 9332, appendix A.1, dualpi2_enqueue(): ECT(1) and CE have the lower bit. */
static inline u32 dualpi2_classify(struct dualpi2_state *state,
				   const struct dualpi2_config *config,
				   struct aqm_lanes *lanes, const struct aqm_view *view)
{
	(void)state, (void)config, (void)lanes;
	return aqm_ecn(view) & 1 ? DUALPI2_L : DUALPI2_C;
}

static inline void dualpi2_joined(struct dualpi2_state *state, const struct dualpi2_config *config,
				  struct aqm_lanes *lanes, u32 number)
{
	const struct dualpi2_lane *l;
	u32 before;

	if (number != DUALPI2_L)
		return;
	l = aqm_lane_at(lanes, DUALPI2_L);
	before = l && l->waits.packets ? l->waits.packets - 1 : 0;
	if (!before)
		state->spared = 0;
	if (before < config->min_qlen_step)
		state->spared |= 1ULL << (before & 63);
}

/* Since when the lane's first packet waits; `none` if no packet does. */
static inline u64 dualpi2_since(const struct dualpi2_lane *lane, u64 none)
{
	return lane && lane->waits.packets ? lane->waits.head_since_ns : none;
}

static inline u32 dualpi2_next(struct dualpi2_state *state, const struct dualpi2_config *config,
			       struct aqm_lanes *lanes, u64 now_ns)
{
	const struct dualpi2_lane *c = aqm_lane_at(lanes, DUALPI2_C);
	const struct dualpi2_lane *l = aqm_lane_at(lanes, DUALPI2_L);
	u32 in_c = c && c->waits.packets, in_l = l && l->waits.packets;

	(void)now_ns;
	if (!in_c && !in_l) {
		state->credit = 0;
		return AQM_NO_LANE;
	}
	if (!in_c || !in_l)
		return in_l ? DUALPI2_L : DUALPI2_C;
	if (config->order == DUALPI2_SHIFTED)
		return dualpi2_since(l, 0) <= dualpi2_since(c, 0) + config->shift_ns ? DUALPI2_L
										     : DUALPI2_C;
	return config->credit + state->credit <= 0 ? DUALPI2_L : DUALPI2_C;
}

static inline void dualpi2_sent(struct dualpi2_state *state, const struct dualpi2_config *config,
				struct aqm_lanes *lanes, u32 number, u32 bytes)
{
	const struct dualpi2_lane *other =
		aqm_lane_at(lanes, number == DUALPI2_L ? DUALPI2_C : DUALPI2_L);

	if (!other || !other->waits.packets)
		return;
	if (number == DUALPI2_L)
		state->credit = fixed_add(state->credit, config->classic_share * bytes);
	else
		state->credit = fixed_sub(state->credit,
					  (FIXED_ONE - config->classic_share) * bytes);
}

static inline u32 dualpi2_victim(const struct dualpi2_state *state,
				 const struct dualpi2_config *config, struct aqm_lanes *lanes,
				 u32 own, u32 bytes)
{
	(void)state, (void)config, (void)lanes, (void)bytes;
	return own;
}

static inline u64 dualpi2_tick_interval_ns(const struct dualpi2_config *config)
{
	return config->t_update_ns;
}

/* RFC 9332, appendix A.2, dualpi2_update(): the delay of the older of the two first packets. */
static inline void dualpi2_tick(struct dualpi2_state *state, const struct dualpi2_config *config,
				struct aqm_lanes *lanes, const struct aqm_view *view)
{
	u64 now_ns = view->now_ns;
	u64 c_ns = dualpi2_since(aqm_lane_at(lanes, DUALPI2_C), now_ns);
	u64 l_ns = dualpi2_since(aqm_lane_at(lanes, DUALPI2_L), now_ns);

	pi_squared_update(&state->base, &config->base,
			  fixed_seconds(now_ns - (c_ns < l_ns ? c_ns : l_ns)));
}

static inline s64 dualpi2_probability(const struct dualpi2_state *state,
				      const struct dualpi2_config *config)
{
	(void)config;
	return state->base.p;
}

static inline enum aqm_verdict dualpi2_arrive(struct dualpi2_state *state,
					      const struct dualpi2_config *config,
					      struct aqm_lanes *lanes,
					      const struct aqm_view *view)
{
	(void)state, (void)config, (void)lanes, (void)view;
	return AQM_ADMIT;
}

static inline enum aqm_verdict dualpi2_depart_linux(const struct dualpi2_state *state,
						    const struct dualpi2_config *config,
						    const struct aqm_view *view)
{
	u32 is_l = view->lane == DUALPI2_L;
	u32 is_over = is_l && view->sojourn_ns > config->step_ns && !(state->spared & 1);
	enum aqm_verdict verdict = pi_squared_by_chance(&state->base, &config->base, view,
							view->buffer_bytes, is_l);

	return verdict == AQM_ADMIT && is_over ? AQM_DROP_EARLY : verdict;
}

/* RFC 9332, appendix A.1, laqm(). */
static inline s64 dualpi2_ramp(const struct dualpi2_config *config, u64 delay_ns)
{
	if (delay_ns >= config->min_th_ns + config->range_ns)
		return FIXED_ONE;
	if (delay_ns <= config->min_th_ns)
		return 0;
	return fixed_div((s64)(delay_ns - config->min_th_ns), (s64)config->range_ns);
}

/* RFC 9332, appendix A.1, recur(): true so often that the mean is the likelihood. */
static inline u32 dualpi2_recur(s64 *sum, s64 likelihood)
{
	*sum = fixed_add(*sum, likelihood);
	if (*sum <= FIXED_ONE)
		return 0;
	*sum -= FIXED_ONE;
	return 1;
}

/* RFC 9332, appendix A.2, dualpi2_dequeue(). */
static inline enum aqm_verdict dualpi2_depart_rfc(struct dualpi2_state *state,
						  const struct dualpi2_config *config,
						  const struct aqm_view *view)
{
	s64 p_cl = fixed_mul(config->base.coupling, state->base.p);
	s64 p_c = fixed_mul(state->base.p, state->base.p);
	s64 p_l = view->queue_packets > 1 ? dualpi2_ramp(config, view->sojourn_ns) : 0;

	if (view->lane == DUALPI2_C) {
		if (!dualpi2_recur(&state->sums[DUALPI2_C], p_c))
			return AQM_ADMIT;
		return p_c >= config->most_c ? AQM_DROP_FORCED : AQM_DROP_EARLY;
	}
	if (p_cl >= FIXED_ONE) {
		if (dualpi2_recur(&state->sums[DUALPI2_L], p_c))
			return AQM_DROP_FORCED;
		p_l = p_cl;
	}
	return dualpi2_recur(&state->sums[DUALPI2_L], p_l > p_cl ? p_l : p_cl) ? AQM_DROP_EARLY
									       : AQM_ADMIT;
}

static inline enum aqm_verdict dualpi2_depart(struct dualpi2_state *state,
					      const struct dualpi2_config *config,
					      struct aqm_lanes *lanes,
					      const struct aqm_view *view)
{
	enum aqm_verdict verdict = config->like == DUALPI2_LINUX
					   ? dualpi2_depart_linux(state, config, view)
					   : dualpi2_depart_rfc(state, config, view);

	(void)lanes;
	if (view->lane == DUALPI2_L)
		state->spared >>= 1;
	return verdict;
}

AQM_PROBABILITY(dualpi2)
AQM_COUPLED(dualpi2)
AQM_SCHEDULER(dualpi2, DUALPI2_PARAMS,
	.title = "DualPI2: coupled AQMs for L4S and classic traffic",
	.source = "RFC 9332",
	.summary = "Two queues in one buffer: ECT(1) and CE get a short one, all else one of 15 ms; "
		   "L4S packets are marked k times as often as the root of the classic drop "
		   "probability says.",
	AQM_COUPLES(dualpi2),
	.probability = dualpi2_probability_any)

#endif
