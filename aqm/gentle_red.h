/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Gentle RED: RED whose drop function does not jump to 1 at max_th.
 *
 * S. Floyd, "Recommendation on using the gentle variant of RED", 2000; max_p = 0.1
 * from S. Floyd, "RED: Discussions of setting parameters", 1997.
 */
#ifndef SLUICEGATE_GENTLE_RED_H
#define SLUICEGATE_GENTLE_RED_H

#include "red.h"

AQM_PRESET(gentle_red, red, "Gentle RED", "Floyd 2000",
	"RED whose drop probability climbs to 1 between max_th and twice max_th.",
	{ "drop_function", DROP_FUNCTION_GENTLE }, { "max_p", 0.1 })

#endif
