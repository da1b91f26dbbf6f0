/*
 * Tries a user's AQM before it is let into the process that asks for it: whatever goes wrong
 * happens here. trial.rs compiles this with the user's object file and reads what it prints:
 *
 *   case N HASH             case N was run; HASH stands for all that the AQM said
 *   fault N FUNCTION WHAT   what went wrong in case N, the last line
 *
 * The file `cases` has a line for each case: the integers of struct X_params.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "fixed.h"

const struct aqm_class *sluice_aqm(void);

#define ARRIVALS 1500
#define MOST_PACKETS 64
#define MOST_TICKS 8		/* between two arrivals; the rest is left out */
#define GUARD 64		/* bytes before and behind the state */
#define SECOND_NS 1000000000ULL
#define MOST_STACK (512 << 10)	/* of a simulation's thread it is 2 MB */

static const struct aqm_class *class;
static void *state, *config;
static int case_number;
static char case_text[16] = "0";
static const char *now_in = "descriptors";	/* the function that was called last */
static u64 hash, word = 0x9e3779b97f4a7c15ULL;

static void fault(const char *what)
{
	/* this may be a signal's handler, which must not use stdio */
	const char *parts[] = { "fault ", case_text, " ", now_in, " ", what, "\n" };

	for (size_t part = 0; part < AQM_LENGTH(parts); part++)
		if (write(STDOUT_FILENO, parts[part], strlen(parts[part])) < 0)
			break;
	_exit(1);
}

static void on_signal(int number)
{
	fault(number == SIGFPE ? "division" :
	      number == SIGVTALRM || number == SIGALRM ? "time" :
	      number == SIGILL || number == SIGTRAP || number == SIGABRT ? "trap" : "memory");
}

static void watch(void)
{
	static char stack[64 << 10];	/* the usual one may be what ran out */
	const int signals[] = { SIGFPE, SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGABRT, SIGVTALRM,
				SIGALRM };
	struct rlimit no_core = { 0, 0 }, little = { MOST_STACK, MOST_STACK };
	stack_t own = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };

	setrlimit(RLIMIT_CORE, &no_core);
	setrlimit(RLIMIT_STACK, &little);
	sigaltstack(&own, 0);
	for (size_t signal = 0; signal < AQM_LENGTH(signals); signal++)
		sigaction(signals[signal], &action, 0);
}

/* A second of the processor's time from now on, or half a minute on the clock. */
static void limit_time(void)
{
	struct itimerval second = { .it_value = { .tv_sec = 1 } };

	setitimer(ITIMER_VIRTUAL, &second, 0);
	alarm(30);
}

static u64 draw(void)
{
	word ^= word << 13;
	word ^= word >> 7;
	word ^= word << 17;
	return word * 0x2545f4914f6cdd1dULL;
}

static void note(u64 said)
{
	hash = (hash ^ said) * 0x100000001b3ULL;
}

static void note_probability(const char *function, s64 p)
{
	char what[64];

	note((u64)p);
	if (p >= 0 && p <= FIXED_ONE)
		return;
	now_in = function;
	snprintf(what, sizeof(what), "probability %lld", p);
	fault(what);
}

/* What an AQM may say: one of three, or DROP_BOTH; what the queue made of it is let pass. */
static u32 checked(const char *function, u32 verdict, u32 own)
{
	char what[64];

	note(verdict);
	if (verdict <= AQM_DROP_FORCED || (own && verdict < AQM_VERDICTS))
		return verdict;
	now_in = function;
	snprintf(what, sizeof(what), "verdict %u", verdict);
	fault(what);
	return 0;
}

/* A link, what waits before it, and what the AQM sees. */
static struct {
	struct packet {
		u64 since_ns;
		u32 bytes, flow;
	} waiting[MOST_PACKETS], sent;
	struct aqm_view view;
	u64 free_ns, next_tick_ns, tick_ns;
	u32 limit, ecn, busy;
} link_;

static void show(const struct packet *packet, u64 random)
{
	struct aqm_view *view = &link_.view;

	view->random = random;
	view->sojourn_ns = 0;
	view->packet_bytes = packet ? packet->bytes : 0;
	view->flow_hash = packet ? packet->flow : 0;
	view->candidate_flow_hash = 0;
	view->ecn_capable = packet ? link_.ecn && packet->flow % 2 : 0;
	view->full = 0;
}

