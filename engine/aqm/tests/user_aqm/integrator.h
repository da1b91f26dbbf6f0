/* Drops with a probability that changes at each tick by gain * (queue - wanted). */
#include "fixed.h"

#define INTEGRATOR_PARAMS(P)                                                   \
	P(wanted, PACKETS, 20, 0, 1e6, "", "queue to hold", "a test")          \
	P(gain, RATIO, 0.001, 0, 1, "", "probability a packet a tick", "a test") \
	P(interval, SECONDS, 0.015, 1e-6, 10, "", "time between ticks", "a test")

AQM_PARAMS(integrator, INTEGRATOR_PARAMS)

struct integrator_config {
	s64 wanted, gain;
	u64 interval_ns;
};

struct integrator_state {
	s64 p;
};

static inline u32 integrator_configure(const struct integrator_params *p,
				       struct integrator_config *config)
{
	config->wanted = p->wanted;
	config->gain = p->gain;
	config->interval_ns = (u64)p->interval;
	return 0;
}

static inline enum aqm_verdict integrator_arrive(struct integrator_state *state,
						 const struct integrator_config *config,
						 const struct aqm_view *view)
{
	(void)config;
	return aqm_happens(state->p, view->random) ? AQM_DROP_EARLY : AQM_ADMIT;
}

static inline u64 integrator_tick_interval_ns(const struct integrator_config *config)
{
	return config->interval_ns;
}

static inline void integrator_tick(struct integrator_state *state,
				   const struct integrator_config *config,
				   const struct aqm_view *view)
{
	s64 off = fixed_sub(fixed_from_u32(view->queue_packets), config->wanted);
	s64 p = fixed_add(state->p, fixed_mul(config->gain, off));

	state->p = p < 0 ? 0 : p > FIXED_ONE ? FIXED_ONE : p;
}

AQM_TICK(integrator)
AQM_CLASS(integrator, INTEGRATOR_PARAMS,
	.title = "Integrator",
	.source = "a test",
	.summary = "Holds the queue at a length by ticks.",
	.tick = integrator_tick_any,
	.tick_interval_ns = integrator_tick_interval_any)
