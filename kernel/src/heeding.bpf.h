/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * How a running qdisc takes new settings. User space makes `edition` odd, writes the settings to
 * `wish`, and makes `edition` even. Each instance copies them at its next packet. If `edition` has
 * changed meanwhile, it keeps its old settings: they are never a mixture. Waiting packets
 * stay, and so do the states of AQMs and scheduler.
 */
#ifndef SLUICEGATE_HEEDING_BPF_H
#define SLUICEGATE_HEEDING_BPF_H

struct wish wish SECTION(".data.wish") = { { 0 } };
volatile u64 edition SECTION(".data.edition") = 0;

static INLINE void copy(u64 *to, const u64 *from, u32 count)
{
	FOR_UP_TO(count) {
		if ((u32)turn < count)
			to[turn] = from[turn];
	}
}

static INLINE void heed(struct instance *instance, u64 now_ns)
{
	u64 current = edition;

	if (instance->edition == current || current & 1)
		return;
	copy((u64 *)&instance->spare, (u64 *)&wish, WORDS(wish));
	if (edition != current)
		return;
	copy((u64 *)&instance->wish, (u64 *)&instance->spare, WORDS(wish));
	instance->edition = current;
	instance->seed = mix(instance->wish.settings.seed + instance->number + GOLDEN);
	retune_aqms(instance, now_ns);
}

#endif
