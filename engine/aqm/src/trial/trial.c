/*
 * Tries a user's AQM before it is loaded into the calling process, so that a fault happens here.
 * trial.rs compiles this with the user's object file and reads what it prints:
 *
 *   case N HASH             case N was run; HASH covers everything that the AQM returned
 *   fault N FUNCTION WHAT   the fault in case N; the last line
 *
 * The file `cases` has one line for each case: the integers of struct X_params.
 */
#include <stdio.h>
#include <time.h>

#include "fixed.h"
#include "watch.h"

const struct aqm_class *sluice_aqm(void);

#define ARRIVALS 1500
#define MOST_PACKETS 256
#define MOST_TICKS 8		/* between two arrivals; more are left out */
#define SECOND_NS 1000000000ULL

static const struct aqm_class *class;
static int case_number;
static u64 hash, word = 0x9e3779b97f4a7c15ULL;

static u64 draw(void)
{
	word ^= word << 13;
	word ^= word >> 7;
	word ^= word << 17;
	return word * 0x2545f4914f6cdd1dULL;
}

static struct guarded state, config, seen;
static struct aqm_view *view, shown;

/* enter() is called before a function that gets the view, leave() after it. */
static void enter(const char *function)
{
	now_in = function;
	shown = *view;
}

static void leave(void)
{
	if (memcmp(&shown, view, sizeof(shown)))
		fault("view");
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

/*
 * Faults if an AQM must not return this verdict. It may return one of the first three; `own`
 * is 1 if another verdict is right, from the AQM or from the queue.
 */
static u32 checked(const char *function, u32 verdict, u32 own)
{
	char what[64];

	note(verdict);
	if (verdict <= AQM_DROP_FORCED || (own && verdict < AQM_VERDICTS))
		return verdict;
	now_in = function;
	snprintf(what, sizeof(what), "verdict %u %u", verdict, class->wants_candidate != 0);
	fault(what);
	return 0;
}

/* A link, the packets that wait for it, and its next events. */
static struct {
	struct packet {
		u64 since_ns;
		u32 bytes, flow;
	} waiting[MOST_PACKETS], sent;
	u64 free_ns, next_tick_ns, tick_ns;
	u32 limit, ecn, busy;
} link_;

static void show(const struct packet *packet, u64 random)
{
	view->random = random;
	view->sojourn_ns = 0;
	view->packet_bytes = packet ? packet->bytes : 0;
	view->flow_hash = packet ? packet->flow : 0;
	view->candidate_flow_hash = 0;
	view->traffic_class = packet ? packet->flow >> 8 << 2 | packet->flow % 2 * AQM_ECT0 : 0;
	view->ecn_capable = link_.ecn && aqm_ecn(view);
	view->buffer_bytes = packet ? view->queue_bytes : 0;
	view->full = 0;
}

static void occupy(const struct packet *packet, s64 change)
{
	if (!class->occupancy)
		return;
	show(packet, 0);
	enter("occupancy");
	class->occupancy(state.memory, config.memory, view, change);
	leave();
}

static struct packet take(u32 place)
{
	struct packet packet = link_.waiting[place];

	view->queue_packets--;
	view->queue_bytes -= packet.bytes;
	memmove(link_.waiting + place, link_.waiting + place + 1,
		(view->queue_packets - place) * sizeof(packet));
	occupy(&packet, -1);
	return packet;
}

/* The link is free from `now_ns` on: it sends the next packet that the AQM does not drop. */
static void depart(u64 now_ns)
{
	view->now_ns = now_ns;
	link_.busy = 0;
	while (view->queue_packets) {
		u32 verdict = AQM_ADMIT;

		link_.sent = take(0);
		if (class->depart) {
			show(&link_.sent, draw());
			view->sojourn_ns = now_ns - link_.sent.since_ns;
			enter("depart");
			verdict = class->depart(state.memory, config.memory, view);
			leave();
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
	struct packet packet = { now_ns, 40 + draw() % 1461, draw() % 20 * 0x9e3779b1U };
	u32 candidate, verdict;

	view->now_ns = now_ns;
	show(&packet, draw());
	view->full = view->queue_packets >= link_.limit;
	candidate = view->queue_packets ? draw() % view->queue_packets : 0;
	if (class->wants_candidate && view->queue_packets)
		view->candidate_flow_hash = link_.waiting[candidate].flow;
	enter("arrive");
	verdict = class->arrive(state.memory, config.memory, view);
	leave();
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

/* Runs all ticks and ends of transmissions until `now_ns`. */
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
		view->now_ns = link_.next_tick_ns;
		link_.next_tick_ns += link_.tick_ns;
		enter("tick");
		class->tick(state.memory, config.memory, view);
		leave();
	}
	while (link_.busy && link_.free_ns <= now_ns)
		depart(link_.free_ns);
}

static void read_outputs(void)
{
	now_in = "average";
	if (class->average)
		note((u64)class->average(state.memory));
	now_in = "probability";
	if (class->probability)
		note_probability("probability", class->probability(state.memory, config.memory));
}

/* Offers less and more than the link can send, with pauses. */
static void run(u64 rate_bps, u32 limit, u32 ecn)
{
	static const u64 percent_of_load[] = { 50, 95, 105, 300, 80 };
	const u64 packet_ns = 8 * SECOND_NS * 770 / rate_bps;
	u64 now_ns = 0;

	memset(&link_, 0, sizeof(link_));
	clear(&seen);
	link_.limit = limit;
	link_.ecn = ecn;
	view->rate_bps = rate_bps;
	view->limit_packets = limit;
	view->idle = 1;
	now_in = "tick_interval_ns";
	if (class->tick && class->tick_interval_ns)
		link_.tick_ns = class->tick_interval_ns(config.memory);
	link_.next_tick_ns = link_.tick_ns;
	for (u32 n = 0; n < ARRIVALS; n++) {
		u64 load = percent_of_load[n * AQM_LENGTH(percent_of_load) / ARRIVALS];

		now_ns += draw() % (2 * packet_ns * 100 / load);
		if (n % 500 == 499)
			now_ns += 1000 * packet_ns;
		pass(now_ns);
		arrive(now_ns);
		if (n % 16 == 0)
			read_outputs();
	}
}

static void try_drop_function(void)
{
	if (!class->drop_probability)
		return;
	now_in = "drop_probability";
	for (s64 average = 0; average < 1LL << 62; average += average / 4 + FIXED_ONE / 8)
		note_probability("drop_probability", class->drop_probability(config.memory, average));
}

/* Runs the AQM at a link and checks that it wrote only to its state. */
static void try_link(u64 rate_bps, u32 limit, u32 ecn)
{
	void *before = malloc(config.room);

	clear(&state);
	memcpy(before, config.pages, config.room);
	run(rate_bps, limit, ecn);
	now_in = "state";
	check_around(&state);
	now_in = "config";
	if (memcmp(before, config.pages, config.room))
		fault("changed");
	free(before);
}

static void try_case(const s64 *params)
{
	u32 rule;

	limit_time();
	snprintf(case_text, sizeof(case_text), "%d", case_number);
	hash = 0xcbf29ce484222325ULL;
	now_in = "configure";
	clear(&config);
	rule = class->configure(params, config.memory);
	check_around(&config);
	/* an AQM never runs with values that break a rule between parameters */
	if (rule == 0) {
		try_drop_function();
		try_link(10000000, 50, 0);
		try_link(1000000, 5, 1);
		try_link(10000000000ULL, MOST_PACKETS, 1);
	}
	printf("case %d %llx\n", case_number, hash);
	fflush(stdout);
}

static size_t length(const char *text)
{
	return text ? strlen(text) : 0;
}

/* Reads the whole table, so that a broken one faults; the sum makes the compiler read it. */
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
	if (!cases)
		return 0;
	state = guarded(class->state_size);
	config = guarded(class->config_size);
	seen = guarded(sizeof(*view));
	view = (struct aqm_view *)seen.memory;
	params = calloc(class->params_count + 1, sizeof(*params));
	/* with a slow AQM, only as many cases are run as there is time for; at least the first */
	while (case_number == 0 || clock() < CLOCKS_PER_SEC / 4) {
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
