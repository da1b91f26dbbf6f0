//! Every AQM gives the same verdicts and has the same state in the kernel as in the engine.
//!
//! These tests need root. `tests/test_kernel.py` runs them, or skips them with the reason if BPF
//! programs may not be loaded.

use sluice_aqm::{Asked, Configured, Verdict, all};
use sluice_contract::{Call, Calls, drive, long, vectors};
use sluice_kernel::{Judge, Program, QUESTIONS, Question, compile};

/// Least number of decisions that are compared for each AQM.
const LEAST: usize = 1_000_000;
const BURSTS: usize = 29_000;

/// Makes the same calls in engine and kernel; returns ns per call in the kernel, and the number of
/// instructions that its verifier followed.
fn compare(name: &str, aqm: &Configured, calls: &[Call]) -> (f64, u32) {
    let judge =
        compile(Program::Judge, &[aqm.class()]).and_then(|object| Judge::load(&object, aqm));
    let mut judge = judge.unwrap_or_else(|error| panic!("{name}: {error}"));
    let (mut engine, mut took_ns) = (aqm.start(), 0);
    for (part, calls) in calls.chunks(QUESTIONS).enumerate() {
        let mut answered: Vec<Question> = calls
            .iter()
            .map(|call| Question::new(call.view, call.asked))
            .collect();
        took_ns += judge.answer(&mut answered).unwrap();
        for (place, (call, answer)) in calls.iter().zip(&answered).enumerate() {
            let number = part * QUESTIONS + place;
            assert_eq!(call.repeat(&mut engine), call.verdict, "{name} {number}");
            if is_decision(call) {
                let told = call.verdict as u32;
                assert_eq!(answer.verdict, told, "{name} {number}: {answer:?}");
            }
        }
        let state = judge.state().unwrap();
        assert_eq!(state, engine.state(), "{name}: state after part {part}");
    }
    (
        took_ns as f64 / calls.len() as f64,
        judge.verified_instructions().unwrap(),
    )
}

fn is_decision(call: &Call) -> bool {
    matches!(call.asked, Asked::Arrive | Asked::Depart)
}

#[test]
#[ignore = "needs root: tests/test_kernel.py runs it"]
fn every_aqm_decides_in_the_kernel_as_in_the_engine() {
    for class in all() {
        let (case, mut calls) = (long(class, BURSTS), Calls::default());
        drive(&case, &mut calls);
        let (ns, verified) = compare(&class.name, &case.aqm, &calls.0);
        let decisions = calls.0.iter().filter(|call| is_decision(call));
        let others = decisions
            .clone()
            .filter(|call| call.verdict != Verdict::Admit);
        let (decisions, others) = (decisions.count(), others.count());
        println!(
            "{}: {decisions} decisions, {others} no admission, {ns:.0} ns, {verified} instructions verified",
            class.name
        );
        assert!(decisions >= LEAST, "{decisions}");
        assert!(others > 0);
    }
}

#[test]
#[ignore = "needs root: tests/test_kernel.py runs it"]
fn the_kernel_answers_as_the_test_vectors_say() {
    for vector in vectors() {
        compare(&vector.name, &vector.aqm, &vector.calls());
    }
}
