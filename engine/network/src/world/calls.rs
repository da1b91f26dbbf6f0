//! Video calls: what their ends send, and when they next act.

use sluice_ecn::Ecn;
use sluice_link::Instant;
use sluice_scream::{Feedback, REPORTED};

use super::World;
use crate::{agenda::Task, endpoints::CallEnds, packet::Packet, trace::Trace};

/// IP, UDP, and RTCP with a report of two bytes for each packet (RFC 8888, section 3.1).
const FEEDBACK_BYTES: u16 = 20 + 8 + 20 + 2 * REPORTED as u16;

impl<T: Trace, const BY_CLASS: bool> World<T, BY_CLASS> {
    /// A frame is made.
    pub(super) fn make_frame(&mut self, now: Instant, number: u32) {
        let call = &mut self.ends.calls[number as usize];
        if let Some(next_ns) = call.caller.make(now.ns) {
            self.enter_at(next_ns, Task::Frame(number));
        }
        self.send_video(now, number);
    }

    /// The timer of a sender has run out, unless it was set anew.
    pub(super) fn call_may_send(&mut self, now: Instant, number: u32) {
        let call = &mut self.ends.calls[number as usize];
        if call.sends_ns == Some(now.ns) {
            call.sends_ns = None;
            self.send_video(now, number);
        }
    }

    /// Sends what may leave now.
    fn send_video(&mut self, now: Instant, number: u32) {
        let CallEnds {
            caller,
            flow,
            routes: [there, _],
            sends_ns,
            ..
        } = &mut self.ends.calls[number as usize];
        let [class, _] = caller.traffic_classes();
        let counts = &mut self.ends.datagrams[*flow as usize];
        while let Some(unit) = caller.sender.send(now.ns) {
            counts.sent += 1;
            counts.start_ns.get_or_insert(now.ns);
            let mut packet = Packet::datagram(*flow, unit.seq, unit.bytes, class);
            let groups = &self.ends.datagram_groups;
            self.ends.markers.mark(groups, now.ns, &mut packet);
            self.network.send(now.ticks, *there, packet);
        }
        // a pace below the clock's grain must not stop the clock
        let due_ns = caller.sender.release_ns().map(|due| due.max(now.ns + 1));
        if let Some(due_ns) = due_ns
            && sends_ns.is_none_or(|set_ns| due_ns < set_ns)
        {
            *sends_ns = Some(due_ns);
            self.enter_at(due_ns, Task::CallSends(number));
        }
    }

    /// A packet of video arrives.
    pub(super) fn show_video(&mut self, now: Instant, number: u32, packet: &Packet) {
        let call = &mut self.ends.calls[number as usize];
        call.received_bytes += u64::from(packet.bytes);
        let arrival = call.caller.arrived(now.ns, packet.number);
        let marked = packet.ecn() == Ecn::Ce;
        let receiver = &mut call.caller.receiver;
        let feedback = receiver.on_packet(now.ns, packet.number, marked, arrival.ends);
        if BY_CLASS && let Some(frame_ns) = arrival.frame_ns {
            self.ends.note_frame(number, frame_ns);
        }
        self.feed_back(now, number, feedback);
    }

    /// The timer of a receiver has run out, unless it was set anew.
    pub(super) fn call_may_answer(&mut self, now: Instant, number: u32) {
        let call = &mut self.ends.calls[number as usize];
        if call.answers_ns == Some(now.ns) {
            call.answers_ns = None;
            let feedback = call.caller.receiver.on_timer(now.ns);
            self.feed_back(now, number, feedback);
        }
    }

    fn feed_back(&mut self, now: Instant, number: u32, feedback: Option<Feedback>) {
        let call = &mut self.ends.calls[number as usize];
        if let Some(feedback) = feedback {
            let [_, class] = call.caller.traffic_classes();
            let aside = self.network.aside.feedback.keep(feedback);
            let sizes = (FEEDBACK_BYTES, class);
            let packet = Packet::feedback(call.flow, call.answers, sizes, aside);
            call.answers += 1;
            self.network.send(now.ticks, call.routes[1], packet);
        }
        if let Some(due_ns) = call.caller.receiver.deadline_ns()
            && call.answers_ns.is_none_or(|set_ns| due_ns < set_ns)
        {
            call.answers_ns = Some(due_ns);
            self.enter_at(due_ns, Task::CallAnswers(number));
        }
    }

    /// Feedback arrives.
    pub(super) fn learn_of_video(&mut self, now: Instant, packet: &Packet) {
        let feedback = self.network.aside.feedback.take(packet.aside);
        if let Some(number) = self.ends.datagrams[packet.flow as usize].call {
            let call = &mut self.ends.calls[number as usize];
            call.caller.sender.on_feedback(now.ns, &feedback);
            self.send_video(now, number);
        }
    }
}
