//! What a daemon reports of a link: one record for `--jsonl`, `--json`, the endpoint, `sluiced top`
//! and `sluiced check --watch`. Its schema is `docs/reference/outputs/router.schema.json`.

use serde::{Deserialize, Serialize};
use sluice_wire::WireTally;

use crate::{
    measures::{Figures, Measures, TimeFigures},
    packet::flows::ShareFigures,
    router::{bands::Band, snapshot::Snapshot},
};

/// Version of [`Line`]: another one if a field goes or means something else.
pub const VERSION: u32 = 1;

/// Name and state of a link.
#[derive(Clone, Debug)]
pub struct Record {
    /// `forward` or `reverse`.
    pub link: &'static str,
    /// The kernel's monotonic clock at that moment, ns.
    pub clock_ns: u64,
    /// Its state.
    pub snapshot: Snapshot,
}

/// A record as it is written: counts since the start, and in an interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// See [`VERSION`].
    pub version: u32,
    /// Since the start.
    #[serde(flatten)]
    pub figures: Figures,
    /// `forward` or `reverse`.
    pub link: String,
    /// Present rate, bits/s.
    pub rate_bps: u64,
    /// Bytes that each packet takes on the link besides its IP packet.
    pub overhead_bytes: u32,
    /// Packets that may wait.
    pub limit: u32,
    /// Bytes that may wait.
    pub limit_bytes: Option<u64>,
    /// The kind of qdisc in the kernel; `None` if packets come up to the gate.
    pub qdisc: Option<String>,
    /// Name of the discipline.
    pub discipline: String,
    /// The heaviest flows since the start.
    pub flows: ShareFigures,
    /// The kernel's monotonic clock, ns.
    pub clock_ns: u64,
    /// Packets that wait now.
    pub queue_packets: usize,
    /// Their bytes.
    pub queue_bytes: u64,
    /// The AQM's average queue, packets, if there is one AQM and it keeps one.
    pub average_queue: Option<f64>,
    /// Its drop probability, likewise.
    pub drop_probability: Option<f64>,
    /// Packets released.
    pub released: u64,
    /// Packets that were held at the end.
    pub left_at_end: u64,
    /// Time from when a packet was due until it was released, ms.
    pub lateness_ms: TimeFigures,
    /// The sum of these times, ns.
    pub lateness_sum_ns: u64,
    /// Packets without a readable IP header.
    pub unreadable: u64,
    /// Packets that were marked and had no header to mark.
    pub unmarkable: u64,
    /// Packets that the kernel could not hand over.
    pub id_gaps: u64,
    /// How often the receive buffer had no room.
    pub overruns: u64,
    /// Decisions on packets that the kernel no longer had.
    pub refused_verdicts: u64,
    /// Packets that the kernel holds; `None` if it does not show it, as the next two.
    pub kernel_held: Option<u64>,
    /// Packets that found the kernel's queue full.
    pub kernel_queue_drops: Option<u64>,
    /// Packets for which the receive buffer had no room.
    pub kernel_buffer_drops: Option<u64>,
    /// Each band of the discipline, if it has any: lanes C and L of DualPI2, tins of CAKE, classes of service,
    /// in their order. `None` if they are not counted: of a qdisc of the kernel, and after a change to
    /// another discipline.
    pub bands: Option<Vec<BandFigures>>,
    /// What happened on the wire behind the link; `None` if nothing does.
    pub wire: Option<WireCounts>,
    /// What was counted since the record before; the record at the end of a run has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Interval>,
}

/// What was counted of a band since the start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BandFigures {
    /// As for the link.
    #[serde(flatten)]
    pub figures: Figures,
    /// Packets that wait now.
    pub queue_packets: usize,
}

impl From<&Band> for BandFigures {
    fn from(band: &Band) -> Self {
        Self {
            figures: band.measures.figures(),
            queue_packets: band.waiting,
        }
    }
}

/// Packets on a wire since the start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WireCounts {
    /// That came to it.
    pub entered: u64,
    /// That it lost.
    pub lost: u64,
    /// That came out after one that had entered later.
    pub reordered: u64,
}

impl WireCounts {
    fn of(tally: WireTally) -> Self {
        let WireTally {
            entered,
            lost,
            reordered,
        } = tally;
        Self {
            entered,
            lost,
            reordered,
        }
    }
}

/// What was counted between two records.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// As for the whole time; maxima are those of the interval.
    #[serde(flatten)]
    pub figures: Figures,
    /// As for the whole time.
    pub lateness_ms: TimeFigures,
    /// Likewise.
    pub lateness_sum_ns: u64,
    /// The heaviest flows of the interval.
    pub flows: ShareFigures,
    /// Pairs of a number of waiting packets and how long there were so many, ns.
    pub queue_distribution_ns: Vec<(u64, u64)>,
    /// Pairs of a sojourn, ns, and its count.
    pub sojourn_distribution_ns: Vec<(u64, u64)>,
    /// Likewise of the delay.
    pub delay_distribution_ns: Vec<(u64, u64)>,
    /// Likewise of the lateness.
    pub lateness_distribution_ns: Vec<(u64, u64)>,
    /// Each band; none if the `bands` of the link are not known.
    #[serde(default)]
    pub bands: Vec<BandInterval>,
}

