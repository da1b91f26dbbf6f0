//! Settings without a scenario, and the options that override those of one.

use std::path::Path;

use sluice_scenario::{Fields, Queue, ScenarioError, Table, Value, network, ns};

use super::{
    LinkSettings, Settings, SettingsError, Varying,
    configured::named,
    link::{LEAST_BYTES, MOST_PACKETS, plain},
    refuse, syntax,
};
use crate::cli::LinkOptions;

/// Settings without a scenario: everything comes from options.
pub(super) fn of_options(options: &LinkOptions) -> Result<Settings, SettingsError> {
    let varying = rate_file(options)?;
    let Some(aqm) = &options.aqm else {
        return refuse("without --scenario, --aqm and --rate must be given");
    };
    let at_first = varying
        .as_ref()
        .map_or(0, |varying| varying.service.rate_bps(0, 0));
    let rate_bps = match &options.rate {
        Some(rate) => rate_bps(rate)?,
        None if varying.is_none() => {
            return refuse("without --scenario, --aqm and --rate must be given");
        }
        None if at_first == 0 => {
            return refuse(
                "--rate must be given, too: the first rate of --rate-file is not one at 0 s",
            );
        }
        None => at_first,
    };
    if options.discipline.is_some() {
        return refuse("--discipline chooses one of a scenario's: give --scenario, too");
    }
    let delay_ns = delay_ns(options)?.unwrap_or(0);
    let discipline = named("--aqm", aqm)?;
    let forward = LinkSettings {
        rate_bps,
        varying: varying.map(|varying| varying.later(from_ns(options))),
        wire: None,
        delay_ns,
        overhead_bytes: 0,
        buffer: own_buffer(options)?,
        discipline,
    };
    let reverse = if options.two_way {
        Some(LinkSettings {
            delay_ns: reverse_delay_ns(options)?.unwrap_or(forward.delay_ns),
            ..forward.clone()
        })
    } else {
        reverse_delay_ns(options)?.map(|delay_ns| {
            plain(&LinkSettings {
                delay_ns,
                ..forward.clone()
            })
        })
    };
    Ok(Settings {
        forward,
        reverse,
        seed: seed(options)?.unwrap_or(1),
        streams: [0, 1],
    })
}

/// Returns when the times of a rate begin, by `--rate-from`.
pub(super) fn from_ns(options: &LinkOptions) -> u64 {
    options.rate_from.map_or(0, sluice_scenario::ns)
}

/// Returns how the rate varies by `--rate-file`, from its own time 0 on.
pub(super) fn rate_file(options: &LinkOptions) -> Result<Option<Varying>, SettingsError> {
    let Some(path) = &options.rate_file else {
        return Ok(None);
    };
    let file = network::Varying::at(path);
    let service = file
        .service()
        .map_err(|what| SettingsError(format!("--rate-file {what}")))?;
    Ok(Some(Varying {
        service: service.clone(),
        file: Some(path.clone()),
    }))
}

pub(super) fn rate_bps(text: &str) -> Result<u64, SettingsError> {
    let link = link("--rate", "rate_bps", text)?;
    Ok(link.rate_bps as u64)
}

pub(super) fn delay_ns(options: &LinkOptions) -> Result<Option<u64>, SettingsError> {
    time_ns("--delay", options.delay.as_deref())
}

pub(super) fn reverse_delay_ns(options: &LinkOptions) -> Result<Option<u64>, SettingsError> {
    time_ns("--reverse-delay", options.reverse_delay.as_deref())
}

fn time_ns(option: &str, text: Option<&str>) -> Result<Option<u64>, SettingsError> {
    let link = text.map(|text| link(option, "delay_s", text));
    Ok(link.transpose()?.map(|link| ns(link.delay_s)))
}

/// Reads a link whose field `name` has the text of an option. An error names the option.
fn link(option: &str, name: &str, text: &str) -> Result<network::Link, SettingsError> {
    let node = |name: &str| Value::Text(name.to_owned());
    let mut fields = Fields::default();
    for (field, value) in [
        ("source", node("left")),
        ("sink", node("right")),
        ("rate_bps", Value::Whole(1)),
        ("delay_s", Value::Whole(0)),
        (name, syntax::value(text)),
    ] {
        fields.set(field, value);
    }
    table(fields).map_err(|error| SettingsError(of_option(&error, name, option)))
}

/// Returns the text of an error with an option in place of the field of the same meaning.
fn of_option(error: &ScenarioError, field: &str, option: &str) -> String {
    let text = error.to_string();
    match text.strip_prefix(field) {
        Some(rest) => format!("{option}{rest}"),
        None => text,
    }
}

/// Reads a table of a scenario.
fn table<T: Table>(fields: Fields) -> Result<T, ScenarioError> {
    sluice_scenario::read(&Value::Table(fields), Path::new(""))
}

/// Returns the buffer without a scenario: if only the limit in bytes is given, the limit in packets
/// follows from it.
fn own_buffer(options: &LinkOptions) -> Result<Queue, SettingsError> {
    let mut buffer = buffer(&Queue::usual(), options)?;
    if let (None, Some(bytes)) = (&options.limit, buffer.limit_bytes) {
        buffer.limit = (bytes / LEAST_BYTES).clamp(1, MOST_PACKETS.into()) as u32;
    }
    Ok(buffer)
}

/// Returns a buffer in which options replace some fields.
pub(super) fn buffer(given: &Queue, options: &LinkOptions) -> Result<Queue, SettingsError> {
    let changed = |name: &str, option: &str, text: &str| -> Result<Queue, SettingsError> {
        let mut fields = Fields::default();
        fields.set(name, syntax::value(text));
        table(fields).map_err(|error| SettingsError(of_option(&error, name, option)))
    };
    let mut buffer = given.clone();
    if let Some(text) = &options.limit {
        buffer.limit = changed("limit", "--limit", text)?.limit;
    }
    if let Some(text) = &options.limit_bytes {
        buffer.limit_bytes = changed("limit_bytes", "--limit-bytes", text)?.limit_bytes;
    }
    Ok(buffer)
}

pub(super) fn seed(options: &LinkOptions) -> Result<Option<u64>, SettingsError> {
    let Some(text) = &options.seed else {
        return Ok(None);
    };
    match text.replace('_', "").parse() {
        Ok(seed) => Ok(Some(seed)),
        Err(_) => refuse(format!(
            "--seed = {text} must be a whole number from 0 to 2^64 - 1"
        )),
    }
}
