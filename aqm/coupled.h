/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Every coupled discipline, one line each. The name of the file is the name of the discipline. */
#include "dualpi2.h"
#include "cake.h"
