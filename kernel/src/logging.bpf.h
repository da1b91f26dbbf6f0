/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The log of a qdisc, if compiled with LOGS: each call of its AQM, and each packet lost or sent, in
 * order, so that a test can repeat them in the engine's queue. logged.rs reads it.
 */
#ifndef SLUICEGATE_LOGGING_BPF_H
#define SLUICEGATE_LOGGING_BPF_H

/* The first five are `enum asked` of judge.bpf.c. */
enum happening {
	HAPPENED_ARRIVE,	/* `index`: that of the candidate */
	HAPPENED_DEPART,
	HAPPENED_TICK,
	HAPPENED_JOIN,
	HAPPENED_LEAVE,
	HAPPENED_SALT,		/* flows are spread anew: the new salt is `view.random` */
	HAPPENED_ASK,		/* the link is free, and asks for a packet */
	HAPPENED_LOSE,		/* `index`: where the packet waited */
	HAPPENED_SEND,		/* the link sends the packet until `view.idle_since_ns` */
	HAPPENED_BEGIN,		/* an interface begins to use the qdisc */
	HAPPENED_HOSTS,		/* the next arrival is of the hosts of the view */
	HAPPENED_HOLD,		/* a shaper holds all packets until `view.idle_since_ns` */
	HAPPENED_ACK,		/* the next arrival is an ACK, of which the view tells: log_ack() */
	HAPPENINGS
};

#ifdef LOGS

#define LOG_BYTES (1 << 12)

struct happened {
	u32 what;
	u32 link;	/* the instance's number */
	u32 queue;	/* number of the flow queue; 0 of a FIFO */
	u32 packet;	/* number of the packet: its place in the order of arrival, from 1 */
	u32 index;	/* of a waiting packet in its queue */
	u32 verdict;
	struct aqm_view view;
};

struct {
	int (*type)[MAP_TYPE_RINGBUF];
	int (*max_entries)[LOG_BYTES];
} happenings SECTION(".maps");

/* Events that were lost because the ring buffer was full. */
u64 unlogged SECTION(".data.unlogged") = 0;

static INLINE void log(const struct instance *instance, enum happening what, u32 queue, u32 packet,
		       u32 index, u32 verdict, const struct aqm_view *view)
{
	struct happened *happened;

	happened = ringbuf_reserve(&happenings, sizeof(*happened), 0);
	if (!happened) {
		unlogged++;
		return;
	}
	happened->what = what;
	happened->link = instance->number;
	happened->queue = queue;
	happened->packet = packet;
	happened->index = index;
	happened->verdict = verdict;
	happened->view = *view;
	ringbuf_submit(happened, NO_WAKEUP);
}

#else

#define log(instance, what, queue, packet, index, verdict, view)

#endif

/* Logs an event that is no call of an AQM. */
static INLINE void log_time(const struct instance *instance, enum happening what, u32 queue,
			    u32 packet, u32 index, u32 verdict, u64 now_ns, u64 then_ns)
{
	struct aqm_view view = { .now_ns = now_ns, .idle_since_ns = then_ns };

	log(instance, what, queue, packet, index, verdict, &view);
}

#endif
