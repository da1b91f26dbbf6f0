//! Every AQM in the kernel decides as it does in the engine, and remembers the same.

use sluice_aqm::{Aqm, Class, Verdict, View, all};
use sluice_contract::{Plain, drive, long};
use sluice_kernel::{Asked, Judge, KernelError, Program, QUESTIONS, Question, compile};
use sluice_queue::{Event, Observer};

/// Decisions of each AQM.
const LEAST: usize = 1_000_000;
const BURSTS: usize = 29_000;

/// What an AQM was asked in a run, and what it answered.
#[derive(Default)]
struct Asking(Vec<Question>);

impl Observer<Plain> for &mut Asking {
    const ON: bool = true;

    fn lost(&mut self, _packet: Plain, _verdict: Verdict) {}

    fn note(&mut self, _now_ns: u64, _queue: usize, event: Event<'_>) {
        let (asked, view, verdict) = match event {
            Event::Arrive(view, verdict) => (Asked::Arrive, view, verdict),
            Event::Depart(view, verdict) => (Asked::Depart, view, verdict),
            Event::Tick(view) => (Asked::Tick, view, Verdict::Admit),
            Event::Join(Some(view)) => (Asked::Join, view, Verdict::Admit),
            Event::Leave(_, Some(view)) => (Asked::Leave, view, Verdict::Admit),
            _ => return,
        };
        self.0.push(Question {
            verdict: verdict as u32,
            ..Question::new(*view, asked)
        });
    }
}

fn ask(aqm: &mut impl Aqm, view: &View, asked: Asked) -> Verdict {
    match asked {
        Asked::Arrive => return aqm.arrive(view),
        Asked::Depart => return aqm.depart(view),
        Asked::Tick => aqm.tick(view),
        Asked::Join => aqm.occupancy(view, 1),
        Asked::Leave => aqm.occupancy(view, -1),
    }
    Verdict::Admit
}

/// Decisions, those that are no admission, and ns of each in the kernel; or what the machine lacks.
fn compare(class: &'static Class) -> Result<(usize, usize, f64, u32), KernelError> {
    let case = long(class, BURSTS);
    let mut asked = Asking::default();
    drive(&case, &mut asked);
    let mut judge = Judge::load(&compile(Program::Judge, class, None)?, &case.aqm)?;
    let mut engine = case.aqm.start();
    let mut took_ns = 0;
    for (part, questions) in asked.0.chunks(QUESTIONS).enumerate() {
        let mut answered = questions.to_vec();
        for each in &mut answered {
            each.verdict = u32::MAX;
        }
        took_ns += judge.answer(&mut answered)?;
        for (place, (question, answer)) in questions.iter().zip(&answered).enumerate() {
            let number = part * QUESTIONS + place;
            let verdict = ask(&mut engine, &question.view, question.asked);
            assert_eq!(verdict as u32, question.verdict, "{} {number}", class.name);
            if matches!(question.asked, Asked::Arrive | Asked::Depart) {
                assert_eq!(
                    answer.verdict, question.verdict,
                    "{} {number}: {answer:?}",
                    class.name
                );
            }
        }
        assert_eq!(
            judge.state()?,
            engine.state(),
            "{}: state after part {part}",
            class.name
        );
    }
    let decisions = asked
        .0
        .iter()
        .filter(|each| matches!(each.asked, Asked::Arrive | Asked::Depart));
    let others = decisions
        .clone()
        .filter(|each| each.verdict != Verdict::Admit as u32);
    Ok((
        decisions.count(),
        others.count(),
        took_ns as f64 / asked.0.len() as f64,
        judge.verified_instructions()?,
    ))
}

#[test]
fn every_aqm_decides_in_the_kernel_as_in_the_engine() {
    for class in all() {
        match compare(class) {
            Err(KernelError::Missing(what)) => {
                println!("skipped: {what}");
                return;
            }
            Err(error) => panic!("{error}"),
            Ok((decisions, others, ns, verified)) => {
                println!(
                    "{}: {decisions} decisions, {others} no admission, {ns:.0} ns, {verified} instructions verified",
                    class.name
                );
                assert!(decisions >= LEAST, "{decisions}");
                assert!(others > 0);
            }
        }
    }
}
