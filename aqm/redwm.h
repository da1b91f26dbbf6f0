/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * REDwM: RED with a modified weighted moving average.
 *
 * J. Domanska, A. Domanski, D. Augustyn, J. Klamka, "A RED modified weighted moving
 * average for soft real-time application", International Journal of Applied
 * Mathematics and Computer Science 24(3), 2014. The defaults are the optimum of the
 * paper's section 5, [a1, a2, b1] = [0.08, 0.0014, 0.001], as its figures suggest: 0.08 is
 * the weight of Q(n), and the rest of 1 is the weight of A(n-1), not the other way round
 * as in equation (5). See the reproduction `redwm`.
 */
#ifndef SLUICEGATE_REDWM_H
#define SLUICEGATE_REDWM_H

#include "red.h"

AQM_PRESET(redwm, red, "REDwM: RED with a modified weighted moving average", "Domanska et al. 2014",
	"RED whose average is a difference equation with memory of queues and averages.",
	{ "average", AVERAGE_DIFFERENCE }, { "min_th", 100 }, { "max_th", 200 },
	{ "max_p", 0.1 }, { "a1", 0.9176 }, { "a2", 0.0014 }, { "b1", 0.001 },
	{ "spacing", RED_INDEPENDENT }, { "idle_decay", 0 })

#endif
