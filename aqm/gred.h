/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * RED by drop precedence: one queue, and thresholds of its own for each of three levels.
 *
 * The level of a packet is the drop precedence of its differentiated services codepoint: 1 of AFx1, 2
 * of AFx2, 3 of AFx3 (RFC 2597), and `others` of all other codepoints. A marker (RFC 2697, 2698) sets it
 * where packets come in. Level 1 is dropped last.
 *
 * `averages`: what the average of a level counts, and which arrivals update it.
 *   own     packets of the level: GRED
 *   better  packets of the level and of those with lower numbers: RIO, where In packets are judged by
 *           the average of In packets, Out packets by that of all
 *   all     all packets: WRED
 *
 * Each level is RED (red.h) with its own count of packets since the last drop. Averages decay by
 * (1 - w)^m: with `own` that of a level when a packet of it finds none waiting, by the time that this
 * has lasted, or else a level of which all is dropped would never come back; with the others all
 * averages when a packet finds the link idle.
 *
 * D. Clark, W. Fang, "Explicit allocation of best-effort packet delivery service", IEEE/ACM
 * Transactions on Networking 6(4), 1998; Linux, net/sched/sch_gred.c. Linux has up to 16 levels,
 * counts bytes, and makes RIO's averages from the sum of those of the levels. There the average of an
 * empty level decays up to the first packet that comes, and no more if that is dropped.
 *
 * rio.h and wred.h are presets of this class.
 */
#ifndef SLUICEGATE_GRED_H
#define SLUICEGATE_GRED_H

#include "red.h"

#define GRED_LEVELS 3

enum gred_averages { GRED_OWN, GRED_BETTER, GRED_ALL };

#define GRED_PARAMS(P)                                                                    \
	P(averages, CHOICE(own|better|all), GRED_OWN, 0, 2, "",                           \
	  "what a level's average counts: its own packets, those of better levels too, or all", \
	  "Linux, sch_gred.c; Clark & Fang 1998")                                         \
	P(others, COUNT, 3, 1, GRED_LEVELS, "",                                           \
	  "level of packets whose DSCP is none of AF11 to AF43", "Linux: default_DP")     \
	P(min_th_1, PACKETS, 40, 0, 1e6, "",                                              \
	  "average queue below which no packet of level 1 is dropped", "Clark & Fang 1998") \
	P(max_th_1, PACKETS, 70, 0, 1e6, "",                                              \
	  "average queue from which every packet of level 1 is dropped", "Clark & Fang 1998") \
	P(max_p_1, RATIO, 0.02, 0, 1, "",                                                 \
	  "drop probability of level 1 as the average reaches max_th_1", "Clark & Fang 1998") \
	P(min_th_2, PACKETS, 25, 0, 1e6, "", "as min_th_1, of level 2", "half-way")       \
	P(max_th_2, PACKETS, 50, 0, 1e6, "", "as max_th_1, of level 2", "half-way")       \
	P(max_p_2, RATIO, 0.1, 0, 1, "", "as max_p_1, of level 2", "half-way")            \
	P(min_th_3, PACKETS, 10, 0, 1e6, "", "as min_th_1, of level 3", "Clark & Fang 1998") \
	P(max_th_3, PACKETS, 30, 0, 1e6, "", "as max_th_1, of level 3", "Clark & Fang 1998") \
	P(max_p_3, RATIO, 0.2, 0, 1, "", "as max_p_1, of level 3", "Clark & Fang 1998")   \
	P(w, RATIO, 0.002, 0, 1, "",                                                      \
	  "weight of the newest queue length in an average", "Floyd & Jacobson 1993, sec. IV") \
	P(mean_packet_bytes, BYTES, 500, 1, 65535, "",                                    \
	  "packet size that turns idle time into packets", "Floyd & Jacobson 1993, sec. IV")

#define GRED_RULES(R)                                                                     \
	R(p->max_th_1 > p->min_th_1, max_th_1, "must exceed", min_th_1)                   \
	R(p->max_th_2 > p->min_th_2, max_th_2, "must exceed", min_th_2)                   \
	R(p->max_th_3 > p->min_th_3, max_th_3, "must exceed", min_th_3)

AQM_PARAMS(gred, GRED_PARAMS)

struct gred_config {
	struct red_config levels[GRED_LEVELS];
	enum gred_averages averages;
	u32 others;	/* place among the levels */
};

struct gred_state {
	struct red_state levels[GRED_LEVELS];
	/* that wait, of each drop precedence, the last one of none: `others` may change meanwhile */
	u32 packets[GRED_LEVELS + 1];
	u64 decayed_ns[GRED_LEVELS];	/* up to when an average has decayed since its level is empty */
};

static inline u32 gred_configure_level(const struct gred_params *p, struct red_config *config,
				       s64 min_th, s64 max_th, s64 max_p)
{
	struct red_params of = {
		.min_th = min_th, .max_th = max_th, .max_p = max_p, .w = p->w,
		.gamma = FIXED_ONE / 2, .middle = FIXED_ONE / 2, .c2 = FIXED_ONE,
		.spacing = RED_UNIFORMISED, .idle_decay = 1,
		.mean_packet_bytes = p->mean_packet_bytes,
	};

	return red_configure(&of, config);
}

