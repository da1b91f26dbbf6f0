//! Values that a user wrote, unchecked.

use std::{any::Any, fmt, sync::Arc};

/// A value from TOML, or from a program's object.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Not given: a program's `None`.
    Nothing,
    /// True or false.
    Switch(bool),
    /// A whole number.
    Whole(i128),
    /// A whole number that does not fit into `Whole`, as digits.
    Huge(String),
    /// Any other number.
    Number(f64),
    /// Text.
    Text(String),
    /// Text that is not valid, such as half of a character, in the form in which it is shown.
    Unprintable(String),
    /// A list.
    List(Vec<Value>),
    /// A table.
    Table(Fields),
    /// An object of the program that made the scenario, such as an AQM of its own.
    Foreign(Foreign),
    /// A value that no field takes, such as a date, in the form in which it is shown.
    Other(String),
}

/// The fields of a table, in the order in which they were written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fields {
    /// Name of the table of a scenario, such as `Queue`; empty if it is not known.
    pub of: &'static str,
    /// Names and values.
    pub rows: Vec<(String, Value)>,
}

impl Fields {
    /// Returns the value of the field with this name.
    pub fn get(&self, name: &str) -> Option<&Value> {
        let mut rows = self.rows.iter();
        rows.find(|(known, _)| known == name)
            .map(|(_, value)| value)
    }

    /// Sets the value of a field, which may be new.
    pub fn set(&mut self, name: &str, value: Value) {
        match self.rows.iter_mut().find(|(known, _)| known == name) {
            Some((_, old)) => *old = value,
            None => self.rows.push((name.to_owned(), value)),
        }
    }
}

/// An object of the program that made the scenario; this crate does not use its contents.
#[derive(Clone)]
pub struct Foreign {
    /// The name that is shown.
    pub name: String,
    /// If it cannot be an AQM: what it must be, as the end of a sentence.
    pub must: Option<&'static str>,
    /// The object.
    pub object: Arc<dyn Any + Send + Sync>,
}

impl PartialEq for Foreign {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.object, &other.object)
    }
}

impl fmt::Debug for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Foreign({})", self.name)
    }
}
