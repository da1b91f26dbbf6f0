"""Coefficients for a network by each paper's rule, and what the model says of them."""

from __future__ import annotations

from typing import NamedTuple

from sluicegate.registry import Value
from sluicegate.scenario import Discipline
from sluicegate.stability import rules
from sluicegate.stability.model import FluidNetwork

# REM's authors give values and no rule; ns-2's and RFC 8033's are the defaults of `aqm/`
_RED_W = 0.002


class Recommendation(NamedTuple):
    """One AQM's coefficients.

    Attributes:
        aqm: Its name.
        params: The coefficients, which may be out of the AQM's ranges.
        rule: Where they are from.
    """

    aqm: str
    params: dict[str, Value]
    rule: str

    @property
    def option(self) -> str:
        """As `--aqm` takes it."""
        params = ",".join(
            f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"
            for name, value in self.params.items()
        )
        return f"{self.aqm}:{params}"

    def discipline(self) -> Discipline:
        """To be used.

        Raises:
            SluiceError: If a coefficient is out of range: LRED's safe beta for a fast link may be
                below the least that LRED takes.
        """
        return Discipline(aqm=self.aqm, params=self.params)


def recommended(network: FluidNetwork, queue: float) -> list[Recommendation]:
    """Coefficients for N- flows, round trips of R+ and C.

    Args:
        network: N-, R+ and C.
        queue: To be held, packets. RED's queue follows from its slope: `min_th` is half of this,
            and p0 is half-way to `max_th`.
    """
    beta = rules.safe_beta(network)
    q_ref = _digits(queue)
    lred: dict[str, Value] = {"beta": _digits(beta.safe), "q_ref": q_ref}
    found = [Recommendation("lred", lred, "theorem 2 of Wang et al. 2007")]
    if network.window >= 2:
        design: dict[str, Value] = {
            "coefficients": "designed",
            "n_min": _whole(network.flows),
            "r_max": _digits(network.rtt_s),
            "capacity": _whole(network.capacity_pps),
            "q_ref": q_ref,
        }
        found.append(Recommendation("pi", design, "PI*: Hollot et al. 2001"))
    slope = rules.greatest_red_slope(network, _RED_W)
    low, max_p = _digits(queue / 2), _digits(min(1.0, 2 * network.drop_probability))
    red: dict[str, Value] = {
        "min_th": low,
        "max_th": _digits(low + max_p / slope),
        "max_p": max_p,
        "w": _RED_W,
        "spacing": "independent",
    }
    found.append(Recommendation("red", red, "Hollot et al. 2001 (RED)"))
    rem: dict[str, Value] = {"gamma": 0.001, "alpha": 0.1, "phi": 1.001, "q_ref": q_ref}
    found.append(Recommendation("rem", rem, "values of Athuraliya et al. 2001"))
    target: dict[str, Value] = {"target": _digits(queue / network.capacity_pps)}
    found.append(Recommendation("pie", target, "values of RFC 8033"))
    return found


def _digits(value: float) -> float:
    """Three significant digits, which a command line shows."""
    return float(f"{value:.3g}")


def _whole(value: float) -> int:
    return max(1, round(value))
