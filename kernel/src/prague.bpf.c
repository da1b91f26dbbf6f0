/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Prague as a congestion control of Linux's TCP (struct_ops of kind tcp_congestion_ops), for the
 * laboratory: no TCP of mainline Linux has one.
 *
 * Written from draft-briscoe-iccrg-prague-congestion-control-04 and with the rules of the reference
 * (net/ipv4/tcp_prague.c, module version 0.7, in minuscat/rpi-6.18.y at 330b511ac19e), as
 * engine/tcp/src/congestion/prague.rs is, to judge that one:
 *
 *   - packets that are not marked let the window W grow, after a mark, too: by a/W for each, where
 *     a = (srtt / 25 ms)^2 for shorter round trips from four rounds after slow start on, else 1;
 *   - alpha is the share of marked packets, an EWMA over rounds of weight 1/16, which last 25 ms at
 *     least where round trips count as 25 ms;
 *   - the first mark of all halves W. Later ones take alpha / 2 of it as the state CWR begins, which
 *     lasts a round, if the last reduction was 25 ms ago where round trips count as 25 ms. A loss
 *     halves it;
 *   - the kernel's window moves by at most one packet with each ACK towards W;
 *   - packets are paced at the whole packets of W in srtt, or those in flight if they are more, in
 *     early slow start at twice that.
 *
 * What mainline's TCP does not let it do: send ECT(1) (a filter at the sender's egress rewrites
 * ECT(0)), limit bursts from above, and send segments smaller than the MSS, so it is not Prague for
 * windows below two packets. Without accurate ECN there are no marks, and it is like Reno.
 */
#define SECTION(name) __attribute__((section(name), used))
#define INLINE inline __attribute__((always_inline))
#define FOUND_BY_LIBBPF __attribute__((preserve_access_index))

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef int s32;
typedef unsigned long long u64;
typedef long long s64;

#define PRIVATE_WORDS 13	/* of a congestion control, in each socket */
#define PACING_NEEDED 1
#define IN_CWR 2		/* enum tcp_ca_state */
#define IN_RECOVERY 3
#define EVENT_LOSS 3		/* enum tcp_ca_event: time-out */
/*
 * TCP_CONG_NON_RESTRICTED, NEEDS_ECN, NEEDS_ACCECN, ECT_1_NEGOTIATION and NO_FALLBACK_RFC3168 of
 * Linux 7.0
 */
#define FLAGS 31

struct sock {
	unsigned long sk_pacing_rate, sk_max_pacing_rate;
	u32 sk_pacing_status;
} FOUND_BY_LIBBPF;

struct inet_sock {
	struct sock sk;
} FOUND_BY_LIBBPF;

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	u64 icsk_ca_priv[PRIVATE_WORDS];
} FOUND_BY_LIBBPF;

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u16 tcp_header_len;
	u32 snd_una, snd_nxt, snd_cwnd, snd_ssthresh, mss_cache, srtt_us;
	u32 packets_out, sacked_out, lost_out, retrans_out, delivered, delivered_ce;
	u64 tcp_mstamp;
} FOUND_BY_LIBBPF;

struct rate_sample {
	u32 acked_sacked, prior_in_flight;
} FOUND_BY_LIBBPF;

/* libbpf finds the members by their names */
struct tcp_congestion_ops {
	u32 (*ssthresh)(struct sock *);
	void (*set_state)(struct sock *, u8);
	void (*cwnd_event)(struct sock *, u32);
	void (*cong_control)(struct sock *, u32, int, const struct rate_sample *);
	u32 (*undo_cwnd)(struct sock *);
	char name[16];
	u32 flags;
	void (*init)(struct sock *);
};

#define ONE (1ULL << 20)	/* a packet of the window, Q44.20 */
#define ALPHA_ONE (1 << 30)
#define GAIN_LOG2 4
#define TARGET_US 25000
#define ROUNDS_BEFORE 4
#define LEAST_WINDOW 2
#define IPV4_BYTES 20

/* All that is kept of a connection: at most 104 bytes. */
struct prague {
	u64 window;		/* Q44.20 packets */
	u64 estimated_us, reduced_us;
	u32 alpha;		/* Q2.30 */
	u32 cwnd;		/* as it was last set here */
	u32 cwnd_before;	/* the last reduction, for an undo */
	u32 delivered, delivered_ce;	/* counts of the socket when alpha was last estimated */
	u32 seen_ce;		/* the count of marks at the last ACK */
	u32 round_end;		/* an ACK of all before it ends the round */
	u32 rounds;		/* outside of slow start */
	u32 state;		/* enum tcp_ca_state */
	u32 is_marked;		/* whether there was a mark ever */
};

