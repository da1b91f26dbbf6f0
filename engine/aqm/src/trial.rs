//! Tries a user's AQM in a process of its own. A fault that would end the calling process, or an
//! endless loop, becomes an error message. `trial/trial.c` is the program of that process.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    class::{Class, LoadError},
    compile::cc,
    faults::{changes_view, no_verdict},
    params::{ONE, Param, Scale, Value},
    program, rules,
};

const SOURCES: [(&str, &str); 2] = [
    ("trial.c", include_str!("trial/trial.c")),
    ("watch.h", include_str!("trial/watch.h")),
];

/// Options that load the program at fixed addresses, so that `addr2line` knows them.
const AT_FIXED_ADDRESSES: &[&str] = if cfg!(target_os = "linux") {
    &["-no-pie"]
} else {
    &[]
};

/// The program that tries an AQM, in the folder of the compiled AQM.
pub struct Trial<'a> {
    name: &'a str,
    folder: PathBuf,
}

/// Parameters to try: a text that names what is not a default, and the integers for C.
type Case = (String, Vec<i64>);

impl<'a> Trial<'a> {
    /// Builds the program for the AQM whose `user.o` is in `folder`.
    pub fn build(name: &'a str, folder: &Path) -> Result<Self, LoadError> {
        let folder = folder.to_path_buf();
        for (file, text) in SOURCES {
            fs::write(folder.join(file), text)
                .map_err(|error| LoadError(format!("{name}: cannot be tried: {error}")))?;
        }
        let flags = ["-std=gnu11", "-D_GNU_SOURCE", "-DAQM_HOSTED", "-I."];
        let files = ["trial.c", "user.o", "-o", "trial"];
        cc(
            name,
            &folder,
            &[&flags[..], AT_FIXED_ADDRESSES, rules::SEALED, &files].concat(),
        )?;
        Ok(Self { name, folder })
    }

    /// Checks in the process that the table that describes the AQM can be read.
    pub fn read_table(&self) -> Result<(), String> {
        self.start(&[]).map(drop)
    }

    /// Runs the AQM with its defaults, and with each parameter at the ends of its range, twice.
    pub fn run(&self, class: &Class) -> Result<(), String> {
        let cases = cases(class);
        let rows = cases.iter().map(|(_, params)| row(params));
        let cannot = |error| format!("cannot be tried: {error}");
        fs::write(self.folder.join("cases"), rows.collect::<String>()).map_err(cannot)?;
        let (first, second) = (self.start(&cases)?, self.start(&cases)?);
        // with a slow AQM, not all cases are run
        for ((case, first), second) in cases.iter().zip(&first).zip(&second) {
            if first != second {
                return Err(format!(
                    "two runs with the same packets and the same random words were \
                     different{}; it must depend on nothing but its state, its config and the view \
                     (is a variable used before it is set?)",
                    with(&case.0)
                ));
            }
        }
        Ok(())
    }

    /// Runs the process; returns the hash of each case that it ran.
    fn start(&self, cases: &[Case]) -> Result<Vec<String>, String> {
        let ended = program::run(&mut Command::new(self.folder.join("trial")), &self.folder)
            .map_err(|error| format!("cannot be tried: {error}"))?;
        let mut words = Vec::new();
        for line in ended.stdout.lines() {
            match line.split(' ').collect::<Vec<_>>()[..] {
                ["case", _, word] => words.push(word.to_owned()),
                ["fault", case, function, ref what @ ..] => {
                    let case = case.parse().ok().and_then(|case: usize| cases.get(case));
                    let set = case.map_or("", |(set, _)| set);
                    return Err(format!("{}{}", self.fault(function, what), with(set)));
                }
                _ => {}
            }
        }
        let Some(status) = ended.status else {
            return Err("did not come to an end when it was tried".into());
        };
        if !status.success() || words.is_empty() != cases.is_empty() {
            return Err(format!("failed when it was tried ({status})"));
        }
        Ok(words)
    }

