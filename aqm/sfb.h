/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Stochastic fair BLUE: unresponsive flows are found without a state for each flow.
 *
 * Each flow has a bin in each of eight levels, by a hash. A bin counts the packets that wait in it,
 * and has a probability that rises while it is long and falls while it is empty, as BLUE's. A packet
 * is judged by the lowest probability of its bins: a flow is punished only if it shares all of its bins
 * with an unresponsive one. A flow whose lowest probability is 1 is unresponsive: it is let in at
 * `penalty_rate`, whatever it does.
 *
 * A second set of bins has another hash. After `rehash` it takes over, and the first gets a new hash,
 * so that no flow shares its bins with an unresponsive one for ever. For `warm_up` before, the packets
 * of flows that are unresponsive move the probabilities of the second set, too.
 *
 * W. Feng, D. Kandlur, D. Saha, K. Shin, "Stochastic fair blue: a queue management algorithm for
 * enforcing fairness", INFOCOM 2001; Linux, net/sched/sch_sfb.c, which this follows. Differences:
 *
 * - Linux counts the packets of the second set in the warm-up only, and only those of unresponsive
 *   flows; here all packets that came since its hash was drawn.
 * - A penalty gets its tokens as time passes. In Linux a packet that finds none starts their time
 *   anew, so that an unresponsive flow of more than `penalty_rate` gets none at all.
 * - Probabilities have 32 bits behind the point, not 16, and the hash is another.
 */
#ifndef SLUICEGATE_SFB_H
#define SLUICEGATE_SFB_H

#include "fixed.h"
#include "flow_hash.h"

#define SFB_LEVELS 8
#define SFB_BIN_BITS 4
#define SFB_BINS (1 << SFB_BIN_BITS)

#define SFB_PARAMS(P)                                                                     \
	P(bin_size, COUNT, 20, 1, 65535, "",                                              \
	  "packets in a bin from which its probability rises", "Linux: target")           \
	P(bin_max, COUNT, 25, 1, 65535, "",                                                   \
	  "packets in the shortest bin of a flow from which all of its packets are dropped", \
	  "Linux: max")                                                                   \
	P(d1, RATIO, 0.00100708, 0, 1, "",                                         \
	  "what an arrival adds to the probability of a long bin", "Linux: increment")    \
	P(d2, RATIO, 0.000167847, 0, 1, "",                                        \
	  "what an arrival takes from the probability of an empty bin", "Linux: decrement") \
	P(penalty_rate, COUNT, 10, 0, 1e9, "",                                            \
	  "packets per second of all unresponsive flows together that are let in", "Linux") \
	P(penalty_burst, COUNT, 20, 0, 1e9, "",                                           \
	  "packets of unresponsive flows that are let in at once", "Linux")               \
	P(rehash, SECONDS, 600, 0, 1e6, "",                                               \
	  "time after which the other set of bins takes over; 0: never", "Linux: rehash") \
	P(warm_up, SECONDS, 60, 0, 1e6, "",                                               \
	  "for how long before the other set follows unresponsive flows", "Linux: db")

#define SFB_RULES(R)                                                                      \
	R(p->bin_max >= p->bin_size, bin_max, "must be at least", bin_size)                       \
	R(!p->rehash || p->warm_up <= p->rehash, warm_up, "must be at most", rehash)

AQM_PARAMS(sfb, SFB_PARAMS)

struct sfb_config {
	s64 d1, d2;	/* Q31.32 */
	u64 rehash_ns, warm_up_ns;
	u64 token_ns;			/* time of a packet in the penalty box; 0: there is none */
	u32 bin_size, bin_max, penalty_burst, unused;
};

struct sfb_bin {
	s64 p;		/* Q31.32 */
	u32 packets;	/* that wait */
	u32 unused;
};

struct sfb_set {
	u64 salt;
	u32 unseen;	/* packets that wait since before the salt, and are in no bin */
	u32 unused;
	struct sfb_bin bins[SFB_LEVELS][SFB_BINS];
};

struct sfb_state {
	u64 hashed_ns;		/* when the set at work took over; after `rehash` the other one does */
	u64 token_ns;		/* until when tokens of the penalty box have been counted */
	u32 tokens;
	u32 packets;		/* that wait */
	u32 active;		/* of the sets */
	u32 has_started;
	struct sfb_set sets[2];
};

static inline u32 sfb_configure(const struct sfb_params *p, struct sfb_config *config)
{
	AQM_OBEY(SFB_RULES);
	config->d1 = p->d1;
	config->d2 = p->d2;
	config->rehash_ns = (u64)p->rehash;
	config->warm_up_ns = (u64)p->warm_up;
	config->token_ns = p->penalty_rate && p->penalty_burst
				   ? 1000000000ULL / (u64)p->penalty_rate : 0;
	config->bin_size = (u32)p->bin_size;
	config->bin_max = (u32)p->bin_max;
	config->penalty_burst = (u32)p->penalty_burst;
	config->unused = 0;
	return 0;
}

/* Four bits for each level. */
static inline u32 sfb_hash(const struct sfb_set *set, const struct aqm_view *view)
{
	return (u32)flow_hash_mix(view->flow_hash ^ set->salt);
}

static inline struct sfb_bin *sfb_bin(struct sfb_set *set, u32 hash, u32 level)
{
	return &set->bins[level][hash >> SFB_BIN_BITS * level & (SFB_BINS - 1)];
}

