"""Figures that say what a capture's traffic is like and whether the fitted source is any good."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.ticker import FuncFormatter
from numpy.typing import NDArray

from sluicegate.report.figure import Figure
from sluicegate.report.plots import GREY, WIDTH, colours, plain_ticks, power_text
from sluicegate.traffic.fit import TrafficFit
from sluicegate.traffic.hurst import HurstEstimate

FloatArray = NDArray[np.float64]

_DATA, _MODEL = colours(["capture", "modulator"]).values()
_POISSON = GREY


def fit_figures(fit: TrafficFit) -> dict[str, Figure]:
    """Draw every figure of a fit, by name: rate, variance_time, rescaled_range, wavelet, gaps."""
    return {
        "rate": rate_figure(fit),
        "variance_time": variance_time_figure(fit),
        "rescaled_range": rescaled_range_figure(fit),
        "wavelet": wavelet_figure(fit),
        "gaps": gaps_figure(fit),
    }


def rate_figure(fit: TrafficFit) -> Figure:
    """Draw the packet rate against time in bins of three lengths, with the range of Poisson."""
    figure = Figure(figsize=(WIDTH, 5.6), layout="constrained")
    axes = figure.subplots(3, 1, sharex=True)
    mean = float(fit.counts.mean()) / fit.bin_s
    step = 10 if fit.counts.size >= 2000 else 5
    for ax, block in zip(axes, (1, step, step**2), strict=True):
        width_s = block * fit.bin_s
        bins = fit.counts.size // block
        rate = fit.counts[: bins * block].reshape(bins, block).sum(axis=1) / width_s
        spread = 2 * np.sqrt(mean / width_s)
        ax.axhspan(max(0.0, mean - spread), mean + spread, color=_POISSON, alpha=0.3, lw=0)
        edges = np.arange(bins + 1) * width_s
        ax.stairs(rate, edges, baseline=None, color=_DATA, lw=0.8 if bins > 200 else 1.4)
        ax.set_ylim(bottom=0)
        ax.set_title(f"bins of {width_s:.3g} s", loc="left", fontsize=9)
        ax.spines[["top", "right"]].set_visible(False)
    axes[1].set_ylabel("packets / s")
    axes[-1].set_xlabel("time (s)")
    axes[-1].set_xlim(0, fit.counts.size * fit.bin_s)
    figure.suptitle(
        "Packet rate at three time-scales\n"
        "Grey: where Poisson traffic of the same mean stays 95 % of the time.",
        fontsize=11,
    )
    return figure


def variance_time_figure(fit: TrafficFit) -> Figure:
    """Draw the variance against the window: capture, fitted modulator, Poisson."""
    figure, ax = _single(f"Variance of the traffic over time-scales\n{_verdict(fit)}")
    estimate = fit.variance_time
    scales_s = estimate.scales * fit.bin_s
    mean = float(fit.counts.mean())
    if fit.source is not None:
        source = fit.source
        ax.fill_between(
            source.scales_s,
            source.simulated_low,
            source.simulated_high,
            color=_MODEL,
            alpha=0.18,
            lw=0,
            label="95 % of its records",
        )
        a, q, n = source.modulator.a, source.modulator.q, source.modulator.states
        label = f"modulator, exact:\na = {a:.3g}, q = {q:.3g},\n{n} states"
        ax.plot(source.scales_s, source.model, color=_MODEL, label=label)
    ax.plot(scales_s, 1 / (mean * estimate.scales), "--", color=_POISSON, label="Poisson")
    label = f"capture:\n{_hurst_text(estimate)}"
    ax.plot(scales_s, estimate.values / mean**2, "o", color=_DATA, label=label)
    for axis in (ax.xaxis, ax.yaxis):
        plain_ticks(axis, (1.0, 3.0))
    ax.set_xlabel("window (s)")
    ax.set_ylabel("variance / mean² of packets in a window")
    _add_legend(figure)
    return figure


def rescaled_range_figure(fit: TrafficFit) -> Figure:
    """Draw the rescaled range against the window, with its line and slope 1/2."""
    figure, ax = _single("Rescaled range\nSteeper than a slope of ½ means long memory.")
    _log_log(ax, fit.rescaled_range, fit.bin_s, reference_slope=0.5, reference="slope ½: no memory")
    ax.set_ylabel("R/S")
    _add_legend(figure)
    return figure


def wavelet_figure(fit: TrafficFit) -> Figure:
    """Draw the wavelet energy against the time-scale (logscale diagram), with its line."""
    figure, ax = _single("Wavelet energy\nRising with the time-scale means long memory.")
    _log_log(ax, fit.wavelet, fit.bin_s, reference_slope=0.0, reference="flat: no memory")
    ax.set_ylabel("mean squared wavelet coefficient (packets²)")
    _add_legend(figure)
    return figure


def gaps_figure(fit: TrafficFit) -> Figure:
    """Draw the distribution of the times between packets against the exponential."""
    figure, ax = _single(
        "Times between packets\n"
        "Below the dashed curve on the left: bursts; above it on the right: pauses."
    )
    gaps_s = np.sort(np.diff(fit.capture.time_ns.astype(np.int64))) / 1e9
    gaps_s = gaps_s[gaps_s > 0]
    exceeding = 1.0 - np.arange(gaps_s.size) / gaps_s.size
    ax.step(gaps_s, exceeding, where="post", color=_DATA, label="capture")
    mean = 1 / fit.capture.rate_pps
    t = np.geomspace(gaps_s[0], gaps_s[-1], 300)
    ax.plot(t, np.exp(-t / mean), "--", color=_POISSON, label="Poisson, same rate")
    ax.set_ylim(0.5 / gaps_s.size, 1.5)
    ax.set_xlabel("time between packets (s)")
    ax.set_ylabel("share of gaps that are longer")
    ax.yaxis.set_major_formatter(FuncFormatter(power_text))
    _add_legend(figure)
    return figure


def _single(title: str) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(WIDTH, 4.4), layout="constrained")
    ax = figure.subplots()
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.grid(which="major", alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_title(title, fontsize=11)
    return figure, ax


def _log_log(
    ax: Axes, estimate: HurstEstimate, bin_s: float, *, reference_slope: float, reference: str
) -> None:
    """Draw an estimate's points, its line, and a line of another slope through its start."""
    scales_s = estimate.scales * bin_s
    line = estimate.line(estimate.scales)
    flat = line[0] * (scales_s / scales_s[0]) ** reference_slope
    ax.plot(scales_s, flat, "--", color=_POISSON, label=reference)
    ax.plot(scales_s, line, color=_MODEL, label=_hurst_text(estimate))
    label = "capture"
    if estimate.factors is not None:
        ends = estimate.values / estimate.factors, estimate.values * estimate.factors
        ax.vlines(scales_s, *ends, color=_DATA, lw=1.2)
        label = "capture, 95 % intervals"
    ax.plot(scales_s, estimate.values, "o", color=_DATA, label=label)
    for axis in (ax.xaxis, ax.yaxis):
        plain_ticks(axis, (1.0, 3.0))
    ax.set_xlabel("time-scale (s)")


def _add_legend(figure: Figure) -> None:
    """Put the legend beside the axes, where a page can move it below them."""
    legend = figure.legend(loc="outside right upper", labelcolor="linecolor", frameon=False)
    for text in legend.get_texts():
        # a band is pale, but its text in the legend is not
        text.set_color(to_hex(text.get_color()))


def _hurst_text(estimate: HurstEstimate) -> str:
    return f"H = {estimate.hurst:.2f} ({estimate.low:.2f} to {estimate.high:.2f})"


def _verdict(fit: TrafficFit) -> str:
    if fit.source is None:
        return "No modulator fits: the row source of the table says why."
    source = fit.source
    return (
        f"The capture lies in the modulator's 95 % band at {source.scales_within} "
        f"of {source.scales_s.size} time-scales."
    )
