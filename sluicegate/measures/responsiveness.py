"""Round trips per minute under load (draft-ietf-ippm-responsiveness-09)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sluicegate.counts import FloatArray, FlowCounts, Times
from sluicegate.measures.definition import Definition, Unit

DRAFT = "draft-ietf-ippm-responsiveness-09"
# share of the samples that a trimmed mean keeps, the smallest ones (TMP)
_KEPT = 0.95
_S_PER_MINUTE = 60.0
_NS_PER_S = 1e9


def trimmed_mean(times: ArrayLike, kept: float = _KEPT) -> float | None:
    """The mean of the smallest `kept` share of some times; None if there are none.

    A time that is None or not finite is that of an exchange that never ended. It counts as longer
    than all others: the mean is None, too, if one is among those that are kept. If it were left
    out, a link would look the better the more it loses.
    """
    given = np.asarray(times, dtype=np.float64)
    rows = np.sort(np.where(np.isfinite(given), given, np.inf))
    # a product such as 0.95 * 20 may be just below a whole number
    count = int(np.ceil(round(kept * len(rows), 9)))
    mean = rows[:count].mean() if count else np.inf
    return float(mean) if np.isfinite(mean) else None


def round_trips_per_minute(
    tcp_s: ArrayLike, http_s: ArrayLike, loaded_s: ArrayLike, tls_s: ArrayLike | None = None
) -> float | None:
    """RPM: the mean of those of new connections and of those that carry the load.

    Earlier drafts take the mean of the times instead. A time of an exchange that never ended is
    None or infinite: RPM is None if more than 5 % of a kind are so.

    Args:
        tcp_s: Handshakes of new connections, s.
        http_s: Exchanges of one byte on them, s.
        loaded_s: The same on connections that carry the load, s.
        tls_s: Handshakes of TLS, each over the round trips that it needs; None: without TLS.

    Returns:
        Round trips per minute; None if one of the kinds has no mean, or only times of 0.
    """
    kinds = [tcp_s, http_s, *([] if tls_s is None else [tls_s])]
    foreign = [trimmed_mean(each) for each in kinds]
    own = trimmed_mean(loaded_s)
    known = [each for each in foreign if each is not None]
    if not own or len(known) < len(foreign) or not sum(known):
        return None
    return (_S_PER_MINUTE * len(known) / sum(known) + _S_PER_MINUTE / own) / 2


def _of_counts(c: FlowCounts) -> FloatArray:
    """RPM of each replication; a handshake takes as long as an exchange: both are one packet."""

    def per_minute(times: Times | None) -> FloatArray:
        assert times is not None
        return _S_PER_MINUTE * _NS_PER_S / times.trimmed_mean(_KEPT)

    return (per_minute(c.foreign) + per_minute(c.own)) / 2


# only where there are exchanges of one packet beside flows without an end
RPM: list[Definition[FlowCounts]] = [
    Definition(
        "rpm",
        "RPM",
        Unit("1/min"),
        r"(60 / \bar h + 60 / \bar l) / 2",
        f"round trips per minute under load by {DRAFT}, without TLS: of the exchanges h of users "
        "of the web whose objects all are one packet, and of the round trips l of the TCP flows "
        "without an end, by the means of the smallest 95 % of each, in seconds; a load with "
        "rate_bps may not fill the link",
        _of_counts,
    )
]
