//! Scenarios: what is simulated, measured or set up, as users write it.
//!
//! Every field, with its unit, range, default and meaning, is written once, in a `table!`
//! (`table.rs`). From that description come the typed structure, its reader, which collects all
//! problems (`reader.rs`), and the published schema (`schema.rs`), from which the Python classes
//! and the reference pages are made. A world makes its plan from the typed structure; this crate
//! knows no world.

mod aqm_name;
mod capture;
mod describe;
mod discipline;
mod elsewhere;
mod field;
mod file;
mod identity;
mod json;
mod limits;
mod quantity;
mod queue;
mod reader;
mod scheduler;
mod schema;
mod service;
mod show;
mod table;
mod value;

pub mod network;
pub mod slotted;

use std::path::Path;

pub use aqm_name::{AqmName, NO_PYTHON, aqm_class, set_python};
pub use capture::{Recorded, fingerprint};
pub use describe::{Default, Description, FieldDescription, Union, ValueKind, tables};
pub use discipline::{Discipline, Params, aqm_value};
pub use field::{Field, Named};
pub use limits::{Bound, Limits};
pub use network::NetworkScenario;
pub use quantity::quantity;
pub use queue::{Queue, Victim};
pub use reader::{Reader, ScenarioError};
pub use scheduler::Scheduler;
pub use schema::schema;
pub use service::{EcnCodepoint, ServiceClass, takes_classes};
pub use show::rounded;
pub use slotted::Scenario;
pub use table::Table;
pub use value::{Fields, Foreign, Value};

use limits::ANY;

/// Any scenario.
#[derive(Clone, Debug, PartialEq)]
pub enum AnyScenario {
    /// A scenario of the slotted queue.
    Slotted(Scenario),
    /// A scenario of a network.
    Network(NetworkScenario),
}

/// The field that only scenarios of networks have.
const OF_NETWORKS: &str = "topology";

impl AnyScenario {
    /// Reads the scenario in a TOML file; paths in it start at the file's folder.
    ///
    /// # Errors
    /// If the file cannot be read, is no TOML, or is no valid scenario: all problems.
    pub fn load(path: &Path) -> Result<Self, ScenarioError> {
        let folder = path.parent().unwrap_or(Path::new(""));
        let fields = file::read(path)?;
        Self::read(fields, folder).map_err(|error| error.at(path.display()))
    }

    /// Reads the scenario in a text; paths in it start at `folder`.
    ///
    /// # Errors
    /// As for `load`.
    pub fn parse(text: &str, folder: &Path) -> Result<Self, ScenarioError> {
        Self::read(file::parse(text)?, folder)
    }

    /// Reads a scenario from the fields of its table; paths in it start at `folder`.
    ///
    /// # Errors
    /// All problems of the scenario.
    pub fn read(fields: Fields, folder: &Path) -> Result<Self, ScenarioError> {
        let kind = Self::kind(&fields);
        Self::read_as(kind, &Value::Table(fields), folder)
    }

    /// Returns the kind of scenario that has these fields: the name of its table.
    pub fn kind(fields: &Fields) -> &'static str {
        match fields.get(OF_NETWORKS) {
            Some(_) => NetworkScenario::NAME,
            None => Scenario::NAME,
        }
    }

    /// Reads a scenario of one kind, given as the name of its table; see `read`.
    ///
    /// # Errors
    /// All problems of the scenario.
    pub fn read_as(kind: &str, value: &Value, folder: &Path) -> Result<Self, ScenarioError> {
        if kind == NetworkScenario::NAME {
            return read(value, folder).map(Self::Network);
        }
        read(value, folder).map(Self::Slotted)
    }

    /// Returns the scenario as a user would write it.
    pub fn write(&self) -> Value {
        match self {
            Self::Slotted(scenario) => scenario.write(),
            Self::Network(scenario) => scenario.write(),
        }
    }

    /// Returns the disciplines that are compared.
    pub fn disciplines(&self) -> &[Discipline] {
        match self {
            Self::Slotted(scenario) => &scenario.disciplines,
            Self::Network(scenario) => &scenario.disciplines,
        }
    }
}

/// Returns the unchecked fields of a TOML file; see `AnyScenario::load`.
///
/// # Errors
/// If the file cannot be read, or is no TOML.
pub fn fields_of(path: &Path) -> Result<Fields, ScenarioError> {
    file::read(path)
}

/// Reads a table, or any other part of a scenario; paths in it start at `folder`.
///
/// # Errors
/// All problems of the value.
pub fn read<T: Field>(value: &Value, folder: &Path) -> Result<T, ScenarioError> {
    let mut reader = Reader::new(folder);
    let found = T::read(value, &ANY, &mut reader);
    reader.finish(found)
}

/// Converts seconds to whole nanoseconds.
///
/// # Panics
/// If the time is negative, or 2^64 ns or more.
pub fn ns(seconds: f64) -> u64 {
    let ns = (seconds * 1e9).round_ties_even();
    assert!((0.0..2_f64.powi(64)).contains(&ns), "{seconds} s");
    ns as u64
}
