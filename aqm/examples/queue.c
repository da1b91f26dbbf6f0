/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* CoDel at a link that sends a packet each 800 us; one arrives each 760 us, half can be marked. */
#include <stdio.h>
#include "codel.h"

enum { LIMIT = 1000, BYTES = 1000, SERVICE_NS = 800000, GAP_NS = 760000 };

static struct aqm_view see(u64 now_ns, u32 waiting, u32 number)
{
	return (struct aqm_view){ .now_ns = now_ns, .packet_bytes = BYTES, .queue_packets = waiting,
		.queue_bytes = waiting * BYTES, .limit_packets = LIMIT, .ecn_capable = number % 2 };
}

int main(void)
{
	struct codel_params params = { .target = 5000000, .interval = 100000000 };	/* ns */
	struct codel_config config;
	struct codel_state state = { 0 };
	u64 arrived_ns[LIMIT], now_ns, next_ns = 0;
	u32 head = 0, tail = 0, verdict, counts[AQM_VERDICTS] = { 0 };

	if (codel_configure(&params, &config))
		return 1;
	for (now_ns = 0; now_ns < 10000000000ULL; now_ns += SERVICE_NS) {
		for (; next_ns <= now_ns; next_ns += GAP_NS) {
			struct aqm_view view = see(next_ns, tail - head, tail);

			view.full = tail - head == LIMIT;
			verdict = aqm_settle(codel_arrive(&state, &config, &view), &view);
			if (verdict == AQM_ADMIT || verdict == AQM_MARK)
				arrived_ns[tail++ % LIMIT] = next_ns;
		}
		for (verdict = AQM_DROP_EARLY; verdict == AQM_DROP_EARLY && head != tail; head++) {
			struct aqm_view view = see(now_ns, tail - head - 1, head);

			view.sojourn_ns = now_ns - arrived_ns[head % LIMIT];
			verdict = aqm_mark_instead(codel_depart(&state, &config, &view), &view);
			counts[verdict]++;
		}
	}
	printf("%u sent, %u sent with a mark, %u dropped, %u wait\n", counts[AQM_ADMIT],
	       counts[AQM_MARK], counts[AQM_DROP_EARLY], tail - head);
	return 0;
}
