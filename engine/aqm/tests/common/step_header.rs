//! A header with places for code, and what is said of it.

use std::{fs, process::Command};

use sluice_aqm::compile;

/// A header with places for code, each a comment.
pub const STEP: &str = r#"
#include "fixed.h"
#define STEP_PARAMS(P) \
	P(threshold, COUNT, 10, 0, 1000, "", "packets that may wait", "a test") \
	P(shape, CHOICE(linear|steep), 0, 0, 1, "", "shape", "a test")
AQM_PARAMS(step, STEP_PARAMS)
struct step_config { s64 threshold, shape; };
struct step_state { s64 last, seen[4]; };
/*before*/
static inline u32 step_configure(const struct step_params *p, struct step_config *config)
{
	config->threshold = p->threshold;
	config->shape = p->shape;
	return 0;
}
static inline enum aqm_verdict step_arrive(struct step_state *state,
		const struct step_config *config, const struct aqm_view *view)
{
	/*arrive*/
	state->last = view->queue_packets;
	return view->queue_packets < config->threshold ? AQM_ADMIT : AQM_DROP_FORCED;
}
static inline enum aqm_verdict step_depart(struct step_state *state,
		const struct step_config *config, const struct aqm_view *view)
{
	/*depart*/
	return AQM_ADMIT;
}
static inline void step_occupancy(struct step_state *state, const struct step_config *config,
		const struct aqm_view *view, s64 change)
{
	/*occupancy*/
}
static inline u64 step_tick_interval_ns(const struct step_config *config)
{
	return 100000000;
}
static inline void step_tick(struct step_state *state, const struct step_config *config,
		const struct aqm_view *view)
{
	/*tick*/
}
static inline s64 step_probability(const struct step_state *state,
		const struct step_config *config)
{
	/*probability*/
	return 0;
}
AQM_DEPART(step)
AQM_OCCUPANCY(step)
AQM_TICK(step)
AQM_PROBABILITY(step)
AQM_CLASS(step, STEP_PARAMS, .title = "Step", .source = "a test", .summary = "A test.",
	.depart = step_depart_any, .occupancy = step_occupancy_any, .tick = step_tick_any,
	.tick_interval_ns = step_tick_interval_any, .probability = step_probability_any /*class*/)
"#;

/// Returns the error for the header in which `code` replaces the comment `place`.
pub fn said(place: &str, code: &str) -> Option<String> {
    said_of(STEP, place, code)
}

/// The same for a header that is not [`STEP`].
pub fn said_of(header: &str, place: &str, code: &str) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("step.h");
    assert!(header.contains(&format!("/*{place}*/")));
    fs::write(&path, header.replace(&format!("/*{place}*/"), code)).unwrap();
    compile(&path).err().map(|error| error.to_string())
}

/// Returns how a message names the line of a place; empty if it cannot.
pub fn line(place: &str) -> String {
    let before = STEP.split(&format!("/*{place}*/")).next().unwrap();
    let has_addr2line = Command::new("addr2line").arg("--version").output().is_ok();
    if cfg!(target_os = "linux") && has_addr2line {
        format!(" (line {})", before.lines().count())
    } else {
        String::new()
    }
}

pub fn has_compiler() -> bool {
    !said("before", "").is_some_and(|words| words.contains("needs a C compiler"))
}
