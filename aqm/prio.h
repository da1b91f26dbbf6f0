/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Strict priority: each class of service has a lane, and the first lane in which packets wait sends.
 * Lanes behind it get what it leaves, which may be nothing: they starve while it can fill the link.
 * When the buffer is full, the last lane in which packets wait loses one.
 *
 * Linux, net/sched/sch_prio.c. There each band has a limit of its own.
 */
#ifndef SLUICEGATE_PRIO_H
#define SLUICEGATE_PRIO_H

#include "class_map.h"

#define PRIO_PARAMS(P) CLASS_MAP_PARAMS(P)

AQM_PARAMS(prio, PRIO_PARAMS)

struct prio_config {
	struct class_map map;
};

struct prio_state {
	u32 unused;
};

struct prio_lane {
	struct aqm_lane waits;
};

static inline u32 prio_configure(const struct prio_params *p, struct prio_config *config)
{
	CLASS_MAP_CONFIGURE(&config->map, p, struct prio_params);
	return 0;
}

static inline u32 prio_lanes(const struct prio_config *config)
{
	return config->map.classes;
}

static inline u32 prio_wants_random(const struct prio_state *state,
				    const struct prio_config *config, const struct aqm_view *view)
{
	(void)state, (void)config, (void)view;
	return 0;
}

static inline u32 prio_classify(struct prio_state *state, const struct prio_config *config,
				struct aqm_lanes *lanes, const struct aqm_view *view)
{
	(void)state, (void)lanes;
	return class_map_find(&config->map, view);
}

static inline void prio_joined(struct prio_state *state, const struct prio_config *config,
			       struct aqm_lanes *lanes, u32 number)
{
	(void)state, (void)config, (void)lanes, (void)number;
}

/* prio_dequeue(). */
static inline u32 prio_next(struct prio_state *state, const struct prio_config *config,
			    struct aqm_lanes *lanes, u64 now_ns)
{
	const struct prio_lane *lane;
	u32 found = AQM_NO_LANE;

	(void)state, (void)now_ns;
	CLASS_MAP_UP_TO(config->map.classes) {
		lane = aqm_lane_at(lanes, turn);
		if (lane && lane->waits.packets) {
			found = turn;
			break;
		}
	}
	return found;
}

static inline void prio_sent(struct prio_state *state, const struct prio_config *config,
			     struct aqm_lanes *lanes, u32 number, u32 bytes)
{
	(void)state, (void)config, (void)lanes, (void)number, (void)bytes;
}

static inline u32 prio_victim(const struct prio_state *state, const struct prio_config *config,
			      struct aqm_lanes *lanes, u32 own, u32 bytes)
{
	const struct prio_lane *lane;
	u32 found = own;

	(void)state, (void)bytes;
	CLASS_MAP_UP_TO(config->map.classes) {
		lane = aqm_lane_at(lanes, turn);
		if (turn > own && lane && lane->waits.packets)
			found = turn;
	}
	return found;
}

AQM_SCHEDULER(prio, PRIO_PARAMS,
	.title = "Strict priority",
	.source = "Linux: sch_prio.c",
	.summary = "The first class of service in which packets wait sends. Classes behind it may "
		   "starve.")

#endif
