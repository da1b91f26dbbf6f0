"""From a discipline of ours to the qdisc of Linux that is its twin, in the words of `tc`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from itertools import pairwise

from sluicegate.errors import SluiceError
from sluicegate.registry import PythonAqm, Value
from sluicegate.scenario import (
    Discipline,
    Fifo,
    Fq,
    NetworkScenario,
    Sfq,
)
from sluicegate.worlds.real.refusals import of_discipline
from sluicegate.worlds.twin.red import red_words

_BUILT_IN = ("pfifo", "bfifo", "pfifo_head_drop", "fq_codel")
_TWINS = (
    "drop_tail, red, ared, pie, codel, choke, sfb, cake, dualpi2; codel, pie and step with fq; "
    "drop_tail with sfq; gred, rio and wred in one queue; classes of prio and ets with one of these"
)
# by AQM, the parameters that a qdisc has by another name or not at all, at what it does
_FIXED: Mapping[str, Mapping[str, Value]] = {
    "red": {
        "average": "ewma",
        "sampling": "arrivals",
        "drop_function": "linear",
        "spacing": "uniformised",
        "idle_decay": True,
    },
    "ared": {
        "thresholds": "given",
        "interval": 0.5,
        "increment": 0.01,
        "decrease": 0.9,
        "max_p_least": 0.01,
        "max_p_greatest": 0.5,
        "drop_function": "linear",
        "spacing": "uniformised",
        "idle_decay": True,
    },
    # an Ethernet's largest packet
    "pie": {"max_burst": 0.15, "mark_ecnth": 0.1, "mtu_bytes": 1514},
    "codel": {},
    "choke": {},
    "sfb": {},
    "cake": {"queues": 1024, "mtu_bytes": 1514},
    "drop_tail": {},
    "dualpi2": {"like": "linux", "order": "weighted"},
    "step": {"of": "delay", "not_ect": "pass"},
}
_PIE_SCALE = 16
# of DualPI2: its gains are so many parts of 1 Hz; how far from one a scenario's may be; the largest
# coupling factor
_DUALPI2_SCALE, _DUALPI2_OFF, _MOST_COUPLING = 256, 0.02, 255
# a packet of the link with its Ethernet header is the kernel's MTU (include/net/pkt_sched.h:
# psched_mtu)
_MTU, _ETHERNET_BYTES = 1500, 14
# parts of a probability of sfb (SFB_MAX_PROB and 1)
_SFB_SCALE = 1 << 16
# packets that a flow of sfq may have (net/sched/sch_sfq.c: SFQ_MAX_DEPTH)
_SFQ_DEPTH = 127
# fq_codel's and fq_pie's own limit of memory, and what a packet of an Ethernet takes at the most
_FQ_MEMORY, _PACKET_MEMORY = 32 << 20, 4096
# cake's words by cake.ack_filter
_ACK_FILTERS = {"off": "no-ack-filter", "on": "ack-filter", "aggressive": "ack-filter-aggressive"}
# tc sets cake's target to this share of rtt (iproute2, q_cake.c)
_CAKE_TARGETS = 20
_US = 1e6
# by qdisc, the word before the rate to which it shapes by itself
_SHAPERS = {"cake": "bandwidth", "netem": "rate", "tbf": "rate"}
# a rate as tc takes it (tc(8), PARAMETERS): bits, or bytes as bps
_RATE = re.compile(r"([0-9.]+)(?:([kmgt]?)(i?)(bit|bps))?", re.IGNORECASE)


def modules_of(words: str) -> list[str]:
    """The kernel's modules of a qdisc in the words of `tc`."""
    name = words.split()[0]
    return [] if name in _BUILT_IN else [f"sch_{name}"]


def own_rate_bps(words: str) -> float | None:
    """The rate to which a qdisc in the words of `tc` shapes by itself, bits/s; None: to none."""
    name, *rest = words.split()
    key = _SHAPERS.get(name)
    given = next((rate for word, rate in pairwise(rest) if word == key), "")
    if (found := _RATE.fullmatch(given)) is None:
        return None
    number, prefix, binary, unit = found.groups(default="")
    scale = float(1024 if binary else 1000) ** " kmgt".index(prefix.lower() or " ")
    return float(number) * scale * (8 if unit.lower() == "bps" else 1)


