/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* CAKE's parameters, and what they are for each tin. Linux, net/sched/sch_cake.c: cake_set_rate(). */
#ifndef SLUICEGATE_CAKE_CONFIG_H
#define SLUICEGATE_CAKE_CONFIG_H

#include "cake_flows.h"
#include "cake_shaper.h"
#include "cake_tins.h"

#define CAKE_PARAMS(P)                                                                    \
	P(rate_bps, RATE, 0, 0, 1e15, "",                                                 \
	  "rate to which it shapes; 0: it does not, the link sets the pace", "tc-cake: bandwidth") \
	P(diffserv, CHOICE(besteffort|precedence|diffserv3|diffserv4|diffserv8),          \
	  CAKE_DIFFSERV3, 0, 4, "", "tins, by differentiated services codepoint", "tc-cake") \
	P(isolation, CHOICE(flowblind|srchost|dsthost|hosts|flows|dual_srchost|dual_dsthost|triple_isolate), \
	  7, 0, 7, "", "what counts as a flow, and among which hosts flows share", "tc-cake") \
	P(rtt, SECONDS, 0.1, 1e-6, 4, "",                                                 \
	  "COBALT's interval: a long round trip", "tc-cake: rtt")                         \
	P(target, SECONDS, 0.005, 1e-6, 4, "",                                            \
	  "COBALT's target; slow tins have a longer one", "sch_cake.c: 5 ms, or rtt / 20") \
	P(queues, COUNT, 1024, 8, 8192, "", "flow queues in each tin, a multiple of 8",   \
	  "sch_cake.c: CAKE_QUEUES")                                                      \
	P(overhead_bytes, COUNT, 0, -64, 256, "",                                         \
	  "what the link adds to a packet, bytes; may be negative", "tc-cake: overhead")  \
	P(mpu_bytes, BYTES, 0, 0, 256, "", "what a packet takes on the link at least",    \
	  "tc-cake: mpu")                                                                 \
	P(framing, CHOICE(noatm|atm|ptm), CAKE_NOATM, 0, 2, "",                           \
	  "cells of 53 bytes with 48 of the packet, or 65 bytes for 64", "tc-cake")       \
	P(ingress, SWITCH, 0, 0, 1, "",                                                   \
	  "whether packets that are dropped count for the shaper, too", "tc-cake: ingress") \
	P(ack_filter, CHOICE(off|on|aggressive), 0, 0, 2, "",                             \
	  "whether ACKs that a newer one makes needless are removed from a queue",        \
	  "tc-cake: ack-filter")                                                          \
	P(mtu_bytes, BYTES, 1514, 64, 65535, "",                                          \
	  "the largest packet; its time on the link bounds target and interval",          \
	  "sch_cake.c: psched_mtu()")

#define CAKE_RULES(R) \
	R(!p->rate_bps || p->rate_bps >= 1000, rate_bps,                                 \
	  "must be 0 or at least 1000, so that each tin has a share", )           \
	R(p->queues % CAKE_WAYS == 0, queues, "must be a multiple of 8", ) \
	R(p->rtt > p->target, rtt, "must exceed", target)

AQM_PARAMS(cake, CAKE_PARAMS)

struct cake_tin_config {
	struct cobalt_law law;
	struct cake_rate rate;
	s64 quantum;		/* of a flow, bytes */
	s64 weight;		/* of the tin, bytes */
};

struct cake_config {
	struct cake_tin_config tins[CAKE_MOST_TINS];
	struct cake_link link;
	enum cake_diffserv diffserv;
	enum aqm_ack_filter ack_filter;
	u32 isolation, queues, is_shaped, is_ingress, unused;
};

static inline u32 cake_configure(const struct cake_params *p, struct cake_config *config)
{
	u64 rate, whole = (u64)p->rate_bps / 8;
	u32 tin, weight = 0;

	AQM_OBEY(CAKE_RULES);
	config->diffserv = (enum cake_diffserv)p->diffserv;
	config->isolation = (u32)p->isolation;
	config->queues = (u32)p->queues;
	config->is_shaped = whole > 0;
	config->is_ingress = (u32)p->ingress;
	config->ack_filter = (enum aqm_ack_filter)p->ack_filter;
	config->unused = 0;
	config->link.overhead_bytes = p->overhead_bytes;
	config->link.least_bytes = (u32)p->mpu_bytes;
	config->link.framing = (enum cake_framing)p->framing;
	for (tin = 0; tin < CAKE_MOST_TINS; tin++) {
		struct cake_tin_config *of = &config->tins[tin];

		rate = cake_share(config->diffserv, tin, whole, &weight);
		of->rate = cake_rate_of(config->is_shaped && !rate ? 1 : rate);
		of->quantum = !config->is_shaped || rate >> 12 > 1514 ? 1514
			    : rate >> 12 < 300 ? 300 : (s64)(rate >> 12);
		of->weight = weight ? weight : 1;
		of->law.target_ns = (u64)p->target;
		of->law.interval_ns = (u64)p->rtt;
		of->law.p_inc = FIXED_ONE >> 8;
		of->law.p_dec = FIXED_ONE >> 12;
		of->law.first_root = 0;
		cobalt_fit(&of->law, cake_time_ns(&of->rate, (u32)p->mtu_bytes));
	}
	return 0;
}

#endif
