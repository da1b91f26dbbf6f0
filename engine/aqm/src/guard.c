/*
 * Stands between a world and a user's AQM. It notes which function each thread is in, finds a view
 * that was changed, and says what happened when the AQM ends the process. compile.rs links it into
 * the library of the AQM; AQM_NAME is the AQM's name.
 */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "aqm.h"

const struct aqm_class *sluice_aqm(void);
const struct aqm_class *sluice_guarded(void);
const char *sluice_inside(void);
const char *sluice_changed(void);

#define THREADS 512	/* more than these share places */
#define SIGNALS 6

static const struct aqm_class *own;	/* that of the AQM, not of a preset */
static struct aqm_class entry, guarded;
static const char *volatile changed;	/* the function that changed the view */
static struct sigaction before[SIGNALS];
static volatile char telling;
static const int faults[SIGNALS] = { SIGFPE, SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGABRT };

static struct {
	const char *volatile inside;
	char apart[64 - sizeof(char *)];	/* a cache line each */
} threads[THREADS];

static const char *volatile *here(void)
{
	static unsigned int count;
	static __thread unsigned int place;

	if (!place)
		place = 1 + __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED) % THREADS;
	return &threads[place - 1].inside;
}

#define INSIDE(function, call)                       \
	do {                                         \
		const char *volatile *inside = here(); \
		*inside = function;                  \
		call;                                \
		*inside = 0;                         \
	} while (0)

/* Calls a function with a copy of the view, which must be the same afterwards. */
#define SHOWN(function, call)                                   \
	do {                                                    \
		struct aqm_view seen;                           \
		memcpy(&seen, view, sizeof(seen));              \
		INSIDE(function, call);                         \
		if (memcmp(&seen, view, sizeof(seen)))          \
			changed = function;                     \
	} while (0)

static u32 configure(const s64 *params, void *config)
{
	u32 rule;

	INSIDE("configure", rule = own->configure(params, config));
	return rule;
}

static u32 arrive(void *state, const void *config, const struct aqm_view *view)
{
	u32 verdict;

	SHOWN("arrive", verdict = own->arrive(state, config, &seen));
	return verdict;
}

static u32 depart(void *state, const void *config, const struct aqm_view *view)
{
	u32 verdict;

	SHOWN("depart", verdict = own->depart(state, config, &seen));
	return verdict;
}

static void tick(void *state, const void *config, const struct aqm_view *view)
{
	SHOWN("tick", own->tick(state, config, &seen));
}

static void occupancy(void *state, const void *config, const struct aqm_view *view, s64 change)
{
	SHOWN("occupancy", own->occupancy(state, config, &seen, change));
}

static u64 tick_interval_ns(const void *config)
{
	u64 interval;

	INSIDE("tick_interval_ns", interval = own->tick_interval_ns(config));
	return interval;
}

static s64 drop_probability(const void *config, s64 average)
{
	s64 probability;

	INSIDE("drop_probability", probability = own->drop_probability(config, average));
	return probability;
}

static s64 average(const void *state)
{
	s64 packets;

	INSIDE("average", packets = own->average(state));
	return packets;
}

static s64 probability(const void *state, const void *config)
{
	s64 p;

	INSIDE("probability", p = own->probability(state, config));
	return p;
}

static const char *what(int number, const siginfo_t *info)
{
	if (number == SIGFPE)
		return " divides by zero, or the quotient has no room (the least number by -1)";
	if (number == SIGSEGV && info->si_code == SEGV_ACCERR)
		return " writes to memory that it may only read, such as its struct " AQM_NAME
		       "_config, which all its queues share";
	if (number == SIGSEGV || number == SIGBUS)
		return " reads or writes memory that is not its own: a null pointer, an index out "
		       "of range, or a recursion without end";
	return " gives up (a trap, or code that must not be reached)";
}

/* Says what an AQM did; a fault anywhere else is left to whoever handled it before. */
static void on_fault(int number, siginfo_t *info, void *context)
{
	const char *inside = *here();
	const char *parts[] = { "error: " AQM_NAME ".h: " AQM_NAME "_", inside,
				what(number, info), "\n" };

	(void)context;
	for (int place = 0; !inside && place < SIGNALS; place++)
		if (faults[place] == number)
			sigaction(number, &before[place], 0);
	/* the instruction, or the signal, then comes again */
	if (!inside && number == SIGABRT)
		raise(number);
	if (!inside)
		return;
	/* two threads may fail at once: one says it and ends the process */
	if (__atomic_test_and_set(&telling, __ATOMIC_RELAXED))
		for (;;)
			pause();
	/* a signal handler must not use stdio */
	for (unsigned int part = 0; part < AQM_LENGTH(parts); part++)
		if (write(STDERR_FILENO, parts[part], strlen(parts[part])) < 0)
			break;
	_exit(1);
}

static void watch(void)
{
	struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_ONSTACK | SA_SIGINFO };

	for (int place = 0; place < SIGNALS; place++)
		sigaction(faults[place], &action, &before[place]);
}

#define GUARD(function) guarded.function = own->function ? function : 0

/* Returns the AQM's class with functions that are watched. */
const struct aqm_class *sluice_guarded(void)
{
	entry = *sluice_aqm();
	own = entry.base ? entry.base : sluice_aqm();
	guarded = *own;
	GUARD(configure);
	GUARD(arrive);
	GUARD(depart);
	GUARD(tick);
	GUARD(tick_interval_ns);
	GUARD(drop_probability);
	GUARD(average);
	GUARD(probability);
	GUARD(occupancy);
	watch();
	if (!entry.base)
		return &guarded;
	entry.base = &guarded;
	return &entry;
}

/* Returns a function that a thread is in now; null if there is none. */
const char *sluice_inside(void)
{
	for (int place = 0; place < THREADS; place++)
		if (threads[place].inside)
			return threads[place].inside;
	return 0;
}

/* Returns the function that changed the view; null if none did. */
const char *sluice_changed(void)
{
	return changed;
}
