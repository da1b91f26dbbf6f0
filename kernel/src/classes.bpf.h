/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The AQMs of classes of service as one: each lane has a config of its own, which says of which kind
 * its AQM is.
 *
 * kinds.h is written by classes.rs. It includes the headers of all kinds, and has lists of them:
 * KINDS(K) is K(number, name) for each, and KINDS_WITH_DEPART(K) and so on are those that have a
 * function, or want a candidate.
 */
#ifndef SLUICEGATE_CLASSES_BPF_H
#define SLUICEGATE_CLASSES_BPF_H

#include "kinds.h"

#define CLASSES_CONFIG(number, name) struct name##_config name;
#define CLASSES_STATE(number, name) struct name##_state name;

struct classes_config {
	u64 kind;	/* its number in KINDS */
	union {
		u64 least;
		KINDS(CLASSES_CONFIG)
	} own;
};

struct classes_state {
	union {
		u64 least;
		KINDS(CLASSES_STATE)
	} own;
};

#define CLASSES_ARRIVE(number, name) \
	case number:                 \
		return name##_arrive(&state->own.name, &config->own.name, view);

static inline enum aqm_verdict classes_arrive(struct classes_state *state,
					      const struct classes_config *config,
					      const struct aqm_view *view)
{
	switch (config->kind) {
		KINDS(CLASSES_ARRIVE)
	}
	return AQM_ADMIT;
}

#define CLASSES_DEPART(number, name) \
	case number:                 \
		return name##_depart(&state->own.name, &config->own.name, view);

static inline enum aqm_verdict classes_depart(struct classes_state *state,
					      const struct classes_config *config,
					      const struct aqm_view *view)
{
	switch (config->kind) {
		KINDS_WITH_DEPART(CLASSES_DEPART)
	}
	return AQM_ADMIT;
}

#define CLASSES_INTERVAL(number, name) \
	case number:                   \
		return name##_tick_interval_ns(&config->own.name);

/* 0: its AQM gets no ticks. */
static inline u64 classes_tick_interval_ns(const struct classes_config *config)
{
	switch (config->kind) {
		KINDS_WITH_TICK(CLASSES_INTERVAL)
	}
	return 0;
}

#define CLASSES_TICK(number, name)                                       \
	case number:                                                     \
		name##_tick(&state->own.name, &config->own.name, view); \
		break;

static inline void classes_tick(struct classes_state *state, const struct classes_config *config,
				const struct aqm_view *view)
{
	switch (config->kind) {
		KINDS_WITH_TICK(CLASSES_TICK)
	}
}

#define CLASSES_OCCUPANCY(number, name)                                               \
	case number:                                                                  \
		name##_occupancy(&state->own.name, &config->own.name, view, change); \
		break;

static inline void classes_occupancy(struct classes_state *state,
				     const struct classes_config *config,
				     const struct aqm_view *view, s64 change)
{
	switch (config->kind) {
		KINDS_WITH_OCCUPANCY(CLASSES_OCCUPANCY)
	}
}

#define CLASSES_YES(number, name) \
	case number:              \
		return 1;

static inline u32 classes_has_depart(const struct classes_config *config)
{
	switch (config->kind) {
		KINDS_WITH_DEPART(CLASSES_YES)
	}
	return 0;
}

static inline u32 classes_has_occupancy(const struct classes_config *config)
{
	switch (config->kind) {
		KINDS_WITH_OCCUPANCY(CLASSES_YES)
	}
	return 0;
}

static inline u32 classes_has_candidate(const struct classes_config *config)
{
	switch (config->kind) {
		KINDS_WITH_CANDIDATE(CLASSES_YES)
	}
	return 0;
}

#endif
