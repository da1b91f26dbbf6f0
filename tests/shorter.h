/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The AQM of test_user_aqm.py: a buffer shorter than the queue's limit. */
#ifndef SHORTER_H
#define SHORTER_H
#include "aqm.h"
#include "fixed.h"

#define SHORTER_PARAMS(P) \
	P(most, COUNT, 10, 0, 1000, "", "packets that may wait", "this test")

AQM_PARAMS(shorter, SHORTER_PARAMS)
struct shorter_config { s64 most; };
struct shorter_state { u32 unused; };

static inline u32 shorter_configure(const struct shorter_params *p, struct shorter_config *c)
{
	c->most = p->most;
	return 0;
}

static inline enum aqm_verdict shorter_arrive(struct shorter_state *s,
					      const struct shorter_config *c,
					      const struct aqm_view *view)
{
	(void)s;
	return (s64)view->queue_packets < c->most ? AQM_ADMIT : AQM_DROP_FORCED;
}

AQM_CLASS(shorter, SHORTER_PARAMS,
	.title = "Shorter buffer", .source = "this test", .summary = "Drops beyond most.")
#endif
