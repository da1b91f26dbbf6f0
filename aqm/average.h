/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Averaging filters of the RED family: from the queue that each arriving packet finds
 * to the average that the drop function works on.
 *
 *   ewma        A(n) = (1 - w) A(n-1) + w Q(n)
 *               Floyd & Jacobson 1993, section IV
 *   difference  A(n) = a1 A(n-1) + a2 A(n-2) + a3 A(n-3)
 *                    + b0 Q(n) + b1 Q(n-1) + b2 Q(n-2) + b3 Q(n-3)
 *               Domanska et al. 2014 (REDwM), equation (3); b0 follows from
 *               equation (4): all coefficients sum to 1
 *   lpf_oda     ewma; but once low_arrivals packets in a row found fewer than
 *               low_queue waiting, the average is halved at each arrival until it is
 *               below min_th. Zheng & Atiquzzaman 2002, figure 2
 */
#ifndef SLUICEGATE_AVERAGE_H
#define SLUICEGATE_AVERAGE_H

#include "fixed.h"

enum average_filter { AVERAGE_EWMA, AVERAGE_DIFFERENCE, AVERAGE_LPF_ODA };

#define AVERAGE_LAGS 3

struct average_config {
	s64 w;				/* Q31.32, as all that follow */
	s64 a[AVERAGE_LAGS], b[AVERAGE_LAGS + 1];
	s64 low_queue, min_th;
	s64 low_arrivals;
	enum average_filter filter;
};

struct average_state {
	s64 average[AVERAGE_LAGS];	/* A(n), A(n-1), A(n-2), Q31.32 */
	s64 queue[AVERAGE_LAGS];	/* Q(n), Q(n-1), Q(n-2), Q31.32 */
	s64 low;			/* consecutive arrivals that found a low queue */
};

static inline void average_ewma(struct average_state *s, const struct average_config *c,
				s64 queue)
{
	s->average[0] += fixed_share(queue - s->average[0], c->w);
}

static inline void average_difference(struct average_state *s,
				      const struct average_config *c, s64 queue)
{
	s64 sum = fixed_mul(c->b[0], queue);
	u32 lag;

	for (lag = 0; lag < AVERAGE_LAGS; lag++)
		sum += fixed_mul(c->a[lag], s->average[lag]) +
		       fixed_mul(c->b[lag + 1], s->queue[lag]);
	for (lag = AVERAGE_LAGS - 1; lag > 0; lag--) {
		s->average[lag] = s->average[lag - 1];
		s->queue[lag] = s->queue[lag - 1];
	}
	s->average[0] = sum;
	s->queue[0] = queue;
}

/* Over drop avoidance: true if congestion is over while the average is still high. */
static inline u32 average_is_over(struct average_state *s, const struct average_config *c,
				  s64 queue)
{
	s->low = queue < c->low_queue ? s->low + 1 : 0;
	return s->low >= c->low_arrivals && s->average[0] >= c->min_th;
}

static inline void average_lpf_oda(struct average_state *s, const struct average_config *c,
				   s64 queue)
{
	if (average_is_over(s, c, queue))
		s->average[0] >>= 1;
	else
		average_ewma(s, c, queue);
}

/*
 * Updates the average for an arrival that found `queue` packets waiting (Q31.32, below
 * 2^30), and returns it.
 */
static inline s64 average_update(struct average_state *s, const struct average_config *c,
				 s64 queue)
{
	switch (c->filter) {
	case AVERAGE_EWMA:
		average_ewma(s, c, queue);
		break;
	case AVERAGE_DIFFERENCE:
		average_difference(s, c, queue);
		break;
	case AVERAGE_LPF_ODA:
		average_lpf_oda(s, c, queue);
		break;
	}
	return s->average[0];
}

/*
 * Updates the average for an arrival that found the link idle. Floyd & Jacobson 1993,
 * section IV: m small packets could have left during the idle time; the average decays as
 * if each had found an empty queue. LPF/ODA counts this arrival as one that found a low
 * queue.
 */
static inline void average_idle(struct average_state *s, const struct average_config *c,
				u64 m)
{
	s->average[0] = fixed_share(s->average[0], fixed_pow(FIXED_ONE - c->w, m));
	if (c->filter == AVERAGE_LPF_ODA && average_is_over(s, c, 0))
		s->average[0] >>= 1;
}

#endif
