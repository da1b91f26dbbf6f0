//! The published JSON Schema (draft 2020-12) of scenarios.
//!
//! It contains everything in `table!`; additional annotations, such as the `unit` of a field, hold
//! what JSON Schema has no keyword for. The Python classes and the reference pages are made from
//! it.

use serde_json::{Map, Value as Json, json};
use sluice_aqm::{Class, Param, Scale};

use crate::{
    describe::{Default, Description, FieldDescription, Union, ValueKind, tables},
    json::{given, number, plain},
    limits::Limits,
    network::NetworkScenario,
    quantity::pattern,
    slotted::Scenario,
    table::Table,
};

/// Returns the schema of a scenario, as the text of a file.
pub fn schema() -> String {
    let mut definitions = Map::new();
    for table in tables() {
        define(table, &mut definitions);
    }
    for class in sluice_aqm::disciplines() {
        definitions.insert(params_name(class), params(class));
    }
    for root in [NetworkScenario::NAME, Scenario::NAME] {
        definitions[root]["properties"]["sweep"] = sweep();
        definitions[root]["properties"]["tune"] = tune();
    }
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "scenario.schema.json",
        "title": "A scenario of Sluicegate",
        "type": "object",
        "if": { "required": [crate::OF_NETWORKS] },
        "then": reference(NetworkScenario::NAME),
        "else": reference(Scenario::NAME),
        "$defs": definitions,
    });
    serde_json::to_string_pretty(&schema).expect("a schema is plain data") + "\n"
}

/// Returns the schema of the table `sweep`, which is no field of a scenario: the command reads it.
fn sweep() -> Json {
    json!({
        "description": "What `sluice sweep` varies; see its guide.",
        "command": "sluice sweep",
        "type": "object",
        "properties": {
            "method": {
                "description": "Which values are taken together.",
                "enum": ["grid", "list", "latin-hypercube"],
                "default": "grid",
            },
            "points": {
                "description": "Number of points of a Latin hypercube.",
                "type": "integer",
                "minimum": 1,
            },
            "vary": {
                "description": "Values by path: a list, or a range such as `1..20` or `1e6..1e9:7:log`.",
                "type": "object",
                "additionalProperties": {
                    "anyOf": [{ "type": "string" }, { "type": "array", "minItems": 1 }],
                },
                "minProperties": 1,
            },
        },
        "additionalProperties": false,
    })
}

/// Returns the schema of the table `tune`, which is no field of a scenario either.
fn tune() -> Json {
    json!({
        "description": "What `sluice tune` searches; see its guide.",
        "command": "sluice tune",
        "type": "object",
        "properties": {
            "vary": {
                "description": "Ranges by parameter, such as `0.01..0.5`, `1e-4..0.1:log` or `all`.",
                "anyOf": [
                    { "type": "object", "additionalProperties": { "type": "string" }, "minProperties": 1 },
                    { "type": "array", "items": { "type": "string" }, "minItems": 1 },
                ],
            },
            "score": {
                "description": "What to minimise: a sum of measures, as text or as weights.",
                "anyOf": [
                    { "type": "string" },
                    { "type": "object", "additionalProperties": { "type": "number" }, "minProperties": 1 },
                ],
                "default": "delay_mean",
            },
            "constraints": {
                "description": "Constraints, such as `loss_ratio <= 0.01`.",
                "type": "array",
                "items": { "type": "string" },
            },
            "method": {
                "description": "Method of the search.",
                "enum": [
                    "pattern", "nelder-mead", "differential-evolution", "bayesian",
                    "multi-objective", "gradient",
                ],
                "default": "pattern",
            },
            "discipline": {
                "description": "The discipline to tune, if there are several.",
                "type": "string",
            },
            "evaluations": {
                "description": "Greatest number of candidates.",
                "type": "integer",
                "minimum": 1,
            },
            "precision": {
                "description": "Half width of a score's 95 % interval, relative to it.",
                "type": "number",
                "exclusiveMinimum": 0,
                "exclusiveMaximum": 1,
                "default": 0.05,
            },
        },
        "additionalProperties": false,
    })
}

fn reference(name: &str) -> Json {
    json!({ "$ref": format!("#/$defs/{name}") })
}

/// Joins the lines of a comment to paragraphs.
fn text(help: &[&str]) -> String {
    let mut shown = String::new();
    for line in help.iter().map(|line| line.trim()) {
        match (line.is_empty(), shown.is_empty() || shown.ends_with('\n')) {
            (true, _) => shown.push_str("\n\n"),
            (false, true) => shown.push_str(line),
            (false, false) => shown.extend([" ", line]),
        }
    }
    shown
}

/// Adds the definition of a table, after those of the unions in it.
fn define(table: &Description, definitions: &mut Map<String, Json>) {
    let mut properties = Map::new();
    let mut required = Vec::new();
    if let Some(kind) = table.kind {
        properties.insert("kind".into(), json!({ "const": kind }));
        required.push("kind");
    }
    for field in &table.fields {
        properties.insert(field.name.into(), property(field, definitions));
        if field.default == Default::Required {
            required.push(field.name);
        }
    }
    let mut schema = json!({
        "description": text(table.help),
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    });
    if table
        .fields
        .iter()
        .any(|field| matches!(field.kind, ValueKind::Params))
    {
        schema["allOf"] = sluice_aqm::disciplines().map(if_aqm).collect();
    }
    definitions.insert(table.name.into(), schema);
}

