/* Sends datagrams through a gate, for bench/gate.py:
 *     gate_load ADDRESS PACKET_BYTES SECONDS WINDOW PACKETS_PER_S PIECES COUNTER
 * At most WINDOW packets are under way at a time; COUNTER is the file with the number of packets
 * that have arrived. PACKETS_PER_S = 0: as fast as WINDOW allows. PIECES > 1: that many packets are
 * given to the kernel as one super-packet, which it cuts before it queues them, so that sending
 * takes little CPU time. Prints packets sent, packets arrived, packets lost, and seconds. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { BATCH = 64, HEADERS = 28, PATIENCE_NS = 200000000, UDP_SEGMENT = 103 };

static long long now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static long long arrived(int counter) {
    char text[32] = {0};
    if (pread(counter, text, sizeof text - 1, 0) <= 0) exit(3);
    return atoll(text);
}

int main(int count, char **given) {
    if (count != 8) return 2;
    int payload = atoi(given[2]) - HEADERS;
    long long window = atoll(given[4]), per_s = atoll(given[5]), pieces = atoll(given[6]);
    int counter = open(given[7], O_RDONLY), out = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in to = {AF_INET, htons(9000), {0}, {0}};
    inet_pton(AF_INET, given[1], &to.sin_addr);
    if (counter < 0 || connect(out, (struct sockaddr *)&to, sizeof to)) return 2;
    if (pieces > 1 && setsockopt(out, IPPROTO_UDP, UDP_SEGMENT, &payload, sizeof payload)) return 2;
    prctl(PR_SET_TIMERSLACK, 1);
    struct iovec piece = {calloc(1, 65536), (size_t)(payload * pieces)};
    struct mmsghdr batch[BATCH] = {0};
    for (int k = 0; k < BATCH; k++) {
        batch[k].msg_hdr.msg_iov = &piece;
        batch[k].msg_hdr.msg_iovlen = 1;
    }
    long long first = arrived(counter), sent = 0, lost = 0, seen = 0;
    long long start = now_ns(), end = start + (long long)(atof(given[3]) * 1e9), moved = start;
    for (;;) {
        long long now = now_ns(), there = arrived(counter) - first;
        if (there != seen) moved = now;
        seen = there;
        long long under_way = sent - lost - there, room = window - under_way;
        if (now >= end) {
            if (under_way <= 0 || now - moved > PATIENCE_NS) break;
            continue;
        }
        if (room <= 0 && now - moved > PATIENCE_NS) lost += under_way;
        if (per_s) {
            long long due = (long long)((double)(now - start) * 1e-9 * (double)per_s) - sent;
            if (due < room) room = due;
        }
        room /= pieces;
        if (room <= 0) {
            /* other threads may need this processor, for example the kernel's own */
            nanosleep(&(struct timespec){0, per_s ? 100000 : 1000}, NULL);
            continue;
        }
        int done = sendmmsg(out, batch, (unsigned)(room < BATCH ? room : BATCH), 0);
        if (done > 0) sent += done * pieces;
    }
    printf("%lld %lld %lld %.6f\n", sent, seen, sent - seen, (double)(moved - start) / 1e9);
    return 0;
}
