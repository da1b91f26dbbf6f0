//! Makes the plan of a run from a scenario.

use std::{collections::HashMap, sync::Arc};

use sluice_aqm::{AqmSource, NEVER};
use sluice_ecn::Ecn;
use sluice_scenario::{
    Discipline, NetworkScenario,
    network::{
        self as given, CallFlows, DatagramFlows, Fgn, Flows, GapKind, Like, Rate, ReplayFlows,
        ServerEcn, ShortTcpFlows, SimplexLink, SizeKind, Sizes, Tcp, Variant as Recovery,
    },
    ns, rounded,
};
use sluice_tcp::{Config, ConfigError, GREEDY, Server, Variant};

use crate::{
    error::NetworkError,
    marker::{Marker, Meter},
    packet::TrafficClass,
    plan::{Plan, most_replications},
    sources::{
        ArrivalProcess, Call, Datagrams, Extent, Group, LongTcp, Noise, Recording, Replay,
        ShortTcp, Size, Source, TcpFlow, TcpKind, Video, Web,
    },
    topology::{Link, PortPlan, Topology},
};

impl Plan {
    /// Returns the plan for a discipline on a scenario, which need not be one of the scenario's.
    ///
    /// # Errors
    /// If flows cannot be simulated, if a capture cannot be read, or if the AQM is a Python class.
    pub fn of(scenario: &NetworkScenario, discipline: &Discipline) -> Result<Self, NetworkError> {
        Self::with_aqms(scenario, discipline, |discipline| {
            discipline.source().ok_or_else(|| {
                NetworkError("the AQM is a program's own, which must say how it starts".into())
            })
        })
    }

    /// As `of`, with the AQMs of each discipline from `aqms`.
    ///
    /// # Errors
    /// If flows cannot be simulated, if a capture cannot be read, and those of `aqms`.
    pub fn with_aqms(
        scenario: &NetworkScenario,
        discipline: &Discipline,
        aqms: impl Fn(&Discipline) -> Result<AqmSource, NetworkError>,
    ) -> Result<Self, NetworkError> {
        let compared = aqms(discipline)?;
        let port = |link: &SimplexLink| {
            let own = scenario.own_discipline(link);
            let aqm = own.map_or(Ok(compared.clone()), &aqms)?;
            let discipline = own.unwrap_or(discipline);
            if let Some(what) = discipline.unfit(scenario.buffer(link)) {
                return Err(NetworkError(format!("{}: {what}", discipline.name())));
            }
            Ok::<_, NetworkError>(PortPlan {
                discipline: discipline.on(scenario.buffer(link)),
                scheduler: discipline.in_lanes(),
                aqm,
            })
        };
        let nodes = scenario.topology.nodes();
        let places = nodes.clone();
        let place: HashMap<&str, usize> = places.iter().map(String::as_str).zip(0..).collect();
        let duration_ns = ns(scenario.duration_s);
        let links = scenario
            .topology
            .simplex_links()
            .iter()
            .map(|link| {
                let rate = scenario.own(link).and_then(|own| own.rate.as_ref());
                let service = rate.map(Rate::service).transpose();
                let refuse = |what| NetworkError(format!("links.\"{}\".rate: {what}", link.name()));
                Ok(Link {
                    from: place[&*link.source],
                    to: place[&*link.sink],
                    rate_bps: link.rate_bps.round_ties_even() as u64,
                    service: service.map_err(refuse)?,
                    delay_ns: ns(link.delay_s),
                    wire: scenario
                        .own(link)
                        .and_then(|own| own.wire.as_ref())
                        .map(given::Wire::plan),
                    port: link.queue.then(|| port(link)).transpose()?,
                })
            })
            .collect::<Result<_, NetworkError>>()?;
        let topology = Topology { nodes, links };
        let of_flows = classes(&scenario.classes(), &topology, scenario.replications);
        let mut groups = Vec::new();
        let mut markers = Vec::new();
        let mut classes = Vec::new();
        for (number, (flows, pairs)) in scenario.flows.iter().zip(scenario.pairs()).enumerate() {
            let refuse = |what: String| NetworkError(format!("flows.{number}: {what}"));
            let source = source(flows).map_err(refuse)?;
            if let Some(given) = &flows.shared().marker {
                markers.push((marker(given), groups.len()..groups.len() + pairs.len()));
            }
            for (dealt, (from, to)) in pairs.iter().enumerate() {
                let group = Group {
                    from: place[&**from],
                    to: place[&**to],
                    count: dealt_out(flows.shared().count, dealt, pairs.len()),
                    source: source.clone(),
                };
                group.check(duration_ns).map_err(refuse)?;
                groups.push(group);
                classes.extend(of_flows.get(number));
            }
        }
        Ok(Self {
            topology,
            groups,
            markers,
            classes,
            duration_ns,
            warm_up_ns: ns(scenario.warm_up_s()),
            sample_ns: ns(scenario.sample_s),
            windows: scenario.windows,
            replications: scenario.replications,
            seed: scenario.seed,
        })
    }
}