fn property(field: &FieldDescription, definitions: &mut Map<String, Json>) -> Json {
    let mut schema = kind(&field.kind, definitions);
    schema["description"] = text(field.help).into();
    if let Default::Is(value) = &field.default {
        schema["default"] = given(plain(value));
    }
    schema
}

fn kind(kind: &ValueKind, definitions: &mut Map<String, Json>) -> Json {
    match kind {
        ValueKind::Switch => json!({ "type": "boolean" }),
        ValueKind::Whole(limits) => within(json!({ "type": "integer" }), limits),
        ValueKind::Number(limits) => within(numbers(limits.unit), limits),
        ValueKind::Text(limits) => {
            let mut schema = json!({ "type": "string" });
            if limits.fewest > 0 {
                schema["minLength"] = limits.fewest.into();
            }
            if limits.most < usize::MAX {
                schema["maxLength"] = limits.most.into();
            }
            schema
        }
        ValueKind::Path => json!({ "type": "string", "format": "path" }),
        ValueKind::Word(name, words) => json!({ "title": name, "enum": words }),
        ValueKind::List(of, limits) => {
            let items = self::kind(of, definitions);
            let mut schema = json!({ "type": "array", "items": items });
            if limits.fewest > 0 {
                schema["minItems"] = limits.fewest.into();
            }
            if limits.most < usize::MAX {
                schema["maxItems"] = limits.most.into();
            }
            schema
        }
        ValueKind::Named(of) => {
            let each = self::kind(of, definitions);
            json!({ "type": "object", "additionalProperties": each })
        }
        ValueKind::Table(table) => reference(table.name),
        ValueKind::OneOf(union) => {
            define_union(union, definitions);
            reference(union.name)
        }
        ValueKind::Aqm => {
            let names: Vec<_> = sluice_aqm::disciplines().map(|class| &class.name).collect();
            json!({ "type": "string", "anyOf": [{ "enum": names }, { "pattern": "\\.h$" }] })
        }
        ValueKind::Params => json!({ "type": "object" }),
    }
}

fn define_union(union: &Union, definitions: &mut Map<String, Json>) {
    let tables: Json = union
        .tables
        .iter()
        .map(|table| reference(table.name))
        .collect();
    let schema = json!({ "description": text(union.help), "oneOf": tables });
    definitions.insert(union.name.into(), schema);
}

/// Returns the schema of numbers in a unit, which may be written with it: `20M`.
fn numbers(unit: &str) -> Json {
    match pattern(unit) {
        Some(pattern) => json!({ "type": ["number", "string"], "pattern": pattern }),
        None => json!({ "type": "number" }),
    }
}

fn within(mut schema: Json, limits: &Limits) -> Json {
    for (bound, including, excluding) in [
        (limits.least, "minimum", "exclusiveMinimum"),
        (limits.greatest, "maximum", "exclusiveMaximum"),
    ] {
        if let Some(bound) = bound {
            let key = if bound.included { including } else { excluding };
            schema[key] = number(bound.at);
        }
    }
    if limits.whole_below.is_finite() {
        let from = number(limits.whole_below);
        schema["anyOf"] = json!([{ "multipleOf": 1 }, { "minimum": from }]);
    }
    if !limits.unit.is_empty() {
        schema["unit"] = limits.unit.into();
    }
    schema
}

fn params_name(class: &Class) -> String {
    format!("params of {}", class.name)
}

/// Returns the rule that a discipline with this AQM has this AQM's parameters.
fn if_aqm(class: &Class) -> Json {
    json!({
        "if": { "properties": { "aqm": { "const": class.name } } },
        "then": { "properties": { "params": reference(&params_name(class)) } },
    })
}

fn params(class: &Class) -> Json {
    let properties: Map<String, Json> = class
        .params
        .iter()
        .map(|each| (each.name.clone(), param(each)))
        .collect();
    json!({
        "description": format!("{} Source: {}.", class.summary, class.source),
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    })
}

fn param(param: &Param) -> Json {
    let mut schema = match &param.scale {
        Scale::Switch => json!({ "type": "boolean" }),
        Scale::Choice(words) => json!({ "enum": words }),
        scale => {
            let mut schema = match scale {
                Scale::Count | Scale::Bytes => json!({ "type": "integer" }),
                Scale::Rate => {
                    let mut schema = numbers(param.scale.unit());
                    schema["type"][0] = "integer".into();
                    schema
                }
                scale => numbers(scale.unit()),
            };
            schema["minimum"] = number(param.least);
            schema["maximum"] = number(param.greatest);
            schema
        }
    };
    if !param.scale.unit().is_empty() {
        schema["unit"] = param.scale.unit().into();
    }
    schema["description"] = format!("{} ({})", param.help, param.source).into();
    schema["default"] = match param.show(param.initial) {
        sluice_aqm::Value::Number(value) => number(value),
        sluice_aqm::Value::Word(word) => word.into(),
        sluice_aqm::Value::Switch(on) => on.into(),
    };
    schema
}
