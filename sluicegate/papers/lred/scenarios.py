"""What the experiments have in common: dumb-bell, TCP, disciplines, and the open choices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sluicegate.registry import Value
from sluicegate.scenario import Discipline, Flows, Queue
from sluicegate.worlds.network import Dumbbell, NetworkScenario, Tcp, TcpFlows

REPLICATIONS = 10
DURATION_S, SAMPLE_S = 200.0, 0.1
LINK_BPS, PACKET_BYTES = 10e6, 500
CAPACITY = LINK_BPS / 8 / PACKET_BYTES
Q_REF, LIMIT = 100, 200
# between clients and router 1, experiment 1
DELAYS_S = (0.01, 0.05, 0.1, 0.15, 0.2)
SPREAD_S = 1.0
# when other traffic comes and goes, experiments 4 and 5
COME_S, GO_S = 50.0, 150.0
# LRED's parameters in section 6
W_M, T_M_S, M, BETA = 0.1, 1.0, 4, 0.001


_NS2 = Tcp(like="ns2", packet_bytes=PACKET_BYTES)


@dataclass(frozen=True)
class Reading:
    """One way to read what the paper leaves open.

    Attributes:
        name: How it is called beside the others.
        access_rate_bps: Of all links but the bottleneck.
        tcp: Every TCP connection.
        on_rate: Rate of a UDP flow while on, over r C / 100 (experiment 4).
        rem: Where REM sees the input's excess; see `aqm/rem.h`.
    """

    name: str
    access_rate_bps: float = 100e6
    tcp: Tcp = _NS2
    on_rate: float = 2.0
    rem: Literal["queue", "rate"] = "queue"


MAIN = Reading("main")
SLOW_ACCESS = Reading("access links of 10 Mb/s", access_rate_bps=10e6)
OLD_TIMERS = Reading("TCP's older timers", tcp=_NS2.replace(min_rto_s=1.0, tick_s=0.1))
SMALL_WINDOW = Reading("a receiver window of 20", tcp=_NS2.replace(receiver_window=20))
NS2_REM = Reading("ns-2's REM", rem="rate")
HALF_ON_RATE = Reading("half the ON rate", on_rate=1.0)


def lred(q_ref: float = Q_REF, label: str = "LRED", **params: Any) -> Discipline:
    """LRED as in section 6: w_m = 0.1, t_m = 1 s, M = 4, beta = 0.001."""
    own = {"w_m": W_M, "t_m": T_M_S, "m": M, "beta": BETA}
    return Discipline(aqm="lred", params={"q_ref": q_ref, **own, **params}, label=label)


def pi(q_ref: float = Q_REF) -> Discipline:
    """PI with ns-2's coefficients at 170 Hz."""
    return Discipline(aqm="pi", params={"q_ref": q_ref}, label="PI")


def pi_star(n_min: int, r_max: float, q_ref: float = Q_REF) -> Discipline:
    """PI*: coefficients designed for N- flows and round trips of R+ seconds."""
    design: dict[str, Value] = {
        "coefficients": "designed",
        "n_min": n_min,
        "r_max": r_max,
        "capacity": CAPACITY,
    }
    return Discipline(aqm="pi", params={"q_ref": q_ref, **design}, label="PI*")


def rem(q_ref: float = Q_REF, reading: Reading = MAIN) -> Discipline:
    """REM: phi = 1.001, alpha = 0.1, gamma = 0.001, every 2 ms; equations 35 to 37 or ns-2's."""
    params = {"q_ref": q_ref, "congestion": reading.rem}
    return Discipline(aqm="rem", params=params, label="REM")


def avq(alpha: float = 0.15) -> Discipline:
    """AVQ with the wanted utilisation 0.98."""
    return Discipline(aqm="avq", params={"gamma": 0.98, "alpha": alpha}, label=f"AVQ {alpha:g}")


def red(q_ref: float = Q_REF) -> Discipline:
    """RED, gentle, with its thresholds around the queue that the others hold."""
    thresholds = {"min_th": q_ref / 2, "max_th": 3 * q_ref / 2, "max_p": 0.1}
    return Discipline(aqm="gentle_red", params=thresholds, label="RED")


def drop_tail() -> Discipline:
    """Nothing but the buffer."""
    return Discipline(aqm="drop_tail", label="drop-tail")


def regulating(
    reading: Reading, n_min: int, r_max: float, q_ref: float = Q_REF
) -> list[Discipline]:
    """Those that the paper compares in all experiments: they hold the queue at q_ref."""
    return [lred(q_ref), pi_star(n_min, r_max, q_ref), pi(q_ref), rem(q_ref, reading)]


def others(q_ref: float = Q_REF) -> list[Discipline]:
    """RED and AVQ, which stand beside those four in some cases of the main reading."""
    return [red(q_ref), avq()]


def long_lived(count: int, reading: Reading, route: str = "forward") -> TcpFlows:
    """Persistent flows that start within a second."""
    return TcpFlows(count=count, spread_s=SPREAD_S, tcp=reading.tcp, route=route)


def dumbbell(
    flows: Sequence[Flows],
    discipline: Discipline,
    reading: Reading,
    *,
    delays_s: Sequence[float] = DELAYS_S,
    rate_bps: float = LINK_BPS,
    limit: int = LIMIT,
    duration_s: float = DURATION_S,
    sample_s: float = SAMPLE_S,
    two_way: bool = False,
) -> NetworkScenario:
    """One discipline on the network of figure 4; measures are of the whole run, start included.

    Args:
        flows: All groups.
        discipline: Before the bottleneck, and before its reverse direction if `two_way`.
        reading: What the paper leaves open.
        delays_s: Between the clients and router 1.
        rate_bps: Of the bottleneck.
        limit: Buffer, packets.
        duration_s: Of each run.
        sample_s: Between two samples of the queue.
        two_way: Whether both directions have the discipline.
    """
    return NetworkScenario(
        topology=Dumbbell(
            rate_bps=rate_bps,
            delay_s=0.0025,
            client_delays_s=list(delays_s),
            server_delay_s=0.0025,
            access_rate_bps=reading.access_rate_bps,
            two_way=two_way,
        ),
        flows=list(flows),
        queue=Queue(limit=limit),
        disciplines=[discipline],
        duration_s=duration_s,
        warm_up_s=0,
        sample_s=sample_s,
        replications=REPLICATIONS,
    )
