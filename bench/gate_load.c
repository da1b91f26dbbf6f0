/* Sends datagrams through a gate, for bench/gate.py:
 *     gate_load ADDRESS PACKET_BYTES SECONDS WINDOW FLOWS PACKETS_PER_S COUNTER
 * No more than WINDOW packets are under way at a time: COUNTER is the file with those that have
 * arrived. PACKETS_PER_S = 0 is as fast as that allows. It prints packets sent, packets arrived,
 * packets that did not arrive in time, and s. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { BATCH = 64, HEADERS = 28, PATIENCE_NS = 200000000 };

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
    struct sockaddr_in to[256];
    struct iovec piece = {calloc(1, 65536), (size_t)atoi(given[2]) - HEADERS};
    struct mmsghdr batch[BATCH] = {0};
    long long window = atoll(given[4]), flows = atoll(given[5]), per_s = atoll(given[6]);
    int counter = open(given[7], O_RDONLY), out = socket(AF_INET, SOCK_DGRAM, 0);
    if (counter < 0 || out < 0 || flows > 256) return 2;
    for (int flow = 0; flow < flows; flow++) {
        to[flow] = (struct sockaddr_in){AF_INET, htons((unsigned short)(9000 + flow)), {0}, {0}};
        inet_pton(AF_INET, given[1], &to[flow].sin_addr);
    }
    for (int k = 0; k < BATCH; k++) {
        batch[k].msg_hdr.msg_iov = &piece;
        batch[k].msg_hdr.msg_iovlen = 1;
        batch[k].msg_hdr.msg_namelen = sizeof *to;
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
        if (room > BATCH) room = BATCH;
        /* small batches cost more: half a batch at least, where nothing but the window waits */
        if (room <= 0 || (!per_s && room < BATCH / 2)) continue;
        for (int k = 0; k < room; k++) batch[k].msg_hdr.msg_name = &to[(sent + k) % flows];
        int done = sendmmsg(out, batch, (unsigned)room, 0);
        if (done > 0) sent += done;
    }
    long long there = arrived(counter) - first;
    printf("%lld %lld %lld %.6f\n", sent, there, sent - there, (double)(moved - start) / 1e9);
    return 0;
}
