/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * PIE: Proportional Integral controller Enhanced, which holds the queueing delay at a target.
 *
 * R. Pan, P. Natarajan, F. Baker, G. White, RFC 8033, 2017.
 *
 * Every t_update the drop probability p changes by
 *
 *   (alpha (delay - target) + beta (delay - delay_old)) / scale,
 *
 * where `scale` makes the steps small if p is small (section 4.2). If p is 0.1 or more, p
 * grows by at most 0.02 (section 5.5). If there is no delay, p decays. The delay is
 *
 *   estimated   waiting bytes divided by the measured departure rate (section 5.2)
 *   timestamps  the sojourn of the packet that left last
 *
 * No packet is dropped while the burst allowance lasts. It is refilled whenever p is 0 and
 * the delay is below half the target (section 4.4). No packet is dropped either while delay
 * and p are small, or while the queue is (section 4.1). `derandomised` drops by chance only
 * once the probabilities of the packets since the last drop add up to 0.85, and for certain
 * from 8.5 on (section 5.4). From mark_ecnth on, packets that could be marked are dropped,
 * too (section 5.1).
 *
 * like = linux is PIE as in Linux (net/sched/sch_pie.c), in a queue of its own and, in each lane of
 * fq, as FQ-PIE (net/sched/sch_fq_pie.c). It differs from the RFC in:
 *
 *                          rfc                           linux
 *   burst allowance        used up by each update        by the time between two departures
 *   high delays            -                             above 250 ms, p grows by 0.02 more
 *   decay                  to 98 %, without delay        to 63/64, without delay and queue
 *   a short queue          up to twice the mean packet:  below twice the link's largest packet,
 *                          no drop                       in FQ-PIE in each lane: no drop
 *   no drop at low p       if the delay was below half   if the packet that left last waited less,
 *                          the target at the last        or left none behind
 *                          update
 *   a packet that is       starts the sum of             does not, if the sum was 8.5
 *   marked                 probabilities anew
 *
 * Linux updates first after 0.5 s, and FQ-PIE no more than 2048 lanes at a time.
 *
 * Of the optional elements, switching PIE off while the queue is short (section 5.3) is
 * left out, as in Linux. p has 62 fractional bits, because its least steps are near 10^-9.
 */
#ifndef SLUICEGATE_PIE_H
#define SLUICEGATE_PIE_H

#include "fixed.h"

enum pie_delay { PIE_ESTIMATED, PIE_TIMESTAMPS };
enum pie_like { PIE_RFC, PIE_LINUX };
enum pie_spacing { PIE_INDEPENDENT, PIE_DERANDOMISED };

#define PIE_PARAMS(P)                                                                     \
	P(target, SECONDS, 0.015, 0, 10, "",                                              \
	  "QDELAY_REF: delay to hold", "RFC 8033, sec. 4.2")                              \
	P(t_update, SECONDS, 0.015, 1e-6, 10, "",                                         \
	  "time between two changes of the drop probability", "RFC 8033, sec. 4.2")       \
	P(alpha, GAIN, 0.125, 0, 1.99, "",                                                \
	  "weight of the delay above the target, per second", "RFC 8033, sec. 4.2")       \
	P(beta, GAIN, 1.25, 0, 1.99, "",                                                  \
	  "weight of the delay's growth, per second", "RFC 8033, sec. 4.2")               \
	P(max_burst, SECONDS, 0.15, 0, 100, "",                                           \
	  "how long a burst passes without drops", "RFC 8033, sec. 4.4")                  \
	P(mark_ecnth, RATIO, 0.1, 0, 1, "",                                               \
	  "drop probability from which packets are dropped that could be marked",         \
	  "RFC 8033, sec. 5.1")                                                           \
	P(delay, CHOICE(estimated|timestamps), PIE_ESTIMATED, 0, 1, "",                   \
	  "how the delay is found", "RFC 8033, sec. 4.3, 5.2")                            \
	P(dq_threshold, BYTES, 16384, 1, 65536, "delay=estimated",                        \
	  "bytes whose departure measures the rate once", "RFC 8033, sec. 5.2")           \
	P(spacing, CHOICE(independent|derandomised), PIE_DERANDOMISED, 0, 1, "",          \
	  "how drops are spaced", "RFC 8033, sec. 5.4")                                   \
	P(mean_packet_bytes, BYTES, 1000, 1, 65535, "like=rfc",                           \
	  "up to twice this may wait without drops",                                      \
	  "RFC 8033, sec. 4.1, without a value; ns-3: 1000")                             \
	P(mtu_bytes, BYTES, 1514, 1, 65535, "like=linux",                                 \
	  "less than twice this may wait without drops", "Linux: psched_mtu()")           \
	P(like, CHOICE(rfc|linux), PIE_RFC, 0, 1, "",                                     \
	  "whose rules", "RFC 8033; Linux, sch_pie.c, with delay=timestamps")

