//! A user's header is compiled with the headers of the crate, loaded and run.

use std::{
    fs,
    path::Path,
    sync::atomic::{AtomicU32, Ordering},
};

use sluice_aqm::{Aqm, Class, Configured, Verdict, View};

use crate::common::{given, number};

const SOJOURN_LIMIT: &str = include_str!("sojourn_limit.h");
const INTEGRATOR: &str = include_str!("integrator.h");

/// Compiles and loads the header; the error comes from the compiler or from the loader.
fn load(name: &str, header: &str) -> Result<&'static Class, String> {
    static LOADED: AtomicU32 = AtomicU32::new(0);
    let number = LOADED.fetch_add(1, Ordering::Relaxed); // a loaded library must not be rewritten
    let folder = crate::common::headers(&format!("user_aqm_{number}"));
    let source = format!(
        "#include \"user.h\"\n\
         const struct aqm_class *sluice_aqm(void);\n\
         const struct aqm_class *sluice_aqm(void) {{ return &{name}_class; }}\n"
    );
    fs::write(folder.join("user.h"), header).unwrap();
    fs::write(folder.join("user.c"), source).unwrap();
    let library = crate::common::shared_library(&folder, "user.c", name, &["-DAQM_HOSTED"])?;
    // SAFETY: compiled just now from a header of this test.
    unsafe { sluice_aqm::load(&library) }.map_err(|error| error.to_string())
}

/// Compiles and loads the header; `None`, with a message, if there is no compiler.
fn loaded(name: &str, header: &str) -> Option<Result<&'static Class, String>> {
    match load(name, header) {
        Err(error) if error.starts_with("no C compiler") => {
            eprintln!("skipped: {error}");
            None
        }
        result => Some(result),
    }
}

fn departure(now_ms: u64, sojourn_ms: u64, ecn_capable: u8) -> View {
    View {
        now_ns: now_ms * 1_000_000,
        sojourn_ns: sojourn_ms * 1_000_000,
        ecn_capable,
        ..View::default()
    }
}

#[test]
fn departures_are_decided() {
    let Some(class) = loaded("sojourn_limit", SOJOURN_LIMIT) else {
        return;
    };
    let class = class.unwrap();
    assert_eq!(
        (class.name.as_str(), class.params.len()),
        ("sojourn_limit", 2)
    );
    let configured = Configured::new(class, &[]).unwrap();
    for (ecn_capable, expected) in [(0, Verdict::DropEarly), (1, Verdict::Mark)] {
        let mut running = configured.start();
        assert!(running.watches_departures());
        assert_eq!(
            (running.tick_interval_ns(), running.average()),
            (None, None)
        );
        let overflow = View {
            full: 1,
            ..View::default()
        };
        assert_eq!(running.arrive(&overflow), Verdict::DropOverflow);
        let mut acted = Vec::new();
        for now_ms in 1..=350 {
            let sojourn_ms = if now_ms == 20 { 4 } else { 6 };
            match running.depart(&departure(now_ms, sojourn_ms, ecn_capable)) {
                Verdict::Admit => {}
                verdict => acted.push((now_ms, verdict)),
            }
        }
        assert_eq!(acted, [121, 221, 321].map(|now_ms| (now_ms, expected)));
    }
}

#[test]
fn ticks_are_called_at_their_interval() {
    let Some(class) = loaded("integrator", INTEGRATOR) else {
        return;
    };
    let parameters = given(&[("wanted", number(10.0)), ("gain", number(0.125))]);
    let mut running = Configured::new(class.unwrap(), &parameters)
        .unwrap()
        .start();
    assert_eq!(running.tick_interval_ns(), Some(15_000_000));
    assert!(!running.watches_departures());
    let view = |queue_packets, quarter: u64| View {
        queue_packets,
        random: quarter << 62,
        limit_packets: 100,
        ..View::default()
    };
    assert_eq!(running.arrive(&view(0, 0)), Verdict::Admit);
    for _ in 0..2 {
        running.tick(&view(12, 0));
    }
    let verdicts: Vec<Verdict> = (0..4)
        .map(|quarter| running.arrive(&view(12, quarter)))
        .collect();
    let (drop, admit) = (Verdict::DropEarly, Verdict::Admit);
    assert_eq!(
        verdicts,
        [drop, drop, admit, admit],
        "p = 0.5 after two ticks"
    );
    running.tick(&view(0, 0));
    assert_eq!(running.arrive(&view(0, 0)), Verdict::Admit, "p is 0 again");
}

