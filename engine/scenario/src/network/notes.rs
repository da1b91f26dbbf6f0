//! Notes that a reader of a network's measures must know before comparing them: parameters that
//! suit another link, and settings without effect.

use sluice_aqm::{Class, Configured, Value};
use sluice_link::Service;

use crate::{
    aqm_name::AqmName,
    discipline::Discipline,
    network::{flows::Flows, rate::Rate, scenario::NetworkScenario, topology::SimplexLink},
    show::rounded,
};

/// A parameter gets a note if it differs by more than this factor from what suits the link.
const FAR: f64 = 1.5;
/// Capacity for which PI's default gains were designed, packets/s: C in the example of Hollot et
/// al. 2001.
const PI_CAPACITY: f64 = 3750.0;
/// Target queueing delay in Adaptive RED's rule for thresholds (Floyd et al. 2001, sec. 5.2).
const TARGET_DELAY_S: f64 = 0.005;

/// The least and the greatest value.
#[derive(Clone, Copy)]
struct Range(f64, f64);

impl Range {
    fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let start = Self(f64::INFINITY, 0.0);
        let wider = |Self(low, high): Self, value: f64| Self(low.min(value), high.max(value));
        values.into_iter().fold(start, wider)
    }

    fn map(self, rule: impl Fn(f64) -> f64) -> Self {
        Self::of([rule(self.0), rule(self.1)])
    }

    /// Returns the nearest value of the range if `value` is far from the whole range.
    fn missed_by(self, value: f64) -> Option<f64> {
        if value * FAR < self.0 {
            return Some(self.0);
        }
        (value > self.1 * FAR).then_some(self.1)
    }

    fn shown(self, unit: &str) -> String {
        if self.0 == self.1 {
            return format!("{} {unit}", short(self.0));
        }
        format!("{} to {} {unit}", short(self.0), short(self.1))
    }
}

/// Returns a number with three digits, enough for a recommended parameter.
fn short(number: f64) -> String {
    rounded(format!("{number:.2e}").parse().unwrap_or(number))
}

/// The links with the discipline, and the packets of the flows.
struct Link {
    megabits_per_s: Range,
    packet_bytes: Range,
    /// Packets/s that a link carries.
    capacity: Range,
}

impl Link {
    /// Collects links and packets of a scenario; `None` if there are no packets.
    fn of<'a>(
        scenario: &NetworkScenario,
        links: impl Iterator<Item = &'a SimplexLink>,
    ) -> Result<Option<Self>, String> {
        let mut rates = Vec::new();
        for link in links {
            rates.extend(rates_bps(scenario, link)?);
        }
        let Range(slowest, fastest) = Range::of(rates);
        let (mut sizes, mut offered) = (Vec::new(), Vec::new());
        for flows in &scenario.flows {
            match flows.tcp() {
                Some(tcp) => sizes.push(f64::from(tcp.packet_bytes)),
                None => offered.extend(datagrams(flows)?),
            }
        }
        if sizes.is_empty() && offered.is_empty() {
            return Ok(None);
        }
        let mean = |rate_bps: f64| mean_packet_bytes(rate_bps, &sizes, &offered);
        let (slow, fast) = (mean(slowest), mean(fastest));
        Ok(Some(Self {
            megabits_per_s: Range(slowest / 1e6, fastest / 1e6),
            packet_bytes: Range::of([slow.0, slow.1, fast.0, fast.1]),
            capacity: Range(slowest / 8.0 / slow.1, fastest / 8.0 / fast.0),
        }))
    }

    /// Returns the values of a parameter that suit the link; `None` if there is no rule for it.
    fn rule(&self, class: &Class, name: &str, thresholds_given: bool) -> Option<Range> {
        // given thresholds were chosen for this link, and w with them
        let has_thresholds = class.params.iter().any(|param| param.name == "max_th");
        let red = has_thresholds && !thresholds_given;
        let min_th = |capacity: f64| (TARGET_DELAY_S * capacity / 2.0).max(5.0);
        match name {
            "mean_packet_bytes" => Some(self.packet_bytes),
            "capacity" => Some(self.capacity),
            "min_th" if red => Some(self.capacity.map(min_th)),
            "max_th" if red => Some(self.capacity.map(|c| 3.0 * min_th(c))),
            "w" if red => Some(self.capacity.map(|c| -f64::exp_m1(-1.0 / c))),
            _ => None,
        }
    }
}

/// Returns the rates that a link has in time, without those of outages; of a trace of opportunities
/// their mean.
fn rates_bps(scenario: &NetworkScenario, link: &SimplexLink) -> Result<Vec<f64>, String> {
    let rate = scenario.own(link).and_then(|own| own.rate.as_ref());
    let Some(service) = rate.map(Rate::service).transpose()? else {
        return Ok(vec![link.rate_bps]);
    };
    let constant_bps = link.rate_bps as u64;
    let at = |time_ns: u64| service.rate_bps(time_ns, constant_bps) as f64;
    let later = match &service {
        Service::Steps(steps) => steps.iter().map(|step| at(step.from_ns)).collect(),
        Service::Opportunities { .. } | Service::Wifi(_) | Service::Docsis(_) => Vec::new(),
    };
    let all = [at(0)].into_iter().chain(later);
    Ok(all.filter(|rate_bps| *rate_bps > 0.0).collect())
}

