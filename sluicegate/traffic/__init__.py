"""Traffic: captures, their statistics, and the self-similar source fitted to them."""

from sluicegate.traffic.capture import Capture
from sluicegate.traffic.fit import FittedSource, Row, TrafficFit, fit_capture
from sluicegate.traffic.hurst import HurstEstimate, rescaled_range, variance_time, wavelet
from sluicegate.traffic.modulator import Modulator

__all__ = [
    "Capture",
    "FittedSource",
    "HurstEstimate",
    "Modulator",
    "Row",
    "TrafficFit",
    "fit_capture",
    "rescaled_range",
    "variance_time",
    "wavelet",
]
