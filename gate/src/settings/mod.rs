//! The settings of a gate: one link, or one in each direction, from options or a scenario.

mod syntax;
mod under;

use std::path::{Path, PathBuf};

use sluice_aqm::{Configured, Running};
use sluice_link::Service;
use sluice_queue::Packet;
use sluice_scenario::{
    AnyScenario, AqmName, Discipline, Fields, NetworkScenario, Params, Queue, ScenarioError,
    Scheduler, Table, Value,
    network::{self, Rate, SimplexLink},
    ns,
};

pub use under::Under;
use under::discipline;
pub(crate) use under::named;

use crate::cli::LinkOptions;

/// Why settings were refused: a line for each problem.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct SettingsError(pub(crate) String);

/// How the rate of a link varies, from the start of the program on.
#[derive(Clone, Debug, PartialEq)]
pub struct Varying {
    /// The rate in time.
    pub service: Service,
    /// The file that it is from.
    pub file: Option<PathBuf>,
}

/// A link, with the buffer and the discipline before it.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkSettings {
    /// Rate, bits/s; if it varies, that before the first step.
    pub rate_bps: u64,
    /// How its rate varies.
    pub varying: Option<Varying>,
    /// Propagation delay, ns.
    pub delay_ns: u64,
    /// Bytes that each packet takes on the link besides the IP packet.
    pub overhead_bytes: u32,
    /// The buffer.
    pub buffer: Queue,
    /// The discipline.
    pub under: Under,
}

impl LinkSettings {
    /// Creates an empty queue before an idle link.
    pub fn queue<P: Packet>(&self) -> sluice_queue::Queue<P, Running> {
        sluice_queue::Queue::new(
            self.under.discipline.on(&self.buffer),
            self.in_lanes(),
            |lane| self.aqm_of(lane).start(),
            self.rate_bps,
        )
    }

    /// Returns the same link with another discipline.
    pub fn under(&self, under: Under) -> Self {
        Self {
            under,
            ..self.clone()
        }
    }

    /// Returns the scheduler, or the coupled discipline; `None`: one queue, first in, first out.
    pub fn in_lanes(&self) -> Option<&Configured> {
        self.under.in_lanes.as_ref()
    }

    /// Returns the AQM of the queue with this number.
    fn aqm_of(&self, lane: u32) -> &Configured {
        let own = self.under.of_classes.get(lane as usize);
        own.unwrap_or(&self.under.aqm)
    }

    /// Returns how it sends if its rate varies.
    pub fn service(&self) -> Option<&Service> {
        self.varying.as_ref().map(|varying| &varying.service)
    }

    /// Puts a queue at work under these settings; [`sluice_queue::Queue::retune`] says what stays.
    pub fn retune<P: Packet>(
        &self,
        now_ns: u64,
        queue: &mut sluice_queue::Queue<P, Running>,
        random: &mut impl FnMut() -> u64,
    ) {
        let scheduler = self.in_lanes();
        queue.retune(
            now_ns,
            (self.under.discipline.on(&self.buffer), scheduler),
            |lane, aqm| aqm.retune(self.aqm_of(lane)),
            |lane| self.aqm_of(lane).start(),
            random,
        );
    }

    /// True if early drops become marks.
    pub fn ecn(&self) -> bool {
        self.under.discipline.ecn(&self.buffer)
    }

    /// Describes the link in one line.
    pub fn describe(&self) -> String {
        let (rate, delay) = (self.rate_bps as f64 / 1e6, self.delay_ns as f64 / 1e6);
        let rate = match &self.varying {
            None => format!("{rate} Mbit/s"),
            Some(Varying { file: None, .. }) => "a rate in steps".into(),
            Some(Varying {
                file: Some(file), ..
            }) => format!("the rate of {}", file.display()),
        };
        format!(
            "{rate}, {delay} ms, limit {}, {}",
            limit(self.buffer.limit, self.buffer.limit_bytes),
            self.under.discipline.name()
        )
    }
}

/// Describes the limit of the queue: both limits if either of them can be reached first.
pub fn limit(packets: u32, bytes: Option<u64>) -> String {
    match bytes {
        None => format!("{packets} packets"),
        Some(bytes) if u64::from(packets) >= bytes / LEAST_BYTES => format!("{bytes} bytes"),
        Some(bytes) => format!("{packets} packets and {bytes} bytes"),
    }
}

