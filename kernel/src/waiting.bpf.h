/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The packets that wait in a qdisc of qdisc.bpf.c, and the calls of the AQM about them.
 *
 * They wait in places of a map. A packet is put into a place by an exchange of pointers: without a
 * lock, and without an allocation for each packet. fifo.bpf.h (one lane), or lanes.bpf.h and
 * lane_packets.bpf.h (several) decide which places belong to a lane, and in which order. Both define:
 *
 * - lane_at(): a lane by its number
 * - packets_in(), bytes_in(), is_idle(), idle_since(): what the AQM sees of a lane
 * - classify(), lane_for(): the number of the lane for an arriving packet; a lane, ready for an
 *   event
 * - put(), index_at_random(), place_of(), take(): the packets of a lane
 * - victim_lane(): the lane that loses a packet when the buffer is full
 * - ready_ns(): before which a shaper holds all packets, 0 if none does; note_loss(): tells it
 * - next_lane(), serve(), sent(), end_service(), fall_idle(): for the link
 * - begin_aqms(), begin_empty(): start of an instance; retune_aqms(): other settings
 * - tick_together(): the ticks of a coupled discipline
 */
#ifndef SLUICEGATE_WAITING_BPF_H
#define SLUICEGATE_WAITING_BPF_H

#define WORDS(of) (sizeof(of) / sizeof(u64))
/* Most ticks that are made up for after a pause; by then an AQM's state no longer changes. */
#define MOST_TICKS 1024

/* What is recorded of a waiting packet. */
struct waiting {
	u64 since_ns;
	u32 bytes;
	u32 flow_hash;
	u32 packet;		/* its number, counted by arrival from 1; for marks and the log */
	u8 traffic_class;	/* DSCP and ECN codepoint, if they are used; else 0 */
	u8 is_marked;
	u8 is_ack;		/* what it says is kept: acks.bpf.h */
};

/* A place where a packet waits. */
struct place {
	struct sk_buff __kptr *skb;
	struct waiting waiting;
#ifdef SCHEDULER
	u32 next, previous;	/* places of its lane; of a free place: next free one */
#endif
};

struct {
	int (*type)[MAP_TYPE_ARRAY];
	u32 *key;
	struct place *value;
	int (*max_entries)[INSTANCES];
} places SECTION(".maps");

static INLINE struct place *place_at(const struct instance *instance, u32 place)
{
	u32 number = instance->first_place + (place & (fixed.places - 1));

	return map_lookup(&places, &number);
}

static INLINE u32 packets_in(const struct Qdisc *sch, const struct lane *lane);
static INLINE u64 bytes_in(const struct Qdisc *sch, const struct lane *lane);
static INLINE u32 is_idle(const struct Qdisc *sch, const struct instance *instance,
			  const struct lane *lane, u64 now_ns);
static INLINE u64 idle_since(const struct instance *instance, const struct lane *lane);

/* The view's fields of lane and link, which are the same for every call; all that a tick sees. */
static INLINE struct aqm_view queue_view(const struct Qdisc *sch,
					  const struct instance *instance,
					  const struct lane *lane, u32 number, u64 now_ns)
{
	struct aqm_view view = {
		.now_ns = now_ns,
		.rate_bps = instance->params.settings.rate_bps,
		.queue_bytes = bytes_in(sch, lane),
		.queue_packets = packets_in(sch, lane),
		.limit_packets = instance->params.settings.limit_packets,
		.lane = number,
		.idle = is_idle(sch, instance, lane, now_ns),
	};

	if (view.idle)
		view.idle_since_ns = idle_since(instance, lane);
	return view;
}

/* The view's fields of a packet, which are the same for every call. */
static INLINE void show(struct aqm_view *view, const struct instance *instance,
			const struct waiting *waiting)
{
	view->packet_bytes = waiting->bytes;
	view->flow_hash = waiting->flow_hash;
	view->traffic_class = waiting->traffic_class;
	view->ecn_capable = can_be_marked(instance, waiting->traffic_class);
}

/* The view of an event of a packet: of its lane, of the whole buffer, and of the packet. */
static INLINE struct aqm_view packet_view(const struct Qdisc *sch,
					  const struct instance *instance,
					  const struct lane *lane, u32 number,
					  const struct waiting *waiting, u64 now_ns)
{
	struct aqm_view view = queue_view(sch, instance, lane, number, now_ns);

	view.buffer_bytes = sch->qstats.backlog;
	show(&view, instance, waiting);
	return view;
}

#ifndef COUPLED	/* lanes.bpf.h makes the ticks of all lanes together */
/*
 * Makes the calls of tick() that were due since the last event. The waiting packets do not change
 * between events, so a late call sees the same queue.
 */
#ifdef HAS_TICK
OUTLINED void tick_until(const struct Qdisc *sch, struct instance *instance, struct lane *lane,
			 u32 number, u64 now_ns)
{
	const struct OF(_config) *config = config_of(instance, number);
	u64 interval_ns = OF(_tick_interval_ns)(config);
	struct aqm_view view;

	if (!interval_ns)
		return;
	FOR_UP_TO(MOST_TICKS) {
		if (now_ns < lane->tick_ns)
			break;
		view = queue_view(sch, instance, lane, number, lane->tick_ns);
		OF(_tick)(&lane->state.own, config, &view);
		log(instance, HAPPENED_TICK, number, 0, 0, 0, &view);
		lane->tick_ns += interval_ns;
	}
	if (lane->tick_ns <= now_ns)
		lane->tick_ns += ((now_ns - lane->tick_ns) / interval_ns + 1) * interval_ns;
}
#endif

