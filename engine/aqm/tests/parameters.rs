//! Descriptors are valid, and bad values are refused with a helpful message.

use sluice_aqm::{Class, Configured, Param, Scale, Value, all, find};

use crate::common::{class, given, number, word};

fn param<'a>(class: &'a Class, name: &str) -> &'a Param {
    class
        .params
        .iter()
        .find(|param| param.name == name)
        .unwrap_or_else(|| panic!("{}: no parameter {name}", class.name))
}

/// Returns the words that a parameter can have; none if its values are numbers.
fn words(param: &Param) -> Vec<String> {
    match &param.scale {
        Scale::Switch => vec!["false".into(), "true".into()],
        Scale::Choice(words) => words.clone(),
        _ => Vec::new(),
    }
}

#[test]
fn classes_are_listed_once_and_described() {
    for class in all() {
        assert!(
            !class.title.is_empty() && !class.source.is_empty(),
            "{}",
            class.name
        );
        assert!(class.summary.ends_with('.'), "{}", class.name);
        assert!(
            std::ptr::eq(find(&class.name).unwrap(), class),
            "{} comes twice",
            class.name
        );
        if let Some(base) = &class.base {
            let names = |class: &Class| -> Vec<String> {
                class
                    .params
                    .iter()
                    .map(|param| param.name.clone())
                    .collect()
            };
            assert_eq!(names(class), names(find(base).unwrap()));
        }
    }
    assert!(find("no_such_aqm").is_none());
}

#[test]
fn descriptors_are_sane() {
    for class in all() {
        for (index, param) in class.params.iter().enumerate() {
            let place = format!("{}.{}", class.name, param.name);
            assert!(param.least < param.greatest, "{place}");
            assert!(
                (param.least..=param.greatest).contains(&param.initial),
                "{place}"
            );
            assert!(
                !param.help.is_empty() && !param.help.ends_with('.'),
                "{place}"
            );
            assert!(!param.source.is_empty(), "{place}");
            assert!(
                class.params[..index]
                    .iter()
                    .all(|other| other.name != param.name),
                "{place}"
            );
        }
    }
}

#[test]
fn conditions_name_existing_parameters_and_values() {
    let mut seen = 0;
    for class in all() {
        for row in class.params.iter().filter(|param| !param.when.is_empty()) {
            let (name, values) = row.when.split_once('=').expect(&row.when);
            assert_ne!(name, row.name);
            let known = words(param(class, name));
            for value in values.split('|') {
                assert!(
                    known.iter().any(|word| word == value),
                    "{}: {}",
                    row.name,
                    row.when
                );
                seen += 1;
            }
        }
    }
    assert!(seen > 0);
}

#[test]
fn defaults_are_valid_and_shown_as_a_user_writes_them() {
    for class in all() {
        let configured = Configured::new(class, &[]).unwrap_or_else(|error| panic!("{error}"));
        let defaults: Vec<(String, Value)> = configured
            .values()
            .map(|(name, value)| (name.to_owned(), value))
            .collect();
        assert_eq!(defaults.len(), class.params.len());
        let again = Configured::new(class, &defaults).unwrap();
        assert!(configured.values().eq(again.values()));
    }
}

/// Defaults of presets, from the papers that their headers cite.
#[test]
fn presets_have_their_own_defaults() {
    for (name, own) in [
        (
            "gentle_red",
            vec![("drop_function", word("gentle")), ("max_p", number(0.1))],
        ),
        (
            "dsred",
            vec![
                ("drop_function", word("double_slope")),
                ("gamma", number(0.5)),
            ],
        ),
        (
            "nlred",
            vec![
                ("drop_function", word("cubic")),
                ("max_p", number(0.03)),
                ("c2", number(1.0)),
            ],
        ),
        (
            "redwm",
            vec![
                ("average", word("difference")),
                ("idle_decay", Value::Switch(false)),
            ],
        ),
        (
            "lpf_oda",
            vec![
                ("average", word("lpf_oda")),
                ("w", number(0.07)),
                ("max_th", number(20.0)),
            ],
        ),
    ] {
        let configured = Configured::new(class(name), &[]).unwrap();
        for (param, expected) in own {
            let (_, value) = configured
                .values()
                .find(|(name, _)| *name == param)
                .unwrap();
            assert_eq!(value, expected, "{name}.{param}");
        }
    }
}

#[test]
fn given_values_replace_defaults() {
    let given = given(&[
        ("w", number(0.07)),
        ("drop_function", word("gentle")),
        ("max_th", number(50.0)),
    ]);
    let configured = Configured::new(class("red"), &given).unwrap();
    for (name, value) in given {
        assert!(
            configured
                .values()
                .any(|shown| shown == (name.as_str(), value.clone()))
        );
    }
    let p = configured.drop_probability(75.0).unwrap();
    assert!((p - (0.02 + 0.98 * 0.5)).abs() < 1e-9, "{p}");
}

