//! The plan of a run, and its checks.

use std::ops::Range;

use sluice_histogram::Histogram;
use sluice_link::Clock;

use crate::{
    completions::SIZES,
    error::NetworkError,
    marker::Marker,
    packet::Kind,
    routes::Routes,
    series::{BAND_BYTES, FLOW_BYTES, PORT_BYTES, RATE_BYTES},
    sources::{Group, MOST_FLOWS, MOST_FRAMES},
    topology::Topology,
    tournament::Tournament,
};

/// Everything that determines a run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Nodes, links and the disciplines before the links.
    pub topology: Topology,
    /// The flows, in groups of one kind.
    pub groups: Vec<Group>,
    /// Markers, each with the groups whose packets pass it.
    pub markers: Vec<(Marker, Range<usize>)>,
    /// The class of each group, from 0 on. Empty: flows are not counted by class.
    pub classes: Vec<u16>,
    /// Simulated time of one replication.
    pub duration_ns: u64,
    /// Length of the warm-up, which is counted as a period of its own; below the duration.
    pub warm_up_ns: u64,
    /// Time between two samples of all ports and flows.
    pub sample_ns: u64,
    /// True if samples include the mean congestion window of the TCP flows.
    pub windows: bool,
    /// Number of independent replications.
    pub replications: u32,
    /// Seed of every random stream.
    pub seed: u64,
}

/// Longest simulated time: 1000 days.
const MOST_DURATION_NS: u64 = 86_400_000_000_000_000;
/// Maximum memory for the series of all replications, bytes; a comparison holds those of all AQMs.
const MOST_SERIES_BYTES: u64 = 250_000_000;
/// Maximum memory for the times of all ports, classes and replications, bytes.
const MOST_TIMES_BYTES: u64 = 4_000_000_000;

/// Returns the maximum memory for times of one replication, in the warm-up and in the rest, bytes.
/// Ports have sojourn times, delays, and delays of each kind of packet; where flows are counted by
/// class, also sojourn times and delays of each class, of two kinds at most, and of each of the `bands`
/// of all ports. Classes have one-way delays, round trips, completion times and slowdowns by size, and
/// times of pages and of frames.
fn times_bytes(ports: usize, bands: usize, classes: Option<usize>) -> u64 {
    let (of_port, of_classes) = match classes {
        None => (2 + Kind::COUNT, 0),
        Some(classes) => (
            2 + 3 * classes,
            (4 + 2 * (SIZES.len() + 1)) * classes + 2 * bands,
        ),
    };
    2 * Histogram::MOST_BYTES * (ports * of_port + of_classes) as u64
}

/// Returns how many replications at most can be counted by class.
pub(crate) fn most_replications(ports: usize, bands: usize, classes: usize) -> u64 {
    MOST_TIMES_BYTES / times_bytes(ports, bands, Some(classes))
}

impl Plan {
    /// Checks the plan, and returns the routes of all flows and the clock of the run.
    ///
    /// # Errors
    /// If something in the plan is out of range, needs too much memory, or if a flow has no route.
    pub(crate) fn check(&self) -> Result<(Routes, Clock), NetworkError> {
        self.topology.check()?;
        self.check_times()?;
        self.check_times_kept()?;
        self.check_flows()?;
        Ok((self.routes()?, self.clock()?))
    }

    fn ports(&self) -> usize {
        let links = self.topology.links.iter();
        links.filter(|link| link.port.is_some()).count()
    }

    /// Returns how many samples of a replication the memory for series can hold; at least one.
    fn most_samples(&self) -> u64 {
        let varying = self.topology.links.iter();
        let varying = varying.filter(|link| link.port.is_some() && link.service.is_some());
        let rates = varying.count() as u64 * RATE_BYTES;
        let bands = self.topology.bands() as u64 * BAND_BYTES;
        let bytes = self.ports() as u64 * PORT_BYTES + rates + bands + FLOW_BYTES;
        (MOST_SERIES_BYTES / (bytes * u64::from(self.replications).max(1))).max(1)
    }

