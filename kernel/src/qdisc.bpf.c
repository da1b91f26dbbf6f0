/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * One AQM as a queue discipline of Linux (struct_ops of kind Qdisc_ops, Linux 6.16): one queue or,
 * with a scheduler, several lanes, before a link of a rate. It makes the same calls of AQM and
 * scheduler as the engine's queue.
 *
 * Given by the compiler's command line: HEADER (the AQM's file), AQM (its name), SHA256 (of all
 * text), HAS_DEPART, HAS_TICK, HAS_OCCUPANCY if the AQM has these functions, WANTS_CANDIDATE,
 * WANTS_FLOW if the hash of a packet's flow is used, WANTS_TRAFFIC_CLASS if its DSCP or ECN
 * codepoint is, WANTS_HOSTS if the hashes of its hosts are, HAS_READY if its scheduler shapes,
 * HAS_LOST if it is told of losses, HAS_ACK_FILTER if ACKs may be removed, LOGS, and with a
 * scheduler SCHEDULER_HEADER (its file) and SCHEDULER (its name). A coupled discipline is both AQM and
 * scheduler, and COUPLED is defined. With CLASSES the scheduler's lanes are classes of service, and
 * AQM is `classes` of classes.bpf.h. MADE_OF has the names of AQMs and scheduler, and whether there is
 * a log.
 *
 * A kind of qdisc serves up to INSTANCES interfaces. Each has an entry of `instances`, with AQMs
 * and state of its own, and a part of the map `places`, in which its packets wait. The kernel holds
 * a qdisc's lock around enqueue, dequeue and reset, so nothing here is locked. The number of a
 * qdisc's entry is kept in its field `limit`: only the qdisc itself reads that field, and a look-up
 * in a hash table would cost more than most AQMs.
 */
#define AQM_LANES_ELSEWHERE
#include "loop.bpf.h"
#include "aqm.h"
#include "qdisc.bpf.h"
#include HEADER
#ifdef SCHEDULER
#include SCHEDULER_HEADER
#endif
#include "instance.bpf.h"
#include "marks.bpf.h"
#include "stats.bpf.h"
#include "logging.bpf.h"
#include "waiting.bpf.h"
#include "sending.bpf.h"
#ifdef SCHEDULER
#include "lanes.bpf.h"
#include "lane_packets.bpf.h"
#include "acks.bpf.h"
#else
#include "fifo.bpf.h"
#endif
#include "reload.bpf.h"
#include "judging.bpf.h"
#include "arriving.bpf.h"
#include "leaving.bpf.h"

SECTION("struct_ops/enqueue") int enqueue(u64 *context)
{
	struct sk_buff *skb = (struct sk_buff *)context[0];
	struct Qdisc *sch = (struct Qdisc *)context[1];
	struct bpf_sk_buff_ptr *to_free = (struct bpf_sk_buff_ptr *)context[2];
	struct instance *instance = instance_of(sch);
	u64 now_ns = ktime_get_ns();
	struct waiting arrived = { .since_ns = now_ns, .bytes = packet_bytes(skb) };
	enum aqm_verdict verdict = AQM_ADMIT;
	struct refused refused;
	struct lane *lane;
	u32 number;

	take_params(instance, now_ns);
	if (!sch->q.qlen && now_ns >= instance->free_ns)
		fall_idle(sch, instance);
	tick_together(instance, now_ns);
#ifdef WANTS_FLOW
	arrived.flow_hash = bpf_skb_get_hash(skb);
#endif
	arrived.traffic_class = traffic_class(instance, skb);
#ifdef HAS_ACK_FILTER
	arrived.is_ack = read_ack(instance, skb);
	if (arrived.is_ack)
		log_ack(instance, now_ns);
#endif
	/* without a lane or a place */
	refused.why = AQM_DROP_OVERFLOW;
	number = classify(instance, &arrived, skb);
	lane = lane_for(sch, instance, number, now_ns);
	count_arrival(instance, skb, arrived.bytes, now_ns);
	arrived.packet = (u32)instance->counts.arrivals;
	if (lane)
		skb = join(sch, instance, lane, number, skb, &arrived, to_free, &refused,
			   &verdict);
	if (!skb)
		return is_drop(verdict) ? NET_XMIT_CN : NET_XMIT_SUCCESS;
	log_time(instance, HAPPENED_LOSE, number, arrived.packet, 0, refused.why, now_ns, 0);
	count_loss(sch, instance, arrived.bytes);
	bpf_qdisc_skb_drop(skb, to_free);
	return NET_XMIT_DROP;
}

