/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * LPF/ODA: low pass filter / over drop avoidance.
 *
 * B. Zheng, M. Atiquzzaman, "Low pass filter/over drop avoidance (LPF/ODA): an
 * algorithm to improve the response time of RED gateways", International Journal of
 * Communication Systems 15(10), 2002, section 3.
 */
#ifndef SLUICEGATE_LPF_ODA_H
#define SLUICEGATE_LPF_ODA_H

#include "red.h"

AQM_PRESET(lpf_oda, red, "LPF/ODA: low pass filter with over drop avoidance", "Zheng & Atiquzzaman 2002",
	"RED that halves its average quickly once a long congestion is over.",
	{ "average", AVERAGE_LPF_ODA }, { "w", 0.07 }, { "max_th", 20 }, { "max_p", 0.1 })

#endif