fn marker(given: &given::Marker) -> Marker {
    match given {
        given::Marker::SingleRate(of) => Marker {
            meter: Meter::SingleRate {
                cir_bps: of.cir_bps as u64,
                cbs_bytes: of.cbs_bytes as u64,
                ebs_bytes: of.ebs_bytes as u64,
            },
            colour_aware: of.colour_aware,
        },
        given::Marker::TwoRate(of) => Marker {
            meter: Meter::TwoRate {
                cir_bps: of.cir_bps as u64,
                cbs_bytes: of.cbs_bytes as u64,
                pir_bps: of.pir_bps as u64,
                pbs_bytes: of.pbs_bytes as u64,
            },
            colour_aware: of.colour_aware,
        },
    }
}

/// Numbers the classes of the groups of flows by their names; empty if flows are not counted by
/// class, or if that would take too much memory.
fn classes(names: &[String], topology: &Topology, replications: u32) -> Vec<u16> {
    let mut known: Vec<&String> = Vec::new();
    for name in names {
        if !known.contains(&name) {
            known.push(name);
        }
    }
    let ports = topology.links.iter();
    let ports = ports.filter(|link| link.port.is_some()).count();
    if u64::from(replications) > most_replications(ports, topology.bands(), known.len()) {
        return Vec::new();
    }
    let number = |name| known.iter().position(|each| *each == name);
    let numbers = names.iter().filter_map(number);
    numbers.map(|number| number as u16).collect()
}

/// Returns how many of `count` flows a place gets if they are dealt out in turn to `places`.
fn dealt_out(count: u32, place: usize, places: usize) -> u32 {
    ((count as usize + places - 1 - place) / places) as u32
}

fn source(flows: &Flows) -> Result<Source, String> {
    let start_ns = ns(flows.shared().start_s);
    let stop_ns = flows.shared().stop_s.map_or(NEVER, ns);
    let class = TrafficClass::new(flows.shared().dscp as u8, flows.shared().ect1);
    Ok(match flows {
        Flows::TcpFlows(flows) => Source::Long(LongTcp {
            kind: tcp_kind(&flows.tcp, class)?,
            flow: TcpFlow {
                packets: flows.packets.unwrap_or(GREEDY),
                start_ns,
                stop_ns,
            },
            spread_ns: ns(flows.spread_s),
            gap_ns: flows
                .rate_bps
                .map(|rate_bps| gap_ns(flows.tcp.packet_bytes, rate_bps)),
        }),
        Flows::ShortTcpFlows(flows) => Source::Short(ShortTcp {
            kind: tcp_kind(&flows.tcp, class)?,
            arrivals: flow_arrivals(flows),
            from_ns: start_ns,
            to_ns: stop_ns,
            extent: extent(flows)?,
        }),
        Flows::WebFlows(flows) => Source::Web(Web {
            kind: tcp_kind(&flows.tcp, class)?,
            objects: size(&flows.objects),
            page_objects: flows.page_objects,
            connections: flows.connections,
            think: flows.think.plan(),
            start_ns,
            spread_ns: ns(flows.spread_s),
            stop_ns,
        }),
        Flows::VideoFlows(flows) => Source::Video(Video {
            kind: tcp_kind(&flows.tcp, class)?,
            rates_bps: flows.rates_bps.clone(),
            segment_ns: ns(flows.segment_s),
            buffer_ns: ns(flows.buffer_s),
            start_ns,
            spread_ns: ns(flows.spread_s),
            stop_ns,
        }),
        Flows::DatagramFlows(flows) => Source::Datagrams(Datagrams {
            bytes: flows.packet_bytes,
            traffic_class: class.of(if flows.ecn { Ecn::Ect0 } else { Ecn::NotEct }),
            arrivals: datagram_arrivals(flows)?,
            start_ns,
            spread_ns: ns(flows.spread_s),
            stop_ns,
        }),
        Flows::CallFlows(flows) => Source::Call(call(flows, class, (start_ns, stop_ns))),
        Flows::ReplayFlows(flows) => Source::Replay(Replay {
            recording: Arc::new(recording(flows)?),
            start_ns,
            spread_ns: ns(flows.spread_s),
            stop_ns,
        }),
    })
}

