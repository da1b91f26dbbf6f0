//! For every table and any fields: a table that is written and read again is the same.

use proptest::{prelude::*, sample::select, strategy::ValueTree, test_runner::TestRunner};
use sluice_scenario::{
    Default, Description, Fields, Limits, Reader, Value, ValueKind, rounded, tables,
};
use std::path::Path;

fn whole(limits: &Limits) -> BoxedStrategy<Value> {
    let bound = |bound: Option<sluice_scenario::Bound>| bound.expect("whole numbers have limits");
    let (least, greatest) = (bound(limits.least), bound(limits.greatest));
    assert!(least.included, "whole numbers start at a whole number");
    let last = greatest.at as i128 - i128::from(!greatest.included);
    (least.at as i128..=last).prop_map(Value::Whole).boxed()
}

fn number(limits: &Limits) -> BoxedStrategy<Value> {
    let least = limits.least.map_or(-50.0, |bound| bound.at);
    let greatest = limits.greatest.map_or(least + 50.0, |bound| bound.at);
    let limits = *limits;
    // half of the numbers are close to the lower end
    (0.0_f64..1.0, any::<bool>())
        .prop_map(move |(share, fine)| {
            let share = if fine { share.powi(20) } else { share };
            let number = least + share * (greatest - least);
            let ends = [limits.least, limits.greatest];
            let excluded = |bound: &sluice_scenario::Bound| bound.at == number && !bound.included;
            match ends.iter().flatten().any(excluded) {
                true => Value::Number(f64::midpoint(least, greatest)),
                false if number < limits.whole_below => Value::Number(number.round()),
                false => Value::Number(number),
            }
        })
        .boxed()
}

fn value(kind: &ValueKind) -> BoxedStrategy<Value> {
    let text = |pattern: &'static str| pattern.prop_map(Value::Text).boxed();
    match kind {
        ValueKind::Switch => any::<bool>().prop_map(Value::Switch).boxed(),
        ValueKind::Whole(limits) => whole(limits),
        ValueKind::Number(limits) => number(limits),
        ValueKind::Text(_) => text("[a-zä -~]{0,5}[!-~]"),
        ValueKind::Word(_, words) => select(*words)
            .prop_map(|word| Value::Text(word.into()))
            .boxed(),
        ValueKind::Path => text("[a-z]{1,8}\\.pcap"),
        ValueKind::Aqm => select(vec!["red", "drop_tail", "codel"])
            .prop_map(|name| Value::Text(name.into()))
            .boxed(),
        ValueKind::Params => Just(Value::Table(Fields::default())).boxed(),
        ValueKind::List(of, limits) => {
            let sizes = limits.fewest..=limits.most.min(limits.fewest + 3);
            prop::collection::vec(value(of), sizes)
                .prop_map(Value::List)
                .boxed()
        }
        ValueKind::Named(of) => {
            prop::collection::vec(("[a-z]{1,4} -> [a-z]{1,4}", value(of)), 0..3)
                .prop_map(|rows| {
                    // TOML has a name once
                    let rows: std::collections::BTreeMap<_, _> = rows.into_iter().collect();
                    let rows = rows.into_iter().collect();
                    Value::Table(Fields { of: "", rows })
                })
                .boxed()
        }
        ValueKind::Table(description) => table(description),
        ValueKind::OneOf(union) => {
            prop::strategy::Union::new(union.tables.iter().map(table)).boxed()
        }
    }
}

/// Draws a table with all required fields, and some of the others.
fn table(description: &Description) -> BoxedStrategy<Value> {
    let kind = description
        .kind
        .map(|kind| ("kind".to_owned(), Value::Text(kind.into())));
    let fields: Vec<_> = description
        .fields
        .iter()
        .map(|field| {
            let name = field.name;
            let given = match field.default {
                Default::Required => value(&field.kind).prop_map(Some).boxed(),
                _ => prop::option::weighted(0.3, value(&field.kind)).boxed(),
            };
            given.prop_map(move |value| value.map(|value| (name.to_owned(), value)))
        })
        .collect();
    fields
        .prop_map(move |fields| {
            let rows = kind.clone().into_iter().chain(fields.into_iter().flatten());
            Value::Table(Fields {
                of: "",
                rows: rows.collect(),
            })
        })
        .boxed()
}

/// Returns the table with all its fields; the error lists its problems.
fn complete(description: &Description, value: &Value) -> Result<Value, String> {
    let mut reader = Reader::new(Path::new(""));
    let found = (description.complete)(description, value, &mut reader);
    reader.finish(found).map_err(|error| error.to_string())
}

#[test]
fn what_was_written_is_read_as_it_was() {
    let mut runner = TestRunner::deterministic();
    for description in tables() {
        let name = description.name;
        let mut wrong = Vec::new();
        for _ in 0..500 {
            let given = table(description).new_tree(&mut runner).unwrap().current();
            let written = match complete(description, &given) {
                Ok(written) => written,
                Err(what) => {
                    // each field by itself is right: only rules between fields can be broken
                    assert!(!what.contains("is missing\n"), "{name}: {what}");
                    assert!(!what.contains("is not a field"), "{name}: {what}");
                    wrong.push(what);
                    continue;
                }
            };
            let Value::Table(fields) = &written else {
                panic!("{written:?}");
            };
            for field in &description.fields {
                assert!(fields.get(field.name).is_some(), "{name}.{}", field.name);
            }
            assert_eq!(complete(description, &written), Ok(written.clone()));
        }
        // scenarios here name nodes, routes and captures that do not exist; the points of a ramp are
        // further apart than its steps of 10 ms allow
        let most = if name.ends_with("Scenario") || name == "Ramp" {
            500
        } else {
            490
        };
        assert!(wrong.len() <= most, "{name}: {:?}", wrong.first());
    }
}

#[test]
fn values_at_both_ends_of_each_range_are_read() {
    for description in tables() {
        for field in &description.fields {
            let (ValueKind::Whole(limits) | ValueKind::Number(limits)) = &field.kind else {
                continue;
            };
            for bound in [limits.least, limits.greatest].into_iter().flatten() {
                let at = Value::Number(bound.at);
                let rows = vec![(field.name.to_owned(), at)];
                let told = complete(description, &Value::Table(Fields { of: "", rows }))
                    .err()
                    .unwrap_or_default();
                let start = format!("{} = ", field.name);
                let must = format!(" {}", rounded(bound.at));
                let refused = told
                    .lines()
                    .any(|line| line.starts_with(&start) && line.contains(&must));
                // a rule between fields may refuse the end, which does not concern the range
                if !bound.included {
                    assert!(refused, "{}.{}: {told}", description.name, field.name);
                } else if !told.contains("must exceed") && !told.contains("0 or at least") {
                    let range = ["at least", "at most", "above", "below"];
                    let by_range = told.lines().any(|line| {
                        line.starts_with(&start)
                            && range
                                .iter()
                                .any(|word| line.contains(&format!("must be {word}{must}")))
                    });
                    assert!(!by_range, "{}.{}: {told}", description.name, field.name);
                }
            }
        }
    }
}
