/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * RIO, RED with In and Out: two levels. In packets (AFx1) are judged by the average of In packets, all
 * others, Out, by that of all.
 *
 * D. Clark, W. Fang, "Explicit allocation of best-effort packet delivery service", IEEE/ACM
 * Transactions on Networking 6(4), 1998.
 */
#ifndef SLUICEGATE_RIO_H
#define SLUICEGATE_RIO_H

#include "gred.h"

AQM_PRESET(rio, gred, "RIO: RED with In and Out", "Clark & Fang 1998",
	"RED for two levels: In packets are judged by the queue of In packets, Out packets by all.",
	{ "averages", GRED_BETTER }, { "min_th_2", 10 }, { "max_th_2", 30 }, { "max_p_2", 0.2 })

#endif