    /// Returns ` (line N)`, the line of the header for an address in the program; empty if it is
    /// not known.
    fn line(&self, address: &str) -> String {
        let found = Command::new("addr2line")
            .args(["-i", "-f", "-e", "trial", address])
            .current_dir(&self.folder)
            .output();
        let found = found.map_or_else(|_| String::new(), |output| text(&output.stdout));
        // a function, then its place: first inlined functions, last those from macros of aqm.h
        let frames = found.lines().zip(found.lines().skip(1)).step_by(2);
        let header = format!("/{}.h:", self.name);
        let line = frames
            .filter(|(function, _)| !function.ends_with("_any"))
            .find_map(|(_, place)| place.split_once(&header));
        let number = line.and_then(|(_, rest)| rest.split(' ').next());
        number.map_or_else(String::new, |number| format!(" (line {number})"))
    }

    /// Returns a message that says what is wrong and what would be right.
    fn fault(&self, function: &str, what: &[&str]) -> String {
        let name = self.name;
        let (what, line) = match what {
            [what, address] if address.starts_with("0x") => (&[*what][..], self.line(address)),
            what => (what, String::new()),
        };
        let who = match function {
            "descriptors" => format!("its AQM_CLASS{line}"),
            function => format!("{name}_{function}{line}"),
        };
        match what {
            ["division"] => format!(
                "{who} divides by zero, or the quotient has no room (the least number by -1)"
            ),
            ["memory"] => format!(
                "{who} reads or writes memory that is not its own: a null pointer, an index out of \
                 range, or a recursion without end"
            ),
            ["time"] => {
                format!("{who} does not come to an end within a second; every loop needs a bound")
            }
            ["trap"] => format!("{who} gives up (a trap, or code that must not be reached)"),
            ["verdict", verdict, wants_candidate] => no_verdict(
                &who,
                verdict.parse().unwrap_or(u32::MAX),
                function == "arrive" && *wants_candidate == "1",
            ),
            ["probability", p] => format!(
                "{who} answered {}, which is no probability; it must lie between 0 and 1, in Q31.32",
                p.parse::<i64>().unwrap_or(0) as f64 / ONE as f64
            ),
            ["changed"] => format!(
                "it changes its struct {name}_config, which all its queues share; what changes must \
                 stand in struct {name}_state"
            ),
            ["view"] => changes_view(&who),
            ["beyond"] if function == "configure" => {
                format!("{who} writes beyond struct {name}_config")
            }
            ["beyond"] => format!("it writes beyond its struct {name}_state"),
            ["room"] => "there is too little memory to try it".to_owned(),
            ["empty"] => "its AQM_CLASS has no functions".to_owned(),
            _ => format!("{who} failed when it was tried"),
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn with(set: &str) -> String {
    if set.is_empty() {
        return String::new();
    }
    format!(" (with {set}, which its range allows)")
}

fn row(params: &[i64]) -> String {
    let numbers: Vec<_> = params.iter().map(ToString::to_string).collect();
    numbers.join(" ") + "\n"
}

/// Returns the defaults, then each parameter at both ends of its range, or at each of its words.
fn cases(class: &Class) -> Vec<Case> {
    let defaults: Vec<i64> = class
        .params
        .iter()
        .map(|param| param.scaled(param.initial))
        .collect();
    let mut cases = vec![(String::new(), defaults.clone())];
    for (place, param) in class.params.iter().enumerate() {
        for value in edges(param) {
            if value != param.initial {
                let mut params = defaults.clone();
                params[place] = param.scaled(value);
                cases.push((shown(param, value), params));
            }
        }
    }
    cases
}

fn edges(param: &Param) -> Vec<f64> {
    match &param.scale {
        Scale::Choice(words) => (0..words.len()).map(|word| word as f64).collect(),
        _ => vec![param.least, param.greatest],
    }
}

fn shown(param: &Param, value: f64) -> String {
    let unit = param.scale.unit();
    let value = match param.show(value) {
        Value::Word(word) => word,
        value => value.to_string(),
    };
    format!("{} = {value} {unit}", param.name)
        .trim_end()
        .to_owned()
}