static void occupy(const struct packet *packet, s64 change)
{
	if (!class->occupancy)
		return;
	show(packet, 0);
	now_in = "occupancy";
	class->occupancy(state, config, &link_.view, change);
}

static struct packet take(u32 place)
{
	struct packet packet = link_.waiting[place];

	link_.view.queue_packets--;
	link_.view.queue_bytes -= packet.bytes;
	memmove(link_.waiting + place, link_.waiting + place + 1,
		(link_.view.queue_packets - place) * sizeof(packet));
	occupy(&packet, -1);
	return packet;
}

/* The link is free from `now_ns` on: it takes what the AQM lets out. */
static void depart(u64 now_ns)
{
	struct aqm_view *view = &link_.view;

	view->now_ns = now_ns;
	link_.busy = 0;
	while (view->queue_packets) {
		u32 verdict = AQM_ADMIT;

		link_.sent = take(0);
		if (class->depart) {
			show(&link_.sent, draw());
			view->sojourn_ns = now_ns - link_.sent.since_ns;
			now_in = "depart";
			verdict = class->depart(state, config, view);
			checked("depart", verdict, verdict == AQM_MARK && view->ecn_capable);
		}
		if (verdict == AQM_ADMIT || verdict == AQM_MARK) {
			link_.busy = 1;
			link_.free_ns = now_ns + 8 * SECOND_NS * link_.sent.bytes / view->rate_bps;
			return;
		}
	}
	view->idle = 1;
	view->idle_since_ns = now_ns;
}

static void arrive(u64 now_ns)
{
	struct aqm_view *view = &link_.view;
	struct packet packet = { now_ns, 40 + draw() % 1461, draw() % 20 * 0x9e3779b1U };
	u32 candidate, verdict;

	view->now_ns = now_ns;
	show(&packet, draw());
	view->full = view->queue_packets >= link_.limit;
	candidate = view->queue_packets ? draw() % view->queue_packets : 0;
	if (class->wants_candidate && view->queue_packets)
		view->candidate_flow_hash = link_.waiting[candidate].flow;
	now_in = "arrive";
	verdict = class->arrive(state, config, view);
	checked("arrive", verdict,
		(verdict == AQM_DROP_OVERFLOW && view->full) ||
		(verdict == AQM_MARK && view->ecn_capable) ||
		(verdict == AQM_DROP_BOTH && class->wants_candidate));
	if (verdict == AQM_DROP_BOTH && view->queue_packets)
		take(candidate);
	if (verdict != AQM_ADMIT && verdict != AQM_MARK)
		return;
	occupy(&packet, 1);
	link_.waiting[view->queue_packets++] = packet;
	view->queue_bytes += packet.bytes;
	view->idle = 0;
	view->idle_since_ns = 0;
	if (!link_.busy)
		depart(now_ns);
}

/* All that ends or ticks until `now_ns`. */
static void pass(u64 now_ns)
{
	for (u32 ticks = 0; link_.tick_ns && link_.next_tick_ns <= now_ns; ticks++) {
		if (ticks == MOST_TICKS) {
			link_.next_tick_ns = now_ns + link_.tick_ns;
			break;
		}
		while (link_.busy && link_.free_ns <= link_.next_tick_ns)
			depart(link_.free_ns);
		show(0, 0);
		link_.view.now_ns = link_.next_tick_ns;
		link_.next_tick_ns += link_.tick_ns;
		now_in = "tick";
		class->tick(state, config, &link_.view);
	}
	while (link_.busy && link_.free_ns <= now_ns)
		depart(link_.free_ns);
}

static void look(void)
{
	now_in = "average";
	if (class->average)
		note((u64)class->average(state));
	now_in = "probability";
	if (class->probability)
		note_probability("probability", class->probability(state, config));
}

