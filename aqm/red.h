/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Random Early Detection and the RED family: any averaging filter (average.h) with any drop
 * function (drop_function.h) and any spacing of the drops.
 *
 * S. Floyd, V. Jacobson, "Random early detection gateways for congestion avoidance",
 * IEEE/ACM Transactions on Networking 1(4), 1993.
 *
 * Each arrival updates the average queue (or a clock does so at fixed intervals). The
 * drop function gives the drop probability p_b that goes with the average. If it gives 1,
 * the drop is forced: it does not depend on chance, and it never becomes a mark.
 *
 * `spacing`: `independent` drops each packet with probability p_b, independently of the
 * others, so gaps between drops are geometric and drops come in clusters. `uniformised`
 * drops with p_a = p_b / (1 - count p_b), where count is the number of packets since the
 * last drop: gaps are uniform on 1 .. 1/p_b (Floyd & Jacobson 1993, section VI). `waiting`
 * lets packets pass until n p_b reaches 1, where n is count plus this packet, and then
 * drops with p_b / (2 - n p_b): gaps are uniform on 1/p_b .. 2/p_b - 1, and about 2 p_b / 3
 * of all packets are dropped (ns-2, red.cc: modify_p with wait_, its default).
 *
 * `like`: with `paper` the drop function applies to every packet, and over an idle time in
 * which m packets could have left, the average decays by (1 - w)^m (section IV). `ns2` works
 * as red.cc of ns-2.35 with queue_in_bytes_ off:
 *   - a packet that finds 0 or 1 packets waiting passes, and the count restarts
 *     (enque: qlen > 1);
 *   - the average decays by (1 - w)^(m+1): the packet that ends the idle time has found
 *     an empty queue, too (enque: estimator with m + 1);
 *   - the count restarts after a full buffer, too (enque: DTYPE_FORCED).
 * `ns2_bytes` works as red.cc with queue_in_bytes_ on, its default, for packets of one
 * size: there `qlen > 1` means more than one byte, so only a packet that finds an empty
 * queue passes.
 *
 * Other members of the family are presets of this class, with their own defaults:
 * gentle_red.h, dsred.h, nlred.h, redwm.h, lpf_oda.h.
 */
#ifndef SLUICEGATE_RED_H
#define SLUICEGATE_RED_H

#include "average.h"
#include "drop_function.h"

