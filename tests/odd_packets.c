/*
 * Sends what a queue rarely sees. The same seed gives the same frames.
 *
 *     odd_packets frames INTERFACE COUNT SEED: frames of PPPoE and VLANs, and damaged IP packets;
 *         most headers have ECT
 *     odd_packets segments ADDRESS COUNT: datagrams of 60 kB that the kernel cuts into 44 packets
 */
#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define UDP_SEGMENT 103
#define SEGMENT_BYTES 1400
#define SEGMENTS 44
#define ROOM (1 << 26)

static uint64_t state;

/* SplitMix64 */
static uint64_t draw(uint64_t below)
{
	uint64_t word = state += 0x9e3779b97f4a7c15ULL;

	word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9ULL;
	word = (word ^ word >> 27) * 0x94d049bb133111ebULL;
	return (word ^ word >> 31) % below;
}

/* An Ethernet frame of one of seven kinds. Returns its bytes. */
static size_t frame(uint8_t *out)
{
	static const uint8_t to[6] = { 2, 0, 0, 0, 0, 9 }, from[6] = { 2, 0, 0, 0, 0, 1 };
	static const uint8_t kinds[][12] = {
		{ 0x88, 0x64, 0x11, 0, 0, 7, 0, 102, 0, 0x21 },	/* PPPoE session: IPv4 */
		{ 0x88, 0x64, 0x11, 0, 0, 7, 0, 102, 0, 0x57 },	/* the same: IPv6 */
		{ 0x88, 0x63, 0x11, 9, 0, 0, 0, 0 },		/* PPPoE discovery */
		{ 0x81, 0x00, 0, 5, 8, 0 },			/* VLAN */
		{ 0x08, 0x00 }, { 0x86, 0xdd }, { 0x08, 0x06 },
	};
	static const size_t lengths[] = { 10, 10, 8, 6, 2, 2, 2 };
	uint64_t kind = draw(7);
	size_t length = 12 + lengths[kind], bytes = length + draw(3) * 50 + draw(60);
	uint32_t is_v6 = kind == 1 || kind == 5;

	memcpy(out, to, 6);
	memcpy(out + 6, from, 6);
	memcpy(out + 12, kinds[kind], lengths[kind]);
	for (size_t place = length; place < bytes; place++)
		out[place] = (uint8_t)draw(256);
	/* most headers begin as they should; some are cut off within */
	if (bytes >= length + 2 && draw(4)) {
		out[length] = is_v6 ? 0x60 : 0x45;
		out[length + 1] = is_v6 ? 0x20 : 2;
	}
	return bytes;
}

static int send_frames(const char *interface, long count)
{
	struct sockaddr_ll to = { .sll_family = AF_PACKET, .sll_halen = 6 };
	int fd = socket(AF_PACKET, SOCK_RAW, 0), room = ROOM;
	uint8_t packet[512];

	to.sll_ifindex = (int)if_nametoindex(interface);
	setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room));
	for (long number = 0; number < count; number++) {
		size_t bytes = frame(packet);

		/* a drop by the qdisc is told as ENOBUFS */
		to.sll_protocol = (uint16_t)(packet[12] | packet[13] << 8);
		sendto(fd, packet, bytes, 0, (void *)&to, sizeof(to));
		if (number % 20 == 0)
			usleep(1000);
	}
	return 0;
}

static int send_segments(const char *address, long count)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(9) };
	int fd = socket(AF_INET, SOCK_DGRAM, 0), size = SEGMENT_BYTES, room = ROOM;
	static char packet[SEGMENT_BYTES * SEGMENTS];

	setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room));
	if (inet_pton(AF_INET, address, &to.sin_addr) != 1 ||
	    setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &size, sizeof(size)))
		return 1;
	for (long number = 0; number < count; number++) {
		if (sendto(fd, packet, sizeof(packet), 0, (void *)&to, sizeof(to)) < 0)
			return 1;
		usleep(1000);
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 5 && !strcmp(argv[1], "frames")) {
		state = strtoull(argv[4], 0, 10);
		return send_frames(argv[2], atol(argv[3]));
	}
	return argc == 4 ? send_segments(argv[2], atol(argv[3])) : 2;
}
