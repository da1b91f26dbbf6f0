/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * FRED: RED that counts the waiting packets of each flow.
 *
 * D. Lin, R. Morris, "Dynamics of random early detection", SIGCOMM 1997, section 5.
 *
 * A flow is active while packets of it wait. Its share is the average queue divided by the
 * number of active flows, at least one packet. A packet is dropped for certain if its flow
 * has min_th packets waiting, or if the average is at least max_th and the flow has more than
 * twice its share, or if the flow has its share and two strikes. Each such drop is a strike.
 * A flow's strikes are forgotten when none of its packets wait. Other packets are dropped by
 * RED's chance, but only if their flow has both min_q packets and its share waiting. The
 * average is updated at arrivals and departures.
 *
 * From max_th on every packet is dropped; with many_flows, only packets of flows that have
 * two packets waiting already (section 5.4).
 *
 * Written from what is commonly known of the paper: its text and its figures were not
 * available, so section numbers may be wrong.
 *
 * A hash identifies a flow; two flows with the same place in the table share its count.
 */
#ifndef SLUICEGATE_FRED_H
#define SLUICEGATE_FRED_H

#include "red.h"

#define FRED_FLOW_BITS 12
#define FRED_FLOWS (1 << FRED_FLOW_BITS)

#define FRED_PARAMS(P)                                                                    \
	P(min_th, PACKETS, 16, 1, 1e6, "",                                                \
	  "average queue below which chance drops no packet; most packets of a flow",     \
	  "Lin & Morris 1997, sec. 5: a quarter of the buffer, here of 64 packets")       \
	P(max_th, PACKETS, 32, 1, 1e6, "",                                                \
	  "average queue from which every packet is dropped",                             \
	  "Lin & Morris 1997, sec. 5: twice min_th")                                      \
	P(max_p, RATIO, 0.02, 0, 1, "",                                                   \
	  "drop probability as the average reaches max_th", "Lin & Morris 1997, sec. 5")  \
	P(min_q, PACKETS, 2, 0, 1e6, "",                                                  \
	  "packets that a flow may have waiting before chance drops any of it",           \
	  "Lin & Morris 1997, sec. 5: 2 in small buffers, 4 in large ones")               \
	P(many_flows, SWITCH, 0, 0, 1, "",                                                \
	  "from max_th on, let every flow have two packets", "Lin & Morris 1997, sec. 5.4") \
	P(w, RATIO, 0.002, 0, 1, "",                                                      \
	  "weight of the newest queue length in the average", "Lin & Morris 1997, sec. 5") \
	P(mean_packet_bytes, BYTES, 500, 1, 65535, "",                                    \
	  "packet size that turns idle time into packets", "Floyd & Jacobson 1993, sec. IV")

#define FRED_RULES(R) R(p->max_th > p->min_th, max_th, "must exceed", min_th)

AQM_PARAMS(fred, FRED_PARAMS)

struct fred_config {
	struct red_config red;
	s64 min_q;	/* Q31.32 packets */
	u32 many_flows;
};

struct fred_flow {
	u32 packets;	/* waiting */
	u32 strikes;
};

struct fred_state {
	struct red_state red;
	u32 active;	/* flows with packets that wait */
	struct fred_flow flows[FRED_FLOWS];
};

static inline u32 fred_configure(const struct fred_params *p, struct fred_config *config)
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

	AQM_OBEY(FRED_RULES);
	config->min_q = p->min_q;
	config->many_flows = p->many_flows != 0;
	return red_configure(&red, &config->red);
}

/* Multiplicative hashing (Knuth): the place depends on all bits of the flow's hash. */
static inline struct fred_flow *fred_flow(struct fred_state *state, u32 flow_hash)
{
	return &state->flows[(flow_hash * 0x9e3779b1U) >> (32 - FRED_FLOW_BITS)];
}

static inline s64 fred_average(const struct fred_state *state)
{
	return red_average(&state->red);
}

/* Drop probability, Q31.32, of a packet whose flow has min_q packets and its share waiting. */
static inline s64 fred_probability(const struct fred_state *state,
				   const struct fred_config *config)
{
	return red_probability(&state->red, &config->red);
}

/* Average queue of an active flow (avgcq), at least 1; Q31.32 packets. */
static inline s64 fred_share(const struct fred_state *state)
{
	u64 average = (u64)fred_average(state);
	s64 share = (s64)(state->active ? average / state->active : average);

	return share > FIXED_ONE ? share : FIXED_ONE;
}

static inline u32 fred_is_unfair(const struct fred_state *state,
				 const struct fred_config *config,
				 const struct fred_flow *flow)
{
	s64 own = fixed_from_u32(flow->packets), share = fred_share(state);
	u32 high = fred_average(state) >= config->red.drop_function.max_th;
	s64 most = high && config->many_flows ? 2 * FIXED_ONE : config->red.drop_function.min_th;

	return own >= most || (high && own > 2 * share) || (own >= share && flow->strikes > 1);
}

/* RED's chance; it drops only packets of flows with min_q packets and their share waiting. */
static inline enum aqm_verdict fred_chance(struct fred_state *state,
					   const struct fred_config *config, s64 p, s64 own,
					   const struct aqm_view *view)
{
	if (own >= config->min_q && own >= fred_share(state))
		return red_decide(&state->red, &config->red, p, view);
	if (state->red.count < 1U << 30)	/* as in red_happens() */
		state->red.count++;
	return AQM_ADMIT;
}

static inline enum aqm_verdict fred_arrive(struct fred_state *state,
					   const struct fred_config *config,
					   const struct aqm_view *view)
{
	struct fred_flow *flow = fred_flow(state, view->flow_hash);
	s64 p;

	if (view->idle)
		red_observe(&state->red, &config->red, view);
	if (fred_is_unfair(state, config, flow)) {
		flow->strikes++;
		return AQM_DROP_FORCED;
	}
	p = fred_probability(state, config);
	if (p > 0 && p < FIXED_ONE)
		return fred_chance(state, config, p, fixed_from_u32(flow->packets), view);
	state->red.count = 0;
	return p >= FIXED_ONE && !config->many_flows ? AQM_DROP_FORCED : AQM_ADMIT;
}

static inline void fred_occupancy(struct fred_state *state, const struct fred_config *config,
				  const struct aqm_view *view, s64 change)
{
	struct fred_flow *flow = fred_flow(state, view->flow_hash);

	/* a packet that joins at an idle link has already updated the average at its arrival */
	if (change < 0 || !view->idle)
		red_tick(&state->red, &config->red, view);
	if (change > 0) {
		state->active += !flow->packets;
		flow->packets++;
	} else if (flow->packets) {
		flow->packets--;
		if (!flow->packets) {
			state->active--;
			flow->strikes = 0;
		}
	}
}

AQM_RULES(fred, FRED_RULES)
AQM_AVERAGE(fred)
AQM_PROBABILITY(fred)
AQM_OCCUPANCY(fred)
AQM_CLASS(fred, FRED_PARAMS,
	.title = "FRED: Flow Random Early Drop",
	.source = "Lin & Morris 1997",
	.summary = "RED that spares flows with little waiting and holds back those with much.",
	AQM_RULED(fred),
	.average = fred_average_any,
	.probability = fred_probability_any,
	.occupancy = fred_occupancy_any)

#endif