#define PIE_RULES(R) \
	R(p->like == PIE_RFC || p->delay == PIE_TIMESTAMPS, delay,                        \
	  "must be timestamps with like = linux", )

AQM_PARAMS(pie, PIE_PARAMS)

struct pie_config {
	s64 target;		/* Q31.32 s */
	s64 alpha, beta;	/* Q1.62 */
	s64 mark_ecnth;		/* Q31.32 */
	s64 dq_threshold;	/* bytes */
	u64 max_burst_ns, t_update_ns;
	u64 least_bytes;
	u32 by_timestamps, derandomised, like_linux, unused;
};

struct pie_state {
	s64 p;			/* Q1.62 */
	s64 accumulated;	/* sum of the probabilities since the last drop, Q31.32 */
	s64 delay;		/* at the last update, Q31.32 s */
	u64 burst_ns;		/* used part of the burst allowance */
	s64 sojourn;		/* of the packet that left last, Q31.32 s */
	u64 measured_since_ns;
	s64 dq_count;		/* bytes that left since then; 0 while nothing is measured */
	s64 dq_time;		/* average time to send dq_threshold bytes, Q31.32 s; 0: unknown */
};

#define PIE_ONE (1LL << 62)

static inline u32 pie_configure(const struct pie_params *p, struct pie_config *config)
{
	AQM_OBEY(PIE_RULES);
	config->target = fixed_seconds((u64)p->target);
	config->alpha = p->alpha;
	config->beta = p->beta;
	config->mark_ecnth = p->mark_ecnth;
	config->dq_threshold = p->dq_threshold;
	config->max_burst_ns = (u64)p->max_burst;
	config->t_update_ns = (u64)p->t_update;
	/* linux: a queue of exactly two packets may be judged */
	config->least_bytes = p->like == PIE_LINUX ? 2 * (u64)p->mtu_bytes - 1
						   : 2 * (u64)p->mean_packet_bytes;
	config->by_timestamps = p->delay == PIE_TIMESTAMPS;
	config->derandomised = p->spacing == PIE_DERANDOMISED;
	config->like_linux = p->like == PIE_LINUX;
	return 0;
}

static inline u64 pie_tick_interval_ns(const struct pie_config *config)
{
	return config->t_update_ns;
}

/* Section 5.2. A new time has the weight dq_threshold / 2^16 in the average. */
static inline void pie_measure(struct pie_state *state, const struct pie_config *config,
			       const struct aqm_view *view)
{
	s64 time;

	if (!state->dq_count) {
		if (view->queue_bytes < (u64)config->dq_threshold)
			return;
		state->measured_since_ns = view->now_ns;
	}
	state->dq_count += view->packet_bytes;
	if (state->dq_count < config->dq_threshold)
		return;
	state->dq_count = 0;
	time = fixed_seconds(view->now_ns - state->measured_since_ns);
	state->dq_time = state->dq_time
		? state->dq_time + fixed_mul(config->dq_threshold << 16, time - state->dq_time)
		: time;
}

/* sch_pie.c, pie_process_dequeue(): the burst allowance lasts for a time with departures. */
static inline void pie_pass_time(struct pie_state *state, const struct pie_config *config,
				 u64 now_ns)
{
	if (state->measured_since_ns)
		state->burst_ns += now_ns - state->measured_since_ns;
	if (state->burst_ns > config->max_burst_ns)
		state->burst_ns = config->max_burst_ns;
	state->measured_since_ns = now_ns;
}

static inline enum aqm_verdict pie_depart(struct pie_state *state,
					  const struct pie_config *config,
					  const struct aqm_view *view)
{
	/* if no packet waits any more, the delay counts as 0 */
	state->sojourn = view->queue_packets ? fixed_seconds(view->sojourn_ns) : 0;
	if (config->like_linux)
		pie_pass_time(state, config, view->now_ns);
	else
		pie_measure(state, config, view);
	return AQM_ADMIT;
}

static inline s64 pie_delay(const struct pie_state *state, const struct pie_config *config,
			    const struct aqm_view *view)
{
	s64 bytes = view->queue_bytes < FIXED_MAX ? (s64)view->queue_bytes : FIXED_MAX;

	if (config->by_timestamps)
		return state->sojourn;
	return fixed_mul(state->dq_time, fixed_div(bytes, config->dq_threshold));
}

/* Section 4.2: the binary logarithm of the divisor of the change. */
static inline u32 pie_scale(s64 p)
{
	if (p < PIE_ONE / 1000000)
		return 11;
	if (p < PIE_ONE / 100000)
		return 9;
	if (p < PIE_ONE / 10000)
		return 7;
	if (p < PIE_ONE / 1000)
		return 5;
	if (p < PIE_ONE / 100)
		return 3;
	return p < PIE_ONE / 10;
}

