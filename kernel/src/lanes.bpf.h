/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Several lanes, each with an AQM of its own, and a scheduler of aqm/ that chooses among them, as in
 * engine/queue (schedule.rs).
 *
 * A lane's AQM starts, takes new settings and makes up for missed ticks at the lane's next event. The
 * packets of a lane: lane_packets.bpf.h.
 */
#ifndef SLUICEGATE_LANES_BPF_H
#define SLUICEGATE_LANES_BPF_H

struct {
	int (*type)[MAP_TYPE_ARRAY];
	u32 *key;
	struct lane *value;
	int (*max_entries)[1];	/* `lanes` for each instance */
} lanes SECTION(".maps");

static INLINE struct lane *lane_at(struct instance *instance, u32 number)
{
	u32 place = instance->number * fixed.lanes + number;

	if (number >= fixed.lanes)
		return 0;
	return map_lookup(&lanes, &place);
}

/* To a scheduler, `lanes` are an instance. */
static inline void *aqm_lane_at(struct aqm_lanes *lanes, u32 number)
{
	struct lane *lane = lane_at((struct instance *)lanes, number);

	return lane ? &lane->scheduled : 0;
}

static INLINE struct aqm_lanes *lanes_of(struct instance *instance)
{
	return (struct aqm_lanes *)instance;
}

static INLINE u32 packets_in(const struct Qdisc *sch, const struct lane *lane)
{
	return lane->scheduled.waits.packets;
}

static INLINE u64 bytes_in(const struct Qdisc *sch, const struct lane *lane)
{
	return lane->scheduled.waits.bytes;
}

/* `idle_since_ns` is 0 while the link sends a packet of the lane. */
static INLINE u32 is_idle(const struct Qdisc *sch, const struct instance *instance,
			  const struct lane *lane, u64 now_ns)
{
	return !lane->scheduled.waits.packets && lane->idle_since_ns;
}

static INLINE u64 idle_since(const struct instance *instance, const struct lane *lane)
{
	return lane->idle_since_ns;
}

static INLINE void clear(u64 *words, u32 count)
{
	FOR_UP_TO(count) {
		if ((u32)turn < count)
			words[turn] = 0;
	}
}

#ifdef COUPLED
/* When a tick is due an interval from now; later than any time if the discipline gets none. */
static INLINE u64 tick_after(const struct instance *instance, u64 now_ns)
{
	u64 interval_ns = OF(_tick_interval_ns)(&instance->params.config.own);

	return interval_ns ? now_ns + interval_ns : ~0ULL;
}
#endif

/* All AQMs start at `now_ns`; bring_up_to_date() starts each one at its lane's next event. */
static INLINE void begin_aqms(struct instance *instance, u64 now_ns)
{
	instance->several.begun_ns = now_ns;
#ifdef COUPLED
	instance->several.tick_ns = tick_after(instance, now_ns);
#endif
}

/* bring_up_to_date() does it at each lane's next event; of a coupled discipline it is done here. */
static INLINE void retune_aqms(struct instance *instance, u64 now_ns)
{
#ifdef COUPLED
	u64 next_ns = tick_after(instance, now_ns);

	if (instance->several.tick_ns > next_ns || !(next_ns + 1))
		instance->several.tick_ns = next_ns;
#endif
}

static INLINE void begin_empty(struct instance *instance, u64 now_ns)
{
	struct several *several = &instance->several;
	struct lane *lane;

	clear((u64 *)&several->state, WORDS(several->state));
	several->serving = 0;
	several->ready_ns = 0;
	several->unused_count = 0;
	several->used = 0;
	FOR_UP_TO(fixed.lanes) {
		lane = lane_at(instance, (u32)turn);
		if (!lane)
			break;
		lane->edition = 0;
		lane->idle_since_ns = now_ns;
		clear((u64 *)&lane->scheduled, WORDS(lane->scheduled));
	}
}

#ifdef COUPLED
#define ARRIVE(instance, lane, view)                                                  \
	OF(_arrive)(&(instance)->several.state.own, &(instance)->params.config.own,     \
		    lanes_of(instance), view)
