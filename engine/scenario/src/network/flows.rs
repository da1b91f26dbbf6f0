//! Flows: who sends what to whom.

use crate::{
    capture::Recorded,
    limits::{LONGEST_NAME, at_least, fewest},
    network::{
        distribution::{DURATION, Distribution, Fgn, SelfSimilar, Sizes, TIME},
        marker::Marker,
        tcp::{PACKET, Tcp},
    },
    reader::Reader,
    show::rounded,
    table::{kinds, table, words},
};

table! {
    /// What all groups of flows have.
    pub struct Shared checked by consistent {
        /// Name of the class in which their packets are counted: letters, digits, `-` and `_`. Groups
        /// with the same label are one class; not given: `flows-` and the place of the group, from 0
        /// on. A scenario with one group counts by class only if it has a label.
        label: Option<String>, fewest(1).longest(LONGEST_NAME);
        /// Number of flows, which are distributed in turn over the pairs of nodes of the route.
        count: u32 = 1, at_least(1.0).at_most(1e7);
        /// Name of a route of the topology; not given: its first route, or from `source` to `sink`.
        route: Option<String>;
        /// Node that sends, instead of a route.
        source: Option<String>;
        /// Node that receives.
        sink: Option<String>;
        /// Differentiated services codepoint of their packets, in both directions: 46 is EF, 8 CS1. In
        /// a replay 0 is that of the capture.
        dscp: u16 = 0, at_least(0.0).at_most(63.0);
        /// Whether packets that would have ECT(0) have ECT(1), as those of L4S.
        ect1: bool = false;
        /// Marker at the edge of the network, which all of them pass together: it sets the drop
        /// precedence of what they send; not given: none. Their `dscp` must be one of AF11 to AF43.
        marker: Option<Marker>;
        /// Earliest start.
        start_s: f64 = 0.0, TIME;
        /// End of the application; not given: it does not end.
        stop_s: Option<f64>, TIME;
    }
}

impl Shared {
    fn consistent(&self, reader: &mut Reader) {
        if let Some(label) = &self.label {
            check_label(label, reader);
        }
        if self.source.is_some() != self.sink.is_some() {
            reader.say("source and sink must be given both or neither");
        }
        if let (Some(route), Some(source)) = (&self.route, &self.source) {
            reader.say(format!(
                "route = {route} and source = {source} exclude each other"
            ));
        }
        if let Some(stop_s) = self.stop_s
            && stop_s <= self.start_s
        {
            reader.say(format!(
                "stop_s = {} must exceed start_s = {} (s)",
                rounded(stop_s),
                rounded(self.start_s)
            ));
        }
    }
}

/// True for the codepoints of assured forwarding: AFxy is 8 x + 2 y (RFC 2597, section 6).
fn is_assured(dscp: u16) -> bool {
    (1..=4).contains(&(dscp / 8)) && [2, 4, 6].contains(&(dscp % 8))
}

/// Maximum number of rates of a video.
const MOST_RATES: usize = 100;

/// Begins the name of a class whose group has no label.
const UNNAMED: &str = "flows-";

fn check_label(label: &str, reader: &mut Reader) {
    let may_be = |letter: char| letter.is_alphanumeric() || letter == '-' || letter == '_';
    if !label.chars().all(may_be) {
        reader.say(format!(
            "label = '{label}' may have letters, digits, - and _ only"
        ));
    }
    let rest = label.strip_prefix(UNNAMED);
    if rest.is_some_and(|rest| rest.chars().all(|digit| digit.is_ascii_digit())) {
        reader.say(format!(
            "label = '{label}' is the name of a group without a label"
        ));
    }
}

/// Returns the name of the class of each group of flows; empty if flows are not counted by class.
pub(crate) fn classes(flows: &[Flows]) -> Vec<String> {
    if let [only] = flows
        && only.shared().label.is_none()
    {
        return Vec::new();
    }
    let name = |(place, flows): (usize, &Flows)| match &flows.shared().label {
        Some(label) => label.clone(),
        None => format!("{UNNAMED}{place}"),
    };
    flows.iter().enumerate().map(name).collect()
}

table! {
    /// TCP flows that start once.
    pub struct TcpFlows kind "tcp" checked by not_too_fast {
        ..shared: Shared;
        /// The connections.
        tcp: Tcp = Tcp::usual();
        /// Rate at which the application of each flow gives TCP packets to send, one after the other, of
        /// which `stop_s` takes none back; not given: it always has more.
        rate_bps: Option<f64>, at_least(1e-3).at_most(1e14).unit("bits/s");
        /// Data packets of each flow; not given: without end.
        packets: Option<u32>, at_least(1.0).at_most(4_294_967_293.0).unit("packets");
        /// Starts are uniform over this time.
        spread_s: f64 = 0.0, TIME;
    }
}