def twin(scenario: NetworkScenario, discipline: Discipline, *, uncounted_bytes: int = 0) -> str:
    """The twin with the same parameters, as far as it has them.

    Args:
        scenario: What is run.
        discipline: Which discipline.
        uncounted_bytes: Of a packet's headers before that of IP, those that are left out before the
            qdisc counts (`tc stab`).

    Raises:
        SluiceError: If there is none, with the reason, a line for each.
    """
    if problems := list(_against(scenario, discipline)):
        raise SluiceError("\n".join(problems))
    return _Words(scenario, discipline, uncounted_bytes).twin()


def _against(scenario: NetworkScenario, discipline: Discipline) -> Iterator[str]:
    aqm = discipline.configured
    victim = discipline.victim or scenario.queue.victim
    if isinstance(aqm, PythonAqm):
        yield from of_discipline(discipline, "Linux")
        return
    if aqm.name not in _FIXED:
        yield f"aqm = {aqm.name} has no twin in Linux: {_TWINS} have"
        return
    for name, value in _FIXED[aqm.name].items():
        if aqm.params[name] != value:
            yield f"{aqm.name}.{name} = {aqm.params[name]} must be {value}, as in Linux"
    if scenario.queue.limit_bytes is not None:
        yield "queue.limit_bytes cannot be set: the twins' limits are in packets"
    match discipline.scheduler, aqm.name:
        case (Fifo(), "drop_tail") if victim == "random":
            yield "victim = random must be tail or front: Linux has no such FIFO"
        case (Fifo(), "drop_tail") | (Sfq(), "drop_tail") | (Fq(), "codel" | "step"):
            pass
        case (Fq(), "pie"):
            if aqm.params["like"] != "linux":
                yield f"pie.like = {aqm.params['like']} must be linux: Linux's fq_pie has its rules"
        case (Fifo(), "cake"):
            yield from _against_cake(aqm.params, victim)
        case (Fifo(), "codel") if aqm.params["ce_mask"]:
            yield "codel.ce_mask must be 0: Linux's codel has no selector; its fq_codel has"
        case (Fifo(), name) if name != "step":
            if victim != "tail":
                yield f"victim = {victim} must be tail, as in Linux's {aqm.name}"
        case (scheduler, _):
            yield f"{aqm.name} with scheduler {scheduler.kind} has no twin in Linux: {_TWINS} have"


def _against_cake(params: Mapping[str, Value], victim: str) -> Iterator[str]:
    if victim != "front":
        yield f"victim = {victim} must be front, as in Linux's cake"
    rtt, target = (float(params[name]) for name in ("rtt", "target"))
    if not math.isclose(target * _CAKE_TARGETS, rtt):
        wanted = f"rtt / {_CAKE_TARGETS} = {rtt / _CAKE_TARGETS:g}"
        yield f"cake.target = {target:g} must be {wanted}: tc sets it"


