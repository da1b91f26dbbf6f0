/* Drops at departures: a packet each `patience`, while packets wait for `target` or longer. */
#include "aqm.h"

#define SOJOURN_LIMIT_PARAMS(P)                                                \
	P(target, SECONDS, 0.005, 0, 10, "",                                   \
	  "sojourn that is still good", "after Nichols & Jacobson 2012")       \
	P(patience, SECONDS, 0.1, 1e-3, 10, "",                                \
	  "how long packets may wait too long", "after Nichols & Jacobson 2012")
#define SOJOURN_LIMIT_RULES(R) \
	R(p->patience > p->target, patience, "must exceed", target)

AQM_PARAMS(sojourn_limit, SOJOURN_LIMIT_PARAMS)

struct sojourn_limit_config {
	u64 target_ns, patience_ns;
};

struct sojourn_limit_state {
	u64 late_ns;	/* time of the next drop; 0 while packets do not wait too long */
};

static inline u32 sojourn_limit_configure(const struct sojourn_limit_params *p,
					  struct sojourn_limit_config *config)
{
	AQM_OBEY(SOJOURN_LIMIT_RULES);
	config->target_ns = (u64)p->target;
	config->patience_ns = (u64)p->patience;
	return 0;
}

static inline enum aqm_verdict sojourn_limit_arrive(struct sojourn_limit_state *state,
						    const struct sojourn_limit_config *config,
						    const struct aqm_view *view)
{
	(void)state, (void)config, (void)view;
	return AQM_ADMIT;
}

static inline enum aqm_verdict sojourn_limit_depart(struct sojourn_limit_state *state,
						    const struct sojourn_limit_config *config,
						    const struct aqm_view *view)
{
	enum aqm_verdict verdict;

	if (view->sojourn_ns < config->target_ns) {
		state->late_ns = 0;
		return AQM_ADMIT;
	}
	if (state->late_ns && view->now_ns < state->late_ns)
		return AQM_ADMIT;
	verdict = state->late_ns ? AQM_DROP_EARLY : AQM_ADMIT;
	state->late_ns = view->now_ns + config->patience_ns;
	return verdict;
}

AQM_RULES(sojourn_limit, SOJOURN_LIMIT_RULES)
AQM_DEPART(sojourn_limit)
AQM_CLASS(sojourn_limit, SOJOURN_LIMIT_PARAMS,
	.title = "Sojourn limit",
	.source = "a test",
	.summary = "Drops a packet each time that packets waited too long for too long.",
	AQM_RULED(sojourn_limit),
	.depart = sojourn_limit_depart_any)
