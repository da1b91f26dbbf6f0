/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Classes of service, one lane each: which class a packet belongs to, by its differentiated services
 * codepoint and its ECN codepoint. The first class that takes both has the packet; the last one takes
 * all that no other does.
 *
 * S. Blake et al., RFC 2475, "An architecture for differentiated services", section 2.3.1: the
 * behaviour aggregate classifier.
 *
 * The parameters are a set of codepoints for each class, a bit each. A scenario's table of classes
 * makes them, so that users need not write them.
 */
#ifndef SLUICEGATE_CLASS_MAP_H
#define SLUICEGATE_CLASS_MAP_H

#include "scheduler.h"

/* As in Linux: TCQ_PRIO_BANDS, TCQ_ETS_MAX_BANDS. */
#define CLASS_MAP_MOST 16

#define CLASS_MAP_TIMES(DO)                                                                \
	DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7)                                    \
	DO(8) DO(9) DO(10) DO(11) DO(12) DO(13) DO(14) DO(15)

/*
 * A loop over the first `count` classes. In the kernel it costs less than AQM_UP_TO, which calls a
 * function for each turn; the verifier follows all turns, so what is done in one must be little.
 */
#define CLASS_MAP_UP_TO(count)                                                             \
	for (u32 turn = 0; turn < CLASS_MAP_MOST && turn < (count); turn++)

#define CLASS_MAP_SETS(P, n)                                                               \
	P(dscp_low_##n, COUNT, 0, 0, 4294967295.0, "classes",                              \
	  "DSCPs 0 to 31 of a class, a bit each", "RFC 2474")                              \
	P(dscp_high_##n, COUNT, 0, 0, 4294967295.0, "classes",                             \
	  "DSCPs 32 to 63 of a class, a bit each", "RFC 2474")                             \
	P(ecn_##n, COUNT, 0, 0, 15, "classes",                                             \
	  "ECN codepoints of a class, a bit each", "RFC 3168")

#define CLASS_MAP_PARAMS(P)                                                                \
	P(classes, COUNT, 1, 1, CLASS_MAP_MOST, "classes", "number of classes", "")        \
	CLASS_MAP_SETS(P, 0) CLASS_MAP_SETS(P, 1) CLASS_MAP_SETS(P, 2) CLASS_MAP_SETS(P, 3) \
	CLASS_MAP_SETS(P, 4) CLASS_MAP_SETS(P, 5) CLASS_MAP_SETS(P, 6) CLASS_MAP_SETS(P, 7) \
	CLASS_MAP_SETS(P, 8) CLASS_MAP_SETS(P, 9) CLASS_MAP_SETS(P, 10)                    \
	CLASS_MAP_SETS(P, 11) CLASS_MAP_SETS(P, 12) CLASS_MAP_SETS(P, 13)                  \
	CLASS_MAP_SETS(P, 14) CLASS_MAP_SETS(P, 15)

struct class_map {
	u64 dscps[CLASS_MAP_MOST];	/* bit d: DSCP d */
	u32 ecns[CLASS_MAP_MOST];	/* bit e: ECN codepoint e */
	u32 classes, unused;
};

/* Makes the map `to` from the parameters `from` of a scheduler. */
#define CLASS_MAP_TAKE(n)                                                                  \
	map_->dscps[n] = (u64)of_->dscp_high_##n << 32 | (u64)of_->dscp_low_##n;           \
	map_->ecns[n] = (u32)of_->ecn_##n;
#define CLASS_MAP_CONFIGURE(to, from, type)                                                \
	do {                                                                               \
		struct class_map *map_ = (to);                                             \
		const type *of_ = (from);                                                  \
		CLASS_MAP_TIMES(CLASS_MAP_TAKE)                                            \
		map_->classes = (u32)of_->classes;                                         \
		map_->unused = 0;                                                          \
	} while (0)

/* The class of the view's packet. */
static inline u32 class_map_find(const struct class_map *map, const struct aqm_view *view)
{
	u32 dscp = aqm_dscp(view), ecn = aqm_ecn(view), found = map->classes - 1;

	CLASS_MAP_UP_TO(map->classes) {
		if ((map->dscps[turn] >> dscp & 1) && (map->ecns[turn] >> ecn & 1)) {
			found = turn;
			break;
		}
	}
	return found;
}

/*
 * The first or the last of the `strict` lanes, which come first, in which packets wait; AQM_NO_LANE if
 * none does. A lane begins with a struct aqm_lane.
 */
static inline u32 class_map_strict(u32 strict, struct aqm_lanes *lanes, u32 is_first)
{
	const struct aqm_lane *lane;
	u32 found = AQM_NO_LANE;

	CLASS_MAP_UP_TO(strict) {
		lane = (const struct aqm_lane *)aqm_lane_at(lanes, turn);
		if (lane && lane->packets) {
			found = turn;
			if (is_first)
				break;
		}
	}
	return found;
}

#endif
