"""From a capture to the figures that describe its traffic and the source that imitates it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sluicegate.errors import SluiceError
from sluicegate.traffic.capture import Capture
from sluicegate.traffic.hurst import (
    SHORTEST_SERIES,
    HurstEstimate,
    rescaled_range,
    variance_of_means,
    variance_time,
    wavelet,
)
from sluicegate.traffic.modulator import Modulator

FloatArray = NDArray[np.float64]

_LEAST_PACKETS = 1000
_MOST_BINS = 16384
_STATES = 5
_SIMULATED_PATHS = 39  # their least and greatest are a 95 % band: 2 / (39 + 1) lie outside


class Row(NamedTuple):
    """One figure of a fit: a name, a value, its unit ("" if it has none), and what it means.

    `low` and `high` are the ends of its 95 % interval, where it has one.
    """

    name: str
    value: float | int | str
    unit: str
    meaning: str
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, eq=False)
class FittedSource:
    """The modulator fitted to a capture, and its variance-time curve beside the capture's.

    The curves are squared coefficients of variation of the packets in a window: variance /
    mean^2, without unit. A short record shows less variance than the true one; `model` is what a
    record as long as the capture shows on average, and so compares with `data`.

    Attributes:
        modulator: Fitted to the mean and, over all of `scales_s`, the variance-time H.
        slot_s: Length of the modulator's slot.
        scales_s: Lengths of the windows, shape (k,).
        data: The capture's curve, shape (k,).
        model: The modulator's exact curve, shape (k,).
        simulated_low: Least of 39 simulated records as long as the capture, shape (k,).
        simulated_high: Greatest of them, shape (k,); 95 % of records lie between.
        simulated_hurst: Variance-time estimate from the first simulated record.

    """

    modulator: Modulator
    slot_s: float
    scales_s: FloatArray
    data: FloatArray
    model: FloatArray
    simulated_low: FloatArray
    simulated_high: FloatArray
    simulated_hurst: HurstEstimate

    @property
    def deviation_factor(self) -> float:
        """Typical factor between `data` and `model`: 10 to the r.m.s. of the log10 ratio."""
        return float(10 ** _log_deviation(self.data, self.model))

    @property
    def scales_within(self) -> int:
        """Number of scales at which `data` lies within the simulated band."""
        return int(((self.simulated_low <= self.data) & (self.data <= self.simulated_high)).sum())


@dataclass(frozen=True, eq=False)
class TrafficFit:
    """What a capture's traffic is like.

    Attributes:
        capture: The capture.
        bin_s: Length of the bins of `counts`.
        counts: Packets per bin, shape (n,).
        peak_to_mean: Packets in the busiest bin over packets in the mean bin.
        interarrival_scv: Squared coefficient of variation of the times between packets.
        idc_scales_s: Windows of the index of dispersion, shape (k,).
        idc: Index of dispersion for counts, variance / mean of the packets in a window, shape (k,).
        variance_time: Hurst parameter from the variance-time plot.
        rescaled_range: Hurst parameter from the rescaled range.
        wavelet: Hurst parameter from the wavelet spectrum.
        source: The modulator fitted to it, or None.
        source_problem: Why there is no source; "" if there is one.

    """

    capture: Capture
    bin_s: float
    counts: NDArray[np.int64]
    peak_to_mean: float
    interarrival_scv: float
    idc_scales_s: FloatArray
    idc: FloatArray
    variance_time: HurstEstimate
    rescaled_range: HurstEstimate
    wavelet: HurstEstimate
    source: FittedSource | None
    source_problem: str

    def rows(self) -> list[Row]:
        """Return every figure with unit and meaning, in the order in which to show them."""
        capture = self.capture
        bin_text = f"{self.bin_s:g} s"
        rows = [
            Row("packets", capture.packets, "packets", "IP packets in the capture"),
            Row("not_ip", capture.not_ip, "frames", "other frames, left out"),
            Row("flows", int(np.unique(capture.flow).size), "flows", "distinct 5-tuples"),
            Row("duration", capture.duration_s, "s", "from the first to the last packet"),
            Row("rate_pps", capture.rate_pps, "packets/s", "mean packet rate"),
            Row("rate_bps", capture.rate_bps, "bit/s", "mean rate of IP bytes"),
            Row("size_mean", float(capture.bytes.mean()), "bytes", "mean IP packet"),
            Row(
                "ecn_share",
                float(capture.ecn_capable.mean()),
                "",
                "packets with ECT(0), ECT(1) or CE",
            ),
            Row("peak_to_mean", self.peak_to_mean, "", f"busiest over mean bin of {bin_text}"),
            Row("interarrival_scv", self.interarrival_scv, "", "variance / mean^2; Poisson has 1"),
        ]
        rows += [
            Row(
                f"idc_{scale:g}s", float(value), "", f"variance / mean over {scale:g} s; Poisson: 1"
            )
            for scale, value in zip(self.idc_scales_s, self.idc, strict=True)
        ]
        for name in ("variance_time", "rescaled_range", "wavelet"):
            estimate: HurstEstimate = getattr(self, name)
            interval = f"95 % interval {estimate.low:.2f} to {estimate.high:.2f}"
            ends = estimate.low, estimate.high
            rows.append(Row(f"hurst_{name}", estimate.hurst, "", interval, *ends))
        return rows + self._source_rows()

    def _source_rows(self) -> list[Row]:
        source = self.source
        if source is None:
            return [Row("source", "none", "", self.source_problem)]
        scales = f"{source.scales_s[0]:g} to {source.scales_s[-1]:g} s"
        modulator, k = source.modulator, source.scales_s.size
        return [
            Row("source_states", modulator.states, "", "states of the fitted modulator"),
            Row("source_a", modulator.a, "", f"matches the variance-time H over {scales}"),
            Row("source_q", modulator.q, "", "matches the mean rate"),
            Row("source_slot", source.slot_s, "s", "slot that brings the variance closest"),
            Row("source_mean", modulator.mean, "packets/slot", "mean rate of the modulator"),
            Row(
                "source_deviation",
                source.deviation_factor,
                "",
                f"typical factor between its variance and the capture's over {scales}",
            ),
            Row(
                "source_scales_within",
                source.scales_within,
                f"of {k}",
                "time-scales at which the capture lies in the 95 % band of simulated records",
            ),
        ]


def fit_capture(capture: Capture, bin_s: float | None = None) -> TrafficFit:
    """Describe a capture's traffic and fit the self-similar modulator to it.

    Args:
        capture: The capture, of at least 1000 packets.
        bin_s: Length of the bins in which packets are counted, seconds. Without it, a round
            length that makes about a quarter as many bins as there are packets (512 to 16,384).

    Raises:
        SluiceError: Too few packets, all at one instant, or `bin_s` leaves under 512 bins.

    """
    if capture.packets < _LEAST_PACKETS:
        raise SluiceError(
            f"{capture.path} has {capture.packets} IP packets; "
            f"a fit needs at least {_LEAST_PACKETS}"
        )
    mean_rate = capture.rate_pps
    if bin_s is None:
        wanted = np.clip(capture.packets / 4, SHORTEST_SERIES, _MOST_BINS / 2.5)
        bin_s = _round_down(capture.duration_s / wanted)
    counts = capture.counts(bin_s)
    if counts.size < SHORTEST_SERIES:
        raise SluiceError(
            f"bin_s = {bin_s:g} leaves {counts.size} bins; a fit needs at least {SHORTEST_SERIES}: "
            f"choose at most {capture.duration_s / SHORTEST_SERIES:.3g} s"
        )
    gaps = np.diff(capture.time_ns.astype(np.int64))
    idc_blocks = 10 ** np.arange(1 + int(np.log10(counts.size / 16)))
    by_variance = variance_time(counts)
    source, problem = None, ""
    try:
        source = _fit_source(counts, bin_s, by_variance)
    except SluiceError as error:
        problem = str(error)
    return TrafficFit(
        capture=capture,
        bin_s=bin_s,
        counts=counts,
        peak_to_mean=float(counts.max()) / (mean_rate * bin_s),
        interarrival_scv=float(gaps.var() / gaps.mean() ** 2),
        idc_scales_s=np.asarray(idc_blocks * bin_s, dtype=np.float64),
        idc=_scv(counts, idc_blocks) * counts.mean() * idc_blocks,
        variance_time=by_variance,
        rescaled_range=rescaled_range(counts),
        wavelet=wavelet(counts),
        source=source,
        source_problem=problem,
    )


def _fit_source(counts: NDArray[np.int64], bin_s: float, estimate: HurstEstimate) -> FittedSource:
    """Fit a and q for several lengths of the slot; keep the one closest in variance."""
    if estimate.hurst <= 0.5:
        raise SluiceError(
            f"the variance-time Hurst parameter is {estimate.hurst:.2f}, not above 0.5: "
            "the traffic is not self-similar, and a geometric source is enough"
        )
    blocks = np.rint(estimate.scales).astype(np.int64)
    data = _scv(counts, blocks)
    mean = float(counts.mean())
    candidates: list[tuple[float, int, Modulator]] = []
    problem = SluiceError("no slot length was tried")
    for slots in _slots_per_bin(mean):
        try:
            modulator = Modulator.fit(
                mean / slots,
                estimate.hurst,
                _STATES,
                shortest=float(slots * blocks[0]),
                longest=float(slots * blocks[-1]),
            )
        except SluiceError as error:
            problem = error
            continue
        model = _expected_scv(modulator, slots, blocks, counts.size)
        candidates.append((_log_deviation(data, model), slots, modulator))
    if not candidates:
        raise problem
    _, slots, modulator = min(candidates, key=lambda candidate: candidate[0])
    paths = [modulator.counts(counts.size, slots, seed) for seed in range(_SIMULATED_PATHS)]
    simulated = np.stack([_scv(path, blocks) for path in paths])
    return FittedSource(
        modulator=modulator,
        slot_s=bin_s / slots,
        scales_s=np.asarray(blocks * bin_s, dtype=np.float64),
        data=data,
        model=_expected_scv(modulator, slots, blocks, counts.size),
        simulated_low=simulated.min(axis=0),
        simulated_high=simulated.max(axis=0),
        simulated_hurst=variance_time(paths[0]),
    )


def _slots_per_bin(mean: float) -> list[int]:
    """Return the slots per bin to try: such that 0.02 to 0.8 packets come in a slot."""
    least, most = max(1.0, mean / 0.8), max(1.0, mean / 0.02)
    return [int(k) for k in np.unique(np.ceil(np.geomspace(least, most, 24)))]


def _scv(counts: NDArray[np.int64], blocks: NDArray[np.int64]) -> FloatArray:
    """Return variance / mean^2 of the packets in windows of `blocks` bins, shape of `blocks`."""
    x = counts.astype(np.float64)
    variances = np.array([variance_of_means(x, int(m)) for m in blocks], dtype=np.float64)
    return np.asarray(variances / x.mean() ** 2)


def _expected_scv(
    modulator: Modulator, slots: int, blocks: NDArray[np.int64], bins: int
) -> FloatArray:
    """Return the mean of `_scv` over records of `bins` bins, which is less than the true value.

    The sample variance of K block means is on average K / (K - 1) times the variance of a block's
    mean less the variance of the mean of all K.
    """
    number = bins // blocks

    def variance_of_mean(m: NDArray[np.int64]) -> FloatArray:
        slot_counts = m.astype(np.float64) * slots
        return np.asarray(modulator.variance(slot_counts) / (slot_counts * modulator.mean) ** 2)

    within = variance_of_mean(blocks) - variance_of_mean(blocks * number)
    return np.asarray(within * number / (number - 1), dtype=np.float64)


def _log_deviation(data: FloatArray, model: FloatArray) -> float:
    return float(np.sqrt(np.mean(np.log10(data / model) ** 2)))


def _round_down(value: float) -> float:
    """Return the greatest of 1, 2, 5 times a power of ten that is not above `value`."""
    power = 10.0 ** np.floor(np.log10(value))
    return float(max(step for step in (1, 2, 5) if step * power <= value * (1 + 1e-12)) * power)