/* A packet joins a set's bins, or leaves them. */
static inline void sfb_count(struct sfb_set *set, const struct aqm_view *view, s64 change)
{
	u32 hash = sfb_hash(set, view), level;

	if (change < 0 && set->unseen) {
		set->unseen--;
		return;
	}
	for (level = 0; level < SFB_LEVELS; level++) {
		struct sfb_bin *bin = sfb_bin(set, hash, level);

		if (change > 0 || bin->packets)
			bin->packets += (u32)change;
	}
}

static inline void sfb_occupancy(struct sfb_state *state, const struct sfb_config *config,
				 const struct aqm_view *view, s64 change)
{
	(void)config;
	state->packets += (u32)change;
	sfb_count(&state->sets[0], view, change);
	sfb_count(&state->sets[1], view, change);
}

static inline void sfb_draw(struct sfb_state *state, struct sfb_set *set, u64 random)
{
	u32 level, place;

	set->salt = flow_hash_mix(random);
	set->unseen = state->packets;
	for (level = 0; level < SFB_LEVELS; level++) {
		for (place = 0; place < SFB_BINS; place++) {
			set->bins[level][place].p = 0;
			set->bins[level][place].packets = 0;
		}
	}
}

/* Draws the hashes at the first arrival, and lets the other set take over when its time has come. */
static inline void sfb_rehash(struct sfb_state *state, const struct sfb_config *config,
			      const struct aqm_view *view)
{
	if (!state->has_started) {
		state->has_started = 1;
		state->tokens = config->penalty_burst;
		state->token_ns = view->now_ns;
		state->hashed_ns = view->now_ns;
		sfb_draw(state, &state->sets[0], view->random);
		sfb_draw(state, &state->sets[1], ~view->random);
	} else if (config->rehash_ns && view->now_ns > state->hashed_ns + config->rehash_ns) {
		state->hashed_ns = view->now_ns;
		sfb_draw(state, &state->sets[state->active & 1], view->random);
		state->active ^= 1;
	}
}

/* Moves the probability of a bin. */
static inline void sfb_move(struct sfb_bin *bin, const struct sfb_config *config)
{
	if (!bin->packets)
		bin->p = bin->p > config->d2 ? bin->p - config->d2 : 0;
	else if (bin->packets >= config->bin_size)
		bin->p = bin->p + config->d1 < FIXED_ONE ? bin->p + config->d1
								: FIXED_ONE;
}

/* True if an unresponsive flow may send a packet. */
static inline u32 sfb_has_token(struct sfb_state *state, const struct sfb_config *config,
				const struct aqm_view *view)
{
	u64 came;

	if (!config->token_ns)
		return 0;
	came = (view->now_ns - state->token_ns) / config->token_ns;
	state->token_ns += came * config->token_ns;
	came += state->tokens;
	state->tokens = came < config->penalty_burst ? (u32)came : config->penalty_burst;
	if (!state->tokens)
		return 0;
	state->tokens--;
	return 1;
}

/* An unresponsive flow's bins in the set that will take over. */
static inline void sfb_warm(struct sfb_state *state, const struct sfb_config *config,
			    const struct aqm_view *view)
{
	struct sfb_set *set = &state->sets[~state->active & 1];
	u32 hash = sfb_hash(set, view), level;

	if (!config->rehash_ns ||
	    view->now_ns + config->warm_up_ns <= state->hashed_ns + config->rehash_ns)
		return;
	for (level = 0; level < SFB_LEVELS; level++)
		sfb_move(sfb_bin(set, hash, level), config);
}

static inline enum aqm_verdict sfb_arrive(struct sfb_state *state,
					  const struct sfb_config *config,
					  const struct aqm_view *view)
{
	struct sfb_set *set;
	s64 p = FIXED_ONE;
	u32 shortest = ~0U, hash, level;

	if (view->full)
		return AQM_ADMIT;	/* to be lost for want of room */
	sfb_rehash(state, config, view);
	set = &state->sets[state->active & 1];
	hash = sfb_hash(set, view);
	for (level = 0; level < SFB_LEVELS; level++) {
		struct sfb_bin *bin = sfb_bin(set, hash, level);

		sfb_move(bin, config);
		shortest = bin->packets < shortest ? bin->packets : shortest;
		p = bin->p < p ? bin->p : p;
	}
	if (shortest >= config->bin_max)
		return AQM_DROP_FORCED;
	if (p >= FIXED_ONE) {
		sfb_warm(state, config, view);
		return sfb_has_token(state, config, view) ? AQM_ADMIT : AQM_DROP_FORCED;
	}
	if (!aqm_happens(p, view->random))
		return AQM_ADMIT;
	/* so many marks mean a flow that does not respond: more and more become drops */
	return aqm_happens(2 * p - FIXED_ONE, view->random) ? AQM_DROP_FORCED : AQM_DROP_EARLY;
}

/* The highest of the bins. */
static inline s64 sfb_probability(const struct sfb_state *state, const struct sfb_config *config)
{
	const struct sfb_set *set = &state->sets[state->active & 1];
	u32 level, place;
	s64 p = 0;

	(void)config;
	for (level = 0; level < SFB_LEVELS; level++) {
		for (place = 0; place < SFB_BINS; place++)
			p = set->bins[level][place].p > p ? set->bins[level][place].p : p;
	}
	return p;
}

AQM_RULES(sfb, SFB_RULES)
AQM_OCCUPANCY(sfb)
AQM_PROBABILITY(sfb)
AQM_CLASS(sfb, SFB_PARAMS,
	.title = "SFB: stochastic fair BLUE",
	.source = "Feng et al. 2001",
	.summary = "Finds unresponsive flows by bins that flows share, and holds them to a low rate.",
	AQM_RULED(sfb),
	.occupancy = sfb_occupancy_any,
	.probability = sfb_probability_any)

#endif
