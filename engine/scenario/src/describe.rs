//! Descriptions of tables and their fields, from which the schema, the classes and the pages are
//! made.

use std::sync::OnceLock;

use crate::{
    limits::Limits, network::NetworkScenario, reader::Reader, slotted::Scenario, table::Table,
    value::Value,
};

/// The kind of value that a field takes.
#[derive(Clone, Debug)]
pub enum ValueKind {
    /// True or false.
    Switch,
    /// A whole number.
    Whole(Limits),
    /// Any number.
    Number(Limits),
    /// Text.
    Text(Limits),
    /// One of these words; the name is that of the choice.
    Word(&'static str, &'static [&'static str]),
    /// A list.
    List(Box<ValueKind>, Limits),
    /// Values of this kind, by names that the user chooses.
    Named(Box<ValueKind>),
    /// A table.
    Table(Description),
    /// One of these tables, which differ by their `kind`.
    OneOf(Union),
    /// Path of a file; a relative one starts at the scenario's folder.
    Path,
    /// Name of an AQM, or path of a C header.
    Aqm,
    /// Parameters of the AQM in the same table.
    Params,
}

impl ValueKind {
    /// Returns the unit of its numbers, or of those in its lists; empty if there is none.
    pub fn unit(&self) -> &'static str {
        match self {
            Self::Whole(limits) | Self::Number(limits) => limits.unit,
            Self::List(of, _) => of.unit(),
            _ => "",
        }
    }
}

/// A table.
#[derive(Clone, Debug)]
pub struct Description {
    /// Name of its class.
    pub name: &'static str,
    /// Help text, line by line.
    pub help: &'static [&'static str],
    /// Its `kind`, if it has one.
    pub kind: Option<&'static str>,
    /// Its fields.
    pub fields: Vec<FieldDescription>,
    /// Reads such a table, which this describes, and returns it with all its fields.
    pub complete: fn(&Self, &Value, &mut Reader) -> Option<Value>,
}

/// Returns all tables of all scenarios, each after the tables that it contains.
pub fn tables() -> &'static [Description] {
    static TABLES: OnceLock<Vec<Description>> = OnceLock::new();
    TABLES.get_or_init(|| {
        let mut found = Vec::new();
        for root in [Scenario::description(), NetworkScenario::description()] {
            collect(root, &mut found);
        }
        found
    })
}

fn collect(table: Description, found: &mut Vec<Description>) {
    for field in &table.fields {
        collect_of(&field.kind, found);
    }
    if found.iter().all(|known| known.name != table.name) {
        found.push(table);
    }
}

fn collect_of(kind: &ValueKind, found: &mut Vec<Description>) {
    match kind {
        ValueKind::Table(table) => collect(table.clone(), found),
        ValueKind::OneOf(union) => {
            for table in &union.tables {
                collect(table.clone(), found);
            }
        }
        ValueKind::List(of, _) | ValueKind::Named(of) => collect_of(of, found),
        _ => {}
    }
}

/// One of several tables.
#[derive(Clone, Debug)]
pub struct Union {
    /// Name of the union.
    pub name: &'static str,
    /// Help text, line by line.
    pub help: &'static [&'static str],
    /// The tables.
    pub tables: Vec<Description>,
}

/// A field of a table.
#[derive(Clone, Debug)]
pub struct FieldDescription {
    /// Its name.
    pub name: &'static str,
    /// Help text, line by line.
    pub help: &'static [&'static str],
    /// The kind of its value.
    pub kind: ValueKind,
    /// Its value if it is not given.
    pub default: Default,
}

/// The value of a field that is not given.
#[derive(Clone, Debug, PartialEq)]
pub enum Default {
    /// The field must be given.
    Required,
    /// No value, which has its own meaning.
    Absent,
    /// This value.
    Is(Value),
}