/// Returns the mean size of the packets on a link, bytes: the least and the greatest that it can
/// be. Datagrams take what they offer, and TCP, whose packets have these sizes, takes the rest.
fn mean_packet_bytes(rate_bps: f64, sizes: &[f64], offered: &[Offered]) -> Range {
    let bits: f64 = offered.iter().map(|each| each.rate_bps).sum();
    let packets: f64 = offered
        .iter()
        .map(|each| each.rate_bps / 8.0 / each.bytes)
        .sum();
    let rest_bps = rate_bps - bits;
    if sizes.is_empty() || rest_bps <= 0.0 {
        return Range::of([bits / 8.0 / packets]);
    }
    let mean = |bytes: &f64| rate_bps / 8.0 / (packets + rest_bps / 8.0 / bytes);
    Range::of(sizes.iter().map(mean))
}

/// What a group of datagrams offers.
struct Offered {
    rate_bps: f64,
    /// Mean size of a packet.
    bytes: f64,
}

/// Returns what a group of datagrams offers; `None` if there are none, as in an empty capture.
fn datagrams(flows: &Flows) -> Result<Option<Offered>, String> {
    let count = f64::from(flows.shared().count);
    Ok(match flows {
        Flows::DatagramFlows(flows) => Some(Offered {
            rate_bps: count * flows.mean_rate_bps(),
            bytes: f64::from(flows.packet_bytes),
        }),
        Flows::ReplayFlows(flows) => {
            let capture = flows.capture.packets()?;
            let sum: f64 = capture.bytes.iter().map(|bytes| f64::from(*bytes)).sum();
            let packets = capture.bytes.len() as f64;
            let times = (capture.time_ns.first(), capture.time_ns.last());
            let (Some(first), Some(last)) = times else {
                return Ok(None);
            };
            // the packets of a moment have no rate: as if they took a second
            let length_s = match last - first {
                0 => 1.0,
                length_ns => length_ns as f64 / 1e9,
            };
            Some(Offered {
                rate_bps: count * 8.0 * sum / length_s,
                bytes: sum / packets,
            })
        }
        _ => None,
    })
}

/// Returns the notes of a scenario, one sentence each.
///
/// # Errors
/// If a capture cannot be read.
pub fn notes(scenario: &NetworkScenario) -> Result<Vec<String>, String> {
    let mut notes = Vec::from_iter(unmarked(scenario)?);
    for flows in &scenario.flows {
        if let Flows::ReplayFlows(flows) = flows {
            let path = flows.capture.path().display();
            let told = flows.capture.packets()?.notes.iter();
            notes.extend(told.map(|note| format!("{path}: {note}.")));
        }
    }
    let links = scenario.topology.simplex_links();
    let queued: Vec<&SimplexLink> = links.iter().filter(|link| link.queue).collect();
    let is_compared = |link: &&&SimplexLink| scenario.own_discipline(link).is_none();
    let compared = queued.iter().filter(is_compared);
    let link = Link::of(scenario, compared.clone().copied())?;
    let limit = compared.map(|link| scenario.buffer(link).limit).min();
    for discipline in &scenario.disciplines {
        notes.extend(of_discipline(discipline, link.as_ref(), limit));
    }
    for link in queued {
        if let Some(own) = scenario.own_discipline(link) {
            let limit = Some(scenario.buffer(link).limit);
            let its = Link::of(scenario, [link].into_iter())?;
            let told = of_discipline(own, its.as_ref(), limit).into_iter();
            notes.extend(told.map(|note| format!("{}: {note}", link.name())));
        }
    }
    Ok(notes)
}

