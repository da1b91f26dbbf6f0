//! What a call of each AQM costs in the engine and in the kernel: `bench/decisions.py`.
//!
//! Both make the calls of one run, in turns of [`QUESTIONS`]. Prints a line for each turn: name, ns
//! of a call in the engine, ns of it in the kernel. Ends with code 2 where BPF may not be loaded.

use std::{hint::black_box, process::exit, time::Instant};

use sluice_aqm::{Class, all};
use sluice_contract::{Calls, drive, long};
use sluice_kernel::{Judge, KernelError, Program, QUESTIONS, Question, compile};

const BURSTS: usize = 15_000;

fn measure(class: &'static Class) -> Result<(), KernelError> {
    let (case, mut calls) = (long(class, BURSTS), Calls::default());
    drive(&case, &mut calls);
    let mut judge = Judge::load(&compile(Program::Judge, class)?, &case.aqm)?;
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
    // a preset is its class with other parameters
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
