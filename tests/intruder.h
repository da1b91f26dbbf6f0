/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The AQM of test_gate_daemon.py. When a packet of 1237 bytes arrives, it asks the kernel for what
 * a gate must not get, and prints to stderr the error of each attempt (0: none). An AQM may not
 * call functions; this one makes system calls by instructions, which the check of headers does not
 * see.
 */
#ifndef INTRUDER_H
#define INTRUDER_H
#include "aqm.h"
#include "fixed.h"

#define INTRUDER_PARAMS(P) P(unused, COUNT, 0, 0, 1, "", "nothing", "this test")

AQM_PARAMS(intruder, INTRUDER_PARAMS)
struct intruder_config { u32 unused; };
struct intruder_state { u32 unused; };

static inline u32 intruder_configure(const struct intruder_params *p, struct intruder_config *c)
{
	c->unused = (u32)p->unused;
	return 0;
}

#ifdef __x86_64__
static inline long intruder_ask(long number, long a, long b, long c, long d, long e)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = 0;

	__asm__ volatile("syscall" : "+a"(number)
			 : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return number;
}

static inline void intruder_tell(const char *what, long answer)
{
	char line[40] = "intruder: ";
	long error = answer < 0 ? -answer : 0, length = 10;

	while (*what)
		line[length++] = *what++;
	line[length++] = ' ';
	line[length++] = '0' + error / 100 % 10;
	line[length++] = '0' + error / 10 % 10;
	line[length++] = '0' + error % 10;
	line[length++] = '\n';
	intruder_ask(1 /* write */, 2, (long)line, length, 0, 0);
}

static inline void intruder_try(void)
{
	/* struct sockaddr_in: 127.0.0.1:9 */
	static const u8 address[16] = { 2, 0, 0, 9, 127, 0, 0, 1 };
	static const int one = 1, fifo = 1;
	long at = -100, tcp = intruder_ask(41, 2, 1, 0, 0, 0);

	intruder_tell("read", intruder_ask(257, at, (long)"/etc/passwd", 0, 0, 0));
	intruder_tell("proc", intruder_ask(257, at, (long)"/proc/self/status", 0, 0, 0));
	intruder_tell("write", intruder_ask(257, at, (long)"/dev/shm/intruder", 0x41, 0600, 0));
	intruder_tell("folder", intruder_ask(258, at, (long)"/dev/shm/intruders", 0700, 0, 0));
	intruder_tell("tun", intruder_ask(257, at, (long)"/dev/net/tun", 2, 0, 0));
	intruder_tell("program", intruder_ask(59, (long)"/bin/true", 0, 0, 0, 0));
	intruder_tell("connect", intruder_ask(42, tcp, (long)address, 16, 0, 0));
	intruder_tell("bind", intruder_ask(49, tcp, (long)address, 16, 0, 0));
	intruder_tell("raw", intruder_ask(41, 2, 3, 1, 0, 0));
	intruder_tell("packet", intruder_ask(41, 17, 3, 0, 0, 0));
	intruder_tell("namespace", intruder_ask(272, 0x20000, 0, 0, 0, 0));
	intruder_tell("chroot", intruder_ask(161, (long)"/", 0, 0, 0, 0));
	intruder_tell("host", intruder_ask(170, (long)"intruder", 8, 0, 0, 0));
	intruder_tell("trace", intruder_ask(101, 16, 1, 0, 0, 0));
	intruder_tell("realtime", intruder_ask(144, 0, 1, (long)&fifo, 0, 0));
	/* SO_MARK needs CAP_NET_ADMIN */
	intruder_tell("administer", intruder_ask(54, tcp, 1, 36, (long)&one, 4));
	intruder_ask(3, tcp, 0, 0, 0, 0);
}
#else
static inline void intruder_try(void) {}
#endif

static inline enum aqm_verdict intruder_arrive(struct intruder_state *s,
					       const struct intruder_config *c,
					       const struct aqm_view *view)
{
	(void)s;
	(void)c;
	/* not in the trial of a new header: its limit is never 54321 */
	if (view->packet_bytes == 1237 && view->limit_packets == 54321)
		intruder_try();
	return AQM_ADMIT;
}

AQM_CLASS(intruder, INTRUDER_PARAMS,
	.title = "Intruder", .source = "this test", .summary = "Asks for what it may not have.")
#endif
