/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Drop-tail: no active queue management. Every packet is admitted; a packet is dropped
 * only at the limit of the buffer. The baseline of every comparison.
 */
#ifndef SLUICEGATE_DROP_TAIL_H
#define SLUICEGATE_DROP_TAIL_H

#include "aqm.h"

#define DROP_TAIL_PARAMS(P)
AQM_PARAMS(drop_tail, DROP_TAIL_PARAMS)

struct drop_tail_config {};
struct drop_tail_state {};

static inline u32 drop_tail_configure(const struct drop_tail_params *p,
				      struct drop_tail_config *config)
{
	(void)p, (void)config;
	return 0;
}

static inline enum aqm_verdict drop_tail_arrive(struct drop_tail_state *state,
						const struct drop_tail_config *config,
						const struct aqm_view *view)
{
	(void)state, (void)config, (void)view;
	return AQM_ADMIT;
}

static inline s64 drop_tail_drop_probability(const struct drop_tail_config *config,
					     s64 average)
{
	(void)config, (void)average;
	return 0;
}
AQM_DROP_FUNCTION(drop_tail)

AQM_CLASS(drop_tail, DROP_TAIL_PARAMS,
	.title = "Drop-tail",
	.source = "RFC 2309, section 2",
	.summary = "Admits every packet until the buffer is full.",
	.drop_probability = drop_tail_drop_probability_any)

#endif
