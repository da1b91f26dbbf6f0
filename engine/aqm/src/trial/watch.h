/*
 * What is needed to try an AQM: a message when a fault ends the process, limits of time and
 * stack, and memory with forbidden pages around it.
 */
#ifndef WATCH_H
#define WATCH_H

#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#define MOST_STACK (512 << 10)	/* bytes; a thread of a simulation has 2 MB */
#define FORBIDDEN (64UL << 20)	/* bytes before and after the memory of an AQM */
#define UNTOUCHED 0xa5
#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static char case_text[16] = "0";
static const char *now_in = "descriptors";	/* the function that was called last */

/* Prints the fault and ends the process; `where` is an address in the program, or empty. */
static void fault_at(const char *what, const char *where)
{
	/* this may run in a signal handler, which must not use stdio */
	const char *parts[] = { "fault ", case_text, " ", now_in, " ", what, where, "\n" };

	for (size_t part = 0; part < LENGTH(parts); part++)
		if (write(STDOUT_FILENO, parts[part], strlen(parts[part])) < 0)
			break;
	_exit(1);
}

static void fault(const char *what)
{
	fault_at(what, "");
}

/* Returns the address of the instruction that the signal interrupted; 0 if it is not known. */
static uintptr_t interrupted_at(const void *context)
{
#if defined(__linux__) && defined(__x86_64__)
	return (uintptr_t)((const ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
#elif defined(__linux__) && defined(__aarch64__)
	return (uintptr_t)((const ucontext_t *)context)->uc_mcontext.pc;
#else
	(void)context;
	return 0;
#endif
}

static void on_signal(int number, siginfo_t *info, void *context)
{
	char where[] = " 0x0000000000000000";
	uintptr_t address = interrupted_at(context);

	(void)info;
	for (size_t place = sizeof(where) - 2; address; place--, address >>= 4)
		where[place] = "0123456789abcdef"[address & 15];
	fault_at(number == SIGFPE ? "division" :
		 number == SIGVTALRM || number == SIGALRM ? "time" :
		 number == SIGILL || number == SIGTRAP || number == SIGABRT ? "trap" : "memory",
		 where);
}

static void watch(void)
{
	static char stack[64 << 10];	/* the usual stack may have overflowed */
	const int signals[] = { SIGFPE, SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGABRT, SIGVTALRM,
				SIGALRM };
	struct rlimit no_core = { 0, 0 }, little = { MOST_STACK, MOST_STACK };
	stack_t own = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct sigaction action = { .sa_sigaction = on_signal,
				    .sa_flags = SA_ONSTACK | SA_SIGINFO };

	setrlimit(RLIMIT_CORE, &no_core);
	setrlimit(RLIMIT_STACK, &little);
	sigaltstack(&own, 0);
	for (size_t signal = 0; signal < LENGTH(signals); signal++)
		sigaction(signals[signal], &action, 0);
}

/* Limits the time from now on: 1 s of processor time, 30 s of real time. */
static void limit_time(void)
{
	struct itimerval second = { .it_value = { .tv_sec = 1 } };

	setitimer(ITIMER_VIRTUAL, &second, 0);
	alarm(30);
}

/* Memory of an AQM; nothing before or after it may be read or written. */
struct guarded {
	unsigned char *pages, *memory;
	size_t room, size;
};

static struct guarded guarded(size_t size)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE), room = (size / page + 1) * page;
	unsigned char *all = mmap(0, room + 2 * FORBIDDEN, PROT_NONE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	unsigned char *pages = all + FORBIDDEN;

	if (all == MAP_FAILED || mprotect(pages, room, PROT_READ | PROT_WRITE))
		fault("room");
	/* the memory ends where its last page ends, except for alignment */
	return (struct guarded){ pages, pages + room - (size + 7) / 8 * 8, room, size };
}

static void clear(const struct guarded *of)
{
	memset(of->pages, UNTOUCHED, of->room);
	memset(of->memory, 0, of->size);
}

static void check_around(const struct guarded *of)
{
	for (unsigned char *at = of->pages; at < of->pages + of->room; at++)
		if ((at < of->memory || at >= of->memory + of->size) && *at != UNTOUCHED)
			fault("beyond");
}

#endif
