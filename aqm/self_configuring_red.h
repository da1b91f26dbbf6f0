/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Self-configuring RED (S-RED): max_p changes whenever the average queue leaves the range
 * between the thresholds.
 *
 * W. Feng, D. Kandlur, D. Saha, K. Shin, "A self-configuring RED gateway", INFOCOM 1999.
 *
 * If the average falls below min_th, RED was too aggressive: max_p is divided by alpha.
 * If it rises above max_th, RED was too timid: max_p is multiplied by beta. While the
 * average stays on one side, max_p does not change again; it does not change either when
 * the average comes back between the thresholds. max_p is held within [2^-20, 1]: from 0
 * it could never rise again.
 */
#ifndef SLUICEGATE_SELF_CONFIGURING_RED_H
#define SLUICEGATE_SELF_CONFIGURING_RED_H

#include "moving_red.h"

#define SELF_CONFIGURING_RED_PARAMS(P)                                                    \
	P(alpha, RATIO, 3, 1, 1000, "",                                                   \
	  "divides max_p as the average falls below min_th", "Feng et al. 1999, sec. III") \
	P(beta, RATIO, 2, 1, 1000, "",                                                    \
	  "multiplies max_p as the average rises above max_th", "Feng et al. 1999, sec. III") \
	MOVING_RED_PARAMS(P, DROP_FUNCTION_LINEAR, "")

#define SELF_CONFIGURING_RED_RULES(R)                           \
	R(p->max_th > p->min_th, max_th, "must exceed", min_th) \
	RED_LIKE_RULE(R)

/* Last position of the average; it starts below, with an empty queue. */
enum self_configuring_red_status {
	SELF_CONFIGURING_RED_BELOW,
	SELF_CONFIGURING_RED_BETWEEN,
	SELF_CONFIGURING_RED_ABOVE
};

AQM_PARAMS(self_configuring_red, SELF_CONFIGURING_RED_PARAMS)

struct self_configuring_red_config {
	struct red_config red;
	s64 alpha, beta;	/* Q31.32 */
};

struct self_configuring_red_state {
	struct moving_red_state moving;
	enum self_configuring_red_status status;
};

static inline u32
self_configuring_red_configure(const struct self_configuring_red_params *p,
			       struct self_configuring_red_config *config)
{
	struct red_params red = MOVING_RED_START(p);

	AQM_OBEY(SELF_CONFIGURING_RED_RULES);
	config->alpha = p->alpha;
	config->beta = p->beta;
	return red_configure(&red, &config->red);
}

/* Feng et al. 1999, figure 3. */
static inline void
self_configuring_red_adapt(struct self_configuring_red_state *state,
			   const struct self_configuring_red_config *config)
{
	s64 average = red_average(&state->moving.red);
	s64 max_p = moving_red_max_p(&state->moving, &config->red);

	if (average > config->red.drop_function.min_th && average < config->red.drop_function.max_th) {
		state->status = SELF_CONFIGURING_RED_BETWEEN;
	} else if (average < config->red.drop_function.min_th &&
		   state->status != SELF_CONFIGURING_RED_BELOW) {
		state->status = SELF_CONFIGURING_RED_BELOW;
		max_p = fixed_div(max_p, config->alpha);
	} else if (average > config->red.drop_function.max_th &&
		   state->status != SELF_CONFIGURING_RED_ABOVE) {
		state->status = SELF_CONFIGURING_RED_ABOVE;
		max_p = fixed_mul(max_p, config->beta);
	}
	moving_red_set_max_p(&state->moving, &config->red, max_p);
}

static inline s64 self_configuring_red_average(const struct self_configuring_red_state *state)
{
	return red_average(&state->moving.red);
}

static inline s64
self_configuring_red_probability(const struct self_configuring_red_state *state,
				 const struct self_configuring_red_config *config)
{
	return moving_red_probability(&state->moving, &config->red);
}

static inline enum aqm_verdict
self_configuring_red_arrive(struct self_configuring_red_state *state,
			    const struct self_configuring_red_config *config,
			    const struct aqm_view *view)
{
	red_observe(&state->moving.red, &config->red, view);
	self_configuring_red_adapt(state, config);
	return red_decide(&state->moving.red, &config->red,
			  self_configuring_red_probability(state, config), view);
}

AQM_RULES(self_configuring_red, SELF_CONFIGURING_RED_RULES)
AQM_AVERAGE(self_configuring_red)
AQM_PROBABILITY(self_configuring_red)
AQM_CLASS(self_configuring_red, SELF_CONFIGURING_RED_PARAMS,
	.title = "S-RED: self-configuring RED",
	.source = "Feng et al. 1999 (INFOCOM)",
	.summary = "RED that scales max_p whenever the average leaves the thresholds' range.",
	AQM_RULED(self_configuring_red),
	.average = self_configuring_red_average_any,
	.probability = self_configuring_red_probability_any)

#endif