fn refusal(aqm: &str, values: &[(&str, Value)]) -> String {
    match Configured::new(class(aqm), &given(values)) {
        Ok(configured) => panic!("accepted: {configured:?}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn one_bad_value_is_refused_by_name_value_and_range() {
    let on = || Value::Switch(true);
    for (aqm, name, value, message) in [
        (
            "red",
            "w",
            number(1.5),
            "red.w = 1.5 must lie between 0 and 1",
        ),
        (
            "red",
            "w",
            number(-0.1),
            "red.w = -0.1 must lie between 0 and 1",
        ),
        (
            "red",
            "w",
            number(f64::NAN),
            "red.w = NaN must lie between 0 and 1",
        ),
        (
            "red",
            "w",
            number(f64::INFINITY),
            "red.w = inf must lie between 0 and 1",
        ),
        (
            "dsred",
            "min_th",
            number(-1.0),
            "dsred.min_th = -1 must lie between 0 and 1000000 packets",
        ),
        (
            "red",
            "mean_packet_bytes",
            number(0.0),
            "red.mean_packet_bytes = 0 must lie between 1 and 65535 bytes",
        ),
        (
            "red",
            "mean_packet_bytes",
            number(99.5),
            "red.mean_packet_bytes = 99.5 must be a whole number",
        ),
        (
            "lpf_oda",
            "low_arrivals",
            number(2.5),
            "lpf_oda.low_arrivals = 2.5 must be a whole number",
        ),
        (
            "red",
            "w",
            word("small"),
            "red.w = \"small\" must be a number",
        ),
        ("red", "min_th", on(), "red.min_th = true must be a number"),
        (
            "red",
            "idle_decay",
            number(1.0),
            "red.idle_decay = 1 must be true or false",
        ),
        (
            "red",
            "idle_decay",
            word("yes"),
            "red.idle_decay = \"yes\" must be true or false",
        ),
        (
            "red",
            "drop_function",
            word("steep"),
            "red.drop_function = \"steep\" must be one of linear, gentle, double_slope, cubic",
        ),
        (
            "red",
            "average",
            number(0.0),
            "red.average = 0 must be one of ewma, difference, lpf_oda",
        ),
        (
            "red",
            "spacing",
            on(),
            "red.spacing = true must be one of independent, uniformised, waiting",
        ),
        (
            "drop_tail",
            "w",
            number(0.1),
            "drop_tail.w: drop_tail has no parameters",
        ),
        (
            "red",
            "weight",
            number(0.1),
            "red.weight: no such parameter; red has min_th, max_th, max_p, average, sampling, \
             sampling_interval, w, a1, a2, a3, b1, b2, b3, low_queue, low_arrivals, drop_function, gamma, \
             middle, c2, c3, spacing, like, idle_decay, mean_packet_bytes",
        ),
    ] {
        assert_eq!(refusal(aqm, &[(name, value)]), message);
    }
}

#[test]
fn values_that_break_a_rule_are_refused_with_both_sides() {
    let thresholds = |min_th, max_th| [("min_th", number(min_th)), ("max_th", number(max_th))];
    assert_eq!(
        refusal("red", &thresholds(100.0, 50.0)),
        "red.max_th = 50 must exceed red.min_th = 100 (packets)"
    );
    assert_eq!(
        refusal("gentle_red", &thresholds(7.5, 7.5)),
        "gentle_red.max_th = 7.5 must exceed gentle_red.min_th = 7.5 (packets)"
    );
    assert_eq!(
        refusal("dsred", &[("min_th", number(200.0))]),
        "dsred.max_th = 200 must exceed dsred.min_th = 200 (packets)"
    );
    assert_eq!(
        refusal("redwm", &[("b1", number(0.5))]),
        "redwm.a1 = 0.9176 is too much: a1 + a2 + a3 + b1 + b2 + b3 must not exceed 1"
    );
    assert_eq!(
        refusal("red", &[("average", word("difference"))]),
        "red.idle_decay = true is not defined with red.average = difference"
    );
    assert_eq!(
        refusal("red", &[("sampling", word("clock"))]),
        "red.idle_decay = true is not defined with red.sampling = clock"
    );
    for aqm in ["red", "ared", "self_configuring_red"] {
        assert_eq!(
            refusal(aqm, &[("like", word("ns2"))]),
            format!("{aqm}.like = ns2 is not defined with {aqm}.spacing = uniformised")
        );
    }
    assert_eq!(
        refusal("redwm", &[("idle_decay", Value::Switch(true))]),
        "redwm.idle_decay = true is not defined with redwm.average = difference"
    );
}

/// The least difference between two thresholds is one step of Q31.32.
#[test]
fn thresholds_that_round_to_the_same_step_are_refused() {
    let close = |off: f64| [("min_th", number(5.0)), ("max_th", number(5.0 + off))];
    assert!(Configured::new(class("red"), &given(&close(3e-10))).is_ok());
    assert_eq!(
        refusal("red", &close(1e-10)),
        "red.max_th = 5.0000000001 must exceed red.min_th = 5 (packets)"
    );
}