#define DEPART(instance, lane, view)                                                  \
	OF(_depart)(&(instance)->several.state.own, &(instance)->params.config.own,     \
		    lanes_of(instance), view)

/*
 * Makes the ticks that were due since the last event. What waits does not change between events, so
 * late ticks see the same lanes.
 */
VERIFIED_ONCE int tick_until(struct instance *instance, u64 now_ns)
{
	u64 interval_ns;
	struct several *several;
	struct aqm_view view;
	struct lane *lane;

	if (!instance)
		return 0;
	several = &instance->several;
	interval_ns = OF(_tick_interval_ns)(&instance->params.config.own);
	lane = lane_at(instance, 0);
	if (!lane || !interval_ns || now_ns < several->tick_ns)
		return 0;
	FOR_UP_TO(MOST_TICKS) {
		if (now_ns < several->tick_ns)
			break;
		view = queue_view(0, instance, lane, 0, several->tick_ns);
		OF(_tick)(&several->state.own, &instance->params.config.own, lanes_of(instance),
			  &view);
		log(instance, HAPPENED_TICK, 0, 0, 0, 0, &view);
		several->tick_ns += interval_ns;
	}
	if (several->tick_ns <= now_ns)
		several->tick_ns += ((now_ns - several->tick_ns) / interval_ns + 1) * interval_ns;
	return 0;
}

static INLINE void tick_together(struct instance *instance, u64 now_ns)
{
	if (now_ns >= instance->several.tick_ns)
		tick_until(instance, now_ns);
}

/* All lanes have ticked already. */
static INLINE void bring_up_to_date(struct instance *instance, struct lane *lane, u32 number,
				    u64 now_ns) {}
#else
static INLINE void tick_together(struct instance *instance, u64 now_ns) {}

/*
 * Starts the lane's AQM if it has not started, gives it the present settings, and makes up for its
 * ticks.
 */
VERIFIED_ONCE int bring_up_to_date(struct instance *instance, struct lane *lane, u32 number,
				   u64 now_ns)
{
	if (!instance || !lane)
		return 0;
	if (lane->edition != instance->edition) {
		if (lane->edition)
			retune_aqm(instance, lane, number, now_ns);
		else
			begin_aqm(instance, lane, number, instance->several.begun_ns);
		lane->edition = instance->edition;
	}
	make_up_ticks(0, instance, lane, number, now_ns);
	return 0;
}
#endif

#ifdef WANTS_HOSTS
static INLINE u32 hash_of_address(const struct in6_addr *address)
{
	u64 upper = address->in6_u.u6_addr32[0] ^ (u64)address->in6_u.u6_addr32[1] << 32;
	u64 lower = address->in6_u.u6_addr32[2] ^ (u64)address->in6_u.u6_addr32[3] << 32;

	return (u32)(mix(mix(upper) ^ lower) >> 32);
}
#endif

/* Of a view, the hosts of a packet. */
static INLINE void show_hosts(struct aqm_view *view, struct sk_buff *skb)
{
#ifdef WANTS_HOSTS
	const void *header = skb->head + skb->network_header;

	if (skb->protocol == PROTOCOL_IPV4) {
		const struct iphdr *v4 =
			bpf_rdonly_cast(header, __builtin_btf_type_id(*(struct iphdr *)0, 1));

		view->source_hash = (u32)(v4->saddr * GOLDEN >> 32);
		view->destination_hash = (u32)(v4->daddr * GOLDEN >> 32);
	} else if (skb->protocol == PROTOCOL_IPV6) {
		const struct ipv6hdr *v6 =
			bpf_rdonly_cast(header, __builtin_btf_type_id(*(struct ipv6hdr *)0, 1));

		view->source_hash = hash_of_address(&v6->saddr);
		view->destination_hash = hash_of_address(&v6->daddr);
	}
#endif
}

/* The lane of the view's packet. */
VERIFIED_ONCE u32 choose_lane(struct instance *instance, const struct aqm_view *view)
{
	if (!instance || !view)
		return AQM_NO_LANE;
	return OF_SCHEDULER(_classify)(&instance->several.state.own,
				       &instance->params.scheduler.own, lanes_of(instance), view);
}