impl TcpFlows {
    fn not_too_fast(&self, reader: &mut Reader) {
        if let Some(rate_bps) = self.rate_bps {
            check_rate("rate_bps", rate_bps, self.tcp.packet_bytes, reader);
        }
    }
}

/// Reports a field with a rate of more than a packet a nanosecond.
fn check_rate(field: &str, rate_bps: f64, packet_bytes: u16, reader: &mut Reader) {
    let most = f64::from(packet_bytes) * 8e9;
    if rate_bps > most {
        reader.say(format!(
            "{field} = {} must be at most {} (bits/s): a packet a nanosecond",
            rounded(rate_bps),
            rounded(most)
        ));
    }
}

table! {
    /// TCP flows that arrive one after the other; `count` streams of arrivals.
    ///
    /// Each stream is between one pair of nodes; several are distributed in turn over the pairs of
    /// the route. None arrives after `stop_s`; flows that have started go on.
    pub struct ShortTcpFlows kind "short-tcp" checked by sensible {
        ..shared: Shared;
        /// The connections.
        tcp: Tcp = Tcp::usual();
        /// Distribution of the times between two arrivals of a stream.
        gaps: Distribution;
        /// Lets the rate of arrivals vary; `gaps` must then be exponential.
        fgn: Option<Fgn>;
        /// Distribution of the time from a flow's start until its application ends.
        duration: Option<Distribution>;
        /// Distribution of the data packets of a flow; this or `duration`.
        packets: Option<Sizes>;
    }
}

impl ShortTcpFlows {
    fn sensible(&self, reader: &mut Reader) {
        if self.duration.is_some() == self.packets.is_some() {
            reader.say("one of duration and packets must be given, not both");
        }
        if self.fgn.is_some() && !matches!(self.gaps, Distribution::Exponential(_)) {
            reader.say(poisson_only(self.gaps.kind()));
        }
    }
}

table! {
    /// Users of the web: each fetches a page, thinks, and fetches the next; `count` users.
    ///
    /// A page is one object or several. All fetches of a user share one connection or several, as
    /// since HTTP/1.1; each fetches one object at a time, and takes the next of the page as soon as
    /// it has one. After a pause a connection's window is what it was, or, if the pause was longer
    /// than the time-out, starts again from at most the initial one (RFC 5681, section 4.1). Thinking
    /// starts when the last packet of the page is acknowledged; asking for an object takes no
    /// packet. For a connection per object, use `ShortTcpFlows`.
    pub struct WebFlows kind "web" checked by no_idle_connections {
        ..shared: Shared;
        /// The connections.
        tcp: Tcp = Tcp::usual();
        /// Distribution of the data packets of an object.
        objects: Sizes;
        /// Objects of a page.
        page_objects: u32 = 1, at_least(1.0).at_most(10_000.0);
        /// Connections of a user: at most as many as objects.
        connections: u32 = 1, at_least(1.0).at_most(100.0);
        /// Distribution of the time from the end of a page to the start of the next.
        think: Distribution;
        /// First pages start uniformly over this time; none starts after `stop_s`.
        spread_s: f64 = 0.0, TIME;
    }
}

impl WebFlows {
    fn no_idle_connections(&self, reader: &mut Reader) {
        if self.connections > self.page_objects {
            reader.say(format!(
                "connections = {} must be at most page_objects = {}: each fetches one of a page's \
                 objects",
                self.connections, self.page_objects
            ));
        }
    }
}

table! {
    /// Players of video in segments over HTTP, whose quality follows the buffer.
    ///
    /// Each has one connection. It chooses the rate of each segment by what its buffer holds: BBA-0
    /// of Huang et al. 2014, the lowest up to 3/8 of the buffer, the highest from 9/10 on, or as soon
    /// as another segment would not fit. It asks for the next segment when one has arrived and the
    /// buffer has room. The picture starts with the first segment, stands still while the buffer is
    /// empty, and goes on with the next.
    pub struct VideoFlows kind "video" checked by playable {
        ..shared: Shared;
        /// The connections.
        tcp: Tcp = Tcp::usual();
        /// Rates in which each segment can be had, headers included, from the lowest to the highest.
        rates_bps: Vec<f64>, at_least(1.0).at_most(1e12).unit("bits/s").items(1, MOST_RATES);
        /// Time that a segment plays.
        segment_s: f64 = 4.0, DURATION;
        /// Time that a full buffer plays: at least two segments.
        buffer_s: f64 = 60.0, DURATION;
        /// Starts are uniform over this time, which ends by `stop_s`; no segment is asked for after it.
        spread_s: f64 = 0.0, TIME;
    }
}

