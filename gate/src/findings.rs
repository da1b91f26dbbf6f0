//! Results of checks: what is missing on this machine, and the command that fixes it.

use std::env;

use serde_json::json;

use crate::{Failure, print, program, word};

/// The result of a check: a description, or what is wrong and how to fix it.
pub(crate) type Finding = Result<String, Missing>;

/// What is wrong, and the command that fixes it.
#[derive(Clone)]
pub(crate) struct Missing {
    pub what: String,
    pub remedy: String,
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

pub(crate) fn missing(what: impl Into<String>, remedy: impl Into<String>) -> Finding {
    found(Weight::Missing, what, remedy)
}

pub(crate) fn lacking(what: impl Into<String>, remedy: impl Into<String>) -> Finding {
    found(Weight::Note, what, remedy)
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

fn found(weight: Weight, what: impl Into<String>, remedy: impl Into<String>) -> Finding {
    Err(Missing {
        what: what.into(),
        remedy: remedy.into(),
        weight,
    })
}

/// Prints the results, for people or as JSON. Returns true if it is known that nothing is missing
/// that the gate needs.
///
/// # Errors
/// If stdout cannot be written.
pub(crate) fn print_findings(checks: Vec<(&str, Finding)>, as_json: bool) -> Result<bool, Failure> {
    let is_ready = checks.iter().all(|(_, found)| match found {
        Ok(_) => true,
        Err(missing) => missing.weight == Weight::Note,
    });
    let lines = checks.iter().map(|(name, found)| {
        if as_json {
            line(name, found)
        } else {
            words(name, found)
        }
    });
    print(&lines.collect::<String>())?;
    Ok(is_ready)
}

fn words(name: &str, found: &Finding) -> String {
    match found {
        Ok(how) => format!("ok       {name}: {how}\n"),
        Err(Missing {
            what,
            remedy,
            weight,
        }) => {
            let (word, then) = match weight {
                Weight::Missing => ("missing", "fix"),
                Weight::Note => ("note   ", "fix"),
                Weight::Unknown => ("unknown", "check"),
            };
            format!("{word}  {name}: {what}\n         {then}: {remedy}\n")
        }
    }
}

fn line(name: &str, found: &Finding) -> String {
    let told = match found {
        Ok(how) => json!({"check": name, "result": "ok", "what": how, "remedy": null}),
        Err(Missing {
            what,
            remedy,
            weight,
        }) => {
            let result = match weight {
                Weight::Missing => "missing",
                Weight::Note => "note",
                Weight::Unknown => "unknown",
            };
            json!({"check": name, "result": result, "what": what, "remedy": remedy})
        }
    };
    format!("{told}\n")
}