/// Returns notes on the parameters of a discipline before a link, or before several, of which
/// `limit` is the least buffer.
fn of_discipline(discipline: &Discipline, link: Option<&Link>, limit: Option<u32>) -> Vec<String> {
    // only the user knows the meaning of the parameters of a header
    let is_ours = matches!(discipline.aqm, AqmName::Named(_));
    let link = link.filter(|_| is_ours);
    let limit = limit.filter(|_| is_ours);
    [
        link.and_then(|link| unsuited(discipline, link)),
        link.and_then(|link| of_another_loop(discipline, link)),
        limit.and_then(|limit| beyond_limit(discipline, limit)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Returns the parameters that apply and are numbers: name, value, and whether it was given.
fn numbers(discipline: &Discipline) -> Vec<(String, f64, bool)> {
    let Some(configured) = discipline.configured() else {
        return Vec::new();
    };
    let values: Vec<(&str, Value)> = configured.values().collect();
    let has = |name: &str, words: &str| {
        let found = values.iter().find(|(other, _)| *other == name);
        found.is_some_and(|(_, value)| words.split('|').any(|word| word == shown(value)))
    };
    let applies = |when: &str| {
        let condition = when.split_once('=');
        condition.is_none_or(|(name, words)| has(name, words))
    };
    let given = |name: &str| discipline.params.0.iter().any(|(other, _)| other == name);
    configured
        .class()
        .params
        .iter()
        .zip(&values)
        .filter(|(param, _)| applies(&param.when))
        .filter_map(|(param, (name, value))| match value {
            Value::Number(number) => Some((param.name.clone(), *number, given(name))),
            _ => None,
        })
        .collect()
}

/// Returns a note on parameters that suit another link, with values that suit this one.
fn unsuited(discipline: &Discipline, link: &Link) -> Option<String> {
    let configured = discipline.configured()?;
    let numbers = numbers(discipline);
    let thresholds_given = numbers
        .iter()
        .any(|(name, _, is_given)| *is_given && ["min_th", "max_th"].contains(&name.as_str()));
    let (mut told, mut better) = (Vec::new(), Vec::new());
    for (name, value, is_given) in numbers {
        let rule = link.rule(configured.class(), &name, thresholds_given);
        if let Some(suited) = rule.and_then(|rule| rule.missed_by(value)) {
            let default = if is_given { "" } else { " (default)" };
            let (value, suited) = (rounded(value), short(suited));
            told.push(format!("{name} = {value}{default} would be {suited}"));
            better.push((name, suited));
        }
    }
    (!told.is_empty()).then(|| {
        format!(
            "{}: for {} and packets of {}, {}: --aqm {}",
            discipline.name(),
            link.megabits_per_s.shown("Mb/s"),
            link.packet_bytes.shown("bytes"),
            told.join(", "),
            option(discipline, &configured, &better)
        )
    })
}

/// Returns a discipline in the form of the command line, with better values for some parameters.
fn option(discipline: &Discipline, configured: &Configured, better: &[(String, String)]) -> String {
    let is_in = |all: &[(String, String)], name: &str| all.iter().any(|(other, _)| other == name);
    let given = |name: &str| discipline.params.0.iter().any(|(other, _)| other == name);
    let kept = configured.values();
    let assigned: Vec<String> = kept
        .filter(|(name, _)| given(name) && !is_in(better, name))
        .map(|(name, value)| format!("{name}={}", shown(&value)))
        .chain(better.iter().map(|(name, value)| format!("{name}={value}")))
        .collect();
    format!("{}:{}", configured.class().name, assigned.join(","))
}

fn shown(value: &Value) -> String {
    match value {
        Value::Switch(on) => on.to_string(),
        Value::Word(word) => word.clone(),
        Value::Number(number) => number.to_string(),
    }
}

/// Returns a note on a queue to hold, or a threshold, that is not below the limit of the buffer.
fn beyond_limit(discipline: &Discipline, limit: u32) -> Option<String> {
    let (name, value, _) = numbers(discipline).into_iter().find(|(name, value, _)| {
        ["q_ref", "min_th"].contains(&name.as_str()) && *value >= f64::from(limit)
    })?;
    Some(format!(
        "{}: {name} = {} must be below queue.limit = {limit} to have an effect (packets).",
        discipline.name(),
        rounded(value)
    ))
}

/// Returns a note on PI's default gains at a link for which they were not designed.
fn of_another_loop(discipline: &Discipline, link: &Link) -> Option<String> {
    let is_pi = discipline.configured()?.class().name == "pi";
    let gains = numbers(discipline);
    let default = |wanted: &str| {
        gains
            .iter()
            .any(|(name, _, given)| name == wanted && !given)
    };
    if !is_pi || !default("a") || !default("b") {
        return None;
    }
    link.capacity.missed_by(PI_CAPACITY)?;
    Some(format!(
        "{}: a and b (default) were designed for {} packets/s, not {}: coefficients = designed \
         follows the link.",
        discipline.name(),
        rounded(PI_CAPACITY),
        link.capacity.shown("packets/s")
    ))
}

/// Returns a note on disciplines that mark if no packet can be marked.
fn unmarked(scenario: &NetworkScenario) -> Result<Option<String>, String> {
    let marking: Vec<String> = scenario
        .disciplines
        .iter()
        .filter(|discipline| discipline.ecn(&scenario.queue))
        .map(Discipline::name)
        .collect();
    if marking.is_empty() {
        return Ok(None);
    }
    for flows in &scenario.flows {
        if flows.ecn_capable()? {
            return Ok(None);
        }
    }
    Ok(Some(format!(
        "Nothing can be marked ({}): no flow has tcp = {{ ecn = true }}.",
        marking.join(", ")
    )))
}
