//! Measures the cost of a call of each AQM in the engine and in the kernel, for
//! `bench/decisions.py`.
//!
//! Both repeat the same calls, in turns of [`QUESTIONS`]. Prints one line for each turn: the AQM's
//! name, ns per call in the engine, ns per call in the kernel. Exits with code 2 if BPF programs
//! may not be loaded.

use std::{hint::black_box, process::exit, time::Instant};

use sluice_aqm::{Class, all};
use sluice_contract::{Calls, drive, long};
use sluice_kernel::{Judge, KernelError, Program, QUESTIONS, Question, compile};

const BURSTS: usize = 15_000;

fn measure(class: &'static Class) -> Result<(), KernelError> {
    let (case, mut calls) = (long(class, BURSTS), Calls::default());
    drive(&case, &mut calls);
    let mut judge = Judge::load(&compile(Program::Judge, &[class])?, &case.aqm)?;
    let mut engine = case.aqm.start();
    for calls in calls.0.chunks_exact(QUESTIONS) {
        let mut questions: Vec<Question> = calls
            .iter()
            .map(|call| Question::new(call.view, call.asked))
            .collect();
        let begun = Instant::now();
        for call in calls {
            black_box(call.repeat(&mut engine));
        }
        let engine_ns = begun.elapsed().as_nanos() as f64;
        let kernel_ns = judge.answer(&mut questions)? as f64;
        let each = |ns: f64| ns / QUESTIONS as f64;
        println!("{} {} {}", class.name, each(engine_ns), each(kernel_ns));
    }
    Ok(())
}

fn main() {
    // presets are left out: each is its base class with other parameters
    for class in all().iter().filter(|class| class.base.is_none()) {
        if let Err(error) = measure(class) {
            eprintln!("{error}");
            exit(if matches!(error, KernelError::Missing(_)) {
                2
            } else {
                1
            });
        }
    }
}
