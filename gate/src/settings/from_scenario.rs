//! Settings of a scenario, which options override.

use std::path::Path;

use sluice_scenario::{
    AnyScenario, Discipline, NetworkScenario,
    network::{Rate, SimplexLink, Wire},
    ns,
};

use super::{
    ConfiguredDiscipline, LinkSettings, Settings, SettingsError, Varying,
    configured::discipline,
    from_options::{buffer, delay_ns, from_ns, rate_bps, rate_file, reverse_delay_ns, seed},
    link::plain,
    refuse,
};
use crate::cli::LinkOptions;

/// Settings with a scenario: options override it.
pub(super) fn of_scenario(path: &Path, options: &LinkOptions) -> Result<Settings, SettingsError> {
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
    let discipline = match &options.aqm {
        Some(aqm) => discipline("--aqm", aqm)?,
        None => chosen(&scenario, options.discipline.as_deref())
            .map_err(|what| SettingsError(format!("{}: {what}", path.display())))?,
    };
    let rate_bps = options.rate.as_deref().map(rate_bps).transpose()?;
    let rate_file = rate_file(options)?;
    let settings = |simplex: &SimplexLink, delay_ns: Option<u64>| {
        let wire = scenario.own(simplex).and_then(|own| own.wire.as_ref());
        if wire.is_some_and(|wire| wire.ecn.is_some()) {
            return refuse(
                "wire.ecn must be left out: only the network world rewrites headers on a wire",
            );
        }
        let discipline = scenario.own_discipline(simplex).unwrap_or(&discipline);
        Ok(LinkSettings {
            rate_bps: rate_bps.unwrap_or(simplex.rate_bps as u64),
            varying: match (&rate_file, rate_bps) {
                (Some(varying), _) => Some(varying.clone().later(from_ns(options))),
                // --rate replaces the scenario's rate, whether it varies or not
                (None, Some(_)) => None,
                (None, None) => {
                    varying(&scenario, simplex)?.map(|varying| varying.later(from_ns(options)))
                }
            },
            wire: wire.map(Wire::plan),
            delay_ns: delay_ns.unwrap_or_else(|| ns(simplex.delay_s)),
            overhead_bytes: 0,
            buffer: buffer(scenario.buffer(simplex), options)?,
            discipline: ConfiguredDiscipline::of(discipline.clone())?,
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
