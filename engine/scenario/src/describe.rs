//! What a table, or a field of one, is: from this the schema, the classes and the pages are made.

use std::sync::OnceLock;

use crate::{
    limits::Limits, network::NetworkScenario, reader::Reader, slotted::Scenario, table::Table,
    value::Value,
};

/// What kind of value a field takes.
#[derive(Clone, Debug)]
pub enum Kind {
    /// True or false.
    Switch,
    /// A whole number.
    Whole(Limits),
    /// Any number.
    Number(Limits),
    /// Text.
    Text(Limits),
    /// One of these words, and what they are called together.
    Word(&'static str, &'static [&'static str]),
    /// A list.
    List(Box<Kind>, Limits),
    /// A table.
    Table(Description),
    /// One of these tables, which their `kind` tells apart.
    OneOf(Union),
    /// Path of a file; a relative one starts at the scenario's folder.
    Path,
    /// Name of an AQM, or path of a C header.
    Aqm,
    /// Parameters of the AQM that stands beside it.
    Params,
}

/// A table.
#[derive(Clone, Debug)]
pub struct Description {
    /// What its class is called.
    pub name: &'static str,
    /// What it is, line by line.
    pub help: &'static [&'static str],
    /// Its `kind`, where that tells it from others.
    pub kind: Option<&'static str>,
    /// Its fields.
    pub fields: Vec<FieldDescription>,
    /// Reads one, and gives it with all its fields.
    pub complete: fn(&Value, &mut Reader) -> Option<Value>,
}

/// All tables of all scenarios, each after those that it consists of.
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

fn collect_of(kind: &Kind, found: &mut Vec<Description>) {
    match kind {
        Kind::Table(table) => collect(table.clone(), found),
        Kind::OneOf(union) => {
            for table in &union.tables {
                collect(table.clone(), found);
            }
        }
        Kind::List(of, _) => collect_of(of, found),
        _ => {}
    }
}

/// One of several tables.
#[derive(Clone, Debug)]
pub struct Union {
    /// What they are called together.
    pub name: &'static str,
    /// What they are, line by line.
    pub help: &'static [&'static str],
    /// The tables.
    pub tables: Vec<Description>,
}

/// A field of a table.
#[derive(Clone, Debug)]
pub struct FieldDescription {
    /// Its name.
    pub name: &'static str,
    /// What it is, line by line.
    pub help: &'static [&'static str],
    /// What it takes.
    pub kind: Kind,
    /// What stands for it if it is not given.
    pub default: Default,
}

/// What stands for a field that is not given.
#[derive(Clone, Debug, PartialEq)]
pub enum Default {
    /// It must be given.
    Required,
    /// Nothing, which has a meaning of its own.
    Absent,
    /// This value.
    Is(Value),
}
