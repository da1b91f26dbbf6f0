/*
 * One end of a PPPoE session, as pppd has it once LCP and IPCP are done: an interface ppp0.
 *
 *     pppoe_session INTERFACE MAC_OF_THE_OTHER_END
 *
 * Prints the interface's name and keeps it until it is ended.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_pppox.h>
#include <linux/ppp-ioctl.h>
#include <linux/ppp_defs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define SESSION 7

static int failed(const char *what)
{
	perror(what);
	return 1;
}

int main(int argc, char **argv)
{
	union {
		struct sockaddr any;
		struct sockaddr_pppox pppox;
	} to = { .pppox = { .sa_family = AF_PPPOX, .sa_protocol = PX_PROTO_OE } };
	struct npioctl ip = { PPP_IP, NPMODE_PASS }, ipv6 = { PPP_IPV6, NPMODE_PASS };
	unsigned char *mac = to.pppox.sa_addr.pppoe.remote;
	int session, channel, number, unit, name = -1;

	if (argc != 3 || strlen(argv[1]) >= IFNAMSIZ ||
	    sscanf(argv[2], "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", mac, mac + 1, mac + 2, mac + 3,
		   mac + 4, mac + 5) != 6)
		return 2;
	to.pppox.sa_addr.pppoe.sid = htons(SESSION);
	strcpy(to.pppox.sa_addr.pppoe.dev, argv[1]);
	session = socket(AF_PPPOX, SOCK_STREAM, PX_PROTO_OE);
	if (session < 0 || connect(session, &to.any, sizeof(to.pppox)))
		return failed("session");
	channel = open("/dev/ppp", O_RDWR);
	if (ioctl(session, PPPIOCGCHAN, &number) || ioctl(channel, PPPIOCATTCHAN, &number))
		return failed("channel");
	unit = open("/dev/ppp", O_RDWR);
	if (ioctl(unit, PPPIOCNEWUNIT, &name) || ioctl(channel, PPPIOCCONNECT, &name))
		return failed("unit");
	if (ioctl(unit, PPPIOCSNPMODE, &ip) || ioctl(unit, PPPIOCSNPMODE, &ipv6))
		return failed("protocols");
	printf("ppp%d\n", name);
	fflush(stdout);
	pause();
	return 0;
}
