"""The words that pages explain, in the words of the glossary in the documentation."""

from __future__ import annotations

import re
from collections.abc import Iterator

from markupsafe import Markup, escape

MEANINGS = {
    "sojourn": "time from a packet's arrival at a queue until its transmission (service) starts",
    "delay": "time from a packet's arrival at a queue until its transmission (service) ends",
    "lateness": "time from the moment at which a packet is due to leave the router sluiced until "
    "it leaves",
    "RTT": "round-trip time: from sending a packet until its ACK comes back",
    "completion time": "time from the start of a flow until all that it sent was acknowledged",
    "slot": "unit of time of the slotted world and the chain",
    "warm-up": "start of a run, which the measures leave out",
    "AQM": "active queue management: the rule by which packets are dropped or marked before the "
    "buffer is full",
    "queue": "the packets that wait before a link, without the one in transmission",
    "buffer": "the memory in which packets wait before a link",
    "discipline": "AQM, scheduler, limit, victim and marking together: all that decides about the "
    "packets before a link",
    "scheduler": "how packets are spread over several queues, and which queue sends next",
    "forced drop": "a drop where the drop function gives 1 and leaves nothing to chance; never a "
    "mark",
    "overflow": "a drop because the buffer has no room for the packet",
    "victim": "which packet is lost when one must be dropped: the one that arrives (tail), the one "
    "at the head (front), or one of those that wait (random)",
    "lane": "one of the queues of a scheduler or of a discipline with several",
    "tin": "one of the classes of service of CAKE, with queues of its own",
    "queueing delay": "what queues add to the time of a packet: its mean sojourns at all queues "
    "together, or mean queue over throughput",
    "drop function": "the drop probability that goes with an average queue",
    "Hurst parameter": "how long bursts are remembered: 0.5 for no long memory, near 1 for very "
    "much",
    "fGn": "fractional Gaussian noise: an exactly self-similar noise with a given Hurst parameter",
    "capture": "packets recorded in a pcap or pcapng file",
    "replay": "arrivals at the times and with the sizes of a capture",
    "trace": "the text file of events that ns-2 writes; a trace of a link is a recording of its "
    "rate",
    "link": "a connection of two nodes, as a scenario writes it: in one direction, or in both",
    "flow": "the packets of one TCP connection, or of one sender of datagrams",
    "congestion control": "how TCP's window grows and shrinks: Reno, CUBIC, DCTCP, BBR, "
    "Prague, LEDBAT",
    "goodput": "what receivers got in a unit of time, each packet once: data of TCP that is "
    "acknowledged, and datagrams that arrived",
    "throughput": "packets, or bits, that a link sends in a unit of time, retransmissions included",
    "utilization": "share of the time in which the link sends",
    "deviation": "mean absolute difference of the queue from its own mean",
    "fairness": "Jain's index of what the flows got, each over its max-min fair share",
    "interval": "the 95 % confidence interval; the figure after ± is its half width",
    "replication": "one of several independent runs of the same scenario",
    "batch means": "intervals from long parts of a run that count as independent",
    "world": "a place in which disciplines are judged: slotted, chain, network, a router in user "
    "space (gate), a Linux in virtual time with our qdisc (kernel) or its own (twin)",
    "claim": "a sentence of a paper, tested against what the worlds measure",
}

_LONGEST_FIRST = "|".join(re.escape(term) for term in sorted(MEANINGS, key=len, reverse=True))
# not what is a part of a path, a field, an option or a command
_WORD = re.compile(
    r"(?<![-\w./~=])(?<!sluice )(?<!sluiced )"
    # plurals match, too
    rf"({_LONGEST_FIRST})(e?s)?"
    r"(?!\w|[-./]\w|\s?=)",
    re.IGNORECASE,
)
_TERMS = {term.lower(): term for term in MEANINGS}


def found_first(text: str, told: set[str]) -> Iterator[tuple[str, str]]:
    """A text in pieces: words that name a term, with it, and the text between, with "".

    Args:
        text: As it was written.
        told: Terms that were found before; those found here are added.
    """
    end = 0
    for found in _WORD.finditer(text):
        term = _TERMS[found[1].lower()]
        if term not in told:
            told.add(term)
            yield text[end : found.start()], ""
            yield found[0], term
            end = found.end()
    yield text[end:], ""


class Glossary:
    """Links the words of one page to their meanings, and knows which were used."""

    def __init__(self) -> None:
        self._used: set[str] = set()

    def linked(self, text: str, of: str = "") -> Markup:
        """A text as HTML; the first occurrence of each word links to its meaning.

        Args:
            text: As it was written.
            of: The word whose meaning the text is.
        """
        return self._linked(text, {of})

    def linked_once(self, text: str) -> Markup:
        """Likewise, except for words linked elsewhere on the page: a table has many cells."""
        return self._linked(text, set(self._used))

    def _linked(self, text: str, here: set[str]) -> Markup:
        """A text whose words link to their meanings, except those in `here` already."""
        parts = [
            Markup('<a href="#{}">{}</a>').format(anchor(term), words) if term else escape(words)
            for words, term in found_first(text, here)
        ]
        self._used |= here
        return Markup("").join(parts)

    def meanings(self) -> Iterator[tuple[str, str, Markup]]:
        """Anchor, word and meaning of all that were used, and of those that their meanings use."""
        told: set[str] = set()
        while left := [term for term in MEANINGS if term in self._used - told]:
            for term in left:
                told.add(term)
                yield anchor(term), term, self.linked(f"{MEANINGS[term]}.", term)


def anchor(term: str) -> str:
    """Where the meaning of a term stands on a page."""
    return f"word-{term.lower().replace(' ', '-')}"