/* Less and more than the link can send, with a pause between. */
static void run(u64 rate_bps, u32 limit, u32 ecn)
{
	static const u64 percent_of_load[] = { 50, 95, 105, 300, 80 };
	const u64 packet_ns = 8 * SECOND_NS * 770 / rate_bps;
	u64 now_ns = 0;

	memset(&link_, 0, sizeof(link_));
	link_.limit = limit;
	link_.ecn = ecn;
	link_.view.rate_bps = rate_bps;
	link_.view.limit_packets = limit;
	link_.view.idle = 1;
	now_in = "tick_interval_ns";
	if (class->tick && class->tick_interval_ns)
		link_.tick_ns = class->tick_interval_ns(config);
	link_.next_tick_ns = link_.tick_ns;
	for (u32 n = 0; n < ARRIVALS; n++) {
		u64 load = percent_of_load[n * AQM_LENGTH(percent_of_load) / ARRIVALS];

		now_ns += draw() % (2 * packet_ns * 100 / load);
		if (n % 500 == 499)
			now_ns += 1000 * packet_ns;
		pass(now_ns);
		arrive(now_ns);
		if (n % 16 == 0)
			look();
	}
}

static void try_law(void)
{
	if (!class->drop_probability)
		return;
	now_in = "drop_probability";
	for (s64 average = 0; average < 1LL << 62; average += average / 4 + FIXED_ONE / 8)
		note_probability("drop_probability", class->drop_probability(config, average));
}

/* The AQM at work with its parameters set, its state between guards. */
static void try_link(u64 rate_bps, u32 limit, u32 ecn)
{
	const size_t state_size = class->state_size, all = state_size + 2 * GUARD;
	unsigned char *memory = malloc(all), *before = malloc(class->config_size + 1);

	memset(memory, 0xa5, all);
	state = memory + GUARD;
	memset(state, 0, state_size);
	memcpy(before, config, class->config_size);
	run(rate_bps, limit, ecn);
	now_in = "state";
	for (size_t at = 0; at < GUARD; at++)
		if (memory[at] != 0xa5 || memory[all - 1 - at] != 0xa5)
			fault("beyond");
	now_in = "config";
	if (memcmp(before, config, class->config_size))
		fault("changed");
	free(before);
	free(memory);
}

static void try_case(const s64 *params)
{
	limit_time();
	snprintf(case_text, sizeof(case_text), "%d", case_number);
	hash = 0xcbf29ce484222325ULL;
	now_in = "configure";
	config = calloc(1, class->config_size + 8);
	/* values that the rules between parameters exclude cannot be set */
	if (class->configure(params, config) == 0) {
		try_law();
		try_link(10000000, 50, 0);
		try_link(1000000, 5, 1);
		try_link(10000000000ULL, 50, 1);
	}
	free(config);
	printf("case %d %llx\n", case_number, hash);
	fflush(stdout);
}

static size_t length(const char *text)
{
	return text ? strlen(text) : 0;
}

/* Whether the table can be read at all; gives what is read, so that it is. */
static size_t read_table(void)
{
	const struct aqm_class *entry = sluice_aqm();
	size_t sum = length(entry->name) + length(entry->title) + length(entry->source) +
		     length(entry->summary);

	for (u64 row = 0; row < entry->defaults_count; row++)
		sum += length(entry->defaults[row].name);
	class = entry->base ? entry->base : entry;
	for (u64 row = 0; row < class->params_count; row++) {
		const struct aqm_param *param = &class->params[row];

		sum += length(param->name) + length(param->kind) + length(param->when) +
		       length(param->help) + length(param->source);
	}
	for (u64 row = 0; row < class->rules_count; row++)
		sum += length(class->rules[row].left) + length(class->rules[row].says) +
		       length(class->rules[row].right);
	return sum + length(class->name);
}

int main(void)
{
	FILE *cases = fopen("cases", "r");
	s64 *params;

	watch();
	limit_time();
	if (!read_table() || !class->configure || !class->arrive)
		fault("empty");
	params = calloc(class->params_count + 1, sizeof(*params));
	/* a slow AQM is tried with what there is time for; the first case is always run */
	while (cases && (case_number == 0 || clock() < CLOCKS_PER_SEC / 4)) {
		for (u64 row = 0; row < class->params_count; row++)
			if (fscanf(cases, "%lld", &params[row]) != 1)
				return 0;
		if (class->params_count == 0 && case_number)
			return 0;
		try_case(params);
		case_number++;
	}
	return 0;
}
