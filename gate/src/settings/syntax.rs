//! Reads what users write in options, with the syntax of the command `sluice`:
//! `NAME:KEY=VALUE,...`.

use sluice_aqm::find_scheduler;
use sluice_scenario::{Fields, NO_PYTHON, Value, takes_classes};

/// Keys of a discipline that are not the AQM's.
const OF_THE_QUEUE: [&str; 4] = ["victim", "ecn", "label", "scheduler"];

/// Reads a number, `true` or `false` as in TOML; anything else is text.
pub fn value(text: &str) -> Value {
    let plain = text.replace('_', "");
    if let Ok(on) = text.parse() {
        Value::Switch(on)
    } else if let Ok(whole) = plain.parse() {
        Value::Whole(whole)
    } else {
        let number = plain.parse().map(Value::Number);
        number.unwrap_or_else(|_| Value::Text(text.to_owned()))
    }
}

/// Reads the table of a scenario's discipline: keys that are not the queue's are parameters of the
/// AQM.
///
/// # Errors
/// If a part is no `KEY=VALUE`, if a key comes twice, or if the scheduler takes classes of service,
/// which no option can give.
pub fn discipline(text: &str) -> Result<Value, String> {
    let (aqm, rest) = text.split_once(':').unwrap_or((text, ""));
    if aqm.trim().is_empty() {
        return Err(format!("'{text}' must be NAME:KEY=VALUE,..."));
    }
    if aqm.contains('=') && !aqm.trim().ends_with(".h") {
        let meant = match text.contains(',') {
            true => format!("; did you mean {}?", text.replacen(',', ":", 1)),
            false => String::new(),
        };
        return Err(format!("'{text}' must be NAME:KEY=VALUE,...{meant}"));
    }
    if aqm.trim().ends_with(".py") {
        return Err(format!("{aqm}: {NO_PYTHON}"));
    }
    let mut fields = Fields::default();
    let mut params = Fields::default();
    fields.set("aqm", Value::Text(aqm.trim().to_owned()));
    for part in rest.split(',').filter(|part| !part.is_empty()) {
        let (key, given) = match part.split_once('=') {
            Some((key, given)) if !key.trim().is_empty() && !given.trim().is_empty() => {
                (key.trim(), value(given.trim()))
            }
            _ => return Err(format!("'{part}' must be KEY=VALUE")),
        };
        let (table, given) = match key {
            "scheduler" => (&mut fields, scheduler(given)?),
            _ if OF_THE_QUEUE.contains(&key) => (&mut fields, given),
            _ => (&mut params, given),
        };
        if table.get(key).is_some() {
            return Err(format!("{key} is given twice in '{text}'"));
        }
        table.set(key, given);
    }
    fields.set("params", Value::Table(params));
    Ok(Value::Table(fields))
}

/// Returns the table of a scheduler with its defaults.
fn scheduler(kind: Value) -> Result<Value, String> {
    if let Value::Text(name) = &kind
        && find_scheduler(name).is_some_and(takes_classes)
    {
        return Err(format!(
            "scheduler = {name} has a table of classes, which only a scenario can give: --scenario"
        ));
    }
    let mut fields = Fields::default();
    fields.set("kind", kind);
    Ok(Value::Table(fields))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<sluice_scenario::Discipline, String> {
        let folder = std::path::Path::new("");
        let read = |given| sluice_scenario::read(&given, folder).map_err(|error| error.to_string());
        discipline(text).and_then(read)
    }

    #[test]
    fn the_queues_part_is_told_from_the_aqms() {
        let found = read("red:min_th=5,max_th=1_0,victim=front,ecn=true,scheduler=sfq").unwrap();
        assert_eq!(
            found.name(),
            "red min_th=5, max_th=10, sfq, drop from front, ECN"
        );
        assert_eq!(read("codel").unwrap().name(), "codel");
    }

    #[test]
    fn what_is_wrong_is_told() {
        for (text, told) in [
            (":w=1", "':w=1' must be NAME:KEY=VALUE,..."),
            (
                "red,w=1,max_p=1",
                "'red,w=1,max_p=1' must be NAME:KEY=VALUE,...; did you mean red:w=1,max_p=1?",
            ),
            ("w=1", "'w=1' must be NAME:KEY=VALUE,..."),
            ("red:w", "'w' must be KEY=VALUE"),
            ("red:w=0.1,w=0.2", "w is given twice in 'red:w=0.1,w=0.2'"),
            (
                "pie:scheduler=prio",
                "scheduler = prio has a table of classes, which only a scenario can give: --scenario",
            ),
            (
                "pie:scheduler=ets",
                "scheduler = ets has a table of classes, which only a scenario can give: --scenario",
            ),
        ] {
            assert_eq!(read(text).unwrap_err(), told);
        }
        let told = read("red:min_th=100,max_th=50").unwrap_err();
        assert!(told.contains("red.max_th = 50"), "{told}");
        let told = read("red:minth=5").unwrap_err();
        assert!(
            told.contains("red.minth: no such parameter (did you mean min_th?)"),
            "{told}"
        );
        let told = read("rde").unwrap_err();
        assert!(told.contains("did you mean red?"), "{told}");
    }
}