impl VideoFlows {
    fn playable(&self, reader: &mut Reader) {
        if let Some(stop_s) = self.shared.stop_s
            && self.shared.start_s + self.spread_s > stop_s
        {
            reader.say(format!(
                "start_s + spread_s = {} must not exceed stop_s = {} (s)",
                rounded(self.shared.start_s + self.spread_s),
                rounded(stop_s)
            ));
        }
        if !self.rates_bps.windows(2).all(|two| two[0] < two[1]) {
            reader.say("each of rates_bps must exceed the one before");
        }
        if self.buffer_s < 2.0 * self.segment_s {
            reader.say(format!(
                "buffer_s = {} must be at least two segments of segment_s = {} (s)",
                rounded(self.buffer_s),
                rounded(self.segment_s)
            ));
        }
    }
}

/// Least size of a packet of a call: headers of IP, UDP and RTP, and a byte of video.
const LEAST_CALL_BYTES: f64 = 41.0;

/// Most packets of a frame of a call, on average: frames wait in memory, a packet at a time.
const MOST_FRAME_PACKETS: f64 = 10_000.0;

table! {
    /// Video calls that adapt their rate by SCReAM.
    ///
    /// It is version 2 (draft-ietf-ccwg-rfc8298bis-screamv2), which is to replace RFC 8298. Each makes
    /// frames at the rate that its sender sets, in one direction, and sends their packets at a pace,
    /// while at most three windows are in flight. The receiver's feedback goes the way back. The window
    /// follows the queueing delay of the path (60 ms at most), losses, and marks if `ecn`: classic
    /// ones, or with `ect1` those of L4S. A frame is shown when all of its packets are there; nothing
    /// is sent again. A frame has 10,000 packets at most at the greatest rate.
    pub struct CallFlows kind "call" checked by adaptable {
        ..shared: Shared;
        /// Greatest size of a packet on the wire.
        packet_bytes: u16 = 1200, at_least(LEAST_CALL_BYTES).at_most(65_535.0).unit("bytes");
        /// Least rate of the video, headers included; each call starts with it.
        min_rate_bps: f64 = 150e3, at_least(1.0).at_most(1e12).unit("bits/s");
        /// Greatest rate.
        max_rate_bps: f64 = 1.5e6, at_least(1.0).at_most(1e12).unit("bits/s");
        /// Frames per second.
        frames_per_s: f64 = 30.0, at_least(0.1).at_most(1000.0).unit("1/s");
        /// How much frames differ in size: scale of their Laplace distribution, as a share of the mean
        /// (RFC 8593: 0.15).
        frame_scale: f64 = 0.15, at_least(0.0).at_most(1.0);
        /// Whether packets have ECT(0), or with `ect1` ECT(1), so that they are marked where others are
        /// dropped.
        ecn: bool = false;
        /// Starts are uniform over this time; no frame is made after `stop_s`.
        spread_s: f64 = 0.0, TIME;
    }
}

impl CallFlows {
    fn adaptable(&self, reader: &mut Reader) {
        if self.min_rate_bps > self.max_rate_bps {
            reader.say(format!(
                "min_rate_bps = {} must be at most max_rate_bps = {} (bits/s)",
                rounded(self.min_rate_bps),
                rounded(self.max_rate_bps)
            ));
        }
        let frame_bytes = self.max_rate_bps / self.frames_per_s / 8.0;
        let packets = (frame_bytes / f64::from(self.packet_bytes)).ceil();
        if packets > MOST_FRAME_PACKETS {
            reader.say(format!(
                "max_rate_bps = {} at frames_per_s = {} makes frames of {} packets of packet_bytes \
                 = {}; a frame must have {} at most",
                rounded(self.max_rate_bps),
                rounded(self.frames_per_s),
                rounded(packets),
                self.packet_bytes,
                rounded(MOST_FRAME_PACKETS)
            ));
        }
    }
}

fn poisson_only(gaps: &str) -> String {
    format!("gaps = {gaps} must be exponential with fgn: only its rate varies")
}

