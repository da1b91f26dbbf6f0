/*
 * Sends bursts of TCP packets over an interface, most of them ACKs, and prints the numbers of those that
 * leave it, one a line: for the ACK filters of qdiscs. Connections of IPv4 and IPv6 have SACK blocks,
 * timestamps, duplicates, echoes of marks, and at times data or what a filter must not remove. With `odd`,
 * many have options that are malformed, come twice or have empty blocks. The same seed gives the same
 * packets. What is sent goes to standard error, a packet in hexadecimal a line.
 *
 *     ack_packets INTERFACE SEED BURSTS [odd]
 */
#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECTIONS 4
#define BURST 40
/* of TCP's header: its sequence number, which is the packet's here */
#define NUMBER_AT 4

#define OPTIONS_BYTES 40

static uint64_t state;
static int has_odd;
static struct { uint32_t acked, stamp, echo; uint8_t ece; } connections[CONNECTIONS];

/* SplitMix64 */
static uint32_t draw(uint32_t below)
{
	uint64_t word = state += 0x9e3779b97f4a7c15ULL;

	word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9ULL;
	word = (word ^ word >> 27) * 0x94d049bb133111ebULL;
	return (uint32_t)((word ^ word >> 31) % below);
}

static uint8_t *word(uint8_t *at, uint32_t value)
{
	value = htonl(value);
	memcpy(at, &value, 4);
	return at + 4;
}

/* Writes options, and returns their end. */
static uint8_t *options(uint8_t *at, int which)
{
	uint32_t acked = connections[which].acked, has_stamps = which % 2, start;
	uint32_t blocks = draw(3) ? 0 : 1 + draw(has_stamps ? 3 : 4);

	if (has_stamps) {
		connections[which].stamp += draw(2);
		connections[which].echo += draw(2);
		at = word(at, 0x0101080a);
		/* at times an older one comes late */
		at = word(at, connections[which].stamp - !draw(10));
		at = word(at, connections[which].echo);
	}
	if (blocks) {
		at = word(at, 0x01010500 | (2 + 8 * blocks));
		for (uint32_t block = 0; block < blocks; block++) {
			/* at times of a packet that came twice */
			start = acked + 1000 * (2 * block + draw(2)) - 2000 * !draw(15);
			at = word(at, start);
			at = word(at, start + 1000 * (1 + draw(2)));
		}
	} else if (!draw(20)) {
		if (draw(2))
			return word(at, 0x1e040000);	/* unknown */
		at = word(at, 0x01011312);	/* a signature */
		for (int word_of_it = 0; word_of_it < 4; word_of_it++)
			at = word(at, draw(1000));
	}
	return at;
}

/* Repeats options at times, and changes a byte of them: to a kind or a length. Returns their end. */
static uint8_t *odd(uint8_t *from, uint8_t *to)
{
	static const uint8_t others[] = { 0, 1, 2, 3, 4, 5, 8, 10, 18, 19, 26, 34, 40, 255 };
	size_t size = (size_t)(to - from);
	int blocks = draw(5) ? -1 : (int)draw(3);

	if (blocks >= 0 && size + 4 + 8 * (size_t)blocks <= OPTIONS_BYTES) {
		to = word(to, 0x01010502 + 8 * (uint32_t)blocks);
		/* some are empty */
		for (int number = 0; number < 2 * blocks; number++)
			to = word(to, draw(2));
	} else if (!draw(4) && 2 * size <= OPTIONS_BYTES) {
		memcpy(to, from, size);
		to += size;
	}
	if (to > from && draw(2))
		from[draw((uint32_t)(to - from))] = others[draw(sizeof(others))];
	return to;
}

/* Writes a TCP packet, and returns its end. */
static uint8_t *tcp(uint8_t *at, int which, uint32_t number)
{
	uint8_t *header = at, flags = 0x10;

	connections[which].acked += 1000 * draw(3);
	connections[which].ece ^= !draw(8);
	flags |= connections[which].ece << 6;
	if (!draw(25))
		flags |= (uint8_t[]){ 0x01, 0x02, 0x08, 0x80 }[draw(4)];
	at = word(at, (uint32_t)(1000 + which) << 16 | 80);
	at = word(at, number);
	/* at times an ACK overtakes another */
	at = word(at, connections[which].acked - 1000 * !draw(12));
	at = word(at, 0);
	at = word(at, 0);
	at = options(at, which);
	if (has_odd && draw(2))
		at = odd(header + 20, at);
	header[12] = (uint8_t)((at - header) / 4 << 4 | !draw(30));
	header[13] = flags;
	return draw(20) ? at : at + 100;
}

/* Returns the size of a packet of a connection, the odd half of which has IPv6. */
static size_t packet(uint8_t *at, int which, uint32_t number)
{
	int is_v6 = which >= CONNECTIONS / 2;
	uint8_t *header = at;
	uint16_t length;

	memset(at, 0, 256);
	at = tcp(at + (is_v6 ? 40 : 20), which, number);
	length = htons((uint16_t)(at - header - (is_v6 ? 40 : 0)));
	header[0] = is_v6 ? 0x60 : 0x45;
	memcpy(header + (is_v6 ? 4 : 2), &length, 2);
	header[is_v6 ? 6 : 9] = 6;
	if (is_v6)
		header[7] = 64;
	else
		header[6] = draw(2) ? 0x40 : 0;	/* do not fragment */
	memset(header + (is_v6 ? 8 : 12), 10 + which, is_v6 ? 32 : 8);
	return (size_t)(at - header);
}

static void show(const uint8_t *bytes, size_t size)
{
	for (size_t place = 0; place < size; place++)
		fprintf(stderr, "%02x", bytes[place]);
	fputc('\n', stderr);
}

int main(int argc, char **argv)
{
	int link = argc >= 4 ? (int)if_nametoindex(argv[1]) : 0, room = 1 << 24;
	int out = socket(AF_PACKET, SOCK_DGRAM, 0);
	int heard = socket(AF_PACKET, SOCK_DGRAM, htons(ETH_P_ALL));
	struct sockaddr_ll to = { .sll_family = AF_PACKET, .sll_ifindex = link, .sll_halen = 6 };
	uint8_t bytes[256];
	uint32_t number = 0;
	ssize_t size;

	to.sll_protocol = htons(ETH_P_ALL);
	if (!link || bind(heard, (void *)&to, sizeof(to)))
		return 1;
	setsockopt(heard, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
	setsockopt(out, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room));
	memset(to.sll_addr, 2, 6);
	state = strtoull(argv[2], 0, 10);
	has_odd = argc > 4;
	for (long burst = atol(argv[3]); burst; burst--) {
		for (int sent = 0; sent < BURST; sent++) {
			int which = (int)draw(CONNECTIONS);
			size_t length = packet(bytes, which, ++number);

			to.sll_protocol = htons(bytes[0] >> 4 == 6 ? ETH_P_IPV6 : ETH_P_IP);
			if (sendto(out, bytes, length, 0, (void *)&to, sizeof(to)) < 0)
				return 1;
			show(bytes, length);
		}
		/* until all have left */
		sleep(2);
	}
	while ((size = recv(heard, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0) {
		uint8_t *own = bytes + (bytes[0] >> 4 == 6 ? 40 : 20) + NUMBER_AT;

		printf("%u\n", (uint32_t)own[0] << 24 | (uint32_t)own[1] << 16 | own[2] << 8 | own[3]);
	}
	return 0;
}
