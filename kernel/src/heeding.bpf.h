/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * How a qdisc at work takes other settings. User space writes them to `wish`, between an odd and an
 * even `edition`; each instance takes them over at its next packet, whole or not at all.
 */
#ifndef SLUICEGATE_HEEDING_BPF_H
#define SLUICEGATE_HEEDING_BPF_H

struct wish wish SECTION(".data.wish") = { { 0 } };
volatile u64 edition SECTION(".data.edition") = 0;

#define WORDS(of) (sizeof(of) / sizeof(u64))

static INLINE void copy(u64 *to, const u64 *from, u32 count)
{
	FOR_UP_TO(count) {
		if ((u32)turn < count)
			to[turn] = from[turn];
	}
}

/* An AQM that has seen nothing yet. */
static INLINE void begin_aqm(struct instance *instance, u64 now_ns)
{
	u64 *words = (u64 *)&instance->state;
	const u32 count = WORDS(instance->state);

	FOR_UP_TO(count) {
		if ((u32)turn < count)
			words[turn] = 0;
	}
	instance->tick_ns = now_ns;
#ifdef HAS_TICK
	instance->tick_ns += OF(_tick_interval_ns)(&instance->wish.config.own);
#endif
}

#ifdef HAS_OCCUPANCY
/*
 * Tells a new AQM of the packets that wait already. Not static: the verifier looks at it once, by
 * itself; within each program it would be too much.
 */
__attribute__((noinline)) int introduce(struct instance *instance, u64 now_ns)
{
	struct aqm_view view = { .now_ns = now_ns };
	struct place *place;
	u32 number;

	if (!instance)
		return 0;
	view.rate_bps = instance->wish.settings.rate_bps;
	view.limit_packets = instance->wish.settings.limit_packets;
	number = instance->head;
	FOR_UP_TO(fixed.places) {
		if (number == instance->tail)
			break;
		place = place_at(instance, number++);
		if (!place || !place->bytes)
			continue;
		view.packet_bytes = place->bytes;
		view.flow_hash = place->flow_hash;
		OF(_occupancy)(&instance->state.own, &instance->wish.config.own, &view, 1);
		view.queue_packets++;
		view.queue_bytes += place->bytes;
	}
	return 0;
}
#endif

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
	instance->seed = mix(instance->wish.settings.seed + instance->number +
			     0x9e3779b97f4a7c15ULL);
	begin_aqm(instance, now_ns);
#ifdef HAS_OCCUPANCY
	introduce(instance, now_ns);
#endif
}

#endif
