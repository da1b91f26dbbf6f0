//! What a user wrote, before anybody has looked at it.

use std::{any::Any, fmt, sync::Arc};

/// A value as TOML, or a program's objects, have it.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Said to be not given: a program's `None`.
    Nothing,
    /// True or false.
    Switch(bool),
    /// A whole number.
    Whole(i128),
    /// A whole number beyond those, in its digits.
    Huge(String),
    /// Any other number.
    Number(f64),
    /// Text.
    Text(String),
    /// What came as text and is none (half of a character, say), as it is shown.
    Unprintable(String),
    /// A list.
    List(Vec<Value>),
    /// A table.
    Table(Fields),
    /// An object of the program that made the scenario, such as an AQM of its own.
    Foreign(Foreign),
    /// What no field takes, as it is shown: a date, say.
    Other(String),
}

/// The fields of a table, in the order in which they were written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fields {
    /// Which table of a scenario it is (`Queue`), where that is known.
    pub of: &'static str,
    /// Names and values.
    pub rows: Vec<(String, Value)>,
}

impl Fields {
    /// The value of that name.
    pub fn get(&self, name: &str) -> Option<&Value> {
        let mut rows = self.rows.iter();
        rows.find(|(known, _)| known == name)
            .map(|(_, value)| value)
    }

    /// Gives a field a value, whether it had one or not.
    pub fn set(&mut self, name: &str, value: Value) {
        match self.rows.iter_mut().find(|(known, _)| known == name) {
            Some((_, old)) => *old = value,
            None => self.rows.push((name.to_owned(), value)),
        }
    }
}

/// An object of the program that made the scenario; nobody here looks into it.
#[derive(Clone)]
pub struct Foreign {
    /// As it is shown.
    pub name: String,
    /// What it must be and is not, as the end of a sentence, if it cannot be an AQM.
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