/* The number of the lane that a packet joins. */
static INLINE u32 classify(struct instance *instance, const struct waiting *arrived,
			   struct sk_buff *skb)
{
	struct aqm_view view = { .now_ns = arrived->since_ns };

	show(&view, instance, arrived);
	view.ecn_capable = 0;	/* as in the engine: not yet known */
	show_hosts(&view, skb);
#ifdef WANTS_HOSTS
	log(instance, HAPPENED_HOSTS, 0, 0, 0, 0, &view);
#endif
	if (OF_SCHEDULER(_wants_random)(&instance->several.state.own,
					&instance->params.scheduler.own, &view)) {
		view.random = draw_more(instance);
		log(instance, HAPPENED_SALT, 0, 0, 0, 0, &view);
	}
	return choose_lane(instance, &view);
}

static INLINE struct lane *lane_for(const struct Qdisc *sch, struct instance *instance,
				    u32 number, u64 now_ns)
{
	struct lane *lane = lane_at(instance, number);

	if (lane)
		bring_up_to_date(instance, lane, number, now_ns);
	return lane;
}

/* The link has sent its last packet, whose lane is idle from then on if it is empty. */
static INLINE void end_service(const struct Qdisc *sch, struct instance *instance, u64 at_ns)
{
	u32 number = instance->several.serving - 1;
	struct lane *lane;

	if (!instance->several.serving)
		return;
	tick_together(instance, at_ns);
	instance->several.serving = 0;
	lane = lane_for(sch, instance, number, at_ns);
	if (lane && !lane->scheduled.waits.packets)
		lane->idle_since_ns = at_ns;
}

static INLINE void serve(struct instance *instance, u32 number)
{
	instance->several.serving = number + 1;
}

/* Returns the number of the lane that sends next, or AQM_NO_LANE. */
VERIFIED_ONCE u32 next_lane(struct instance *instance, u64 now_ns)
{
	struct OF_SCHEDULER(_state) *state;
	u32 number;

	if (!instance)
		return AQM_NO_LANE;
	state = &instance->several.state.own;
	number = OF_SCHEDULER(_next)(state, &instance->params.scheduler.own, lanes_of(instance),
				     now_ns);
	instance->several.ready_ns = 0;
#ifdef HAS_READY
	if (number == AQM_NOT_YET)
		instance->several.ready_ns = OF_SCHEDULER(_ready_ns)(state);
#endif
	return number;
}

static INLINE u64 ready_ns(const struct instance *instance)
{
	return instance->several.ready_ns;
}

/* Tells the scheduler of a packet that was lost in place of an arrival, or as a needless ACK. */
static INLINE void note_loss(const struct Qdisc *sch, struct instance *instance,
			     const struct lane *lane, u32 number, const struct waiting *lost,
			     u64 now_ns, u32 is_needless)
{
#ifdef HAS_LOST
	struct aqm_view view = packet_view(sch, instance, lane, number, lost, now_ns);

#ifdef HAS_ACK_FILTER
	if (is_needless) {
		OF_SCHEDULER(_thinned)(&instance->several.state.own,
				       &instance->params.scheduler.own, lanes_of(instance), &view);
		return;
	}
#endif
	OF_SCHEDULER(_lost)(&instance->several.state.own, &instance->params.scheduler.own,
			    lanes_of(instance), &view);
#endif
}

/*
 * Called when the link is free and nothing waits. The engine's link then asks for a packet once
 * more, after which a scheduler has no empty lane in its lists. The kernel does not ask, so this
 * does the same.
 */
static INLINE void fall_idle(const struct Qdisc *sch, struct instance *instance)
{
	end_service(sch, instance, instance->ended_ns);
	next_lane(instance, instance->ended_ns);
}

static INLINE void sent(struct instance *instance, u32 number, u32 bytes)
{
	OF_SCHEDULER(_sent)(&instance->several.state.own, &instance->params.scheduler.own,
			    lanes_of(instance), number, bytes);
}

VERIFIED_ONCE u32 victim_lane(struct instance *instance, u32 own, u32 bytes)
{
	if (!instance)
		return own;
	return OF_SCHEDULER(_victim)(&instance->several.state.own, &instance->params.scheduler.own,
				     lanes_of(instance), own, bytes);
}

#endif