#[test]
fn a_users_rules_and_ranges_hold() {
    let Some(class) = loaded("sojourn_limit", SOJOURN_LIMIT) else {
        return;
    };
    for (name, value, message) in [
        (
            "target",
            0.1,
            "sojourn_limit.patience = 0.1 must exceed sojourn_limit.target = 0.1 (s)",
        ),
        (
            "target",
            5.0,
            "sojourn_limit.patience = 0.1 must exceed sojourn_limit.target = 5 (s; 5 ms is 0.005 or \
             5ms)",
        ),
        (
            "target",
            11.0,
            "sojourn_limit.target = 11 must lie between 0 and 10 s; 11 ms is 0.011 or 11ms",
        ),
    ] {
        let parameters = given(&[(name, number(value))]);
        let error = Configured::new(class.clone().unwrap(), &parameters).unwrap_err();
        assert_eq!(error.to_string(), message);
    }
}

#[test]
fn a_number_that_is_no_verdict_is_told() {
    let odd = INTEGRATOR.replace("? AQM_DROP_EARLY : AQM_ADMIT", "? 99 : 99");
    let Some(class) = loaded("integrator", &odd) else {
        return;
    };
    let with_candidate = odd.replace(".title", ".wants_candidate = 1, .title");
    let other = loaded("integrator", &with_candidate).unwrap().unwrap();
    let other = Configured::new(other, &[]).unwrap();
    other.start().arrive(&View::default());
    let words = other.wrong().unwrap();
    assert!(
        words.ends_with(" AQM_DROP_FORCED or AQM_DROP_BOTH"),
        "{words}"
    );
    let configured = Configured::new(class.unwrap(), &[]).unwrap();
    assert_eq!(configured.wrong(), None);
    let mut running = configured.start();
    for (queue_packets, expected) in [(9, Verdict::Admit), (10, Verdict::DropOverflow)] {
        let view = View {
            queue_packets,
            full: u8::from(queue_packets == 10),
            ..View::default()
        };
        assert_eq!(
            running.arrive(&view),
            expected,
            "the queue stays within its limit"
        );
    }
    let words = "integrator.h: integrator_arrive answered 99, which is no verdict; it must answer \
                 AQM_ADMIT, AQM_DROP_EARLY or AQM_DROP_FORCED";
    assert_eq!(configured.wrong().as_deref(), Some(words));
}

#[test]
fn malformed_descriptors_are_refused() {
    for (was, is, message) in [
        (
            "PACKETS, 20",
            "LITRES, 20",
            "integrator.wanted: LITRES is not a kind of parameter: there are PACKETS, RATIO, GAIN, \
             SECONDS, RATE, COUNT, BYTES, SWITCH and CHOICE(a|b|c)",
        ),
        (
            "PACKETS, 20, 0, 1e6",
            "PACKETS, 20, 0, 3e9",
            "integrator.wanted: the range 0 to 3000000000 does not suit its kind",
        ),
        (
            "PACKETS, 20, 0, 1e6",
            "CHOICE(a|b), 2, 0, 2",
            "integrator.wanted: the range 0 to 2 does not suit its kind",
        ),
        (
            "RATIO, 0.001, 0, 1",
            "RATIO, 2, 0, 1",
            "integrator.gain: the default 2 must lie between 0 and 1",
        ),
    ] {
        assert!(INTEGRATOR.contains(was));
        let Some(class) = loaded("integrator", &INTEGRATOR.replace(was, is)) else {
            return;
        };
        assert_eq!(class.err().as_deref(), Some(message));
    }
    let unruly = SOJOURN_LIMIT.replace("patience, \"must exceed\"", "wait, \"must exceed\"");
    let Some(class) = loaded("sojourn_limit", &unruly) else {
        return;
    };
    let message = "sojourn_limit: a rule names wait, which is no parameter";
    assert_eq!(class.err().as_deref(), Some(message));
}

#[test]
fn what_is_no_aqm_is_refused() {
    let folder = crate::common::headers("user_aqm_refused");
    let text = folder.join("text.so");
    fs::write(&text, "no library").unwrap();
    for path in [Path::new("/nowhere/absent.so"), &text] {
        // SAFETY: there is no code in either.
        let error = unsafe { sluice_aqm::load(path) }.err().unwrap().to_string();
        assert!(error.contains(path.to_str().unwrap()), "{error}");
    }
    fs::write(folder.join("other.c"), "int other;\n").unwrap();
    match crate::common::shared_library(&folder, "other.c", "other", &[]) {
        Err(error) => eprintln!("skipped: {error}"),
        Ok(library) => {
            // SAFETY: the library holds a number and nothing else.
            let error = unsafe { sluice_aqm::load(&library) }
                .err()
                .unwrap()
                .to_string();
            assert!(error.contains("sluice_aqm"), "{error}");
        }
    }
}
