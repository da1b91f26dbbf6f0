/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * RED whose max_p is moved by a controller; ared.h and self_configuring_red.h share it.
 *
 * The average is an EWMA, the drop function is linear or gentle, and max_p is part of the
 * state.
 */
#ifndef SLUICEGATE_MOVING_RED_H
#define SLUICEGATE_MOVING_RED_H

#include "red.h"

/* `when` applies to the thresholds and to w. */
#define MOVING_RED_PARAMS(P, shape, when)                                                 \
	P(min_th, PACKETS, 5, 0, 1e6, when,                                               \
	  "average queue below which no packet is dropped", "Floyd & Jacobson 1993, sec. IV") \
	P(max_th, PACKETS, 15, 0, 1e6, when,                                              \
	  "average queue as the drop probability reaches max_p",                          \
	  "Floyd & Jacobson 1993, sec. IV")                                               \
	P(max_p, RATIO, 0.1, 1e-6, 1, "",                                                 \
	  "max_p to start from", "Floyd, \"RED: Discussions of setting parameters\", 1997") \
	P(w, RATIO, 0.002, 0, 1, when,                                                    \
	  "weight of the newest queue length in the average", "Floyd & Jacobson 1993, sec. IV") \
	P(drop_function, CHOICE(linear|gentle), shape, 0, 1, "",                          \
	  "drop probability as a function of the average queue", "aqm/drop_function.h") \
	P(spacing, CHOICE(independent|uniformised|waiting), RED_UNIFORMISED, 0, 2, "",    \
	  "gaps between drops: geometric, uniform up to 1/p, uniform from 1/p to 2/p",    \
	  "Floyd & Jacobson 1993, sec. VI; waiting: ns-2, red.cc")                        \
	P(like, CHOICE(paper|ns2|ns2_bytes), RED_LIKE_PAPER, 0, 2, "spacing=waiting",     \
	  "whether a packet is judged in a short queue, and how fast the average decays", \
	  "Floyd & Jacobson 1993, sec. IV; ns-2.35, red.cc: enque")                       \
	P(idle_decay, SWITCH, 1, 0, 1, "",                                                \
	  "let the average decay while the link is idle", "Floyd & Jacobson 1993, sec. IV") \
	P(mean_packet_bytes, BYTES, 500, 1, 65535, "idle_decay=true",                     \
	  "packet size that turns idle time into packets", "Floyd & Jacobson 1993, sec. IV")

/* The initial parameters of RED. */
#define MOVING_RED_START(p)                                                               \
	((struct red_params){                                                             \
		.min_th = (p)->min_th, .max_th = (p)->max_th, .max_p = (p)->max_p,        \
		.average = AVERAGE_EWMA, .w = (p)->w, .sampling = RED_AT_ARRIVALS,        \
		.drop_function = (p)->drop_function, .spacing = (p)->spacing,              \
		.like = (p)->like,                                                         \
		.idle_decay = (p)->idle_decay,                                            \
		.mean_packet_bytes = (p)->mean_packet_bytes })

struct moving_red_state {
	struct red_state red;
	s64 moved;	/* max_p minus its initial value, Q31.32 */
};

#define MOVING_RED_LEAST_P (FIXED_ONE >> 20)

static inline s64 moving_red_hold(s64 max_p)
{
	if (max_p < MOVING_RED_LEAST_P)
		return MOVING_RED_LEAST_P;
	return max_p < FIXED_ONE ? max_p : FIXED_ONE;
}

/* A reload may have changed the initial value since max_p was moved. */
static inline s64 moving_red_max_p(const struct moving_red_state *state,
				   const struct red_config *config)
{
	return moving_red_hold(config->drop_function.max_p + state->moved);
}

static inline void moving_red_set_max_p(struct moving_red_state *state,
					const struct red_config *config, s64 max_p)
{
	state->moved = moving_red_hold(max_p) - config->drop_function.max_p;
}

static inline s64 moving_red_probability(const struct moving_red_state *state,
					 const struct red_config *config)
{
	struct drop_function_config drop_function = config->drop_function;

	drop_function.max_p = moving_red_max_p(state, config);
	return drop_function_probability(&drop_function, red_average(&state->red));
}

#endif
