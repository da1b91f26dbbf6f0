/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * CHOKe: RED that compares each arriving packet with a waiting one.
 *
 * R. Pan, B. Prabhakar, K. Psounis, "CHOKe: a stateless active queue management scheme
 * for approximating fair bandwidth allocation", INFOCOM 2000.
 *
 * While the average queue is above min_th, every arriving packet is compared with a
 * waiting packet that is drawn at random. If both belong to the same flow, both are
 * dropped; the more of the queue a flow holds, the more often this happens. Otherwise RED
 * decides.
 */
#ifndef SLUICEGATE_CHOKE_H
#define SLUICEGATE_CHOKE_H

#include "red.h"

#define CHOKE_PARAMS(P)                                                                   \
	P(min_th, PACKETS, 100, 0, 1e6, "",                                               \
	  "average queue from which packets are compared", "Pan et al. 2000, sec. III")   \
	P(max_th, PACKETS, 200, 0, 1e6, "",                                               \
	  "average queue from which every packet is dropped", "Pan et al. 2000, sec. III") \
	P(max_p, RATIO, 0.02, 0, 1, "",                                                   \
	  "drop probability as the average reaches max_th", "Floyd & Jacobson 1993, sec. IV") \
	P(w, RATIO, 0.002, 0, 1, "",                                                      \
	  "weight of the newest queue length in the average", "Floyd & Jacobson 1993, sec. IV") \
	P(mean_packet_bytes, BYTES, 1000, 1, 65535, "",                                   \
	  "packet size that turns idle time into packets", "Floyd & Jacobson 1993, sec. IV")

#define CHOKE_RULES(R) R(p->max_th > p->min_th, max_th, "must exceed", min_th)

AQM_PARAMS(choke, CHOKE_PARAMS)

struct choke_config {
	struct red_config red;
};

struct choke_state {
	struct red_state red;
};

static inline u32 choke_configure(const struct choke_params *p, struct choke_config *config)
{
	struct red_params red = {
		.min_th = p->min_th,
		.max_th = p->max_th,
		.max_p = p->max_p,
		.w = p->w,
		.mean_packet_bytes = p->mean_packet_bytes,
		.average = AVERAGE_EWMA,
		.sampling = RED_AT_ARRIVALS,
		.drop_function = DROP_FUNCTION_LINEAR,
		.spacing = RED_UNIFORMISED,
		.idle_decay = 1,
	};

	AQM_OBEY(CHOKE_RULES);
	return red_configure(&red, &config->red);
}

/* Drop probability, Q31.32, of a packet whose candidate belongs to another flow. */
static inline s64 choke_probability(const struct choke_state *state,
				    const struct choke_config *config)
{
	return red_probability(&state->red, &config->red);
}

static inline s64 choke_average(const struct choke_state *state)
{
	return red_average(&state->red);
}

static inline enum aqm_verdict choke_arrive(struct choke_state *state,
					    const struct choke_config *config,
					    const struct aqm_view *view)
{
	red_observe(&state->red, &config->red, view);
	if (choke_average(state) > config->red.drop_function.min_th && view->queue_packets &&
	    view->candidate_flow_hash == view->flow_hash)
		return AQM_DROP_BOTH;
	return red_decide(&state->red, &config->red, choke_probability(state, config), view);
}

AQM_RULES(choke, CHOKE_RULES)
AQM_AVERAGE(choke)
AQM_PROBABILITY(choke)
AQM_CLASS(choke, CHOKE_PARAMS,
	.title = "CHOKe",
	.source = "Pan, Prabhakar & Psounis 2000",
	.summary = "RED that drops a packet together with a waiting one of its own flow.",
	AQM_RULED(choke),
	.average = choke_average_any,
	.probability = choke_probability_any,
	.wants_candidate = 1)

#endif
