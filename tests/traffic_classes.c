/* Sends a datagram of IPv4 and one of IPv6 with each traffic class, to the port 9 of two addresses. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct sockaddr_in four = { .sin_family = AF_INET, .sin_port = htons(9) };
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_port = htons(9) };
	int by_four = socket(AF_INET, SOCK_DGRAM, 0), by_six = socket(AF_INET6, SOCK_DGRAM, 0);
	static char data[1000];

	if (argc != 3 || inet_pton(AF_INET, argv[1], &four.sin_addr) != 1 ||
	    inet_pton(AF_INET6, argv[2], &six.sin6_addr) != 1)
		return 1;
	for (int class = 0; class < 256; class++) {
		setsockopt(by_four, IPPROTO_IP, IP_TOS, &class, sizeof(class));
		setsockopt(by_six, IPPROTO_IPV6, IPV6_TCLASS, &class, sizeof(class));
		/* 20 bytes more of header, 20 less of data */
		if (sendto(by_four, data, 520, 0, (void *)&four, sizeof(four)) < 0 ||
		    sendto(by_six, data, 500, 0, (void *)&six, sizeof(six)) < 0)
			return 1;
		usleep(3000);
	}
	return 0;
}
