//! The counts of a port.

use sluice_aqm::Verdict;
use sluice_histogram::Histogram;

use crate::{
    bands::BandTallies,
    packet::{Kind, Packet},
};

/// Exact counts of the packets of one class and one kind at one port in a period of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    /// Packets that arrived.
    pub arrivals: u64,
    /// Count of each [`Verdict`]. Only losses, unless flows are counted by class.
    pub verdicts: [u64; Verdict::COUNT],
    /// Packets whose transmission began.
    pub sent: u64,
    /// Bytes of these packets.
    pub sent_bytes: u64,
    /// Times from arrival to the end of the transmission of these packets, ns.
    pub delay: Histogram,
}

impl Cell {
    /// Returns the number of packets lost.
    pub fn lost(&self) -> u64 {
        lost(&self.verdicts)
    }

    /// Counts a packet whose transmission begins.
    #[inline(always)]
    pub(crate) fn send(&mut self, delay_ns: u64, packet: &Packet) {
        self.sent += 1;
        self.sent_bytes += u64::from(packet.bytes);
        self.delay.add(delay_ns);
    }

    fn sum<'a>(cells: impl Iterator<Item = &'a Self>) -> Self {
        cells.fold(Self::default(), |mut sum, cell| {
            sum.arrivals += cell.arrivals;
            add(&mut sum.verdicts, &cell.verdicts);
            sum.sent += cell.sent;
            sum.sent_bytes += cell.sent_bytes;
            sum.delay.merge(&cell.delay);
            sum
        })
    }
}

/// What is counted of each class at one port, if flows are counted by class, whatever the kind of
/// its packets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClassQueue {
    /// Entry k: time during which k packets of the class waited, ns.
    pub queue_ns: Vec<u64>,
    /// Times from arrival to the start of the transmission, ns.
    pub sojourn: Histogram,
    /// Packets sent that had to wait.
    pub waited: u64,
}

impl ClassQueue {
    /// Counts a packet whose transmission begins.
    #[inline(always)]
    pub(crate) fn send(&mut self, sojourn_ns: u64) {
        self.sojourn.add(sojourn_ns);
        self.waited += u64::from(sojourn_ns > 0);
    }
}

/// Exact counts of one port in a period of a run, of all packets or of those of one class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Length of the period.
    pub duration_ns: u64,
    /// Time in which the link sent nothing; of a class, 0.
    pub idle_ns: u64,
    /// Entry k: time during which k packets waited, ns; the packet in transmission does not wait.
    pub queue_ns: Vec<u64>,
    /// Packets that arrived.
    pub arrivals: u64,
    /// Count of each [`Verdict`]: one for each arrival, and one for each packet that was dropped in
    /// addition, or dropped or marked at departure.
    pub verdicts: [u64; Verdict::COUNT],
    /// Packets whose transmission began.
    pub sent: u64,
    /// Bytes of these packets.
    pub sent_bytes: u64,
    /// Of a class, those of them that had to wait; else 0.
    pub waited: u64,
    /// Times from arrival to the start of the transmission of these packets, ns.
    pub sojourn: Histogram,
    /// Times from arrival to the end of the transmission of these packets, ns.
    pub delay: Histogram,
    /// Counts of each class, and in it of each [`Kind`]: of one class if flows are not counted by
    /// class. Empty in the counts of a class.
    pub cells: Vec<Cell>,
    /// Further counts of each class; empty if flows are not counted by class.
    pub classes: Vec<ClassQueue>,
    /// Counts of each band of the discipline; of none if it has none, or if flows are not counted by
    /// class.
    pub bands: BandTallies,
}

impl Tally {
    /// No counts yet; `classes` is the number of classes, `None` if flows are not counted by class, and
    /// `bands` the number of bands that are counted.
    pub(crate) fn new(classes: Option<usize>, bands: usize) -> Self {
        Self {
            bands: BandTallies::new(bands),
            cells: vec![Cell::default(); classes.unwrap_or(1) * Kind::COUNT],
            classes: vec![ClassQueue::default(); classes.unwrap_or(0)],
            ..Self::default()
        }
    }

    /// Returns the counts of a packet's class and kind.
    #[inline(always)]
    pub(crate) fn cell(&mut self, class: usize, packet: &Packet) -> &mut Cell {
        &mut self.cells[class * Kind::COUNT + packet.kind as usize]
    }

