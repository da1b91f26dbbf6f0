/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The unit in which a controller sees its queue: packets, or bytes.
 *
 * With bytes, lengths are still given in packets of the mean size. A packet's weight is its
 * size divided by the mean size, and its drop probability is proportional to its weight.
 * S. Floyd, "RED: Discussions of byte and packet modes", 1997.
 */
#ifndef SLUICEGATE_UNIT_H
#define SLUICEGATE_UNIT_H

#include "fixed.h"

enum unit { UNIT_PACKETS, UNIT_BYTES };

/* `when` applies to mean_packet_bytes. */
#define UNIT_PARAMS(P, when)                                                              \
	P(unit, CHOICE(packets|bytes), UNIT_PACKETS, 0, 1, "",                            \
	  "what is counted; in bytes, larger packets are dropped more often", "Floyd 1997") \
	P(mean_packet_bytes, BYTES, 500, 1, 65535, when,                                  \
	  "packet size that makes bytes into packets", "Floyd 1997")

struct unit_config {
	u64 mean_packet_bytes;
	u32 in_bytes;
};

static inline void unit_configure(struct unit_config *c, s64 unit, s64 mean_packet_bytes)
{
	c->in_bytes = unit == UNIT_BYTES;
	c->mean_packet_bytes = (u64)mean_packet_bytes;
}

/* Returns bytes as packets of the mean size, Q31.32, rounded down. */
static inline s64 unit_from_bytes(const struct unit_config *c, u64 bytes)
{
	u64 whole = bytes / c->mean_packet_bytes, rest = bytes % c->mean_packet_bytes;

	if (whole >> 31)
		return FIXED_MAX;
	return (s64)(whole << 32 | (rest << 32) / c->mean_packet_bytes);
}

/* Returns the queue in packets, or in packets of the mean size, Q31.32. */
static inline s64 unit_queue(const struct unit_config *c, const struct aqm_view *view)
{
	return c->in_bytes ? unit_from_bytes(c, view->queue_bytes)
			   : fixed_from_u32(view->queue_packets);
}

/* Returns the weight of the view's packet, Q31.32. */
static inline s64 unit_weight(const struct unit_config *c, const struct aqm_view *view)
{
	return c->in_bytes ? unit_from_bytes(c, view->packet_bytes) : FIXED_ONE;
}

/* True with probability p (Q31.32) times the packet's weight. */
static inline u32 unit_happens(const struct unit_config *c, s64 p,
			       const struct aqm_view *view)
{
	return aqm_happens(fixed_mul(p, unit_weight(c, view)), view->random);
}

#endif
