/*
 * Counts the instructions that a machine in virtual time (1 ns for each) executes for packets.
 *
 *     qdisc_load PACKETS_PER_MS MS [ECN]
 *
 * Sends UDP datagrams of 1000 bytes to 10.9.0.2, in a burst every millisecond. A second process of
 * the lowest priority counts the instructions that are left over. Prints the packets sent and the
 * instructions that were not left over. With ECN, the value of the header's field (2 is ECT(0)), it
 * only sends: without the second process, which takes a second of real time or more for each second
 * of virtual time.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/*
 * In the loop that counts what is left over. Most of them do nothing: the emulator skips these, so that
 * a second of virtual time costs it a few hundredths of the time that as many real ones would.
 */
#define IDLE_INSTRUCTIONS 98
#define LOOP_INSTRUCTIONS (IDLE_INSTRUCTIONS + 2)
#define MS_NS 1000000L

static unsigned long long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

static void wait_until(unsigned long long then_ns)
{
	struct timespec then = { then_ns / 1000000000ULL, then_ns % 1000000000ULL };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &then, NULL);
}

static void take_what_is_left(volatile unsigned long long *count)
{
	struct sched_param none = { 0 };

	sched_setscheduler(0, SCHED_IDLE, &none);
	__asm__ volatile("1: incq (%0)\n\t.rept %c1\n\tnop\n\t.endr\n\tjmp 1b"
			 : : "r"(count), "i"(IDLE_INSTRUCTIONS) : "memory");
}

int main(int argc, char **argv)
{
	long burst = argc >= 3 ? atol(argv[1]) : -1, ms = argc >= 3 ? atol(argv[2]) : 0, sent = 0;
	int ecn = argc == 4 ? atoi(argv[3]) : 0;
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(9) };
	int socket_fd = socket(AF_INET, SOCK_DGRAM, 0);
	volatile unsigned long long *count = mmap(NULL, sizeof(*count), PROT_READ | PROT_WRITE,
						  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned long long begin_ns, left;
	int room = 1 << 26;	/* send buffer, bytes: so large that the sender never waits */
	static char packet[1000];
	pid_t other;

	if (burst < 0 || ms < 1) {
		fprintf(stderr, "usage: qdisc_load PACKETS_PER_MS MS [ECN]\n");
		return 2;
	}
	setsockopt(socket_fd, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room));
	setsockopt(socket_fd, IPPROTO_IP, IP_TOS, &ecn, sizeof(ecn));
	inet_pton(AF_INET, "10.9.0.2", &to.sin_addr);
	other = argc == 4 ? 0 : fork();
	if (other == 0 && argc != 4)
		take_what_is_left(count);
	/* until then both processes have their memory, and the other one has started to count */
	begin_ns = now_ns() + 20 * MS_NS;
	wait_until(begin_ns);
	begin_ns = now_ns();
	left = *count;
	for (long tick = 1; tick <= ms; tick++) {
		for (long each = 0; each < burst; each++)
			sent += sendto(socket_fd, packet, sizeof(packet), 0, (void *)&to,
				       sizeof(to)) == sizeof(packet);
		wait_until(begin_ns + tick * MS_NS);
	}
	printf("%ld %llu\n", sent,
	       now_ns() - begin_ns - LOOP_INSTRUCTIONS * (*count - left));
	if (other) {
		kill(other, SIGKILL);
		waitpid(other, NULL, 0);
	}
	return 0;
}
