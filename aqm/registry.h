/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Every AQM, one line each: the file's name is the AQM's name. */
#include "drop_tail.h"
#include "red.h"
#include "gentle_red.h"
#include "dsred.h"
#include "nlred.h"
#include "redwm.h"
#include "lpf_oda.h"
#include "choke.h"
#include "fred.h"
#include "sred.h"
