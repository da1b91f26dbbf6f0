/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The verdicts on packets that arrive and leave: the AQM is asked with the view of the moment, and what
 * it says is counted and logged.
 */
#ifndef SLUICEGATE_JUDGING_BPF_H
#define SLUICEGATE_JUDGING_BPF_H

static INLINE u32 is_drop(enum aqm_verdict verdict)
{
	return verdict != AQM_ADMIT && verdict != AQM_MARK;
}

/* A verdict that there is not admits, as in every world. */
static INLINE enum aqm_verdict known(enum aqm_verdict verdict)
{
	return verdict < AQM_VERDICTS ? verdict : AQM_ADMIT;
}

static INLINE u32 has_room(struct Qdisc *sch, const struct instance *instance, u32 bytes)
{
	return sch->q.qlen < instance->params.settings.limit_packets &&
	       (u64)sch->qstats.backlog + bytes <= instance->params.settings.limit_bytes;
}

/* Counts a verdict. As with Linux's RED, tc shows marks as overlimits. */
static INLINE void count_verdict(struct Qdisc *sch, struct instance *instance, u32 lane,
				 enum aqm_verdict verdict)
{
	if (verdict < AQM_VERDICTS)
		instance->counts.verdicts[verdict]++;
	if (verdict == AQM_MARK) {
		sch->qstats.overlimits++;
		count_mark(instance, lane);
	}
}

/* Returns the verdict on an arriving packet; `candidate` gets the index of CHOKe's candidate. */
static INLINE enum aqm_verdict judge_arrival(struct Qdisc *sch, struct instance *instance,
					     struct lane *lane, u32 number,
					     const struct waiting *arrived, u32 *candidate)
{
	u64 now_ns = arrived->since_ns;
	struct aqm_view view = packet_view(sch, instance, lane, number, arrived, now_ns);
	enum aqm_verdict verdict;

	view.random = draw(instance, now_ns);
	view.full = !has_room(sch, instance, arrived->bytes);
#ifdef WANTS_CANDIDATE
	if (packets_in(sch, lane) && LANE_HAS(candidate, instance, number)) {
		struct place *place;

		*candidate = index_at_random(sch, instance, lane);
		place = place_of(instance, lane, *candidate);
		view.candidate_flow_hash = place ? place->waiting.flow_hash : 0;
	}
#endif
	verdict = known(aqm_settle(ARRIVE(instance, lane, &view), &view));
	count_verdict(sch, instance, number, verdict);
	log(instance, HAPPENED_ARRIVE, number, arrived->packet, *candidate, verdict, &view);
	return verdict;
}

/* Returns the verdict on a packet that leaves. */
static INLINE enum aqm_verdict judge(struct Qdisc *sch, struct instance *instance,
				     struct lane *lane, u32 number, u64 now_ns,
				     const struct waiting *waited)
{
#ifdef HAS_DEPART
	struct aqm_view view = packet_view(sch, instance, lane, number, waited, now_ns);
	enum aqm_verdict verdict;

	if (!LANE_HAS(depart, instance, number))
		return AQM_ADMIT;
	/* the packet that leaves is in service, so the queue is not idle */
	view.idle = 0;
	view.idle_since_ns = 0;
	view.random = draw_more(instance);
	view.sojourn_ns = now_ns - waited->since_ns;
	verdict = known(aqm_mark_instead(DEPART(instance, lane, &view), &view));
	if (verdict != AQM_ADMIT)
		count_verdict(sch, instance, number, verdict);
	log(instance, HAPPENED_DEPART, number, waited->packet, 0, verdict, &view);
	return verdict;
#else
	return AQM_ADMIT;
#endif
}

#endif
