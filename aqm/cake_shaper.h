/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * CAKE's shaper: a virtual clock for the whole link and one for each tin. A packet moves a clock on
 * by the time that it takes on the link, with its framing. It needs no bucket, and so no burst.
 *
 * Linux, net/sched/sch_cake.c: cake_set_rate(), cake_calc_overhead(), cake_advance_shaper().
 */
#ifndef SLUICEGATE_CAKE_SHAPER_H
#define SLUICEGATE_CAKE_SHAPER_H

#include "aqm.h"

enum cake_framing { CAKE_NOATM, CAKE_ATM, CAKE_PTM };

/* Time for a byte: ns / 2^shift. Without a rate it is 0. */
struct cake_rate {
	u64 byte_ns;
	u32 shift;
};

/* What a link adds to a packet. */
struct cake_link {
	s64 overhead_bytes;
	u32 least_bytes;
	enum cake_framing framing;
};

/* more than a rate of 64 bytes/s needs */
#define CAKE_MOST_SHIFTS 30

/* `rate` in bytes per second, 0: without a limit. */
static inline struct cake_rate cake_rate_of(u64 rate)
{
	struct cake_rate of = { 0, 0 };
	u32 step;

	if (!rate)
		return of;
	of.shift = 34;
	of.byte_ns = (1000000000ULL << 34) / (rate < 64 ? 64 : rate);
	for (step = 0; step < CAKE_MOST_SHIFTS && of.byte_ns >> 34; step++) {
		of.byte_ns >>= 1;
		of.shift--;
	}
	return of;
}

static inline u64 cake_time_ns(const struct cake_rate *rate, u32 bytes)
{
	return bytes * rate->byte_ns >> rate->shift;
}

/* Bytes of a packet on the link: cells of 53 bytes hold 48; PTM adds a byte to 64. */
static inline u32 cake_framed(const struct cake_link *link, u32 bytes)
{
	s64 length = bytes + link->overhead_bytes;
	u32 framed = length < link->least_bytes ? link->least_bytes : (u32)length;

	if (link->framing == CAKE_ATM)
		return (framed + 47) / 48 * 53;
	if (link->framing == CAKE_PTM)
		return framed + (framed + 63) / 64;
	return framed;
}

/* Moves the clock of a tin, which was at `clock_ns`, on. */
static inline u64 cake_tin_clock(u64 clock_ns, u64 now_ns, u64 time_ns)
{
	if (clock_ns < now_ns)
		return clock_ns + time_ns;
	return clock_ns < now_ns + time_ns ? now_ns + time_ns : clock_ns;
}

#endif