class _Words:
    """The words of `tc` for a discipline that has a twin."""

    def __init__(
        self, scenario: NetworkScenario, discipline: Discipline, uncounted_bytes: int
    ) -> None:
        self._scenario = scenario
        self._uncounted_bytes = uncounted_bytes
        self._discipline = discipline
        self._params = discipline.configured.params
        self._limit = scenario.queue.limit
        ecn = scenario.queue.ecn if discipline.ecn is None else discipline.ecn
        self._ecn = ecn
        self._packet_bytes = packet_bytes(scenario)

    def twin(self) -> str:
        """All of them."""
        name = self._discipline.configured.name
        words: str = getattr(self, f"_{name}")()
        return words

    def _number(self, name: str) -> float:
        return float(self._params[name])

    def _drop_tail(self) -> str:
        scheduler = self._discipline.scheduler
        if isinstance(scheduler, Sfq):
            if self._limit > _SFQ_DEPTH:
                raise SluiceError(
                    f"queue.limit = {self._limit} must be at most {_SFQ_DEPTH}: "
                    "a flow in Linux's sfq has no more packets"
                )
            # a power of two; and what a flow may have of the limit
            divisor = 1 << round(math.log2(scheduler.queues))
            return (
                f"sfq limit {self._limit} depth {self._limit} divisor {divisor} "
                f"quantum {self._packet_bytes} perturb {round(scheduler.perturbation_s)}"
            )
        victim = self._discipline.victim or self._scenario.queue.victim
        return f"{'pfifo_head_drop' if victim == 'front' else 'pfifo'} limit {self._limit}"

    def _red(self) -> str:
        return self._red_in_bytes(adaptive=False)

    def _ared(self) -> str:
        return self._red_in_bytes(adaptive=True)

    def _red_in_bytes(self, *, adaptive: bool) -> str:
        size = self._packet_bytes
        return (
            f"red limit {self._limit * size} {red_words(self._params, size, size, self._kbit())}"
            + " adaptive" * adaptive
            # beyond max_th Linux marks, unless told to drop as ours does
            + " ecn harddrop" * self._ecn
        )

    def _choke(self) -> str:
        if (max_th := self._number("max_th")) > self._limit:
            raise SluiceError(
                f"choke.max_th = {max_th:g} must be at most queue.limit = {self._limit}: "
                "tc takes no other"
            )
        words = red_words(self._params, 1, self._packet_bytes, self._kbit())
        return f"choke limit {self._limit} {words}" + " ecn" * self._ecn

    def _sfb(self) -> str:
        """Its own child is a FIFO with the same limit."""
        if not self._ecn:
            raise SluiceError("ecn = false must be true: Linux's sfb marks whatever can be marked")
        steps = (round(self._number(name) * _SFB_SCALE) for name in ("d1", "d2"))
        shares = " ".join(
            f"{word} {step / _SFB_SCALE:.8f}"
            for word, step in zip(("increment", "decrement"), steps, strict=True)
        )
        times = f"rehash {self._ms('rehash')} db {self._ms('warm_up')}"
        return (
            f"sfb {times} limit {self._limit} max {round(self._number('bin_max'))} "
            f"target {round(self._number('bin_size'))} {shares} "
            f"penalty_rate {round(self._number('penalty_rate'))} "
            f"penalty_burst {round(self._number('penalty_burst'))}"
        )

    def _ms(self, name: str) -> int:
        return round(self._number(name) * 1e3)

    def _kbit(self) -> int:
        return kbit(self._scenario)

    def _pie(self) -> str:
        estimated = self._params["delay"] == "estimated"
        scheduler = self._discipline.scheduler
        name, own = f"pie limit {self._limit}", ""
        if isinstance(scheduler, Fq):
            name = f"fq_pie limit {self._limit} flows {scheduler.queues}"
            own = f"quantum {scheduler.quantum_bytes}{self._memory()} ecn_prob 10 "
        return (
            f"{name} target {self._us('target')} tupdate {self._us('t_update')} {own}"
            f"alpha {round(_PIE_SCALE * self._number('alpha'))} "
            f"beta {round(_PIE_SCALE * self._number('beta'))} nobytemode "
            f"{'' if estimated else 'no_'}dq_rate_estimator {'ecn' if self._ecn else 'noecn'}"
        )

    def _codel(self) -> str:
        scheduler = self._discipline.scheduler
        times = f"target {self._us('target')} interval {self._us('interval')}{self._ce()}"
        ecn = "ecn" if self._ecn else "noecn"
        if isinstance(scheduler, Fq):
            return (
                f"fq_codel limit {self._limit} flows {scheduler.queues} "
                f"quantum {scheduler.quantum_bytes} {times} {ecn}{self._memory()}"
            )
        return f"codel limit {self._limit} {times} {ecn}"

    def _memory(self) -> str:
        """The memory for the limit, where it is more than fq_codel and fq_pie have."""
        memory = self._limit * _PACKET_MEMORY
        return f" memory_limit {memory}" if memory > _FQ_MEMORY else ""

    def _cake(self) -> str:
        """`overhead` makes Linux count from the IP header on, as the network world does.

        To do so it takes off the headers before it, whether or not they were counted.
        """
        params = self._params
        rate_bps = self._number("rate_bps")
        rate = f"bandwidth {round(rate_bps)}bit" if rate_bps else "unlimited"
        isolation = str(params["isolation"]).replace("_", "-")
        return (
            f"cake {rate} {params['diffserv']} {isolation} rtt {self._us('rtt')} "
            f"overhead {round(self._number('overhead_bytes')) + self._uncounted_bytes} "
            f"mpu {round(self._number('mpu_bytes'))} {params['framing']} "
            f"{_ACK_FILTERS[str(params['ack_filter'])]} nonat nowash no-split-gso "
            f"memlimit {self._limit * _PACKET_MEMORY} "
            f"{'ingress' if params['ingress'] else 'egress'}"
        )

    def _ce(self) -> str:
        """The threshold beyond which CoDel marks all; Linux's marks even with `noecn`."""
        if not (self._ecn and self._params["ce_threshold"]):
            return ""
        mask = round(self._number("ce_mask"))
        words = f" ce_threshold {self._us('ce_threshold')}"
        if mask:
            words += f" ce_threshold_selector {round(self._number('ce_selector')):#x}/{mask:#x}"
        return words

    def _step(self) -> str:
        scheduler = self._discipline.scheduler
        assert isinstance(scheduler, Fq)
        quantum = scheduler.quantum_bytes
        # without pacing: of forwarded packets none has a time at which it may leave
        return (
            f"fq limit {self._limit} flow_limit {self._limit} quantum {quantum} "
            f"initial_quantum {quantum} nopacing"
            + (f" ce_threshold {self._us('threshold')}" if self._ecn else "")
        )

    def _dualpi2(self) -> str:
        self._check_dualpi2()
        drops = self._params["overload"] == "drop"
        return (
            f"dualpi2 limit {self._limit} target {self._us('target')} "
            f"tupdate {self._us('t_update')} {self._gain('alpha')} {self._gain('beta')} "
            f"step_thresh {self._us('step')} min_qlen_step {round(self._number('min_qlen_step'))} "
            f"coupling_factor {round(self._number('coupling'))} "
            f"{'drop_on_overload' if drops else 'overflow'} drop_dequeue "
            f"classic_protection {round(100 * self._number('classic_share'))}%"
        )

    def _check_dualpi2(self) -> None:
        """Refuse what Linux's DualPI2 cannot have.

        Raises:
            SluiceError: If there is something.
        """
        if not self._ecn:
            raise SluiceError("ecn = false must be true: Linux's dualpi2 always marks")
        k = self._number("coupling")
        if k != round(k) or k > _MOST_COUPLING:
            raise SluiceError(
                f"dualpi2.coupling = {k:g} must be whole, and at most {_MOST_COUPLING}, as in Linux"
            )
        percent = 100 * self._number("classic_share")
        if abs(percent - round(percent)) > 1e-6:
            raise SluiceError(
                f"dualpi2.classic_share = {percent / 100:g} must be whole percents, as in Linux"
            )
        mtu = max(_MTU, self._packet_bytes) + _ETHERNET_BYTES
        if self._number("mtu_bytes") != mtu:
            raise SluiceError(
                f"dualpi2.mtu_bytes = {self._number('mtu_bytes'):g} must be {mtu}, that of the link"
            )

    def _gain(self, name: str) -> str:
        """A gain of DualPI2, a little above a multiple of 1/256 Hz: `tc` rounds down.

        Raises:
            SluiceError: If it is not near to such a multiple.
        """
        value = self._number(name)
        parts = round(value * _DUALPI2_SCALE)
        if not parts or abs(value * _DUALPI2_SCALE / parts - 1) > _DUALPI2_OFF:
            raise SluiceError(
                f"dualpi2.{name} = {value:g} must be a multiple of 1/{_DUALPI2_SCALE}, as in Linux"
            )
        return f"{name} {(parts + 0.1) / _DUALPI2_SCALE:.6f}"

    def _us(self, name: str) -> str:
        return f"{round(self._number(name) * _US)}us"


def packet_bytes(scenario: NetworkScenario) -> int:
    """Size of the packets: qdiscs that count bytes take thresholds of packets in them."""
    sizes = [flows.packet_bytes for flows in scenario.flows if flows.packet_bytes is not None]
    return max(sizes, default=1500)


def kbit(scenario: NetworkScenario) -> int:
    """Rate of the link, kbit/s."""
    return round(scenario.topology.rate_bps / 1e3)  # type: ignore[union-attr]
