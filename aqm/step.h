/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Step: marks every packet above a threshold, as DCTCP and L4S ask for.
 *
 * M. Alizadeh et al., "Data center TCP (DCTCP)", SIGCOMM 2010, section 3.1; RFC 8257, section 3.1;
 * RFC 9332, section 2.5.1.1 (L4S).
 *
 *   of = delay     a packet that waited longer than `threshold`, as it leaves. With the scheduler `fq`
 *                  and not_ect = pass this is ce_threshold of Linux's qdisc fq, before flows that it
 *                  does not pace
 *   of = bytes     a packet that finds more than `threshold_bytes` waiting, as it arrives
 *   of = packets   likewise, more than `threshold_packets`
 *
 * What cannot be marked is dropped in its place, as by a RED whose thresholds are one, or passes.
 */
#ifndef SLUICEGATE_STEP_H
#define SLUICEGATE_STEP_H

#include "fixed.h"

enum step_of { STEP_DELAY, STEP_BYTES, STEP_PACKETS };
enum step_not_ect { STEP_DROP, STEP_PASS };

#define STEP_PARAMS(P)                                                                    \
	P(of, CHOICE(delay|bytes|packets), STEP_DELAY, 0, 2, "",                          \
	  "what has the threshold", "RFC 8257, sec. 3.1; RFC 9332, sec. 2.5.1.1")         \
	P(threshold, SECONDS, 0.001, 0, 10, "of=delay",                                   \
	  "delay above which packets are marked", "Linux, sch_dualpi2.c: step_thresh")    \
	P(threshold_bytes, BYTES, 30000, 0, 1e9, "of=bytes",                              \
	  "waiting bytes above which arriving packets are marked",                        \
	  "Alizadeh et al. 2010, sec. 3.4: K, 20 packets of 1500 bytes at 1 Gbit/s")      \
	P(threshold_packets, PACKETS, 20, 0, 1e6, "of=packets",                           \
	  "waiting packets above which arriving packets are marked",                      \
	  "Alizadeh et al. 2010, sec. 3.4: K at 1 Gbit/s")                                \
	P(not_ect, CHOICE(drop|pass), STEP_DROP, 0, 1, "",                                \
	  "what becomes of packets that cannot be marked",                                \
	  "drop: RFC 3168, sec. 5; pass: Linux, ce_threshold")

AQM_PARAMS(step, STEP_PARAMS)

struct step_config {
	u64 threshold_ns, threshold_bytes;
	s64 threshold_packets;	/* Q31.32 */
	enum step_of of;
	u32 passes;		/* what cannot be marked */
};

struct step_state {};

static inline u32 step_configure(const struct step_params *p, struct step_config *config)
{
	config->of = (enum step_of)p->of;
	config->threshold_ns = (u64)p->threshold;
	config->threshold_bytes = (u64)p->threshold_bytes;
	config->threshold_packets = p->threshold_packets;
	config->passes = p->not_ect == STEP_PASS;
	return 0;
}

static inline enum aqm_verdict step_above(const struct step_config *config,
					  const struct aqm_view *view, u32 is_above)
{
	return is_above && (view->ecn_capable || !config->passes) ? AQM_DROP_EARLY : AQM_ADMIT;
}

static inline enum aqm_verdict step_arrive(struct step_state *state,
					   const struct step_config *config,
					   const struct aqm_view *view)
{
	(void)state;
	if (config->of == STEP_BYTES)
		return step_above(config, view, view->queue_bytes > config->threshold_bytes);
	if (config->of == STEP_PACKETS)
		return step_above(config, view,
				  fixed_from_u32(view->queue_packets) > config->threshold_packets);
	return AQM_ADMIT;
}

static inline enum aqm_verdict step_depart(struct step_state *state,
					   const struct step_config *config,
					   const struct aqm_view *view)
{
	(void)state;
	return step_above(config, view, config->of == STEP_DELAY &&
					view->sojourn_ns > config->threshold_ns);
}

AQM_DEPART(step)
AQM_CLASS(step, STEP_PARAMS,
	.title = "Step: every packet above a threshold",
	.source = "RFC 8257",
	.summary = "Marks every packet that waited too long, or finds too many waiting: the shallow "
		   "threshold of DCTCP and L4S.",
	.depart = step_depart_any)

#endif