#define RED_PARAMS(P)                                                                     \
	P(min_th, PACKETS, 5, 0, 1e6, "",                                                 \
	  "average queue below which no packet is dropped", "Floyd & Jacobson 1993, sec. IV") \
	P(max_th, PACKETS, 15, 0, 1e6, "",                                                \
	  "average queue from which every packet is dropped", "Floyd & Jacobson 1993, sec. IV") \
	P(max_p, RATIO, 0.02, 0, 1, "drop_function=linear|gentle|cubic",                  \
	  "drop probability as the average reaches max_th", "Floyd & Jacobson 1993, sec. IV") \
	P(average, CHOICE(ewma|difference|lpf_oda), AVERAGE_EWMA, 0, 2, "",               \
	  "filter that makes the average of the queue", "aqm/average.h")                  \
	P(sampling, CHOICE(arrivals|clock), RED_AT_ARRIVALS, 0, 1, "",                    \
	  "what updates the average: every arrival, or a clock",                          \
	  "Floyd & Jacobson 1993, sec. IV; Domanska et al. 2008: every slot")             \
	P(sampling_interval, SECONDS, 0.001, 1e-9, 100, "sampling=clock",                 \
	  "time between two updates of the average", "Domanska et al. 2008")              \
	P(w, RATIO, 0.002, 0, 1, "average=ewma|lpf_oda",                                  \
	  "weight of the newest queue length in the average", "Floyd & Jacobson 1993, sec. IV") \
	P(a1, RATIO, 0.998, 0, 1, "average=difference",                                   \
	  "weight of A(n-1), the last average", "Domanska et al. 2014, eq. 3")            \
	P(a2, RATIO, 0, 0, 1, "average=difference",                                       \
	  "weight of A(n-2)", "Domanska et al. 2014, eq. 3")                              \
	P(a3, RATIO, 0, 0, 1, "average=difference",                                       \
	  "weight of A(n-3)", "Domanska et al. 2014, eq. 3")                              \
	P(b1, RATIO, 0, 0, 1, "average=difference",                                       \
	  "weight of Q(n-1), the queue that the last arrival found",                      \
	  "Domanska et al. 2014, eq. 3")                                                  \
	P(b2, RATIO, 0, 0, 1, "average=difference",                                       \
	  "weight of Q(n-2)", "Domanska et al. 2014, eq. 3")                              \
	P(b3, RATIO, 0, 0, 1, "average=difference",                                       \
	  "weight of Q(n-3); Q(n) gets what is left of 1", "Domanska et al. 2014, eq. 3-4") \
	P(low_queue, PACKETS, 5, 0, 1e6, "average=lpf_oda",                               \
	  "a queue shorter than this is low", "Zheng & Atiquzzaman 2002, sec. 3")         \
	P(low_arrivals, COUNT, 3, 1, 1e6, "average=lpf_oda",                              \
	  "arrivals in a row with a low queue that end a congestion",                     \
	  "Zheng & Atiquzzaman 2002, sec. 3")                                             \
	P(drop_function, CHOICE(linear|gentle|double_slope|cubic), DROP_FUNCTION_LINEAR, 0, 3, "", \
	  "drop probability as a function of the average queue", "aqm/drop_function.h") \
	P(gamma, RATIO, 0.5, 0, 1, "drop_function=double_slope",                          \
	  "1 - gamma is the drop probability at the bend",                                \
	  "Zheng & Atiquzzaman 2000 (DSRED)")                                             \
	P(middle, RATIO, 0.5, 0, 1, "drop_function=double_slope",                         \
	  "place of the bend K_m between min_th (0) and max_th (1)",                      \
	  "Zheng & Atiquzzaman 2000 (DSRED)")                                             \
	P(c2, RATIO, 1, -1000, 1000, "drop_function=cubic",                               \
	  "share of u^2 in the drop function", "Zhou et al. 2006; Domanska et al. 2012")  \
	P(c3, RATIO, 0, -1000, 1000, "drop_function=cubic",                               \
	  "share of u^3 in the drop function; u gets 1 - c2 - c3", "Domanska et al. 2012") \
	P(spacing, CHOICE(independent|uniformised|waiting), RED_UNIFORMISED, 0, 2, "",    \
	  "gaps between drops: geometric, uniform up to 1/p, uniform from 1/p to 2/p",    \
	  "Floyd & Jacobson 1993, sec. VI; waiting: ns-2, red.cc")                        \
	P(like, CHOICE(paper|ns2|ns2_bytes), RED_LIKE_PAPER, 0, 2, "spacing=waiting",     \
	  "whether a packet is judged in a short queue, and how fast the average decays", \
	  "Floyd & Jacobson 1993, sec. IV; ns-2.35, red.cc: enque")                       \
	P(idle_decay, SWITCH, 1, 0, 1, "average=ewma|lpf_oda",                            \
	  "let the average decay while the link is idle", "Floyd & Jacobson 1993, sec. IV") \
	P(mean_packet_bytes, BYTES, 500, 1, 65535, "idle_decay=true",                     \
	  "packet size that turns idle time into packets", "Floyd & Jacobson 1993, sec. IV")

#define RED_LIKE_RULE(R)                                                                  \
	R(p->like == RED_LIKE_PAPER || p->spacing == RED_WAITING, like,                   \
	  "is not defined with", spacing)

#define RED_RULES(R)                                                                      \
	R(p->max_th > p->min_th, max_th, "must exceed", min_th)                           \
	RED_LIKE_RULE(R)                                                                  \
	R(p->average != AVERAGE_DIFFERENCE ||                                             \
	  red_left_for_b0(p) >= -RED_WEIGHTS_ROUNDING, a1,                                \
	  "is too much: a1 + a2 + a3 + b1 + b2 + b3 must not exceed 1",)                  \
	R(p->average != AVERAGE_DIFFERENCE || !p->idle_decay, idle_decay,                 \
	  "is not defined with", average)                                                 \
	R(p->sampling != RED_BY_CLOCK || !p->idle_decay, idle_decay,                      \
	  "is not defined with", sampling)

