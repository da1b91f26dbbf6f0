/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * CAKE's tins: classes of service by differentiated services codepoint, each with a share of the
 * rate up to which it goes before the others, and a weight.
 *
 * Linux, net/sched/sch_cake.c: the tables precedence[], diffserv8[], diffserv4[], diffserv3[], and
 * cake_config_*(). RFC 4594 and RFC 8622 name the codepoints.
 */
#ifndef SLUICEGATE_CAKE_TINS_H
#define SLUICEGATE_CAKE_TINS_H

#include "aqm.h"

#define CAKE_MOST_TINS 8

enum cake_diffserv {
	CAKE_BESTEFFORT, CAKE_PRECEDENCE, CAKE_DIFFSERV3, CAKE_DIFFSERV4, CAKE_DIFFSERV8
};

static inline u32 cake_tins_of(enum cake_diffserv diffserv)
{
	switch (diffserv) {
	case CAKE_BESTEFFORT:
		return 1;
	case CAKE_DIFFSERV3:
		return 3;
	case CAKE_DIFFSERV4:
		return 4;
	default:
		return 8;
	}
}

/* Tin 0 best effort, 1 bulk (CS1, LE), 2 voice (TOS4, VA, EF, CS6, CS7). */
static inline u32 cake_diffserv3(u32 dscp)
{
	switch (dscp) {
	case 1: case 8:
		return 1;
	case 4: case 44: case 46: case 48: case 56:
		return 2;
	default:
		return 0;
	}
}

/*
 * Tin 0 best effort, 1 bulk (CS1, LE), 2 video (TOS4, CS2, CS3, AF2x, AF3x, AF4x), 3 voice (CS4 to
 * CS7, VA, EF).
 */
static inline u32 cake_diffserv4(u32 dscp)
{
	switch (dscp) {
	case 1: case 8:
		return 1;
	case 4: case 16: case 18: case 20: case 22: case 24: case 26: case 28: case 30: case 34:
	case 36: case 38:
		return 2;
	case 32: case 40: case 44: case 46: case 48: case 56:
		return 3;
	default:
		return 0;
	}
}

/*
 * Tin 0 background (LE), 1 high throughput (CS1, AF1x, TOS2), 2 all else, 3 video (CS3, AF3x,
 * AF4x), 4 low latency (TOS4, AF2x), 5 shell (CS2), 6 voice (CS4, CS5, VA, EF), 7 network (CS6, CS7).
 */
static inline u32 cake_diffserv8(u32 dscp)
{
	switch (dscp) {
	case 1:
		return 0;
	case 2: case 8: case 10: case 12: case 14:
		return 1;
	case 24: case 26: case 28: case 30: case 34: case 36: case 38:
		return 3;
	case 4: case 18: case 20: case 22:
		return 4;
	case 16:
		return 5;
	case 32: case 40: case 44: case 46:
		return 6;
	case 48: case 56:
		return 7;
	default:
		return 2;
	}
}

static inline u32 cake_tin_for(enum cake_diffserv diffserv, u32 dscp)
{
	switch (diffserv) {
	case CAKE_BESTEFFORT:
		return 0;
	case CAKE_PRECEDENCE:
		return dscp >> 3;
	case CAKE_DIFFSERV3:
		return cake_diffserv3(dscp);
	case CAKE_DIFFSERV4:
		return cake_diffserv4(dscp);
	default:
		return cake_diffserv8(dscp);
	}
}

/*
 * The rate of a tin up to which it goes before others, of `rate`, and its weight. Precedence and
 * diffserv8: each tin has 7/8 of the one before it.
 */
static inline u64 cake_share(enum cake_diffserv diffserv, u32 tin, u64 rate, u32 *quantum)
{
	u32 shift = tin == 1 ? 4 : tin == 0 ? 0 : diffserv == CAKE_DIFFSERV4 && tin == 2 ? 1 : 2;
	u32 step;

	if (diffserv == CAKE_BESTEFFORT) {
		*quantum = 65535;
		return rate;
	}
	if (diffserv == CAKE_DIFFSERV3 || diffserv == CAKE_DIFFSERV4) {
		*quantum = 1024 >> shift;
		return rate >> shift;
	}
	*quantum = 256;
	for (step = 0; step < CAKE_MOST_TINS && step < tin; step++) {
		rate = rate * 7 >> 3;
		*quantum = *quantum * 7 >> 3;
	}
	return rate;
}

#endif
