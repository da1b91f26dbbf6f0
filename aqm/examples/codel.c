/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* CoDel as a table entry, for programs that are not written in C: see queue.rs. */
#define AQM_HOSTED
#include "codel.h"

const struct aqm_class *codel(void);

const struct aqm_class *codel(void)
{
	return &codel_class;
}