_Static_assert(sizeof(struct prague) <= 8 * PRIVATE_WORDS, "there is no room for more");

static INLINE struct prague *own(struct tcp_sock *tp)
{
	return (struct prague *)tp->inet_conn.icsk_ca_priv;
}

static INLINE u32 in_flight(const struct tcp_sock *tp)
{
	return tp->packets_out - tp->sacked_out - tp->lost_out + tp->retrans_out;
}

static INLINE u32 round_trip_us(const struct tcp_sock *tp)
{
	return tp->srtt_us >> 3;
}

static INLINE u32 is_independent(const struct tcp_sock *tp, const struct prague *ca)
{
	return ca->rounds >= ROUNDS_BEFORE && tp->snd_cwnd >= tp->snd_ssthresh &&
	       round_trip_us(tp) < TARGET_US;
}

/* True if a round trip that counts as 25 ms is not over since then. */
static INLINE u32 waits(const struct tcp_sock *tp, const struct prague *ca, u64 since_us)
{
	return is_independent(tp, ca) && tp->tcp_mstamp - since_us < TARGET_US;
}

/* Takes `share` of the window away, Q2.30. */
static INLINE void reduce(struct tcp_sock *tp, struct prague *ca, u32 share)
{
	u64 window = ca->window - (ca->window * (share >> 10) >> 20);

	if (window < LEAST_WINDOW * ONE)
		window = LEAST_WINDOW * ONE;
	ca->cwnd_before = tp->snd_cwnd;
	ca->window = window;
	tp->snd_ssthresh = (u32)(window / ONE);
}

static INLINE void grow(const struct tcp_sock *tp, struct prague *ca, u32 unmarked)
{
	u64 window = ca->window, most = (u64)tp->snd_ssthresh * ONE, increase, rtt_us;

	if (tp->snd_cwnd < tp->snd_ssthresh) {
		u64 grown = window + unmarked * ONE;

		if (grown <= most || most < window) {
			ca->window = most < window ? window : grown;
			return;
		}
		unmarked -= (u32)((most - window) / ONE);
		window = most;
	}
	increase = unmarked * ONE * ONE / window;
	if (is_independent(tp, ca)) {
		rtt_us = round_trip_us(tp);
		increase = increase * rtt_us / TARGET_US * rtt_us / TARGET_US;
	}
	ca->window = window + increase;
}

/* Updates alpha at the end of a round, which lasts a virtual round trip at least. */
static INLINE void estimate(const struct tcp_sock *tp, struct prague *ca)
{
	u32 delivered = tp->delivered - ca->delivered, marked = tp->delivered_ce - ca->delivered_ce;
	s64 share;

	if ((s32)(tp->snd_una - ca->round_end) < 0 || waits(tp, ca, ca->estimated_us))
		return;
	ca->round_end = tp->snd_nxt;
	if (tp->snd_cwnd >= tp->snd_ssthresh)
		ca->rounds++;
	if (ca->is_marked && delivered) {
		share = marked >= delivered ? ALPHA_ONE : (s64)marked * ALPHA_ONE / delivered;
		ca->alpha += (s32)((share - (s64)ca->alpha) >> GAIN_LOG2);
		ca->estimated_us = tp->tcp_mstamp;
	}
	ca->delivered = tp->delivered;
	ca->delivered_ce = tp->delivered_ce;
}

static INLINE void pace(struct tcp_sock *tp, const struct prague *ca)
{
	struct sock *sk = &tp->inet_conn.icsk_inet.sk;
	u64 window = ca->window / ONE, rate;
	u32 packet_bytes = tp->mss_cache + tp->tcp_header_len + IPV4_BYTES;

	if (!tp->srtt_us)
		return;
	if (window < in_flight(tp))
		window = in_flight(tp);
	rate = packet_bytes * window * 8000000 / tp->srtt_us;
	if (tp->snd_cwnd < tp->snd_ssthresh / 2)
		rate *= 2;
	sk->sk_pacing_rate = rate < sk->sk_max_pacing_rate ? rate : sk->sk_max_pacing_rate;
}

