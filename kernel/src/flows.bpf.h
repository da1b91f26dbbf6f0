/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Several queues, over which flows are spread by a hash, each with an AQM of its own: the schedulers
 * of engine/queue (sfq.rs, drr.rs, fq.rs, classify.rs, schedule.rs), line by line. RFC 8290 is
 * SCHEDULER_FQ.
 *
 * What waits in a queue is a list of places, linked by their numbers both ways. A queue's AQM begins,
 * heeds new settings and makes up for its ticks when something happens in the queue.
 */
#ifndef SLUICEGATE_FLOWS_BPF_H
#define SLUICEGATE_FLOWS_BPF_H

/* Turns until a queue has the credit for its packet; far more than any quantum takes. */
#define MOST_TURNS (1 << 20)
#define NO_LANE 0xffffffffU

struct {
	int (*type)[MAP_TYPE_ARRAY];
	u32 *key;
	struct lane *value;
	int (*max_entries)[1];	/* `queues` for each instance */
} lanes SECTION(".maps");

static INLINE struct lane *lane_at(struct instance *instance, u32 number)
{
	u32 place = instance->number * fixed.queues + number;

	return map_lookup(&lanes, &place);
}

static INLINE u32 packets_in(const struct Qdisc *sch, const struct lane *lane)
{
	return lane->packets;
}

static INLINE u64 bytes_in(const struct Qdisc *sch, const struct lane *lane)
{
	return lane->bytes;
}

/* A queue whose packet the link sends has no such instant. */
static INLINE u32 is_idle(const struct Qdisc *sch, const struct instance *instance,
			  const struct lane *lane, u64 now_ns)
{
	return !lane->packets && lane->idle_since_ns;
}

static INLINE u64 idle_since(const struct instance *instance, const struct lane *lane)
{
	return lane->idle_since_ns;
}

/* All AQMs begin now; each does so when something happens in its queue. */
static INLINE void begin_aqms(struct instance *instance, u32 packets, u64 now_ns)
{
	instance->flows.begun_ns = now_ns;
}

static INLINE void begin_empty(struct instance *instance, u64 now_ns)
{
	struct flow_queues *flows = &instance->flows;
	struct lane *lane;

	flows->next_salt_ns = 0;
	flows->new.count = 0;
	flows->old.count = 0;
	flows->serving = 0;
	flows->has_quantum = 0;
	flows->unused_count = 0;
	flows->used = 0;
	FOR_UP_TO(fixed.queues) {
		lane = lane_at(instance, (u32)turn);
		if (!lane)
			break;
		lane->edition = 0;
		lane->idle_since_ns = now_ns;
		lane->credit_bytes = 0;
		lane->bytes = 0;
		lane->packets = 0;
		lane->is_listed = 0;
	}
}

/* An AQM that is to begin does so now, and one that is behind gets its ticks. */
VERIFIED_ONCE int bring_up_to_date(struct instance *instance, struct lane *lane, u32 number,
				   u64 now_ns)
{
	if (!instance || !lane)
		return 0;
	if (lane->edition != instance->edition) {
		lane->edition = instance->edition;
		begin_aqm(instance, lane, instance->flows.begun_ns);
#ifdef HAS_OCCUPANCY
		introduce(instance, lane, lane->head, lane->packets, now_ns);
#endif
	}
	make_up_ticks(0, instance, lane, number, now_ns);
	return 0;
}

/* Which queue a packet of a flow joins. The salt is drawn at times from the beginning on. */
static INLINE u32 classify(struct instance *instance, u64 now_ns, u32 flow_hash)
{
	struct flow_queues *flows = &instance->flows;
	u64 since_ns = now_ns - instance->counts.begun_ns;
	u64 perturbation_ns = instance->wish.settings.perturbation_ns;

	if (since_ns >= flows->next_salt_ns) {
		struct aqm_view view = { .now_ns = now_ns, .random = draw_more(instance) };

		flows->salt = view.random;
		flows->next_salt_ns = ~0ULL;
		if (perturbation_ns)
			flows->next_salt_ns =
				since_ns - since_ns % perturbation_ns + perturbation_ns;
		log(HAPPENED_SALT, 0, 0, 0, 0, &view);
	}
	return below(mix(flow_hash ^ flows->salt), fixed.queues);
}

static INLINE struct lane *lane_for(const struct Qdisc *sch, struct instance *instance,
				    u32 number, u64 now_ns)
{
	struct lane *lane = lane_at(instance, number);

	if (lane)
		bring_up_to_date(instance, lane, number, now_ns);
	return lane;
}