/*
 * The kernel calls dequeue after each arrival and after each departure. Reading the clock again
 * takes longer than all the rest here, so the time of that event is used. If the time is too early,
 * the watchdog's time has passed already, and it calls dequeue again at once.
 */
SECTION("struct_ops/dequeue") struct sk_buff *dequeue(u64 *context)
{
	struct Qdisc *sch = (struct Qdisc *)context[0];
	struct instance *instance;
	u64 event_ns;

	if (!sch->q.qlen && (!keeps_sending() || !instance_of(sch)->is_sending))
		return 0;
	instance = instance_of(sch);
	event_ns = instance->just_now_ns;
	instance->just_now_ns = NO_EVENT;
	/* most calls find that the link is busy */
	if (fixed.is_shaped && !fixed.varies && event_ns < instance->free_ns) {
		ask_again(sch, instance, instance->free_ns);
		return 0;
	}
	return next_packet(sch, instance, event_ns);
}

SECTION("struct_ops/init") int init(u64 *context)
{
	struct Qdisc *sch = (struct Qdisc *)context[0];
	struct instance *instance;
	u64 now_ns = ktime_get_ns();
	u32 number;

	FOR_UP_TO(fixed.instances) {
		number = (u32)turn & (INSTANCES - 1);
		instance = &instances[number];
		if (instance->is_used)
			continue;
		/* what an earlier interface counted stays readable until here */
		__builtin_memset(&instance->counts, 0, sizeof(instance->counts));
		instance->just_now_ns = NO_EVENT;
		instance->is_used = 1;
		instance->number = number;
		instance->first_place = number * fixed.places;
		instance->free_ns = now_ns;
		instance->ended_ns = now_ns;
		instance->counts.begun_ns = now_ns;
		instance->counts.until_ns = now_ns;
		begin_empty(instance, now_ns);
		take_params(instance, now_ns);
		begin_aqms(instance, now_ns);
		log_time(instance, HAPPENED_BEGIN, 0, 0, 0, 0, now_ns, 0);
		sch->limit = HAS_ENTRY | number;
		break;
	}
	return sch->limit ? 0 : NO_SPACE_LEFT;
}

SECTION("struct_ops/reset") void reset(u64 *context)
{
	struct Qdisc *sch = (struct Qdisc *)context[0];
	struct instance *instance = instance_of(sch);
	u64 now_ns = ktime_get_ns();
	struct sk_buff *skb;
	struct place *place;

	/* also called after an `init` that found no entry */
	if (!sch->limit)
		return;
	count_length(sch, instance, now_ns);
	instance->counts.left += sch->q.qlen;
	instance->counts.left_bytes += sch->qstats.backlog;
	FOR_UP_TO(fixed.places) {
		place = place_at(instance, (u32)turn);
		if (!place)
			break;
		skb = exchange(place, 0);
		if (skb)
			bpf_kfree_skb(skb);
	}
	if (keeps_sending()) {
		skb = follow(instance, 0);
		if (skb)
			bpf_kfree_skb(skb);
	}
	instance->free_ns = now_ns;
	instance->ended_ns = now_ns;
	instance->watched_ns = 0;	/* the kernel stops the watchdog */
	sch->q.qlen = 0;
	sch->qstats.backlog = 0;
	begin_empty(instance, now_ns);
	begin_aqms(instance, now_ns);
}

SECTION("struct_ops/destroy") void destroy(u64 *context)
{
	struct Qdisc *sch = (struct Qdisc *)context[0];
	struct instance *instance = instance_of(sch);

	/* also called after an `init` that found no entry */
	if (sch->limit)
		instance->is_used = 0;
}

SECTION(".struct_ops.link") struct Qdisc_ops qdisc = {
	.enqueue = (void *)enqueue,
	.dequeue = (void *)dequeue,
	.init = (void *)init,
	.reset = (void *)reset,
	.destroy = (void *)destroy,
	.id = "sluice",
};

#ifdef SCHEDULER
#define BEHIND_CONFIG __builtin_offsetof(struct params, scheduler)
#else
#define BEHIND_CONFIG (__builtin_offsetof(struct instance, lane.state) - \
		       __builtin_offsetof(struct instance, params))
#endif
/* installed.rs writes the scheduler's config behind the AQM's, and counts.rs finds the state there */
_Static_assert(BEHIND_CONFIG == __builtin_offsetof(struct params, config) +
				(sizeof(((struct params *)0)->config) + 7) / 8 * 8,
	       "Rust and BPF differ: behind the config");
#include "agreement.h"

char license_of_all[] SECTION("license") = "Dual BSD/GPL";
