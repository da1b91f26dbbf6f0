/* A plain slot-by-slot simulation of the queue of Domanska, Domanski & Czachorski 2008.
 * bench/slotted.py compares the slotted world with it. It keeps only moments, no distributions.
 * Build: cc -O2 -o slot_baseline slot_baseline.c -lm
 * Usage: slot_baseline SOURCE(geometric|self-similar) MU W AQM(red|dsred) GAMMA VICTIM(tail|front) SLOTS A SEED
 * Prints: queue mean, queue variance, loss, wait mean, wait variance. Times in slots, queues in packets. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFER = 250, RING = 1024, STATES = 5 };
static const double ALPHA = 0.5, WARM_UP = 1e6;
static uint64_t s[4];

static uint64_t rotl(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }

static double uniform(void) { /* xoshiro256** */
    uint64_t r = rotl(s[1] * 5, 7) * 9, t = s[1] << 17;
    s[2] ^= s[0]; s[3] ^= s[1]; s[1] ^= s[2]; s[0] ^= s[3]; s[2] ^= t; s[3] = rotl(s[3], 45);
    return (r >> 11) * 0x1.0p-53;
}

static double drop_probability(int dsred, double gamma, double avg) {
    const double low = 100, mid = 150, high = 200, max_p = 0.1;
    if (avg < low) return 0;
    if (avg >= high) return 1;
    if (!dsred) return max_p * (avg - low) / (high - low);
    if (avg < mid) return 2 * (1 - gamma) / (high - low) * (avg - low);
    return 1 - gamma + 2 * gamma / (high - low) * (avg - mid);
}

int main(int argc, char **argv) {
    if (argc != 10) { fprintf(stderr, "see the first lines of the source\n"); return 2; }
    int self = !strcmp(argv[1], "self-similar"), dsred = !strcmp(argv[4], "dsred"), front = !strcmp(argv[6], "front");
    double mu = atof(argv[2]), w = atof(argv[3]), gamma = atof(argv[5]), slots = atof(argv[7]), a = atof(argv[8]);
    s[0] = strtoull(argv[9], 0, 10) * 0x9e3779b97f4a7c15u + 1; s[1] = 67; s[2] = 89; s[3] = 10;
    for (int i = 0; i < 64; i++) uniform();

    double lo = 1.5, hi = 2.5; /* q from the mean: sum of q^-j, j = 1..4, is 1/ALPHA - 1 */
    for (int i = 0; i < 200; i++) { double m = (lo + hi) / 2, x = 1 / m; if (x + x*x + x*x*x + x*x*x*x > 1 / ALPHA - 1) lo = m; else hi = m; }
    double q = lo, leave[STATES], back[STATES], any = 0;
    for (int j = 1; j < STATES; j++) { leave[j] = pow(a, -j); back[j] = pow(q / a, j); any += leave[j]; }

    static uint64_t ring[RING]; /* arrival slots of the waiting packets */
    uint64_t head = 0, in_service = 0, arrivals = 0, drops = 0, served = 0;
    int waiting = 0, busy = 0, state = 0;
    double avg = 0, q1 = 0, q2 = 0, w1 = 0, w2 = 0, counted = 0;
    for (uint64_t t = 0; t < (uint64_t)slots; t++) {
        int count = t > WARM_UP;
        if (busy && uniform() < mu) { busy = 0; double d = t - in_service; if (count) { served++; w1 += d; w2 += d * d; } }
        if (!busy && waiting) { in_service = ring[head++ % RING]; waiting--; busy = 1; }
        int arrival;
        if (!self) arrival = uniform() < ALPHA;
        else {
            double r = uniform();
            if (state) { if (r < back[state]) state = 0; }
            else if (r < any) { int j = 1; while (r >= leave[j]) r -= leave[j++]; state = j; }
            arrival = state == 0;
        }
        if (arrival) {
            avg += w * (waiting - avg);
            double p = drop_probability(dsred, gamma, avg);
            int drop = waiting >= BUFFER || (p > 0 && uniform() < p);
            if (count) { arrivals++; drops += drop; }
            if (drop && front && waiting) { head++; waiting--; drop = 0; }
            if (!drop) ring[(head + waiting++) % RING] = t;
            if (!busy && waiting) { in_service = ring[head++ % RING]; waiting--; busy = 1; }
        }
        if (count) { q1 += waiting; q2 += (double)waiting * waiting; counted++; }
    }
    double mq = q1 / counted, mw = w1 / served;
    printf("%.3f %.3f %.8f %.3f %.3f\n", mq, q2 / counted - mq * mq, (double)drops / arrivals, mw, w2 / served - mw * mw);
    return 0;
}