static inline u32 gred_configure(const struct gred_params *p, struct gred_config *config)
{
	AQM_OBEY(GRED_RULES);
	gred_configure_level(p, &config->levels[0], p->min_th_1, p->max_th_1, p->max_p_1);
	gred_configure_level(p, &config->levels[1], p->min_th_2, p->max_th_2, p->max_p_2);
	gred_configure_level(p, &config->levels[2], p->min_th_3, p->max_th_3, p->max_p_3);
	config->averages = (enum gred_averages)p->averages;
	config->others = (u32)p->others - 1;
	return 0;
}

/* The place of the packet's drop precedence: RFC 2597, section 6, AFxy is 8 x + 2 y. */
static inline u32 gred_precedence(const struct aqm_view *view)
{
	u32 dscp = aqm_dscp(view), precedence = dscp >> 1 & 3;
	u32 is_assured = dscp >= 10 && dscp <= 38 && !(dscp & 1) && precedence;
	u32 place = is_assured ? precedence - 1 : GRED_LEVELS;

	/* the compiler forgets what it knows of the place, and keeps the bound for BPF's verifier */
	__asm__ volatile("" : "+r"(place));
	return place & 3;
}

/* The place of the packet's level. */
static inline u32 gred_level(const struct gred_config *config, const struct aqm_view *view)
{
	u32 level = gred_precedence(view);

	if (level == GRED_LEVELS)
		level = config->others;
	__asm__ volatile("" : "+r"(level));
	return level < GRED_LEVELS ? level : GRED_LEVELS - 1;
}

/* Packets of a level that wait. */
static inline u32 gred_packets(const struct gred_state *state, const struct gred_config *config,
			       u32 level)
{
	return state->packets[level] + (level == config->others ? state->packets[GRED_LEVELS] : 0);
}

static inline void gred_occupancy(struct gred_state *state, const struct gred_config *config,
				  const struct aqm_view *view, s64 change)
{
	u32 level = gred_level(config, view);

	state->packets[gred_precedence(view)] += (u32)change;
	if (!gred_packets(state, config, level))
		state->decayed_ns[level] = view->now_ns;
}

/* What an average is multiplied by after so many packets. All levels have one w. */
static inline s64 gred_share(const struct gred_config *config, u64 packets)
{
	return fixed_pow(FIXED_ONE - config->levels[0].average.w, packets);
}

/* The link was idle: all averages decay alike. */
static inline void gred_decay(struct gred_state *state, const struct gred_config *config,
			      const struct aqm_view *view)
{
	s64 share = gred_share(config, red_idle_packets(&config->levels[0], view));
	u32 place;

	for (place = 0; place < GRED_LEVELS; place++) {
		s64 *average = &state->levels[place].average.average[0];

		*average = fixed_share(*average, share);
	}
}

/* gred_enqueue(): the level's own average is updated, or decays if none of its packets waits. */
static inline void gred_observe_own(struct gred_state *state, const struct gred_config *config,
				    u32 level, const struct aqm_view *view)
{
	struct red_state *own = &state->levels[level];
	const struct red_config *rules = &config->levels[level];
	u32 packets = gred_packets(state, config, level);
	u64 gone;

	if (packets) {
		average_ewma(&own->average, &rules->average, fixed_from_u32(packets));
		return;
	}
	gone = red_packets_since(rules, view, state->decayed_ns[level]);
	own->average.average[0] = fixed_mul(own->average.average[0], gred_share(config, gone));
	state->decayed_ns[level] = view->now_ns;
}

/* Updates the averages of several levels for which an arrival of this level counts. */
static inline void gred_observe(struct gred_state *state, const struct gred_config *config,
				u32 level, const struct aqm_view *view)
{
	u32 place, better = 0, packets;

	for (place = 0; place < GRED_LEVELS; place++) {
		better += gred_packets(state, config, place);
		if (config->averages == GRED_BETTER && place < level)
			continue;
		packets = config->averages == GRED_BETTER ? better : view->queue_packets;
		average_ewma(&state->levels[place].average, &config->levels[place].average,
			     fixed_from_u32(packets));
	}
}

static inline enum aqm_verdict gred_arrive(struct gred_state *state,
					   const struct gred_config *config,
					   const struct aqm_view *view)
{
	u32 level = gred_level(config, view);
	struct red_state *own = &state->levels[level];
	const struct red_config *rules = &config->levels[level];

	if (config->averages == GRED_OWN)
		gred_observe_own(state, config, level, view);
	else if (view->idle)
		gred_decay(state, config, view);
	else
		gred_observe(state, config, level, view);
	return red_decide(own, rules, red_probability(own, rules), view);
}

/* That of the last level: with `better` and `all`, it counts all packets. */
static inline s64 gred_average(const struct gred_state *state)
{
	return red_average(&state->levels[GRED_LEVELS - 1]);
}

AQM_RULES(gred, GRED_RULES)
AQM_OCCUPANCY(gred)
AQM_AVERAGE(gred)
AQM_CLASS(gred, GRED_PARAMS,
	.title = "GRED: generic RED by drop precedence",
	.source = "Linux: sch_gred.c",
	.summary = "RED with thresholds, and an average, of each of three drop precedences.",
	AQM_RULED(gred),
	.occupancy = gred_occupancy_any,
	.average = gred_average_any)

#endif