fn call(flows: &CallFlows, class: TrafficClass, (start_ns, stop_ns): (u64, u64)) -> Call {
    Call {
        config: sluice_scream::Config {
            least_bps: flows.min_rate_bps,
            most_bps: flows.max_rate_bps,
            frame_ns: (1e9 / flows.frames_per_s).round_ties_even() as u64,
            packet_bytes: flows.packet_bytes,
            l4s: flows.shared.ect1,
        },
        scale: flows.frame_scale,
        traffic_class: class.of(if flows.ecn { Ecn::Ect0 } else { Ecn::NotEct }),
        feedback_class: class.of(Ecn::NotEct),
        start_ns,
        spread_ns: ns(flows.spread_s),
        stop_ns,
    }
}

fn tcp_kind(tcp: &Tcp, traffic_class: TrafficClass) -> Result<TcpKind, String> {
    let variant = match (tcp.variant, tcp.like) {
        (Some(Recovery::Tahoe), _) => Variant::Tahoe,
        (Some(Recovery::Reno), _) => Variant::Reno,
        (Some(Recovery::NewReno), _) | (None, Like::Rfc | Like::Ns2) => Variant::NewReno,
        (Some(Recovery::Sack), _) => Variant::Sack,
        (Some(Recovery::Rack), _) | (None, Like::Linux) => Variant::Rack,
    };
    let mut config = match tcp.like {
        Like::Rfc => Config::rfc(variant),
        Like::Ns2 => Config::ns2(variant, tcp.receiver_window),
        Like::Linux => Config::linux(variant),
    };
    let control = tcp.agreed_control();
    config.congestion_control = match tcp.like {
        Like::Rfc | Like::Ns2 => control,
        Like::Linux => control.in_linux(),
    };
    config.receiver_window = tcp.receiver_window;
    config.hystart_plus = tcp.hystart_plus;
    config.ecn = tcp.ecn;
    config.accurate_ecn = tcp.ecn && tcp.feeds_back_numbers();
    config.classic_fallback = tcp.classic_fallback;
    config.server = tcp.server_ecn.map(|server| match server {
        ServerEcn::Accurate => Server::Accurate,
        ServerEcn::Classic => Server::Classic,
        ServerEcn::Nonce => Server::Nonce,
        ServerEcn::None => Server::None,
        ServerEcn::Broken => Server::Broken,
    });
    config.pacing = tcp.pacing || config.congestion_control.paces();
    config.segmentation_offload = tcp.segmentation_offload;
    let set = |to: &mut u64, time_s: Option<f64>| *to = time_s.map_or(*to, ns);
    set(&mut config.min_rto_ns, tcp.min_rto_s);
    set(&mut config.initial_rto_ns, tcp.initial_rto_s);
    set(&mut config.tick_ns, tcp.tick_s);
    if let Some(window) = tcp.initial_window {
        config.initial_window = window;
    }
    if let Some(delay_s) = tcp.delayed_ack_s {
        config.delayed_ack_ns = Some(ns(delay_s)).filter(|delay_ns| *delay_ns > 0);
    }
    config.ack_every = tcp.ack_every as u8;
    config.check().map_err(in_seconds)?;
    Ok(TcpKind {
        config,
        packet_bytes: tcp.packet_bytes,
        ack_bytes: tcp.ack_bytes,
        traffic_class,
    })
}