    fn check_times(&self) -> Result<(), NetworkError> {
        let refuse = |what: String| Err(NetworkError(what));
        if !(2..=MOST_DURATION_NS).contains(&self.duration_ns) {
            return refuse(format!(
                "duration = {} must lie between 2 and {MOST_DURATION_NS} ns",
                self.duration_ns
            ));
        }
        if self.warm_up_ns >= self.duration_ns {
            return refuse(format!(
                "warm_up = {} must be below duration = {} (ns)",
                self.warm_up_ns, self.duration_ns
            ));
        }
        let most_samples = self.most_samples();
        if self.sample_ns == 0 || self.duration_ns / self.sample_ns >= most_samples {
            // a little more than needed, so that the value shown, with three digits, is enough, too
            let least_ns = 1.005 * (self.duration_ns / most_samples + 1) as f64;
            return refuse(format!(
                "sample_s = {:e} must be at least {:.2e}: the samples of all ports and replications \
                 may take {MOST_SERIES_BYTES} bytes",
                self.sample_ns as f64 / 1e9,
                least_ns / 1e9
            ));
        }
        Ok(())
    }

    fn check_times_kept(&self) -> Result<(), NetworkError> {
        let classes = self.classes.iter().max();
        let classes = classes.map(|last| usize::from(*last) + 1);
        let bytes = times_bytes(self.ports(), self.topology.bands(), classes);
        if bytes * u64::from(self.replications) <= MOST_TIMES_BYTES {
            return Ok(());
        }
        let most = MOST_TIMES_BYTES * self.ports() as u64 / bytes;
        Err(NetworkError(format!(
            "replications = {} times {} queues must be at most {most}: their times may take \
             {MOST_TIMES_BYTES} bytes",
            self.replications,
            self.ports()
        )))
    }

    fn check_flows(&self) -> Result<(), NetworkError> {
        let refuse = |what: String| Err(NetworkError(what));
        let flows = self.groups.iter().map(Group::flows);
        let flows = flows.fold(0, u64::saturating_add);
        if flows > MOST_FLOWS as u64 {
            return refuse(format!(
                "flows: all groups have {flows} flows together and must have at most {MOST_FLOWS}: \
                 each takes about 1 kB of memory; a user of the web has one for each connection"
            ));
        }
        if !self.classes.is_empty() && self.classes.len() != self.groups.len() {
            return refuse(format!(
                "classes: {} must be as many as the {} groups, or none",
                self.classes.len(),
                self.groups.len()
            ));
        }
        let nodes = self.topology.nodes.len();
        for (index, group) in self.groups.iter().enumerate() {
            if group.from >= nodes || group.to >= nodes {
                return refuse(format!("flows.{index} must join two of the {nodes} nodes"));
            }
            if let Err(what) = group.check(self.duration_ns) {
                return refuse(format!("flows.{index}: {what}"));
            }
        }
        let frames = self
            .groups
            .iter()
            .map(|group| group.frames(self.duration_ns));
        let frames = frames.fold(0, u64::saturating_add);
        if frames > MOST_FRAMES {
            return refuse(format!(
                "flows: the frames of fgn of all groups are {frames} together and must be at most \
                 {MOST_FRAMES}"
            ));
        }
        Ok(())
    }

    fn routes(&self) -> Result<Routes, NetworkError> {
        let there = self.groups.iter().map(|group| (group.from, group.to));
        let back = self
            .groups
            .iter()
            .filter(|group| !group.is_one_way())
            .map(|group| (group.to, group.from));
        Routes::new(&self.topology, there, back)
    }

    fn clock(&self) -> Result<Clock, NetworkError> {
        let links = self.topology.links.len();
        let wires = self.topology.links.iter();
        let wires = wires.filter(|link| link.wire.is_some()).count();
        // a wire has an event of its own, and one of its end
        let room = Tournament::room(links + self.ports() + 2 * wires);
        Clock::new(self.duration_ns, room).ok_or_else(|| {
            NetworkError(format!(
                "duration = {} ns is too long for a network of {links} links",
                self.duration_ns
            ))
        })
    }
}