/* The link no longer sends the packet that it took last; its queue may be idle from then on. */
static INLINE void end_service(const struct Qdisc *sch, struct instance *instance, u64 at_ns)
{
	u32 number = instance->flows.serving - 1;
	struct lane *lane;

	if (!instance->flows.serving)
		return;
	instance->flows.serving = 0;
	lane = lane_for(sch, instance, number, at_ns);
	if (lane && !lane->packets)
		lane->idle_since_ns = at_ns;
}

static INLINE void serve(struct instance *instance, u32 number)
{
	instance->flows.serving = number + 1;
}

/* The lists of queues. */

static INLINE void append(struct instance *instance, struct turns *turns, u32 number)
{
	struct lane *last = turns->count ? lane_at(instance, turns->last) : 0;

	if (last)
		last->next = number;
	else
		turns->first = number;
	turns->last = number;
	turns->count++;
}

/* Takes the first queue off its list; it goes to another's end, or is in none. */
static INLINE void move_first(struct instance *instance, struct turns *from, struct turns *to,
			      u32 number, struct lane *lane)
{
	from->first = lane->next;
	from->count--;
	if (to)
		append(instance, to, number);
	else
		lane->is_listed = 0;
}

/* A packet joins a queue. */
static INLINE void wake(struct instance *instance, u32 number, struct lane *lane)
{
	if (lane->is_listed)
		return;
	lane->is_listed = 1;
	if (fixed.scheduler == SCHEDULER_FQ) {
		lane->credit_bytes = (s64)instance->wish.settings.quantum_bytes;
		append(instance, &instance->flows.new, number);
	} else {
		append(instance, &instance->flows.old, number);
	}
}

/* With DRR and SFQ: the turn of the first queue is over; an empty one has no other. */
static INLINE void end_turn(struct instance *instance, u32 number, struct lane *lane)
{
	instance->flows.has_quantum = 0;
	if (!lane->packets)
		lane->credit_bytes = 0;
	move_first(instance, &instance->flows.old, lane->packets ? &instance->flows.old : 0,
		   number, lane);
}

/* Whether the first queue may send; if not, it has been moved. RFC 8290, section 4.2. */
static INLINE u32 may_send_fq(struct instance *instance, u32 number, struct lane *lane)
{
	struct flow_queues *flows = &instance->flows;
	u32 is_new = flows->new.count > 0, is_spent = lane->credit_bytes <= 0;

	if (!is_spent && lane->packets)
		return 1;
	if (is_spent)
		lane->credit_bytes += (s64)instance->wish.settings.quantum_bytes;
	/* an empty new queue becomes an old one: else it could come back as new for ever */
	move_first(instance, is_new ? &flows->new : &flows->old,
		   is_spent || is_new ? &flows->old : 0, number, lane);
	return 0;
}

/* Shreedhar & Varghese 1995. */
static INLINE u32 may_send_drr(struct instance *instance, u32 number, struct lane *lane)
{
	struct place *head = place_at(instance, lane->head);

	if (lane->packets && head) {
		if (!instance->flows.has_quantum) {
			lane->credit_bytes += (s64)instance->wish.settings.quantum_bytes;
			instance->flows.has_quantum = 1;
		}
		if (head->waiting.bytes <= lane->credit_bytes)
			return 1;
	}
	end_turn(instance, number, lane);
	return 0;
}

/* McKenney 1990. */
static INLINE u32 may_send_sfq(struct instance *instance, u32 number, struct lane *lane)
{
	if (lane->packets)
		return 1;
	end_turn(instance, number, lane);
	return 0;
}

/* The number of the queue that sends next. */
VERIFIED_ONCE u32 find_next_lane(struct instance *instance)
{
	u32 number = NO_LANE, may_send = 0;
	struct flow_queues *flows;
	struct lane *lane;

	if (!instance)
		return NO_LANE;
	flows = &instance->flows;
	FOR_UP_TO(MOST_TURNS) {
		if (!flows->new.count && !flows->old.count)
			break;
		number = flows->new.count ? flows->new.first : flows->old.first;
		lane = lane_at(instance, number);
		if (!lane)
			break;
		if (fixed.scheduler == SCHEDULER_FQ)
			may_send = may_send_fq(instance, number, lane);
		else if (fixed.scheduler == SCHEDULER_DRR)
			may_send = may_send_drr(instance, number, lane);
		else
			may_send = may_send_sfq(instance, number, lane);
		if (may_send)
			break;
	}
	return may_send ? number : NO_LANE;
}

static INLINE u32 next_lane(const struct Qdisc *sch, struct instance *instance)
{
	return find_next_lane(instance);
}

/* The link is free, and nothing waits: it has asked in vain, and all lists are empty then. */
static INLINE void fall_idle(const struct Qdisc *sch, struct instance *instance)
{
	end_service(sch, instance, instance->free_ns);
	if (instance->flows.new.count || instance->flows.old.count)
		find_next_lane(instance);
}