/// All settings of a gate.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The link with the discipline.
    pub forward: LinkSettings,
    /// The same link in the other direction, if packets of that direction are held, too.
    pub reverse: Option<LinkSettings>,
    /// Seed of every random stream.
    pub seed: u64,
    /// Indices of the two links in the list of a scenario's links, which name their random streams.
    pub streams: [usize; 2],
}

impl Settings {
    /// Reads settings from options and from the scenario that they name.
    ///
    /// # Errors
    /// Lists everything that is wrong with the options or the scenario.
    pub fn read(options: &LinkOptions) -> Result<Self, SettingsError> {
        let mut settings = match &options.scenario {
            Some(path) => of_scenario(path, options)?,
            None => of_options(options)?,
        };
        let links = [Some(&mut settings.forward), settings.reverse.as_mut()];
        for link in links.into_iter().flatten() {
            link.overhead_bytes = options.overhead;
            if let Some(what) = link.under.discipline.unfit(&link.buffer) {
                return refuse(what);
            }
        }
        Ok(settings)
    }

    /// The links, the forward one first.
    pub fn links(&self) -> Vec<&LinkSettings> {
        [Some(&self.forward), self.reverse.as_ref()]
            .into_iter()
            .flatten()
            .collect()
    }

    /// Returns the same with another discipline before one of the links.
    ///
    /// # Errors
    /// If there is no such link, or if its buffer does not suit the discipline.
    pub(crate) fn with(&self, link: usize, under: Under) -> Result<Self, String> {
        let mut settings = self.clone();
        let changed = match link {
            0 => Some(&mut settings.forward),
            _ => settings.reverse.as_mut(),
        };
        let changed = changed.ok_or("there is no such link: packets of that direction pass")?;
        if let Some(what) = under.discipline.unfit(&changed.buffer) {
            return Err(what);
        }
        *changed = changed.under(under);
        Ok(settings)
    }

    /// What a user's AQM did wrong since it was loaded; see [`Configured::wrong`].
    pub fn wrong(&self) -> Option<String> {
        let aqms = |link: &LinkSettings| {
            let mut aqms = link.under.of_classes.iter().chain([&link.under.aqm]);
            aqms.find_map(Configured::wrong)
        };
        self.links().into_iter().find_map(aqms)
    }
}

fn refuse<T>(what: impl Into<String>) -> Result<T, SettingsError> {
    Err(SettingsError(what.into()))
}