enum red_sampling { RED_AT_ARRIVALS, RED_BY_CLOCK };
enum red_spacing { RED_INDEPENDENT, RED_UNIFORMISED, RED_WAITING };
enum red_like { RED_LIKE_PAPER, RED_LIKE_NS2, RED_LIKE_NS2_BYTES };

AQM_PARAMS(red, RED_PARAMS)

struct red_config {
	struct average_config average;
	struct drop_function_config drop_function;
	u64 mean_packet_bits;
	u64 sampling_interval_ns;	/* 0: at arrivals */
	enum red_spacing spacing;
	enum red_like like;
	u32 least_queue;	/* a packet that finds fewer packets waiting passes */
	u32 idle_decay;
};

struct red_state {
	struct average_state average;
	u32 count;	/* packets since the last early drop */
};

/* Rounding changes each of six weights by at most half a step: their sum may exceed 1 by this. */
#define RED_WEIGHTS_ROUNDING 3

static inline s64 red_left_for_b0(const struct red_params *p)
{
	return FIXED_ONE - p->a1 - p->a2 - p->a3 - p->b1 - p->b2 - p->b3;
}

static inline void red_configure_average(const struct red_params *p,
					 struct average_config *c)
{
	c->filter = (enum average_filter)p->average;
	c->w = p->w;
	c->a[0] = p->a1;
	c->a[1] = p->a2;
	c->a[2] = p->a3;
	c->b[0] = red_left_for_b0(p) > 0 ? red_left_for_b0(p) : 0;
	c->b[1] = p->b1;
	c->b[2] = p->b2;
	c->b[3] = p->b3;
	c->low_queue = p->low_queue;
	c->low_arrivals = p->low_arrivals;
	c->min_th = p->min_th;
}

static inline void red_configure_drop_function(const struct red_params *p,
					       struct drop_function_config *c)
{
	c->shape = (enum drop_function)p->drop_function;
	c->min_th = p->min_th;
	c->max_th = p->max_th;
	c->max_p = p->max_p;
	c->middle = p->middle;
	c->bend_p = FIXED_ONE - p->gamma;
	c->slope_below = fixed_div(c->bend_p, c->middle);
	c->slope_above = fixed_div(p->gamma, FIXED_ONE - c->middle);
	c->c1 = fixed_mul(p->max_p, FIXED_ONE - p->c2 - p->c3);
	c->c2 = fixed_mul(p->max_p, p->c2);
	c->c3 = fixed_mul(p->max_p, p->c3);
	c->range = fixed_divisor(p->max_th - p->min_th);
	c->max_th_divisor = fixed_divisor(p->max_th);
}

static inline u32 red_configure(const struct red_params *p, struct red_config *config)
{
	AQM_OBEY(RED_RULES);
	red_configure_average(p, &config->average);
	red_configure_drop_function(p, &config->drop_function);
	config->spacing = (enum red_spacing)p->spacing;
	config->like = (enum red_like)p->like;
	config->least_queue = p->like == RED_LIKE_NS2 ? 2 : p->like == RED_LIKE_NS2_BYTES;
	config->idle_decay = p->idle_decay != 0;
	config->sampling_interval_ns =
		p->sampling == RED_BY_CLOCK ? (u64)p->sampling_interval : 0;
	config->mean_packet_bits = 8 * (u64)p->mean_packet_bytes;
	return 0;
}

static inline s64 red_drop_probability(const struct red_config *config, s64 average)
{
	return drop_function_probability(&config->drop_function, average);
}

static inline s64 red_average(const struct red_state *state)
{
	return state->average.average[0];
}

static inline s64 red_probability(const struct red_state *state,
				  const struct red_config *config)
{
	return red_drop_probability(config, red_average(state));
}