words! {
    /// Distribution of the times between two datagrams.
    pub enum GapKind {
        /// Always the same.
        Constant = "constant",
        /// Those of a Poisson process.
        Exponential = "exponential",
    }
}

table! {
    /// The second rate of a Markov-modulated Poisson process, and how long each rate lasts.
    ///
    /// These times are exponential. If the second rate is 0, the process is an interrupted Poisson
    /// process.
    pub struct Mmpp {
        /// The second rate; the first is the flow's `rate_bps`.
        other_rate_bps: f64, at_least(0.0).at_most(1e14).unit("bits/s");
        /// Mean time for which the first rate lasts.
        mean_s: f64, DURATION;
        /// Mean time for which the second one lasts. Both together must last a hundredth of the mean
        /// time between two datagrams.
        other_mean_s: f64, DURATION;
    }
}

table! {
    /// Datagrams (UDP) that nobody answers.
    pub struct DatagramFlows kind "datagrams" checked by one_arrival_process {
        ..shared: Shared;
        /// Size of a datagram on the wire.
        packet_bytes: u16 = 500, PACKET;
        /// Mean rate of each flow; of a flow that is on and off, or self-similar, its rate while
        /// it sends. Datagrams leave at whole nanoseconds, on average at this rate.
        rate_bps: f64, at_least(1e-3).at_most(1e14).unit("bits/s");
        /// Times between two datagrams: `constant`, or `exponential` (Poisson).
        gaps: GapKind = GapKind::Constant;
        /// Distribution of the times for which a flow sends. At least half of them must last a
        /// hundredth of the time between two datagrams; not given: it sends all the time.
        on: Option<Distribution>;
        /// Distribution of the times for which a flow pauses.
        off: Option<Distribution>;
        /// Bursts and pauses at many time-scales; instead of `on` and `off`.
        self_similar: Option<SelfSimilar>;
        /// Lets the rate vary; `gaps` must then be exponential.
        fgn: Option<Fgn>;
        /// Lets the rate change between two values; `gaps` must then be exponential.
        mmpp: Option<Mmpp>;
        /// Whether datagrams have ECT(0), so that they are marked where others are dropped.
        ecn: bool = false;
        /// Starts are uniform over this time.
        spread_s: f64 = 0.0, TIME;
    }
}

impl DatagramFlows {
    /// Returns the mean rate of a flow with its pauses, bits/s.
    pub(crate) fn mean_rate_bps(&self) -> f64 {
        let share = match (&self.on, &self.off, &self.self_similar) {
            (Some(on), Some(off), _) => on.mean_s() / (on.mean_s() + off.mean_s()),
            (_, _, Some(modulator)) => modulator.share,
            _ => 1.0,
        };
        match &self.mmpp {
            Some(of) => {
                let (one, other) = (
                    self.rate_bps * of.mean_s,
                    of.other_rate_bps * of.other_mean_s,
                );
                (one + other) / (of.mean_s + of.other_mean_s)
            }
            None => share * self.rate_bps,
        }
    }

    fn one_arrival_process(&self, reader: &mut Reader) {
        if self.on.is_some() != self.off.is_some() {
            reader.say("on and off must be given both or neither");
        }
        let given: Vec<_> = [
            ("on and off", self.on.is_some()),
            ("self_similar", self.self_similar.is_some()),
        ]
        .into_iter()
        .filter_map(|(name, given)| given.then_some(name))
        .collect();
        if let [first, ..] = given[..]
            && self.gaps != GapKind::Constant
        {
            reader.say(format!("gaps = exponential must be constant with {first}"));
        }
        if given.len() > 1 {
            reader.say("on and off exclude self_similar");
        }
        if self.fgn.is_some() && self.gaps != GapKind::Exponential {
            reader.say(poisson_only(self.gaps.word()));
        }
        if let Some(mmpp) = &self.mmpp {
            if self.fgn.is_some() {
                reader.say("mmpp excludes fgn");
            }
            if self.gaps != GapKind::Exponential {
                reader.say(format!(
                    "gaps = {} must be exponential with mmpp",
                    self.gaps.word()
                ));
            }
            reader.within("mmpp", |reader| {
                check_rate(
                    "other_rate_bps",
                    mmpp.other_rate_bps,
                    self.packet_bytes,
                    reader,
                );
                self.check_times(mmpp, reader);
            });
        }
        check_rate("rate_bps", self.rate_bps, self.packet_bytes, reader);
    }

