/*
 * Sends datagrams of many flows and sizes to an address and the three behind it, in bursts with
 * pauses. Every third flow is ECN-capable: the first with ECT(0), others with ECT(1) or as if another
 * queue had marked them (CE). Some flows have a codepoint of differentiated services. The same seed
 * gives the same packets.
 *
 *     qdisc_packets PACKETS SEED ADDRESS
 */
#include <arpa/inet.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define FLOWS 12
#define HOSTS 4
#define LARGEST 1400

static uint64_t state;
/* EF, CS1, AF41, AF11, CS6 and none; the flow with most packets has none */
static const int dscps[FLOWS] = { 0, 46, 8, 0, 34, 0, 10, 48, 0, 0, 46, 8 };

/* SplitMix64 */
static uint64_t draw(uint64_t below)
{
	uint64_t word = state += 0x9e3779b97f4a7c15ULL;

	word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9ULL;
	word = (word ^ word >> 27) * 0x94d049bb133111ebULL;
	return (word ^ word >> 31) % below;
}

int main(int argc, char **argv)
{
	long packets = argc == 4 ? atol(argv[1]) : 0;
	int sockets[FLOWS], room = 1 << 26;
	static char packet[LARGEST];

	state = argc == 4 ? strtoull(argv[2], 0, 10) : 0;
	for (int flow = 0; flow < FLOWS; flow++) {
		struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(1000 + flow) };
		int ecn = flow % 3 ? 0 : (int[]){ 2, 3, 1, 3 }[flow / 3];
		int tos = dscps[flow] << 2 | ecn;

		sockets[flow] = socket(AF_INET, SOCK_DGRAM, 0);
		if (argc != 4 || inet_pton(AF_INET, argv[3], &to.sin_addr) != 1)
			return 1;
		to.sin_addr.s_addr = htonl(ntohl(to.sin_addr.s_addr) + flow % HOSTS);
		setsockopt(sockets[flow], SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room));
		setsockopt(sockets[flow], IPPROTO_IP, IP_TOS, &tos, sizeof(tos));
		if (connect(sockets[flow], (void *)&to, sizeof(to)))
			return 1;
	}
	while (packets > 0) {
		/*
		 * flow 0 has over two thirds of the packets, so that flow queues differ in length
		 */
		for (long burst = 1 + (long)draw(30); burst && packets; burst--, packets--) {
			int flow = draw(3) ? 0 : (int)draw(FLOWS);

			if (send(sockets[flow], packet, 40 + draw(LARGEST - 40), 0) < 0)
				return 1;
		}
		usleep(draw(8) ? draw(8000) : 40000);
	}
	return 0;
}
