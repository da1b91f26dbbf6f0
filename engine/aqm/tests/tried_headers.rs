//! A fault that shows when a user's header is tried becomes an error message, and this process continues.

use std::fs;

use sluice_aqm::{Aqm, Configured, View, compile};

use crate::common::step_header::{STEP, has_compiler, line, said, said_of};

#[test]
fn a_view_that_is_changed_after_the_trial_is_told() {
    if !has_compiler() {
        return;
    }
    for (place, function) in [
        ("arrive", "arrive"),
        ("depart", "depart"),
        ("tick", "tick"),
        ("occupancy", "occupancy"),
    ] {
        // the trial has other limits
        let code = "if (view->limit_packets == 777) ((struct aqm_view *)(u64)view)->full = 1;";
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("step.h");
        fs::write(&path, STEP.replace(&format!("/*{place}*/"), code)).unwrap();
        let configured = Configured::new(compile(&path).unwrap(), &[]).unwrap();
        let mut running = configured.start();
        for (limit_packets, is_wrong) in [(250, false), (777, true)] {
            let view = View {
                limit_packets,
                ..View::default()
            };
            running.arrive(&view);
            running.depart(&view);
            running.tick(&view);
            running.occupancy(&view, 1);
            assert_eq!(view.full, 0, "the caller's view stays as it is");
            assert_eq!(configured.wrong().is_some(), is_wrong);
        }
        let words = format!(
            "step.h: step_{function} changes the view, which is not its own; it only reads it"
        );
        assert_eq!(configured.wrong(), Some(words));
    }
}

#[test]
fn what_would_end_the_process_is_told() {
    if !has_compiler() {
        return;
    }
    let null = "*(volatile u32 *)(state->last - state->last) = 1;";
    for (place, code, words) in [
        (
            "arrive",
            "((volatile s64 *)state->seen)[4 + (view->random & 1)] = 1;",
            "step.h: step_arrive@ reads or writes memory that is not its own",
        ),
        (
            "arrive",
            "state->last += ((volatile s64 *)state->seen)[(view->random & 4095)];",
            "step.h: step_arrive@ reads or writes memory that is not its own",
        ),
        (
            "arrive",
            "state->last += ((const volatile s64 *)view)[1000];",
            "step.h: step_arrive@ reads or writes memory that is not its own",
        ),
        (
            "arrive",
            null,
            "step.h: step_arrive@ reads or writes memory that is not its own",
        ),
        (
            "depart",
            null,
            "step.h: step_depart@ reads or writes memory",
        ),
        (
            "occupancy",
            null,
            "step.h: step_occupancy@ reads or writes memory",
        ),
        ("tick", null, "step.h: step_tick@ reads or writes memory"),
        (
            "depart",
            "if (view->sojourn_ns > 1000) __builtin_trap();",
            "step.h: step_depart@ gives up (a trap, or code that must not be reached)",
        ),
        (
            "class",
            ", .title = (const char *)7",
            "step.h: its AQM_CLASS reads or writes memory that is not its own",
        ),
    ] {
        let said = said(place, code).unwrap_or_else(|| panic!("{code} was taken"));
        assert!(
            said.starts_with(&words.replace('@', &line(place))),
            "{said}"
        );
    }
    // the instruction that overflows the stack depends on where the stack begins
    let recursion = "volatile s64 here = state->last;\n\
         if (view->now_ns) { step_tick(state, config, view); state->last += here; }";
    let said = said("tick", recursion).unwrap();
    assert!(said.starts_with("step.h: step_tick"), "{said}");
    assert!(said.ends_with("or a recursion without end"), "{said}");
}

#[test]
#[cfg(target_arch = "x86_64")] // some processors do not fault
fn a_division_by_zero_is_told() {
    if !has_compiler() {
        return;
    }
    for (code, set) in [
        (
            "if (view->queue_packets / state->seen[0]) return AQM_DROP_EARLY;",
            "",
        ),
        (
            "if (view->queue_packets / config->threshold) return AQM_DROP_FORCED;",
            " (with threshold = 0, which its range allows)",
        ),
        (
            "if (config->shape) state->seen[2] = 7 / state->seen[1];",
            " (with shape = steep, which its range allows)",
        ),
    ] {
        let line = line("arrive");
        let words = format!(
            "step.h: step_arrive{line} divides by zero, or the quotient has no room (the least \
             number by -1)"
        );
        assert_eq!(said("arrive", code), Some(format!("{words}{set}")));
    }
}