/// What was counted of a band between two records, as of the link.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BandInterval {
    /// Maxima are those of the interval.
    #[serde(flatten)]
    pub figures: Figures,
    /// Pairs of a number of waiting packets and how long there were so many, ns.
    pub queue_distribution_ns: Vec<(u64, u64)>,
    /// Pairs of a sojourn, ns, and its count.
    pub sojourn_distribution_ns: Vec<(u64, u64)>,
    /// Likewise of the delay.
    pub delay_distribution_ns: Vec<(u64, u64)>,
}

impl BandInterval {
    fn of(counted: &Measures) -> Self {
        Self {
            figures: counted.figures(),
            queue_distribution_ns: counted.queue_times(),
            sojourn_distribution_ns: counted.sojourn.counts(),
            delay_distribution_ns: counted.delay.counts(),
        }
    }
}

/// Returns what was counted of each band between two records.
fn bands_since(now: &[Band], earlier: &[Band]) -> Vec<BandInterval> {
    let nothing = Band::default();
    let earlier = earlier.iter().chain(std::iter::repeat(&nothing));
    let both = now.iter().zip(earlier);
    both.map(|(band, earlier)| BandInterval::of(&band.measures.since(&earlier.measures)))
        .collect()
}

impl Record {
    /// Returns the record at the end of a run: everything since the start.
    pub fn last_line(&self) -> Line {
        let Snapshot {
            qdisc,
            settings,
            rate_bps,
            shares,
            measures,
            bands,
            wire,
            live,
            losses,
            kernel,
            queue,
            aqm,
        } = &self.snapshot;
        Line {
            version: VERSION,
            figures: measures.figures(),
            link: self.link.to_owned(),
            rate_bps: *rate_bps,
            overhead_bytes: settings.overhead_bytes,
            limit: settings.buffer.limit,
            limit_bytes: settings.buffer.limit_bytes,
            qdisc: qdisc.clone(),
            discipline: settings.discipline.spec.name(),
            flows: shares[0].figures(),
            clock_ns: self.clock_ns,
            queue_packets: queue.0,
            queue_bytes: queue.1,
            average_queue: aqm.0,
            drop_probability: aqm.1,
            released: live.released,
            left_at_end: live.left_at_end,
            lateness_ms: live.lateness.figures(),
            lateness_sum_ns: live.lateness.sum_ns(),
            unreadable: live.unreadable,
            unmarkable: live.unmarkable,
            id_gaps: losses.id_gaps,
            overruns: losses.overruns,
            refused_verdicts: losses.refused,
            kernel_held: kernel.held,
            kernel_queue_drops: kernel.queue_drops,
            kernel_buffer_drops: kernel.buffer_drops,
            bands: (bands.as_ref()).map(|bands| bands.iter().map(BandFigures::from).collect()),
            wire: wire.map(WireCounts::of),
            interval: None,
        }
    }

    /// Returns the record with what was counted since an earlier one, or since the start.
    pub fn line(&self, earlier: Option<&Self>) -> Line {
        let Snapshot {
            measures,
            bands,
            live,
            shares,
            ..
        } = &self.snapshot;
        let earlier_bands = earlier.and_then(|record| record.snapshot.bands.as_deref());
        let earlier_bands = earlier_bands.unwrap_or_default();
        let (counted, lateness) = match earlier {
            Some(Self { snapshot, .. }) => (
                measures.since(&snapshot.measures),
                live.lateness.since(&snapshot.live.lateness),
            ),
            None => (measures.clone(), live.lateness.clone()),
        };
        Line {
            interval: Some(Interval {
                figures: counted.figures(),
                lateness_ms: lateness.figures(),
                lateness_sum_ns: lateness.sum_ns(),
                flows: shares[1].figures(),
                queue_distribution_ns: counted.queue_times(),
                sojourn_distribution_ns: counted.sojourn.counts(),
                delay_distribution_ns: counted.delay.counts(),
                lateness_distribution_ns: lateness.counts(),
                bands: bands_since(bands.as_deref().unwrap_or_default(), earlier_bands),
            }),
            ..self.last_line()
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    /// Returns the names of an object's fields, of those within it, too.
    fn names(of: &Value, within: &str) -> Vec<String> {
        let fields = of.as_object().into_iter().flatten();
        fields
            .flat_map(|(name, value)| {
                let name = format!("{within}{name}");
                let inner = names(value, &format!("{name}."));
                [vec![name], inner].concat()
            })
            .collect()
    }

    /// Returns the same of a schema.
    fn properties(schema: &Value, within: &str) -> Vec<String> {
        let fields = schema["properties"].as_object().into_iter().flatten();
        fields
            .flat_map(|(name, schema)| {
                let name = format!("{within}{name}");
                let inner = properties(schema, &format!("{name}."));
                [vec![name], inner].concat()
            })
            .collect()
    }

    #[test]
    fn a_line_has_the_fields_of_its_schema_in_their_order() {
        let schema = include_str!("../../../docs/reference/outputs/router.schema.json");
        let schema: Value = serde_json::from_str(schema).unwrap();
        let line = Line {
            version: VERSION,
            wire: Some(WireCounts::default()),
            interval: Some(Interval::default()),
            ..Line::default()
        };
        let text = serde_json::to_string(&line).unwrap();
        let told: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(names(&told, ""), properties(&schema, ""));
        assert_eq!(schema["properties"]["version"]["const"], VERSION);
        assert_eq!(serde_json::from_str::<Line>(&text).unwrap(), line);
    }
}
