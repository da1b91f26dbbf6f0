/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A table: drops by chance, with a probability for each step of the delay that waits before the
 * link. An AQM to be searched or learned.
 */
#include "fixed.h"

#define DELAY_TABLE_PARAMS(P)                                                     \
	P(step, SECONDS, 0.005, 1e-4, 1, "", "delay from one probability to the next", \
	  "sluice")                                                                \
	P(p1, RATIO, 0.001, 0, 1, "", "drop probability from one step on", "sluice") \
	P(p2, RATIO, 0.01, 0, 1, "", "from two steps on", "sluice")               \
	P(p3, RATIO, 0.03, 0, 1, "", "from three steps on", "sluice")             \
	P(p4, RATIO, 0.1, 0, 1, "", "from four steps on", "sluice")               \
	P(p5, RATIO, 0.3, 0, 1, "", "from five steps on", "sluice")

AQM_PARAMS(delay_table, DELAY_TABLE_PARAMS)

struct delay_table_config {
	u64 step_ns;
	s64 p[6];	/* Q31.32 */
};

struct delay_table_state {};

static inline u32 delay_table_configure(const struct delay_table_params *p,
					struct delay_table_config *config)
{
	config->step_ns = p->step;
	config->p[0] = 0;
	config->p[1] = p->p1;
	config->p[2] = p->p2;
	config->p[3] = p->p3;
	config->p[4] = p->p4;
	config->p[5] = p->p5;
	return 0;
}

static inline enum aqm_verdict delay_table_arrive(struct delay_table_state *state,
						  const struct delay_table_config *config,
						  const struct aqm_view *view)
{
	u64 delay_ns = 0, place;

	(void)state;
	if (view->rate_bps)
		delay_ns = view->queue_bytes * 8000000000ULL / view->rate_bps;
	place = delay_ns / config->step_ns;
	if (place > 5)
		place = 5;
	return aqm_happens(config->p[place], view->random) ? AQM_DROP_EARLY : AQM_ADMIT;
}

AQM_CLASS(delay_table, DELAY_TABLE_PARAMS,
	.title = "A table by delay",
	.source = "sluice",
	.summary = "Drops with a probability for each step of the queue's delay.")