/* The link sends a packet of the queue that next_lane() gave. */
static INLINE void sent(struct instance *instance, u32 number, struct lane *lane, u32 bytes)
{
	if (fixed.scheduler != SCHEDULER_SFQ)
		lane->credit_bytes -= bytes;
	if (fixed.scheduler == SCHEDULER_SFQ ||
	    (fixed.scheduler == SCHEDULER_DRR && !lane->packets))
		end_turn(instance, number, lane);
}

/* How long a queue is. */
static INLINE u64 length_of(const struct lane *lane)
{
	return fixed.scheduler == SCHEDULER_SFQ ? lane->packets : lane->bytes;
}

/* The longest queue, a packet that arrives counted as the last of its own. */
VERIFIED_ONCE u32 longest(struct instance *instance, u32 own, u32 bytes)
{
	struct flow_queues *flows;
	u32 number, found = own;
	struct lane *lane;
	u64 most;

	if (!instance)
		return own;
	flows = &instance->flows;
	lane = lane_at(instance, own);
	if (!lane)
		return own;
	most = length_of(lane) + (fixed.scheduler == SCHEDULER_SFQ ? 1 : bytes);
	number = flows->new.first;
	FOR_UP_TO(flows->new.count + flows->old.count) {
		if ((u32)turn == flows->new.count)
			number = flows->old.first;
		lane = lane_at(instance, number);
		if (!lane)
			break;
		if (number != own && length_of(lane) > most) {
			most = length_of(lane);
			found = number;
		}
		number = lane->next;
	}
	return found;
}

/* What waits in a queue. */

static INLINE u32 index_at_random(const struct Qdisc *sch, struct instance *instance,
				  const struct lane *lane)
{
	return below(draw_more(instance), lane->packets);
}

static INLINE struct place *place_of(const struct instance *instance, const struct lane *lane,
				     u32 index)
{
	struct place *place;
	u32 number = lane->head;

	if (index + 1 == lane->packets)
		return place_at(instance, lane->tail);
	FOR_UP_TO(index) {
		place = place_at(instance, number);
		if (!place)
			break;
		number = place->next;
	}
	return place_at(instance, number);
}

/* A place that holds no packet. */
static INLINE u32 find_place(struct instance *instance)
{
	struct flow_queues *flows = &instance->flows;
	u32 number = flows->unused;
	struct place *place;

	if (!flows->unused_count)
		return flows->used++;
	place = place_at(instance, number);
	if (place)
		flows->unused = place->next;
	flows->unused_count--;
	return number;
}

/* Puts the packet to those that wait; null, or a packet that is to be dropped. */
static INLINE struct sk_buff *put(struct Qdisc *sch, struct instance *instance, struct lane *lane,
				  u32 queue, struct sk_buff *skb, const struct waiting *waiting)
{
	u32 number = find_place(instance);
	struct place *place = place_at(instance, number), *last;

	if (!place)
		return skb;
	place->waiting = *waiting;
	if (lane->packets) {
		place->previous = lane->tail;
		last = place_at(instance, lane->tail);
		if (last)
			last->next = number;
	} else {
		lane->head = number;
		lane->idle_since_ns = 0;
	}
	lane->tail = number;
	lane->packets++;
	lane->bytes += waiting->bytes;
	wake(instance, queue, lane);
	count_in(sch, instance, waiting->since_ns, waiting->bytes);
	return lay(place, skb);
}

/* Takes out the packet at an index; null where there is none. */
static INLINE struct sk_buff *take(struct Qdisc *sch, struct instance *instance, struct lane *lane,
				   u32 queue, u32 index, u64 now_ns, struct waiting *waited)
{
	struct flow_queues *flows = &instance->flows;
	struct place *place = index ? place_of(instance, lane, index)
				    : place_at(instance, lane->head);
	struct place *before, *behind;
	struct sk_buff *skb;
	u32 number;

	if (!lane->packets || !place)
		return 0;
	skb = lay(place, 0);
	if (!skb)
		return 0;
	*waited = place->waiting;
	number = lane->head;
	if (index) {
		before = place_at(instance, place->previous);
		if (before) {
			number = index + 1 == lane->packets ? lane->tail : before->next;
			before->next = place->next;
		}
		if (index + 1 == lane->packets) {
			lane->tail = place->previous;
		} else {
			behind = place_at(instance, place->next);
			if (behind)
				behind->previous = place->previous;
		}
	} else {
		lane->head = place->next;
	}
	place->next = flows->unused;
	flows->unused = number;
	flows->unused_count++;
	lane->packets--;
	lane->bytes -= waited->bytes;
	if (!lane->packets && flows->serving != queue + 1)
		lane->idle_since_ns = now_ns;
	count_out(sch, instance, now_ns, waited->bytes);
	return skb;
}

#endif
