/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Decides which of several queues sends next: the schedulers of engine/queue (sfq.rs, drr.rs,
 * fq.rs), line by line. SCHEDULER_FQ is the scheduler of RFC 8290.
 */
#ifndef SLUICEGATE_TURNS_BPF_H
#define SLUICEGATE_TURNS_BPF_H

/* Most turns until a queue has the credit for its packet; far more than any quantum needs. */
#define MOST_TURNS (1 << 20)
#define NO_LANE 0xffffffffU

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

/* Moves the first queue of a list to the end of `to`, or out of all lists if `to` is null. */
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

/* Puts a queue that a packet joins into a list, if it is in none. */
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

/* DRR and SFQ: ends the turn of the first queue. An empty queue leaves the list. */
static INLINE void end_turn(struct instance *instance, u32 number, struct lane *lane)
{
	instance->flows.has_quantum = 0;
	if (!lane->packets)
		lane->credit_bytes = 0;
	move_first(instance, &instance->flows.old, lane->packets ? &instance->flows.old : 0,
		   number, lane);
}

/* 1 if the first queue may send; 0 after it was moved. RFC 8290, section 4.2. */
static INLINE u32 may_send_fq(struct instance *instance, u32 number, struct lane *lane)
{
	struct flow_queues *flows = &instance->flows;
	u32 is_new = flows->new.count > 0, is_spent = lane->credit_bytes <= 0;

	if (!is_spent && lane->packets)
		return 1;
	if (is_spent)
		lane->credit_bytes += (s64)instance->wish.settings.quantum_bytes;
	/* an empty new queue becomes an old one: else it could become new again without end */
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

/* Returns the number of the queue that sends next, or NO_LANE. */
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

/*
 * Called when the link is free and nothing waits. The engine's link then asks for a packet once
 * more, which takes all empty queues off the lists. The kernel does not ask, so this does the same.
 */
static INLINE void fall_idle(const struct Qdisc *sch, struct instance *instance)
{
	end_service(sch, instance, instance->ended_ns);
	if (instance->flows.new.count || instance->flows.old.count)
		find_next_lane(instance);
}

/* Updates credit and turn after a packet of the queue that next_lane() returned was sent. */
static INLINE void sent(struct instance *instance, u32 number, struct lane *lane, u32 bytes)
{
	if (fixed.scheduler != SCHEDULER_SFQ)
		lane->credit_bytes -= bytes;
	if (fixed.scheduler == SCHEDULER_SFQ ||
	    (fixed.scheduler == SCHEDULER_DRR && !lane->packets))
		end_turn(instance, number, lane);
}

/* Length of a queue: packets with SFQ, else bytes. */
static INLINE u64 length_of(const struct lane *lane)
{
	return fixed.scheduler == SCHEDULER_SFQ ? lane->packets : lane->bytes;
}

/* Returns the longest queue; the arriving packet counts as the last one of its queue, `own`. */
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

#endif
