/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Lists of lanes in the order of their turns, for schedulers that serve lanes in rounds. A lane
 * is in one list at most. The lists are linked by the numbers of the lanes.
 */
#ifndef SLUICEGATE_ACTIVE_LIST_H
#define SLUICEGATE_ACTIVE_LIST_H

#include "scheduler.h"

struct active_list {
	u32 first, last, count;
};

/* A lane that can be in a list. */
struct active_lane {
	struct aqm_lane waits;
	s64 credit_bytes;	/* that it may still send */
	u32 next;		/* the number of the next lane in its list */
	u32 is_listed;
};

static inline struct active_lane *active_lane_at(struct aqm_lanes *lanes, u32 number)
{
	return (struct active_lane *)aqm_lane_at(lanes, number);
}

static inline void active_list_append(struct active_list *list, struct aqm_lanes *lanes, u32 number)
{
	struct active_lane *last = list->count ? active_lane_at(lanes, list->last) : 0;

	if (last)
		last->next = number;
	else
		list->first = number;
	list->last = number;
	list->count++;
}

/* Adds a lane to a list if it is in none; returns 1 if it was in none. */
static inline u32 active_list_add(struct active_list *list, struct aqm_lanes *lanes, u32 number)
{
	struct active_lane *lane = active_lane_at(lanes, number);

	if (!lane || lane->is_listed)
		return 0;
	lane->is_listed = 1;
	active_list_append(list, lanes, number);
	return 1;
}

/* Moves the first lane of a list to the end of `to`, or out of all lists if `to` is null. */
static inline void active_list_move_first(struct active_list *from, struct active_list *to,
				    struct aqm_lanes *lanes, u32 number,
				    struct active_lane *lane)
{
	from->first = lane->next;
	from->count--;
	if (to)
		active_list_append(to, lanes, number);
	else
		lane->is_listed = 0;
}

/*
 * The longest lane of two lists, where the arriving packet counts as the last one of its lane,
 * `own`; in bytes, or in packets. The first of the longest ones, `own` before others.
 */
static inline u32 active_list_longest(const struct active_list *one, const struct active_list *other,
				struct aqm_lanes *lanes, u32 own, u32 bytes, u32 in_bytes)
{
	const struct active_lane *lane = active_lane_at(lanes, own);
	u32 found = own, number = one->first;
	u64 most, length;

	if (!lane)
		return own;
	most = in_bytes ? lane->waits.bytes + bytes : lane->waits.packets + 1ULL;
	AQM_UP_TO(one->count + other->count) {
		if ((u32)turn == one->count)
			number = other->first;
		lane = active_lane_at(lanes, number);
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
