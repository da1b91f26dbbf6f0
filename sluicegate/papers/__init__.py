"""Published results, repeated: each paper's figures beside ours."""

from sluicegate.papers import drop_from_front, lpf_oda, redwm
from sluicegate.papers.campaign import Watch
from sluicegate.papers.comparison import Plot, Reproduction, Row

REPRODUCTIONS = {
    "drop-from-front": drop_from_front.reproduce,
    "redwm": redwm.reproduce,
    "lpf-oda": lpf_oda.reproduce,
}

__all__ = ["REPRODUCTIONS", "Plot", "Reproduction", "Row", "Watch"]