    /// Reports two rates that change more than about 100 times between two datagrams: finding the next
    /// datagram would take longer than simulating it.
    fn check_times(&self, mmpp: &Mmpp, reader: &mut Reader) {
        let both_s = mmpp.mean_s + mmpp.other_mean_s;
        let gap_s = 8.0 * f64::from(self.packet_bytes) / self.mean_rate_bps();
        if 100.0 * both_s < gap_s {
            reader.say(format!(
                "mean_s = {} and other_mean_s = {} are {} s together; they must last a hundredth of \
                 the mean time between two datagrams, {} s",
                rounded(mmpp.mean_s),
                rounded(mmpp.other_mean_s),
                rounded(both_s),
                rounded(gap_s)
            ));
        }
    }
}

table! {
    /// The packets of a capture as datagrams that nobody answers; each of its flows is one flow.
    ///
    /// The first packet is sent at the start, and the others at their recorded distances from it, to
    /// the nanosecond. Sizes are those on the wire. `count` copies start independently.
    pub struct ReplayFlows kind "replay" {
        ..shared: Shared;
        /// The pcap or pcapng file.
        capture: Recorded;
        /// Starts are uniform over this time.
        spread_s: f64 = 0.0, TIME;
    }
}

kinds! {
    /// A group of flows.
    pub enum Flows {
        TcpFlows, ShortTcpFlows, WebFlows, VideoFlows, CallFlows, DatagramFlows, ReplayFlows
    }
}

impl Flows {
    /// Returns the fields that all groups have.
    pub fn shared(&self) -> &Shared {
        match self {
            Self::TcpFlows(flows) => &flows.shared,
            Self::ShortTcpFlows(flows) => &flows.shared,
            Self::WebFlows(flows) => &flows.shared,
            Self::VideoFlows(flows) => &flows.shared,
            Self::CallFlows(flows) => &flows.shared,
            Self::DatagramFlows(flows) => &flows.shared,
            Self::ReplayFlows(flows) => &flows.shared,
        }
    }

    /// Returns the TCP connections; `None` for datagrams.
    pub fn tcp(&self) -> Option<&Tcp> {
        match self {
            Self::TcpFlows(flows) => Some(&flows.tcp),
            Self::ShortTcpFlows(flows) => Some(&flows.tcp),
            Self::WebFlows(flows) => Some(&flows.tcp),
            Self::VideoFlows(flows) => Some(&flows.tcp),
            Self::CallFlows(_) | Self::DatagramFlows(_) | Self::ReplayFlows(_) => None,
        }
    }

    /// Returns what is wrong if a marker shall set the drop precedence of a DSCP that has none. The
    /// packets of a replay may have codepoints of their own.
    pub(crate) fn precedence_missing(&self) -> Option<String> {
        let dscp = self.shared().dscp;
        let is_recorded = matches!(self, Self::ReplayFlows(_)) && dscp == 0;
        let missing = self.shared().marker.is_some() && !is_assured(dscp) && !is_recorded;
        missing.then(|| {
            format!("dscp = {dscp} must be one of AF11 to AF43 with a marker, such as 10 (AF11)")
        })
    }

    /// Returns what is wrong if the flows shall have ECT(1) and have no ECN codepoint at all.
    pub(crate) fn codepoint_missing(&self) -> Option<String> {
        let (field, ecn) = match (self, self.tcp()) {
            (_, Some(tcp)) => ("tcp.ecn", tcp.ecn),
            (Self::DatagramFlows(flows), None) => ("ecn", flows.ecn),
            (Self::CallFlows(flows), None) => ("ecn", flows.ecn),
            (_, None) => return None,
        };
        let missing = self.shared().ect1 && !ecn;
        missing
            .then(|| format!("ect1 = true needs {field} = true: without it packets have Not-ECT"))
    }

    /// True if any packet of these flows can be marked.
    ///
    /// # Errors
    /// If a capture cannot be read.
    pub fn ecn_capable(&self) -> Result<bool, String> {
        if let Self::ReplayFlows(flows) = self {
            return Ok(flows
                .capture
                .packets()?
                .ecn
                .iter()
                .any(|ecn| ecn.is_capable()));
        }
        if let Self::DatagramFlows(flows) = self {
            return Ok(flows.ecn);
        }
        if let Self::CallFlows(flows) = self {
            return Ok(flows.ecn);
        }
        Ok(self.tcp().is_some_and(|tcp| tcp.ecn))
    }
}
