/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Nonlinear RED: a cubic drop function. The default is the quadratic of the first paper,
 * whose max_p of 1.5 times RED's gives the same area under the drop function.
 *
 * K. Zhou, K. Yeung, V. Li, "Nonlinear RED: a simple yet efficient active queue
 * management scheme", Computer Networks 50(18), 2006. J. Domanska, D. Augustyn,
 * A. Domanski, "The choice of optimal 3-rd order polynomial packet dropping function
 * for NLRED in the presence of self-similar traffic", Bulletin of the Polish Academy
 * of Sciences 60(4), 2012.
 */
#ifndef SLUICEGATE_NLRED_H
#define SLUICEGATE_NLRED_H

#include "red.h"

AQM_PRESET(nlred, red, "NLRED: Nonlinear RED", "Zhou, Yeung & Li 2006",
	"RED with a polynomial drop function: softer than RED at light load, harder at heavy load.",
	{ "drop_function", DROP_FUNCTION_CUBIC }, { "max_p", 0.03 })

#endif
