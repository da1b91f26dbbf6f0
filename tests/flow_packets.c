/*
 * Sends one datagram of each of many flows over an interface, at once: for the hashes of qdiscs.
 *
 *     flow_packets INTERFACE FLOWS
 */
#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

int main(int argc, char **argv)
{
	int link = argc == 3 ? (int)if_nametoindex(argv[1]) : 0, room = 1 << 26;
	int out = socket(AF_PACKET, SOCK_DGRAM, 0);
	struct sockaddr_ll to = { .sll_family = AF_PACKET, .sll_ifindex = link, .sll_halen = 6 };
	struct { struct iphdr ip; struct udphdr udp; uint8_t data[20]; } packet;

	if (!link)
		return 1;
	to.sll_protocol = htons(ETH_P_IP);
	memset(to.sll_addr, 2, 6);
	setsockopt(out, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room));
	memset(&packet, 0, sizeof(packet));
	packet.ip = (struct iphdr){ .version = 4, .ihl = 5, .ttl = 64, .protocol = IPPROTO_UDP };
	packet.ip.tot_len = htons(sizeof(packet));
	packet.ip.saddr = htonl(0x0a090001);
	packet.udp.dest = htons(9);
	packet.udp.len = htons(sizeof(packet) - sizeof(packet.ip));
	for (int flow = 0; flow < atoi(argv[2]); flow++) {
		packet.ip.daddr = htonl(0x0a090002 + flow / 100);
		packet.udp.source = htons((uint16_t)(1000 + flow));
		if (sendto(out, &packet, sizeof(packet), 0, (void *)&to, sizeof(to)) < 0)
			return 1;
	}
	return 0;
}