SECTION("struct_ops/init") int prague_init(u64 *context)
{
	struct tcp_sock *tp = (struct tcp_sock *)context[0];
	struct prague *ca = own(tp);

	ca->window = tp->snd_cwnd * ONE;
	ca->cwnd = tp->snd_cwnd;
	ca->cwnd_before = tp->snd_cwnd;
	ca->alpha = 0;
	ca->delivered = tp->delivered;
	ca->delivered_ce = tp->delivered_ce;
	ca->seen_ce = tp->delivered_ce;
	ca->round_end = tp->snd_nxt;
	ca->estimated_us = tp->tcp_mstamp;
	ca->reduced_us = tp->tcp_mstamp;
	ca->rounds = 0;
	ca->state = 0;
	ca->is_marked = 0;
	tp->inet_conn.icsk_inet.sk.sk_pacing_status = PACING_NEEDED;
	pace(tp, ca);
	return 0;
}

/* The kernel asks as a reduction begins: set_state() and cwnd_event() make it. */
SECTION("struct_ops/ssthresh") int prague_ssthresh(u64 *context)
{
	return (int)((struct tcp_sock *)context[0])->snd_ssthresh;
}

SECTION("struct_ops/undo_cwnd") int prague_undo_cwnd(u64 *context)
{
	struct tcp_sock *tp = (struct tcp_sock *)context[0];
	u32 before = own(tp)->cwnd_before;

	return (int)(before > tp->snd_cwnd ? before : tp->snd_cwnd);
}

/* Marks let the kernel enter CWR, once a round. */
SECTION("struct_ops/set_state") int prague_set_state(u64 *context)
{
	struct tcp_sock *tp = (struct tcp_sock *)context[0];
	struct prague *ca = own(tp);
	u32 state = (u8)context[1];

	if (state == IN_RECOVERY && ca->state != IN_RECOVERY) {
		reduce(tp, ca, ALPHA_ONE / 2);
	} else if (state == IN_CWR && ca->is_marked && !waits(tp, ca, ca->reduced_us)) {
		reduce(tp, ca, ca->alpha / 2);
		ca->reduced_us = tp->tcp_mstamp;
	}
	ca->state = state;
	return 0;
}

SECTION("struct_ops/cwnd_event") int prague_cwnd_event(u64 *context)
{
	struct tcp_sock *tp = (struct tcp_sock *)context[0];

	if ((u32)context[1] == EVENT_LOSS)
		reduce(tp, own(tp), ALPHA_ONE / 2);
	return 0;
}

SECTION("struct_ops/cong_control") int prague_cong_control(u64 *context)
{
	struct tcp_sock *tp = (struct tcp_sock *)context[0];
	const struct rate_sample *sample = (const struct rate_sample *)context[3];
	struct prague *ca = own(tp);
	u32 marked = tp->delivered_ce - ca->seen_ce, acked = sample->acked_sacked, target, cwnd;

	/* the kernel has set it itself: after a time-out, an idle time, or to undo */
	if (tp->snd_cwnd != ca->cwnd)
		ca->window = tp->snd_cwnd * ONE;
	ca->seen_ce = tp->delivered_ce;
	if (marked && !ca->is_marked) {
		ca->is_marked = 1;
		reduce(tp, ca, ALPHA_ONE / 2);
		ca->reduced_us = tp->tcp_mstamp;
	}
	if (ca->state != IN_RECOVERY && 2 * sample->prior_in_flight >= tp->snd_cwnd &&
	    acked > marked)
		grow(tp, ca, acked - marked);
	estimate(tp, ca);
	target = (u32)((ca->window + ONE - 1) / ONE);
	cwnd = tp->snd_cwnd;
	cwnd += cwnd < target ? 1 : cwnd > target ? -1 : 0;
	if (cwnd < LEAST_WINDOW)
		cwnd = LEAST_WINDOW;
	tp->snd_cwnd = cwnd;
	ca->cwnd = cwnd;
	pace(tp, ca);
	return 0;
}

SECTION(".struct_ops.link") struct tcp_congestion_ops prague = {
	.ssthresh = (void *)prague_ssthresh,
	.set_state = (void *)prague_set_state,
	.cwnd_event = (void *)prague_cwnd_event,
	.cong_control = (void *)prague_cong_control,
	.undo_cwnd = (void *)prague_undo_cwnd,
	.init = (void *)prague_init,
	.name = "prague",
	.flags = FLAGS,
};

char license_of_all[] SECTION("license") = "Dual BSD/GPL";