/// Returns the message of an error with the field name of a scenario, and with seconds instead of
/// nanoseconds.
fn in_seconds(error: ConfigError) -> String {
    match error {
        ConfigError::OutOfRange {
            name,
            value,
            least,
            greatest,
            unit: "ns",
        } => {
            let name = name.trim_end_matches("_ns");
            let [value, least, greatest] =
                [value, least, greatest].map(|time_ns| rounded(time_ns / 1e9));
            format!("tcp.{name}_s = {value} must lie between {least} and {greatest} (s)")
        }
        error => error.to_string(),
    }
}

fn size(sizes: &Sizes) -> Size {
    let mean = sizes.mean_packets;
    match (sizes.kind, sizes.shape) {
        (SizeKind::Constant, _) => Size::Constant(mean as u32),
        (SizeKind::Pareto, Some(shape)) => Size::Pareto { mean, shape },
        (SizeKind::Pareto | SizeKind::Geometric, _) => Size::Geometric(mean),
    }
}

fn extent(flows: &ShortTcpFlows) -> Result<Extent, String> {
    match (&flows.packets, &flows.duration) {
        (Some(packets), _) => Ok(Extent::Packets(size(packets))),
        (None, Some(duration)) => Ok(Extent::Duration(duration.plan())),
        (None, None) => Err("one of duration and packets must be given".into()),
    }
}

fn noisy(mean_gap_ns: f64, fgn: &Fgn) -> ArrivalProcess {
    ArrivalProcess::Noisy {
        mean_gap_ns,
        noise: Noise {
            hurst: fgn.hurst,
            deviation: fgn.deviation,
            frame_ns: ns(fgn.frame_s),
        },
    }
}

fn flow_arrivals(flows: &ShortTcpFlows) -> ArrivalProcess {
    let gaps = flows.gaps.plan();
    match &flows.fgn {
        Some(fgn) => noisy(gaps.mean_ns(), fgn),
        None => ArrivalProcess::Gaps(gaps),
    }
}

/// Returns the mean time between two packets at a rate.
fn gap_ns(packet_bytes: u16, rate_bps: f64) -> f64 {
    (8.0 * f64::from(packet_bytes) / rate_bps * 1e9).max(1.0)
}

fn datagram_arrivals(flows: &DatagramFlows) -> Result<ArrivalProcess, String> {
    let gap_ns = gap_ns(flows.packet_bytes, flows.rate_bps);
    if let (Some(on), Some(off)) = (&flows.on, &flows.off) {
        let (on, off) = (on.plan(), off.plan());
        return Ok(ArrivalProcess::OnOff { gap_ns, on, off });
    }
    if let Some(self_similar) = &flows.self_similar {
        return Ok(ArrivalProcess::Modulated {
            slot_ns: gap_ns,
            modulator: self_similar.modulator()?,
        });
    }
    if let Some(mmpp) = &flows.mmpp {
        let other_gap_ns = self::gap_ns(flows.packet_bytes, mmpp.other_rate_bps);
        return Ok(ArrivalProcess::TwoRates {
            mean_gaps_ns: [gap_ns, other_gap_ns],
            mean_stays_ns: [1e9 * mmpp.mean_s, 1e9 * mmpp.other_mean_s],
        });
    }
    Ok(match (&flows.fgn, flows.gaps) {
        (Some(fgn), _) => noisy(gap_ns, fgn),
        (None, GapKind::Constant) => ArrivalProcess::Constant { gap_ns },
        (None, GapKind::Exponential) => ArrivalProcess::Poisson {
            mean_gap_ns: gap_ns,
        },
    })
}

/// Returns the packets of a capture, with its flows numbered in the order of their hashes.
fn recording(flows: &ReplayFlows) -> Result<Recording, String> {
    let (capture, shared) = (&flows.capture, &flows.shared);
    let packets = capture.packets()?;
    let recorded = packets.dscp.iter().zip(&packets.ecn);
    let traffic_class = |(dscp, ecn): (&u8, &Ecn)| match shared.dscp {
        0 => TrafficClass::new(*dscp, shared.ect1).of(*ecn),
        dscp => TrafficClass::new(dscp as u8, shared.ect1).of(*ecn),
    };
    let traffic_classes: Vec<u8> = recorded.map(traffic_class).collect();
    Recording::new(
        &packets.time_ns,
        &packets.bytes,
        &packets.flow_numbers(),
        &traffic_classes,
    )
    .map_err(|error| format!("{}: {error}", capture.path().display()))
}