/* Returns how many packets of the mean size could have left since a time. */
static inline u64 red_packets_since(const struct red_config *config,
				    const struct aqm_view *view, u64 since_ns)
{
	u64 packet_ns = config->mean_packet_bits * 1000000000ULL /
			(view->rate_bps ? view->rate_bps : 1);

	return (view->now_ns - since_ns) / (packet_ns ? packet_ns : 1);
}

/* Likewise since the link became idle. */
static inline u64 red_idle_packets(const struct red_config *config,
				   const struct aqm_view *view)
{
	return red_packets_since(config, view, view->idle_since_ns);
}

/* R < p_b / (1 - count p_b), or p_b / (2 - n p_b), without the division. */
static inline u32 red_happens(struct red_state *state, const struct red_config *config,
			      s64 p, u64 random)
{
	s64 rest = FIXED_ONE - (s64)state->count * p;

	if (config->spacing == RED_INDEPENDENT)
		return aqm_happens(p, random);
	if (state->count < 1U << 30)	/* keeps count * p within 64 bits */
		state->count++;
	if (config->spacing == RED_WAITING) {
		if (rest > p)	/* n p < 1, n = count + 1 */
			return 0;
		rest += FIXED_ONE - p;
	}
	return rest <= 0 || fixed_share((s64)(random >> 32), rest) < p;
}

static inline u64 red_tick_interval_ns(const struct red_config *config)
{
	return config->sampling_interval_ns;
}

/* Updates the average with the present queue: at a tick, or when a packet arrives. */
static inline void red_tick(struct red_state *state, const struct red_config *config,
			    const struct aqm_view *view)
{
	average_update(&state->average, &config->average,
		       fixed_from_u32(view->queue_packets));
}

/* Updates the average at an arrival, unless a clock does. */
static inline void red_observe(struct red_state *state, const struct red_config *config,
			       const struct aqm_view *view)
{
	if (view->idle && config->idle_decay)
		average_idle(&state->average, &config->average,
			     red_idle_packets(config, view) +
				     (config->like != RED_LIKE_PAPER));
	else if (!config->sampling_interval_ns)
		red_tick(state, config, view);
}

/* Below min_th every packet passes; as in ns-2, also if the queue is short. */
static inline u32 red_passes(const struct red_config *config, s64 p,
			     const struct aqm_view *view)
{
	return p <= 0 || view->queue_packets < config->least_queue;
}

/* As in ns-2, a full buffer restarts the count, like an early drop. */
static inline u32 red_ends_count(const struct red_config *config, const struct aqm_view *view)
{
	return config->like != RED_LIKE_PAPER && view->full;
}

/* Returns the verdict if the drop function gives p (Q31.32). */
static inline enum aqm_verdict red_decide(struct red_state *state,
					  const struct red_config *config, s64 p,
					  const struct aqm_view *view)
{
	enum aqm_verdict verdict = AQM_ADMIT;

	if (red_passes(config, p, view)) {
		state->count = 0;
		return AQM_ADMIT;
	}
	if (p >= FIXED_ONE)
		verdict = AQM_DROP_FORCED;
	else if (red_happens(state, config, p, view->random))
		verdict = AQM_DROP_EARLY;
	if (verdict != AQM_ADMIT || red_ends_count(config, view))
		state->count = 0;
	return verdict;
}

static inline enum aqm_verdict red_arrive(struct red_state *state,
					  const struct red_config *config,
					  const struct aqm_view *view)
{
	red_observe(state, config, view);
	return red_decide(state, config, red_probability(state, config), view);
}

AQM_RULES(red, RED_RULES)
AQM_TICK(red)
AQM_DROP_FUNCTION(red)
AQM_AVERAGE(red)
AQM_PROBABILITY(red)
AQM_CLASS(red, RED_PARAMS,
	.title = "RED: Random Early Detection",
	.source = "Floyd & Jacobson 1993",
	.summary = "Drops with a probability that grows with the average queue.",
	AQM_RULED(red),
	.tick = red_tick_any,
	.tick_interval_ns = red_tick_interval_any,
	.drop_probability = red_drop_probability_any,
	.average = red_average_any,
	.probability = red_probability_any)

#endif