#[test]
fn what_would_never_end_is_told() {
    if !has_compiler() {
        return;
    }
    let endless = "while (state->last >= 0) state->last = state->last / 2;";
    let words = format!(
        "step.h: step_tick{} does not come to an end within a second; every loop needs a bound",
        line("tick")
    );
    assert_eq!(said("tick", endless), Some(words));
}

#[test]
fn wrong_answers_are_told() {
    if !has_compiler() {
        return;
    }
    let right = "; it must answer AQM_ADMIT, AQM_DROP_EARLY or AQM_DROP_FORCED";
    for (place, code, words) in [
        (
            "arrive",
            "return 77;",
            "step.h: step_arrive answered 77, which is no verdict",
        ),
        (
            "depart",
            "return 6;",
            "step.h: step_depart answered 6, which is no verdict",
        ),
        (
            "arrive",
            "if (!view->full) return AQM_MARK;",
            "step.h: step_arrive answered 4, AQM_MARK, which is the queue's to decide",
        ),
        (
            "arrive",
            "return AQM_DROP_OVERFLOW;",
            "step.h: step_arrive answered 3, AQM_DROP_OVERFLOW, which is the queue's to decide",
        ),
        (
            "arrive",
            "return AQM_DROP_BOTH;",
            "step.h: step_arrive answered 5, AQM_DROP_BOTH without a candidate \
             (.wants_candidate = 1, on arrivals only)",
        ),
    ] {
        let said = said(place, code).unwrap_or_else(|| panic!("{code} was taken"));
        assert!(said.starts_with(&format!("{words}{right}")), "{said}");
    }
    let with_candidate = STEP.replace("/*class*/", ", .wants_candidate = 1");
    for (place, verdicts) in [
        (
            "arrive",
            "AQM_ADMIT, AQM_DROP_EARLY, AQM_DROP_FORCED or AQM_DROP_BOTH",
        ),
        ("depart", "AQM_ADMIT, AQM_DROP_EARLY or AQM_DROP_FORCED"),
    ] {
        let said = said_of(&with_candidate, place, "return 77;").unwrap();
        let words = format!("answered 77, which is no verdict; it must answer {verdicts}");
        assert!(said.contains(&words), "{said}");
    }
    assert_eq!(
        said("probability", "return 3 * FIXED_ONE / 2;").as_deref(),
        Some(
            "step.h: step_probability answered 1.5, which is no probability; it must lie between \
             0 and 1, in Q31.32"
        )
    );
}

#[test]
fn what_changes_more_than_its_state_is_told() {
    if !has_compiler() {
        return;
    }
    for (code, words) in [
        (
            "((struct step_config *)(u64)config)->threshold += 1;",
            "step.h: it changes its struct step_config, which all its queues share; what changes \
             must stand in struct step_state",
        ),
        (
            "((volatile s64 *)state)[-1 - (s64)(view->random & 1)] = 1;",
            "step.h: it writes beyond its struct step_state",
        ),
        (
            "((struct aqm_view *)(u64)view)->queue_packets = 0;",
            "step.h: step_arrive changes the view, which is not its own; it only reads it",
        ),
    ] {
        assert_eq!(said("arrive", code).as_deref(), Some(words));
    }
    let code = "struct step_state { s64 seen[1 << 24], last; };\n#define step_state step_small";
    let huge = STEP.replace(
        "struct step_state {",
        "struct step_state { s64 more[1 << 22];",
    );
    assert!(said("before", code).is_some());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("step.h");
    fs::write(&path, huge).unwrap();
    assert_eq!(
        compile(&path).err().unwrap().to_string(),
        "step.h: struct step_state takes 33554472 bytes and must take at most 16777216"
    );
}

#[test]
fn two_runs_that_differ_are_told() {
    if !has_compiler() {
        return;
    }
    // the state has another address in every process
    let code = "if (((u64)state >> 12) * 0x9e3779b97f4a7c15ULL > view->random) \
                return AQM_DROP_EARLY;";
    let said = said("arrive", code).unwrap();
    let words = "step.h: two runs with the same packets and the same random words were different; \
                 it must depend on nothing but its state, its config and the view";
    assert!(said.starts_with(words), "{said}");
}

#[test]
fn the_same_text_is_tried_once() {
    if !has_compiler() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("step.h");
    fs::write(&path, STEP).unwrap();
    let class = compile(&path).unwrap();
    assert!(std::ptr::eq(compile(&path).unwrap(), class));
}
