"""What RFC 7928 leaves open, and what is chosen here."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Choice:
    """Something that the RFC leaves to the tester.

    Attributes:
        section: Of the RFC.
        open: What is open.
        chosen: What is done here.
    """

    section: str
    open: str
    chosen: str


CHOICES = [
    Choice(
        "3, 5 to 10",
        "rates, durations, replications, packet sizes and round trips",
        "those of the profile, which is printed",
    ),
    Choice(
        "8.2.1",
        "how N is rounded at .5",
        "to the even number; N is 1 at least, and the factors are those that the RFC prints (.114)",
    ),
    Choice(
        "3.2, 8.2.1",
        "which round trip sets the buffer and S where they differ",
        "the profile's; the longest of 6.2 would hide the shorter one's queue",
    ),
    Choice(
        "2.7",
        "what one point of an ellipse is",
        "a replication: starts are drawn over ten round trips, and each pair's round trip within "
        "5 % of its nominal value, the same for all disciplines",
    ),
    Choice("2.7", "goodput of a sender or of all", "that of the class, all its flows together"),
    Choice(
        "2.7",
        "delay above the least round trip, or one way",
        "the mean time in all queues that a class meets, those of its ACKs among them",
    ),
    Choice(
        "2.7", "how often goodput is sampled", "every ten round trips, the same for all disciplines"
    ),
    Choice(
        "5.1.1, 5.4",
        "NewReno with SACK or without",
        "with SACK (RFC 6675), an initial window of 3, delayed ACKs of 100 ms, no pacing",
    ),
    Choice(
        "5.1.2",
        "when the goodput is stable",
        "after a third of the time that counts; the short flow has 50 packets",
    ),
    Choice(
        "5.4",
        "target and gain of LEDBAT (the RFC's example: 5 ms and 10)",
        "100 ms and 1, the greatest that RFC 6817 allows; one flow of each kind",
    ),
    Choice(
        "6.2",
        "which round trips between 5 and 560 ms",
        "0.05, 0.2, 0.5, 1, 2 and 5.6 times the profile's, which is that of the first category",
    ),
    Choice(
        "7.2, 9.1",
        "how pages, video and constant rate are sent",
        "pages: 50 objects of 12 kB on average (Pareto, shape 1.2: none below 2 kB) over six "
        "connections with an initial window of 10; the next page is asked for a second on average "
        "after the last object. Connections stay open from page to page. Video: segments of 2 s at "
        "0.05, 0.1, 0.2, 0.3 or 0.4 of the link, as the buffer of 20 s says (BBA-0, Huang et al. "
        "2014). "
        "Constant rate: a twentieth of the link. Call: 80 kb/s in packets of 200 bytes",
    ),
    Choice(
        "8.2.5",
        "whether flows that pause keep their window",
        "flows that are too many end, and those that are missing are new connections",
    ),
    Choice(
        "8.2.6",
        "how many flows, and which buffer",
        "those of mild congestion; the profile's buffer, one BDP of the slower capacity",
    ),
    Choice(
        "8.2",
        "how it is seen that all flows are in congestion avoidance, which is time 0",
        "time 0 is the end of the warm-up, which measures leave out; in 8.2.2 to 8.2.4 it is shown "
        "which share of the flows has lost a packet by then, which ends their first slow start; a "
        "time-out later begins another one",
    ),
    Choice(
        "2.2",
        "what opens a flow, which gives its start-up time (section 9.1)",
        "a name, a connection and TLS 1.3: three exchanges of one small packet, one after the "
        "other, each as long as the mean one of section 9.1, with TCP's retransmissions",
    ),
    Choice(
        "2.4",
        "how long a loss event is",
        "a round trip of the profile from its first loss on",
    ),
    Choice(
        "3.1, 9.2",
        "the asymmetry",
        "section 3.1: the way back has a tenth of the rate; 9.2: that of the profile",
    ),
    Choice(
        "10.2",
        "rates of the two bottlenecks, and what differs",
        "the flows of mild congestion in two halves. The first has half of the second's rate, so "
        "that both are full. Other parameters: the second has twice the first one that is a time "
        "(or a number). Another AQM: CoDel, behind CoDel PIE",
    ),
    Choice(
        "9.1",
        "how quickly a network answers under load (not in the RFC)",
        "RPM by draft-ietf-ippm-responsiveness-09, from exchanges of one packet of 100 bytes that "
        "are added to the mix, one after the other with a pause of 0.1 s on average, and from the "
        "round trips of the long flows",
    ),
    Choice(
        "9.1",
        "how a call is judged",
        "MOS by the E-model (ITU-T G.107, G.711 with concealment, Bpl 25.1): the delay is the p99 "
        "one-way delay and 20 ms, and the 1 % that comes later is lost",
    ),
]
