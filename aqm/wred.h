/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * WRED, weighted RED: one average of the whole queue, and thresholds for each drop precedence.
 *
 * Cisco IOS, "Weighted random early detection"; Linux, net/sched/sch_gred.c, WRED mode.
 */
#ifndef SLUICEGATE_WRED_H
#define SLUICEGATE_WRED_H

#include "gred.h"

AQM_PRESET(wred, gred, "WRED: weighted RED", "Linux: sch_gred.c, WRED mode",
	"RED with thresholds of each drop precedence, and one average of the whole queue.",
	{ "averages", GRED_ALL })

#endif
