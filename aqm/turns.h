/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Lists of lanes in the order of their turns, for schedulers that serve lanes in rounds. A lane
 * is in one list at most. The lists are linked by the numbers of the lanes.
 */
#ifndef SLUICEGATE_TURNS_H
#define SLUICEGATE_TURNS_H

#include "scheduler.h"

struct turns {
	u32 first, last, count;
};

/* A lane that takes turns. */
struct turns_lane {
	struct aqm_lane waits;
	s64 credit_bytes;	/* that it may still send */
	u32 next;		/* the number of the next lane in its list */
	u32 is_listed;
};

static inline struct turns_lane *turns_lane_at(struct aqm_lanes *lanes, u32 number)
{
	return (struct turns_lane *)aqm_lane_at(lanes, number);
}

static inline void turns_append(struct turns *turns, struct aqm_lanes *lanes, u32 number)
{
	struct turns_lane *last = turns->count ? turns_lane_at(lanes, turns->last) : 0;

	if (last)
		last->next = number;
	else
		turns->first = number;
	turns->last = number;
	turns->count++;
}

/* Adds a lane to a list if it is in none; returns 1 if it was in none. */
static inline u32 turns_wake(struct turns *turns, struct aqm_lanes *lanes, u32 number)
{
	struct turns_lane *lane = turns_lane_at(lanes, number);

	if (!lane || lane->is_listed)
		return 0;
	lane->is_listed = 1;
	turns_append(turns, lanes, number);
	return 1;
}

/* Moves the first lane of a list to the end of `to`, or out of all lists if `to` is null. */
static inline void turns_move_first(struct turns *from, struct turns *to,
				    struct aqm_lanes *lanes, u32 number,
				    struct turns_lane *lane)
{
	from->first = lane->next;
	from->count--;
	if (to)
		turns_append(to, lanes, number);
	else
		lane->is_listed = 0;
}

/*
 * The longest lane of two lists, where the arriving packet counts as the last one of its lane,
 * `own`; in bytes, or in packets. The first of the longest ones, `own` before others.
 */
static inline u32 turns_longest(const struct turns *one, const struct turns *other,
				struct aqm_lanes *lanes, u32 own, u32 bytes, u32 in_bytes)
{
	const struct turns_lane *lane = turns_lane_at(lanes, own);
	u32 found = own, number = one->first;
	u64 most, length;

	if (!lane)
		return own;
	most = in_bytes ? lane->waits.bytes + bytes : lane->waits.packets + 1ULL;
	AQM_UP_TO(one->count + other->count) {
		if ((u32)turn == one->count)
			number = other->first;
		lane = turns_lane_at(lanes, number);
		if (!lane)
			break;
		length = in_bytes ? lane->waits.bytes : lane->waits.packets;
		if (number != own && length > most) {
			most = length;
			found = number;
		}
		number = lane->next;
	}
	return found;
}

#endif
