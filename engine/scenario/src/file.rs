//! Scenario files: converts TOML text to values.

use std::{fs::File, io::Read, path::Path};

use toml::{
    Spanned,
    de::{DeString, DeTable, DeValue},
};

use crate::{
    reader::ScenarioError,
    value::{Fields, Value},
};

/// Greatest size of a file, bytes: an endless file, such as a device, must not fill the memory.
const MOST_BYTES: u64 = 1 << 24;

/// Tables in a scenario's file that are not fields of the scenario: `sluice sweep` and
/// `sluice tune` read them.
const OF_COMMANDS: [&str; 2] = ["sweep", "tune"];

/// Returns the table in a TOML file, without the tables of commands.
///
/// # Errors
/// If the file cannot be read, is larger than 16 MiB, or is no TOML.
pub fn read(path: &Path) -> Result<Fields, ScenarioError> {
    let refuse = |what: String| ScenarioError::new(what).at(path.display());
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MOST_BYTES + 1).read_to_end(&mut bytes))
        .map_err(|error| refuse(without_number(&error)))?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(refuse(format!(
            "a scenario must have at most {MOST_BYTES} bytes"
        )));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let line = error.as_bytes()[..error.utf8_error().valid_up_to()]
            .iter()
            .filter(|byte| **byte == b'\n')
            .count();
        refuse(format!("not valid TOML: line {} is not UTF-8", line + 1))
    })?;
    let mut fields = parse(&text).map_err(|error| error.at(path.display()))?;
    fields
        .rows
        .retain(|(name, _)| !OF_COMMANDS.contains(&name.as_str()));
    Ok(fields)
}

/// Returns the system's error message without its number.
pub(crate) fn without_number(error: &std::io::Error) -> String {
    let shown = error.to_string();
    match shown.rfind(" (os error") {
        Some(end) => shown[..end].to_owned(),
        None => shown,
    }
}

/// Returns the table in a TOML text.
///
/// # Errors
/// If it is no TOML.
pub fn parse(text: &str) -> Result<Fields, ScenarioError> {
    // some editors write a byte order mark first
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    match DeTable::parse(text) {
        Ok(table) => Ok(fields(table.get_ref())),
        Err(error) => {
            let place = error
                .span()
                .map(|span| place(text, span.start))
                .unwrap_or_default();
            Err(ScenarioError::new(format!(
                "not valid TOML: {}{place}",
                error.message()
            )))
        }
    }
}

/// Returns line and column of a byte of the text, as words.
fn place(text: &str, byte: usize) -> String {
    let before = &text.as_bytes()[..byte.min(text.len())];
    let line_start = before.iter().rposition(|byte| *byte == b'\n');
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    let column = String::from_utf8_lossy(&before[line_start.map_or(0, |at| at + 1)..])
        .chars()
        .count()
        + 1;
    format!(" (at line {line}, column {column})")
}

fn fields(table: &DeTable<'_>) -> Fields {
    let mut rows: Vec<(&Spanned<DeString<'_>>, &Spanned<DeValue<'_>>)> = table.iter().collect();
    // in the order in which they were written
    rows.sort_by_key(|(name, _)| name.span().start);
    Fields {
        of: "",
        rows: rows
            .into_iter()
            .map(|(name, item)| (name.get_ref().to_string(), value(item.get_ref())))
            .collect(),
    }
}

fn value(item: &DeValue<'_>) -> Value {
    match item {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(whole) => i128::from_str_radix(whole.as_str(), whole.radix())
            .map_or_else(|_| Value::Huge(whole.as_str().to_owned()), Value::Whole),
        DeValue::Float(number) => Value::Number(number.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(on) => Value::Switch(*on),
        DeValue::Datetime(time) => Value::Other(time.to_string()),
        DeValue::Array(items) => {
            Value::List(items.iter().map(|item| value(item.get_ref())).collect())
        }
        DeValue::Table(table) => Value::Table(fields(table)),
    }
}
