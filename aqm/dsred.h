/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Double Slope RED.
 *
 * B. Zheng, M. Atiquzzaman, "DSRED: an active queue management scheme for next
 * generation networks", LCN 2000. Thresholds and gamma as in Domanska, Domanski &
 * Czachorski, "Implementation of modified AQM mechanisms in IP routers", Journal of
 * Communications Software and Systems 4(1), 2008, who drop each packet
 * independently and do not let the average decay while the link is idle.
 */
#ifndef SLUICEGATE_DSRED_H
#define SLUICEGATE_DSRED_H

#include "red.h"

AQM_PRESET(dsred, red, "DSRED: Double Slope RED", "Zheng & Atiquzzaman 2000",
	"RED with a gentle slope first and a steep one above the middle.",
	{ "drop_function", DROP_FUNCTION_DOUBLE_SLOPE }, { "min_th", 100 }, { "max_th", 200 },
	{ "spacing", RED_INDEPENDENT }, { "idle_decay", 0 })

#endif
