/*
 * An interface slower than its traffic: a TUN device for which its qdisc waits, and from which
 * PACKETS_PER_MS packets are read each millisecond.
 *
 *     slow_tun NAME PACKETS_PER_MS
 */
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

/* In Linux 7.3 a qdisc waits for a TUN device with this flag; without it packets are dropped. The
   machine's <linux/if_tun.h> may be older. */
#define QDISC_WAITS 0x0080

int main(int argc, char **argv)
{
	struct ifreq request = { .ifr_flags = IFF_TUN | IFF_NO_PI | QDISC_WAITS };
	struct timespec pause = { .tv_nsec = 1000000 };
	int device = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
	unsigned int features = 0;
	char packet[2000];

	if (argc != 3) {
		fprintf(stderr, "usage: slow_tun NAME PACKETS_PER_MS\n");
		return 2;
	}
	strncpy(request.ifr_name, argv[1], sizeof(request.ifr_name) - 1);
	if (ioctl(device, TUNGETFEATURES, &features) || !(features & QDISC_WAITS)) {
		fprintf(stderr, "this kernel has no qdisc wait for a TUN device: sluice lab --fetch\n");
		return 1;
	}
	if (ioctl(device, TUNSETIFF, &request)) {
		perror(argv[1]);
		return 1;
	}
	for (;;) {
		for (int each = 0; each < atoi(argv[2]); each++)
			if (read(device, packet, sizeof(packet)) < 0)
				break;
		nanosleep(&pause, NULL);
	}
}