static INLINE void make_up_ticks(const struct Qdisc *sch, struct instance *instance,
				 struct lane *lane, u32 number, u64 now_ns)
{
#ifdef HAS_TICK
	if (now_ns >= lane->tick_ns)
		tick_until(sch, instance, lane, number, now_ns);
#endif
}
#endif

#ifdef CLASSES
/* Inlined, the AQMs of all classes would be followed on each path of the program. */
VERIFIED_ONCE u32 arrive_in_class(struct instance *instance, struct lane *lane,
				  const struct aqm_view *view)
{
	if (!instance || !lane || !view)
		return AQM_ADMIT;
	return OF(_arrive)(&lane->state.own, config_of(instance, view->lane), view);
}

VERIFIED_ONCE u32 depart_in_class(struct instance *instance, struct lane *lane,
				  const struct aqm_view *view)
{
	if (!instance || !lane || !view)
		return AQM_ADMIT;
	return OF(_depart)(&lane->state.own, config_of(instance, view->lane), view);
}

VERIFIED_ONCE int count_in_class(struct instance *instance, struct lane *lane,
				 const struct aqm_view *view, s64 change)
{
	if (instance && lane && view)
		OF(_occupancy)(&lane->state.own, config_of(instance, view->lane), view, change);
	return 0;
}

/* Bounds what such a function returns, of which the verifier knows nothing. */
static INLINE enum aqm_verdict verdict_of(u32 answer)
{
	/* one that there is not admits, as in every world */
	answer = answer < AQM_VERDICTS ? answer : AQM_ADMIT;
	answer &= 7;
	/* the compiler forgets what it knows of the answer, and keeps the mask */
	__asm__ volatile("" : "+r"(answer));
	return (enum aqm_verdict)answer;
}

#define ARRIVE(instance, lane, view) verdict_of(arrive_in_class(instance, lane, view))
#define DEPART(instance, lane, view) verdict_of(depart_in_class(instance, lane, view))
#define COUNT(instance, lane, view, change) count_in_class(instance, lane, view, change)
#elif !defined(COUPLED)	/* lanes.bpf.h asks a coupled discipline */
#define ARRIVE(instance, lane, view) \
	OF(_arrive)(&(lane)->state.own, config_of(instance, 0), view)
#define DEPART(instance, lane, view) \
	OF(_depart)(&(lane)->state.own, config_of(instance, 0), view)
#define COUNT(instance, lane, view, change) \
	OF(_occupancy)(&(lane)->state.own, config_of(instance, 0), view, change)
#endif

/* Tells the AQM that a packet is about to join the queue (`change` 1) or has left it (-1). */
static INLINE void change_occupancy(const struct Qdisc *sch, struct instance *instance,
				    struct lane *lane, u32 number, const struct waiting *waiting,
				    u64 now_ns, s64 change)
{
#ifdef HAS_OCCUPANCY
	struct aqm_view view = packet_view(sch, instance, lane, number, waiting, now_ns);

	if (!LANE_HAS(occupancy, instance, number))
		return;
#ifndef SCHEDULER
	/* the link is busy, or will send the packet that has left */
	if (change < 0)
		view.idle = view.idle_since_ns = 0;
#endif
	COUNT(instance, lane, &view, change);
	log(instance, change > 0 ? HAPPENED_JOIN : HAPPENED_LEAVE, number, waiting->packet, 0, 0,
	    &view);
#endif
}

#ifndef COUPLED
/* When a tick is due an interval from now; later than any time if the AQM gets none. */
static INLINE u64 tick_after(const struct instance *instance, u32 number, u64 now_ns)
{
	u64 interval_ns = 0;

#ifdef HAS_TICK
	interval_ns = OF(_tick_interval_ns)(config_of(instance, number));
#endif
	return interval_ns ? now_ns + interval_ns : ~0ULL;
}

/*
 * The AQM has other parameters, and keeps its state. A tick that is due stays due, but the next one
 * comes no later than a new interval from now. Ticks that are made up for use the new parameters.
 */
static INLINE void retune_aqm(const struct instance *instance, struct lane *lane, u32 number,
			      u64 now_ns)
{
	u64 next_ns = tick_after(instance, number, now_ns);

	if (lane->tick_ns > next_ns || !(next_ns + 1))
		lane->tick_ns = next_ns;
}

/* Sets the state of an AQM to its start. */
static INLINE void begin_aqm(const struct instance *instance, struct lane *lane, u32 number,
			     u64 now_ns)
{
	u64 *words = (u64 *)&lane->state;
	const u32 count = WORDS(lane->state);

	FOR_UP_TO(count) {
		if ((u32)turn < count)
			words[turn] = 0;
	}
	lane->tick_ns = tick_after(instance, number, now_ns);
}

#endif

/* Puts a packet, or null, into a place. Returns the packet that was there, or null. */
static INLINE struct sk_buff *exchange(struct place *place, struct sk_buff *skb)
{
	return kptr_exchange(&place->skb, skb);
}

/* Counts a packet that begins to wait. */
static INLINE void count_in(struct Qdisc *sch, struct instance *instance, u64 now_ns, u32 bytes)
{
	count_length(sch, instance, now_ns);
	sch->q.qlen++;
	sch->qstats.backlog += bytes;
}

/* Counts a packet that no longer waits. */
static INLINE void count_out(struct Qdisc *sch, struct instance *instance, u64 now_ns, u32 bytes)
{
	count_length(sch, instance, now_ns);
	sch->q.qlen--;
	sch->qstats.backlog -= bytes;
}

#endif
