/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * One AQM that answers questions: each question is a view and a function to call. User space fills
 * the table, the program answers in the kernel, and user space reads verdicts and state.
 *
 * Given by the compiler's command line: HEADER (the AQM's file), AQM (its name), and HAS_DEPART,
 * HAS_TICK, HAS_OCCUPANCY where it has these functions. agreement.h compares `struct question`,
 * `struct order` and `enum asked` with judge.rs.
 */
#include "loop.bpf.h"
#include HEADER

#define SECTION(name) __attribute__((section(name), used))
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define OF(what) JOIN(AQM, what)

enum asked { ASKED_ARRIVE, ASKED_DEPART, ASKED_TICK, ASKED_JOIN, ASKED_LEAVE, ASKED_WAYS };

struct question {
	struct aqm_view view;
	u32 asked;	/* enum asked */
	u32 verdict;	/* the answer */
};

#define QUESTIONS 16384
#define HELPER_KTIME_GET_NS 5
#define HELPER_LOOP 181

static u64 (*const ktime_get_ns)(void) = (void *)HELPER_KTIME_GET_NS;
static long (*const loop)(u32 count, void *body, void *context, u64 flags) = (void *)HELPER_LOOP;

/*
 * Each is in a section of its own, which becomes a map of its own. `least` gives it a size: the
 * structs of drop-tail are empty.
 */
union { u64 least; struct OF(_config) own; } config SECTION(".data.config") = { 0 };
union { u64 least; struct OF(_state) own; } state SECTION(".data.state") = { 0 };
struct question questions[QUESTIONS] SECTION(".data.questions") = { { { 0 } } };
struct order {
	u64 count;	/* questions to be answered */
	u64 took_ns;
} order SECTION(".data.order") = { 0 };

static long answer(u32 number, void *context)
{
	struct question *question;

	(void)context;
	if (number >= QUESTIONS)
		return 1;
	question = &questions[number];
	switch (question->asked) {
	case ASKED_ARRIVE:
		question->verdict = aqm_settle(OF(_arrive)(&state.own, &config.own, &question->view),
					       &question->view);
		break;
#ifdef HAS_DEPART
	case ASKED_DEPART:
		question->verdict = aqm_mark_instead(
			OF(_depart)(&state.own, &config.own, &question->view), &question->view);
		break;
#endif
#ifdef HAS_TICK
	case ASKED_TICK:
		OF(_tick)(&state.own, &config.own, &question->view);
		break;
#endif
#ifdef HAS_OCCUPANCY
	case ASKED_JOIN:
		OF(_occupancy)(&state.own, &config.own, &question->view, 1);
		break;
	case ASKED_LEAVE:
		OF(_occupancy)(&state.own, &config.own, &question->view, -1);
		break;
#endif
	}
	return 0;
}

SECTION("syscall") int judge(void *context)
{
	u64 began_ns = ktime_get_ns();

	(void)context;
	loop((u32)order.count, answer, 0, 0);
	order.took_ns = ktime_get_ns() - began_ns;
	return 0;
}

#include "agreement.h"

char license_of_all[] SECTION("license") = "Dual BSD/GPL";
