/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Every scheduler of several lanes, one line each. The name of the file is that of the scheduler. */
#include "sfq.h"
#include "drr.h"
#include "fq.h"
#include "prio.h"
#include "ets.h"
#include "wf2q.h"
