//! The settings of a gate: one link, or one in each direction, from options or a scenario.

mod configured;
mod from_options;
mod from_scenario;
mod link;
mod syntax;

use sluice_aqm::Configured;
use sluice_random::{Stream, stream};

pub use configured::ConfiguredDiscipline;
pub(crate) use configured::named;
pub(crate) use link::LEAST_BYTES;
pub use link::{LinkSettings, Varying, limit};

use crate::cli::LinkOptions;
use from_options::of_options;
use from_scenario::of_scenario;

/// Why settings were refused: a line for each problem.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct SettingsError(pub(crate) String);

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
        if options.rate_from.is_some() && settings.links().iter().all(|link| link.varying.is_none())
        {
            return refuse(
                "--rate-from is when a rate begins to vary, and this one is constant: give --rate-file, or \
                 a scenario whose link has a rate",
            );
        }
        let links = [Some(&mut settings.forward), settings.reverse.as_mut()];
        for link in links.into_iter().flatten() {
            link.overhead_bytes = options.overhead;
            if let Some(what) = link.discipline.spec.unfit(&link.buffer) {
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

    /// Returns the random streams of a link's AQM and of its wire.
    pub(crate) fn randoms(&self, link: usize) -> [Stream; 2] {
        let place = self.streams[link];
        ["aqm", "wire"].map(|of| stream(self.seed, &format!("{of} {place}"), 0))
    }

    /// Returns the same with another discipline before one of the links.
    ///
    /// # Errors
    /// If there is no such link, or if its buffer does not suit the discipline.
    pub(crate) fn with(
        &self,
        link: usize,
        discipline: ConfiguredDiscipline,
    ) -> Result<Self, String> {
        let mut settings = self.clone();
        let changed = match link {
            0 => Some(&mut settings.forward),
            _ => settings.reverse.as_mut(),
        };
        let changed = changed.ok_or("there is no such link: packets of that direction pass")?;
        if let Some(what) = discipline.spec.unfit(&changed.buffer) {
            return Err(what);
        }
        *changed = changed.with_discipline(discipline);
        Ok(settings)
    }

    /// Checks that a gate at work may go on with other settings.
    ///
    /// # Errors
    /// If they differ in what is only set up at the start.
    pub(crate) fn can_become(&self, next: &Self) -> Result<(), &'static str> {
        if next.links().len() != self.links().len() {
            return Err("the number of directions cannot change while it runs");
        }
        let mut both = self.links().into_iter().zip(next.links());
        if both.any(|(link, next)| link.wire != next.wire) {
            return Err("the wire cannot change while it runs");
        }
        Ok(())
    }

    /// What a user's AQM did wrong since it was loaded; see [`Configured::wrong`].
    pub fn wrong(&self) -> Option<String> {
        let aqms = |link: &LinkSettings| {
            let mut aqms = link
                .discipline
                .of_classes
                .iter()
                .chain([&link.discipline.aqm]);
            aqms.find_map(Configured::wrong)
        };
        self.links().into_iter().find_map(aqms)
    }
}

fn refuse<T>(what: impl Into<String>) -> Result<T, SettingsError> {
    Err(SettingsError(what.into()))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

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
        let mut at_work = first.discipline.aqm.start();
        assert!(at_work.retune(&same.discipline.aqm));
        assert!(!at_work.retune(&other.discipline.aqm));
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

    /// A scenario with wires that lose packets, by how often bursts of losses begin.
    fn with_wires(folder: &Path, wires: &[(&str, f64)]) -> Settings {
        let path = folder.join("wires.toml");
        let mut text = r#"
            duration_s = 1
            topology = { kind = "dumbbell", two_way = true, client_delays_s = [0.01] }
            flows = [{ kind = "tcp" }]
            disciplines = [{ aqm = "pie" }]
        "#
        .to_owned();
        for (link, enter) in wires {
            let loss = format!(r#"{{ kind = "gilbert-elliott", enter = {enter}, leave = 0.2 }}"#);
            text += &format!("\n[links.\"{link}\"]\nwire.loss = {loss}\n");
        }
        std::fs::write(&path, text).unwrap();
        let settings = Settings::read(&LinkOptions {
            scenario: Some(path),
            ..LinkOptions::default()
        });
        settings.unwrap()
    }

    #[test]
    fn a_gate_at_work_keeps_its_directions_and_its_wires() {
        let folder = tempfile::tempdir().unwrap();
        let [there, back] = ["left -> right", "right -> left"];
        let settings = |wires: &[(&str, f64)]| with_wires(folder.path(), wires);
        let one = settings(&[(there, 0.1)]);
        let mut slower = settings(&[(there, 0.1)]);
        slower.forward.rate_bps /= 2;
        assert_eq!(one.can_become(&slower), Ok(()));
        for other in [
            settings(&[]),
            settings(&[(there, 0.2)]),
            settings(&[(there, 0.1), (back, 0.1)]),
        ] {
            for (old, new) in [(&one, &other), (&other, &one)] {
                let why = old.can_become(new).unwrap_err();
                assert_eq!(why, "the wire cannot change while it runs");
            }
        }
        let mut one_way = one.clone();
        one_way.reverse = None;
        let why = one.can_become(&one_way).unwrap_err();
        assert_eq!(why, "the number of directions cannot change while it runs");
    }

    #[test]
    fn a_rate_that_begins_later_is_that_of_its_first_row_until_then() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rates.csv");
        let read = |rows: &str, rate_from: Option<f64>, rate: Option<&str>| {
            std::fs::write(&path, format!("time_s,rate_bps\n{rows}")).unwrap();
            Settings::read(&LinkOptions {
                aqm: Some("drop_tail".into()),
                rate: rate.map(str::to_owned),
                rate_file: (!rows.is_empty()).then(|| path.clone()),
                rate_from,
                ..LinkOptions::default()
            })
            .map_err(|error| error.to_string())
        };
        for (from_s, at_6_s) in [
            (None, 3_000_000),
            (Some(0.0), 3_000_000),
            (Some(5.0), 2_000_000),
        ] {
            let forward = read("0,2e6\n4,3e6\n", from_s, None).unwrap().forward;
            let service = forward.service().unwrap();
            let rates = [0, 6_000_000_000].map(|at_ns| service.rate_bps(at_ns, forward.rate_bps));
            assert_eq!(rates, [2_000_000, at_6_s]);
        }
        let why = read("1,2e6\n", Some(5.0), None).unwrap_err();
        assert!(why.contains("not one at 0 s"), "{why}");
        let why = read("", Some(5.0), Some("1e6")).unwrap_err();
        assert!(why.starts_with("--rate-from is when"), "{why}");
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