/// Settings without a scenario: everything comes from options.
fn of_options(options: &LinkOptions) -> Result<Settings, SettingsError> {
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
    let under = named("--aqm", aqm)?;
    let forward = LinkSettings {
        rate_bps,
        varying,
        delay_ns,
        overhead_bytes: 0,
        buffer: own_buffer(options)?,
        under,
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

/// Settings with a scenario: options override it.
fn of_scenario(path: &Path, options: &LinkOptions) -> Result<Settings, SettingsError> {
    let scenario = match AnyScenario::load(path) {
        Ok(AnyScenario::Network(scenario)) => scenario,
        Ok(AnyScenario::Slotted(_)) => {
            return refuse(format!(
                "{}: a scenario of the gate must have a topology, as those of the network world",
                path.display()
            ));
        }
        Err(error) => return refuse(error.to_string()),
    };
    let (forward, reverse) = bottleneck(&scenario)
        .map_err(|what| SettingsError(format!("{}: {what}", path.display())))?;
    for (name, own) in &scenario.links.0 {
        if own.wire.is_some() {
            return refuse(format!(
                "{}: links.\"{name}\".wire must be left out: the gate's wires are real ones",
                path.display()
            ));
        }
    }
    let discipline = match &options.aqm {
        Some(aqm) => discipline("--aqm", aqm)?,
        None => chosen(&scenario, options.discipline.as_deref())
            .map_err(|what| SettingsError(format!("{}: {what}", path.display())))?,
    };
    let rate_bps = options.rate.as_deref().map(rate_bps).transpose()?;
    let rate_file = rate_file(options)?;
    let settings = |simplex: &SimplexLink, delay_ns: Option<u64>| {
        let discipline = scenario.own_discipline(simplex).unwrap_or(&discipline);
        Ok(LinkSettings {
            rate_bps: rate_bps.unwrap_or(simplex.rate_bps as u64),
            varying: match (&rate_file, rate_bps) {
                (Some(varying), _) => Some(varying.clone()),
                // --rate replaces the scenario's rate, whether it varies or not
                (None, Some(_)) => None,
                (None, None) => varying(&scenario, simplex)?,
            },
            delay_ns: delay_ns.unwrap_or_else(|| ns(simplex.delay_s)),
            overhead_bytes: 0,
            buffer: buffer(scenario.buffer(simplex), options)?,
            under: Under::of(discipline.clone())?,
        })
    };
    let there = settings(&forward.1, delay_ns(options)?)?;
    let back = match &reverse {
        Some((_, simplex)) => {
            let back = settings(simplex, reverse_delay_ns(options)?)?;
            Some(if simplex.queue || options.two_way {
                back
            } else {
                plain(&back)
            })
        }
        None => None,
    };
    Ok(Settings {
        forward: there,
        reverse: back,
        seed: seed(options)?.unwrap_or(scenario.seed),
        streams: [forward.0, reverse.map_or(0, |(place, _)| place)],
    })
}

/// Returns how the rate of a scenario's link varies.
fn varying(
    scenario: &NetworkScenario,
    link: &SimplexLink,
) -> Result<Option<Varying>, SettingsError> {
    let Some(rate) = scenario.own(link).and_then(|own| own.rate.as_ref()) else {
        return Ok(None);
    };
    let file = match rate {
        Rate::RateFile(file) => Some(file.path.path().to_owned()),
        _ => None,
    };
    let service = rate.service().map_err(SettingsError)?;
    Ok(Some(Varying { service, file }))
}

/// Returns how the rate varies by `--rate-file`.
fn rate_file(options: &LinkOptions) -> Result<Option<Varying>, SettingsError> {
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

type Placed = (usize, SimplexLink);

/// Returns the link with the discipline and the same link in the other direction, each with its
/// index in the list of links.
fn bottleneck(scenario: &NetworkScenario) -> Result<(Placed, Option<Placed>), String> {
    let links = scenario.topology.simplex_links();
    let placed: Vec<Placed> = links.into_iter().enumerate().collect();
    let mut queued = placed.iter().filter(|(_, link)| link.queue);
    let forward = queued.next().expect("a scenario is checked").clone();
    let is_back =
        |link: &SimplexLink| (&link.source, &link.sink) == (&forward.1.sink, &forward.1.source);
    if let Some((_, other)) = queued.find(|(_, link)| !is_back(link)) {
        return Err(format!(
            "topology: the gate is one link, and the discipline stands before {} -> {} and before \
             {} -> {}",
            forward.1.source, forward.1.sink, other.source, other.sink
        ));
    }
    let reverse = placed.iter().find(|(_, link)| is_back(link)).cloned();
    Ok((forward, reverse))
}

fn chosen(scenario: &NetworkScenario, name: Option<&str>) -> Result<Discipline, String> {
    let names: Vec<String> = scenario.disciplines.iter().map(Discipline::name).collect();
    let place = match name {
        None if names.len() == 1 => Some(0),
        None => None,
        Some(name) => names.iter().position(|known| known == name),
    };
    match (place, name) {
        (Some(place), _) => Ok(scenario.disciplines[place].clone()),
        (None, Some(name)) => Err(format!(
            "--discipline = {name} must be one of: {}",
            names.join("; ")
        )),
        (None, None) => Err(format!(
            "there are {} disciplines: choose with --discipline, one of: {}",
            names.len(),
            names.join("; ")
        )),
    }
}

/// Returns the same link with only a drop-tail queue that holds everything.
fn plain(link: &LinkSettings) -> LinkSettings {
    let discipline = Discipline {
        aqm: AqmName::Named("drop_tail".into()),
        params: Params::default(),
        label: String::new(),
        scheduler: Scheduler::FIFO,
        classes: Vec::new(),
        victim: None,
        ecn: None,
    };
    LinkSettings {
        buffer: Queue {
            limit: MOST_PACKETS,
            limit_bytes: None,
            ..link.buffer.clone()
        },
        under: Under::of(discipline).expect("it has no parameters"),
        ..link.clone()
    }
}

/// Largest limit of a queue, packets.
const MOST_PACKETS: u32 = 100_000;
/// Least length of a packet, bytes: the header of IPv4.
pub const LEAST_BYTES: u64 = 20;

fn rate_bps(text: &str) -> Result<u64, SettingsError> {
    let link = link("--rate", "rate_bps", text)?;
    Ok(link.rate_bps as u64)
}

fn delay_ns(options: &LinkOptions) -> Result<Option<u64>, SettingsError> {
    time_ns("--delay", options.delay.as_deref())
}

fn reverse_delay_ns(options: &LinkOptions) -> Result<Option<u64>, SettingsError> {
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
fn buffer(given: &Queue, options: &LinkOptions) -> Result<Queue, SettingsError> {
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

fn seed(options: &LinkOptions) -> Result<Option<u64>, SettingsError> {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns settings with the header `tests/shorter.h`, after a change of its text.
    fn with_header(folder: &Path, change: &str) -> LinkSettings {
        let path = folder.join("shorter.h");
        let text = include_str!("../../../tests/shorter.h");
        std::fs::write(&path, text.replace("< c->most", change)).unwrap();
        let settings = Settings::read(&LinkOptions {
            aqm: Some(path.display().to_string()),
            rate: Some("1e6".into()),
            ..LinkOptions::default()
        });
        settings.unwrap().forward
    }

    #[test]
    fn a_header_of_another_text_makes_another_queue_and_is_not_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let [first, same, other] =
            ["< c->most", "< c->most", "<= c->most"].map(|text| with_header(folder.path(), text));
        let mut at_work = first.under.aqm.start();
        assert!(at_work.retune(&same.under.aqm));
        assert!(!at_work.retune(&other.under.aqm));
        std::fs::remove_file(folder.path().join("shorter.h")).unwrap();
        first.queue::<crate::packet::Held>();
    }

    #[test]
    fn a_link_of_a_scenario_may_have_a_discipline_and_a_buffer_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("home.toml");
        let text = r#"
            duration_s = 1
            topology = { kind = "dumbbell", two_way = true, client_delays_s = [0.01] }
            flows = [{ kind = "tcp" }]
            disciplines = [{ aqm = "pie" }]
            [links."right -> left"]
            discipline = { aqm = "codel", label = "back" }
            queue = { limit = 70 }
        "#;
        std::fs::write(&path, text).unwrap();
        let settings = Settings::read(&LinkOptions {
            scenario: Some(path),
            ..LinkOptions::default()
        });
        let settings = settings.unwrap();
        let found: Vec<String> = settings
            .links()
            .iter()
            .map(|link| link.describe())
            .collect();
        assert_eq!(
            found,
            [
                "10 Mbit/s, 2.5 ms, limit 250 packets, pie",
                "10 Mbit/s, 2.5 ms, limit 70 packets, back",
            ]
        );
    }

    fn described(limits: [Option<&str>; 2]) -> String {
        let [limit, limit_bytes] = limits.map(|text| text.map(str::to_owned));
        let settings = Settings::read(&LinkOptions {
            aqm: Some("drop_tail".into()),
            rate: Some("1e6".into()),
            limit,
            limit_bytes,
            ..LinkOptions::default()
        });
        settings.unwrap().forward.describe()
    }

    #[test]
    fn a_limit_in_bytes_alone_leaves_the_packets_open_and_both_are_told() {
        for (limits, words) in [
            ([None, None], "limit 250 packets"),
            ([None, Some("30000")], "limit 30000 bytes"),
            (
                [Some("40"), Some("30000")],
                "limit 40 packets and 30000 bytes",
            ),
            (
                [None, Some("1e9")],
                "limit 100000 packets and 1000000000 bytes",
            ),
        ] {
            let found = described(limits);
            assert_eq!(found, format!("1 Mbit/s, 0 ms, {words}, drop_tail"));
        }
    }
}