    /// Counts a packet that is sent. Its transmission starts `sojourn_ns` and ends `delay_ns` after
    /// its arrival.
    #[inline(always)]
    pub(crate) fn send<const BY_CLASS: bool>(
        &mut self,
        class: usize,
        sojourn_ns: u64,
        delay_ns: u64,
        packet: &Packet,
    ) {
        if BY_CLASS {
            self.classes[class].send(sojourn_ns);
        }
        self.sojourn.add(sojourn_ns);
        self.cell(class, packet).send(delay_ns, packet);
    }

    /// Returns the number of packets that arrived so far, before `close`.
    pub(crate) fn arrivals_so_far(&self) -> u64 {
        self.cells.iter().map(|cell| cell.arrivals).sum()
    }

    /// Returns the number of packets that were sent so far, before `close`.
    pub(crate) fn sent_so_far(&self) -> u64 {
        self.cells.iter().map(|cell| cell.sent).sum()
    }

    /// Returns the bytes that were sent so far, before `close`.
    pub(crate) fn sent_bytes_so_far(&self) -> u64 {
        self.cells.iter().map(|cell| cell.sent_bytes).sum()
    }

    /// Ends the period: sums up what was counted by class and kind. The verdicts are the queue's.
    pub(crate) fn close(&mut self, verdicts: [u64; Verdict::COUNT]) {
        let sum = Cell::sum(self.cells.iter());
        self.duration_ns = self.queue_ns.iter().sum();
        self.arrivals = sum.arrivals;
        self.verdicts = verdicts;
        self.sent = sum.sent;
        self.sent_bytes = sum.sent_bytes;
        self.delay = sum.delay;
    }

    /// Returns the counts of the packets of some kinds together.
    pub fn of_kinds(&self, kinds: &[Kind]) -> Cell {
        let of_kind = |kind: &Kind| self.cells.iter().skip(*kind as usize).step_by(Kind::COUNT);
        Cell::sum(kinds.iter().flat_map(of_kind))
    }

    /// Returns the counts of one class, if flows are counted by class.
    pub fn of_class(&self, class: usize) -> Option<Self> {
        let queue = self.classes.get(class)?;
        let cells = &self.cells[class * Kind::COUNT..(class + 1) * Kind::COUNT];
        Some(self.part(queue, Cell::sum(cells.iter())))
    }

    /// Returns the counts of each band.
    pub fn of_bands(&self) -> impl Iterator<Item = Self> {
        let bands = self.bands.queues.iter().zip(&self.bands.cells);
        bands.map(|(queue, cell)| self.part(queue, cell.clone()))
    }

    fn part(&self, queue: &ClassQueue, sum: Cell) -> Self {
        let ClassQueue {
            queue_ns,
            sojourn,
            waited,
        } = queue.clone();
        Self {
            duration_ns: self.duration_ns,
            idle_ns: 0,
            queue_ns,
            arrivals: sum.arrivals,
            verdicts: sum.verdicts,
            sent: sum.sent,
            sent_bytes: sum.sent_bytes,
            waited,
            sojourn,
            delay: sum.delay,
            cells: Vec::new(),
            classes: Vec::new(),
            bands: BandTallies::default(),
        }
    }

    /// Returns the number of packets lost.
    pub fn lost(&self) -> u64 {
        lost(&self.verdicts)
    }
}

/// Adds a time `ns` in which `waiting` packets waited.
#[inline]
pub(crate) fn hold(queue_ns: &mut Vec<u64>, waiting: usize, ns: u64) {
    if let Some(held_ns) = queue_ns.get_mut(waiting) {
        *held_ns += ns;
    } else {
        queue_ns.resize((waiting + 1).next_power_of_two(), 0);
        queue_ns[waiting] += ns;
    }
}

fn add(to: &mut [u64; Verdict::COUNT], from: &[u64; Verdict::COUNT]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
}

/// Returns the number of packets lost, from the counts of verdicts.
pub(crate) fn lost(verdicts: &[u64; Verdict::COUNT]) -> u64 {
    [
        Verdict::DropEarly,
        Verdict::DropForced,
        Verdict::DropOverflow,
        Verdict::DropBoth,
    ]
    .map(|verdict| verdicts[verdict as usize])
    .iter()
    .sum()
}
