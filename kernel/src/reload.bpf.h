/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * How a running qdisc takes new settings. User space makes `edition` odd, writes the settings to
 * `params`, and makes `edition` even. Each instance copies them at its next packet. If `edition` has
 * changed meanwhile, it keeps its old settings: they are never a mixture. Waiting packets
 * stay, and so do the states of AQMs and scheduler.
 */
#ifndef SLUICEGATE_RELOAD_BPF_H
#define SLUICEGATE_RELOAD_BPF_H

struct params params SECTION(".data.params") = { { 0 } };
volatile u64 edition SECTION(".data.edition") = 0;

static INLINE void copy(u64 *to, const u64 *from, u32 count)
{
	FOR_UP_TO(count) {
		if ((u32)turn < count)
			to[turn] = from[turn];
	}
}

/*
 * A packet that is in transmission as the rate changes goes on at the new rate. The wait of a scheduler
 * that shapes is not the link's: it stays.
 */
static INLINE void change_rate(struct instance *instance, u64 before_bps, u64 now_ns)
{
	u64 rest_ns = instance->free_ns - now_ns;
	u32 was_last = instance->ended_ns == instance->free_ns;

	if (!fixed.varies || instance->free_ns <= now_ns || ready_ns(instance))
		return;
	/* the product is the bits of one packet in 10^-9: far below 2^64 */
	instance->free_ns = now_ns + rest_ns * before_bps / instance->params.settings.rate_bps;
	if (was_last)
		instance->ended_ns = instance->free_ns;
}

OUTLINED void take_edition(struct instance *instance, u64 current, u64 now_ns)
{
	u64 before_bps = instance->params.settings.rate_bps;

	copy((u64 *)&instance->spare, (u64 *)&params, WORDS(params));
	if (edition != current)
		return;
	copy((u64 *)&instance->params, (u64 *)&instance->spare, WORDS(params));
	instance->edition = current;
	change_rate(instance, before_bps, now_ns);
	instance->seed = mix(instance->params.settings.seed + instance->number + GOLDEN);
	retune_aqms(instance, now_ns);
}

static INLINE void take_params(struct instance *instance, u64 now_ns)
{
	u64 current = edition;

	if (instance->edition != current && !(current & 1))
		take_edition(instance, current, now_ns);
}

#endif
