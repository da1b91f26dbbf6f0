//! Results of checks: what is missing on this machine, and the command that fixes it.

use std::env;

use crate::{Failure, print, program, word};

/// The result of a check: a description, or what is wrong and how to fix it.
pub(crate) type Finding = Result<String, Missing>;

/// What is wrong, and the command that fixes it.
#[derive(Clone)]
pub(crate) struct Missing {
    pub what: String,
    pub mend: String,
    weight: Weight,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Weight {
    /// The gate does not work without it.
    Missing,
    /// The gate works without it.
    Note,
    /// It is unknown whether it is missing; the command shows it.
    Unknown,
}

pub(crate) fn missing(what: impl Into<String>, mend: impl Into<String>) -> Finding {
    found(Weight::Missing, what, mend)
}

pub(crate) fn lacking(what: impl Into<String>, mend: impl Into<String>) -> Finding {
    found(Weight::Note, what, mend)
}

/// Returns the result for what this process may not see; the command is the same one with sudo.
pub(crate) fn unknown(what: impl Into<String>) -> Finding {
    let arguments = env::args().skip(1).map(|argument| word(&argument));
    let words: Vec<String> = ["sudo".to_owned(), program()]
        .into_iter()
        .chain(arguments)
        .collect();
    found(Weight::Unknown, what, words.join(" "))
}

fn found(weight: Weight, what: impl Into<String>, mend: impl Into<String>) -> Finding {
    Err(Missing {
        what: what.into(),
        mend: mend.into(),
        weight,
    })
}

/// Prints the results. Returns true if it is known that nothing is missing that the gate needs.
///
/// # Errors
/// If stdout cannot be written.
pub(crate) fn print_findings(checks: Vec<(&str, Finding)>) -> Result<bool, Failure> {
    let mut is_ready = true;
    let mut told = String::new();
    for (name, found) in checks {
        match found {
            Ok(how) => told += &format!("ok       {name}: {how}\n"),
            Err(missing) => {
                let (word, then) = match missing.weight {
                    Weight::Missing => ("missing", "mend"),
                    Weight::Note => ("note   ", "mend"),
                    Weight::Unknown => ("unknown", "look"),
                };
                told += &format!("{word}  {name}: {}\n", missing.what);
                told += &format!("         {then}: {}\n", missing.mend);
                is_ready &= missing.weight == Weight::Note;
            }
        }
    }
    print(&told)?;
    Ok(is_ready)
}