static inline s64 pie_change(const struct pie_state *state, const struct pie_config *config,
			     s64 delay)
{
	s64 change = fixed_add(fixed_mul(config->alpha, delay - config->target),
			       fixed_mul(config->beta, delay - state->delay));

	change >>= pie_scale(state->p);
	return state->p >= PIE_ONE / 10 && change > PIE_ONE / 50 ? PIE_ONE / 50 : change;
}

/* Section 4.4. */
static inline void pie_use_burst(struct pie_state *state, const struct pie_config *config,
				 s64 delay)
{
	s64 half = config->target >> 1;

	state->burst_ns += config->t_update_ns;
	if (state->burst_ns > config->max_burst_ns)
		state->burst_ns = config->max_burst_ns;
	if (!state->p && delay < half && state->delay < half)
		state->burst_ns = 0;
}

/* sch_pie.c, pie_calculate_probability(). */
static inline void pie_update_linux(struct pie_state *state, const struct pie_config *config,
				    const struct aqm_view *view)
{
	s64 delay = state->sojourn, half = config->target >> 1;
	s64 change = pie_change(state, config, delay), p;

	if (delay > FIXED_ONE / 4)
		change = fixed_add(change, PIE_ONE / 50);
	p = fixed_add(state->p, change);
	state->p = p < 0 ? 0 : p > PIE_ONE ? PIE_ONE : p;
	if (!delay && !state->delay && !view->queue_packets)
		state->p -= state->p >> 6;
	if (!state->p && delay < half && state->delay < half) {
		state->burst_ns = 0;
		state->measured_since_ns = 0;
		state->accumulated = 0;
	}
	state->delay = delay;
}

static inline void pie_tick(struct pie_state *state, const struct pie_config *config,
			    const struct aqm_view *view)
{
	s64 delay, p;

	if (config->like_linux) {
		pie_update_linux(state, config, view);
		return;
	}
	delay = pie_delay(state, config, view);
	p = fixed_add(state->p, pie_change(state, config, delay));

	p = p < 0 ? 0 : p > PIE_ONE ? PIE_ONE : p;
	if (!delay && !state->delay)
		p -= (s64)((u64)p / 50);
	state->p = p;
	pie_use_burst(state, config, delay);
	state->delay = delay;
}

static inline s64 pie_probability(const struct pie_state *state,
				  const struct pie_config *config)
{
	(void)config;
	return state->p >> 30;
}

/* Section 5.4: 0.85 and 8.5. */
static inline u32 pie_happens(struct pie_state *state, const struct pie_config *config, s64 p,
			      u64 random)
{
	if (config->derandomised) {
		state->accumulated = p ? state->accumulated + p : 0;
		if (state->accumulated < FIXED_ONE / 20 * 17)
			return 0;
		if (state->accumulated >= FIXED_ONE / 2 * 17)
			return 1;
	}
	return aqm_happens(p, random);
}

static inline u32 pie_spares(const struct pie_state *state, const struct pie_config *config,
			     const struct aqm_view *view)
{
	s64 delay = config->like_linux ? state->sojourn : state->delay;

	return state->burst_ns < config->max_burst_ns ||
	       (delay < config->target >> 1 && state->p < PIE_ONE / 5) ||
	       view->queue_bytes <= config->least_bytes;
}

static inline enum aqm_verdict pie_arrive(struct pie_state *state,
					  const struct pie_config *config,
					  const struct aqm_view *view)
{
	s64 p = pie_probability(state, config);
	u32 marks;

	if (!view->full && (pie_spares(state, config, view) ||
			 !pie_happens(state, config, p, view->random)))
		return AQM_ADMIT;
	/* linux: p may be mark_ecnth */
	marks = !view->full && view->ecn_capable && p < config->mark_ecnth + config->like_linux;
	if (!config->like_linux || !marks || state->accumulated < FIXED_ONE / 2 * 17)
		state->accumulated = 0;
	if (view->full)
		return AQM_ADMIT;	/* aqm_settle() makes it an overflow */
	return view->ecn_capable && !marks ? AQM_DROP_FORCED : AQM_DROP_EARLY;
}

AQM_RULES(pie, PIE_RULES)
AQM_DEPART(pie)
AQM_TICK(pie)
AQM_PROBABILITY(pie)
AQM_CLASS(pie, PIE_PARAMS,
	.title = "PIE: Proportional Integral controller Enhanced",
	.source = "RFC 8033",
	.summary = "Holds the queueing delay by a controller whose steps grow with its probability.",
	AQM_RULED(pie),
	.depart = pie_depart_any,
	.tick = pie_tick_any,
	.tick_interval_ns = pie_tick_interval_any,
	.probability = pie_probability_any)

#endif
