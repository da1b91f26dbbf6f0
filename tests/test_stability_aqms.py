"""RED, REM and PIE as in their papers, with packet counts and updates, in a loop with fluid TCP.

Only the tested boundary is taken from the models: the equations of TCP are integrated by small
Euler steps, and each AQM updates its state as its paper's program does. On either side of the
boundary a small disturbance must evolve as the rightmost root says.
"""

import numpy as np
import pytest

import sluicegate as sg
from sluicegate.stability.aqms import model_of
from sluicegate.stability.loop import loop_of
from sluicegate.stability.model import FluidNetwork

pytestmark = pytest.mark.slow

FLOWS, CAPACITY, RTT_S, QUEUE = 50, 2500.0, 0.3, 100.0
WINDOW = RTT_S * CAPACITY / FLOWS
P0 = 1.5 / WINDOW**2
STEP_S = RTT_S / 300
SECONDS = 24.0


class Red:
    """Floyd & Jacobson 1993: an update of the average per packet, a linear drop function."""

    def __init__(self, gain):
        self.w, slope = 0.002, 4e-4 * gain
        self.min_th = QUEUE - P0 / slope
        self.slope, self.average = slope, QUEUE
        max_th = QUEUE + 50
        self.params = {
            "min_th": self.min_th,
            "max_th": max_th,
            "max_p": slope * (max_th - self.min_th),
            "w": self.w,
            "spacing": "independent",
        }

    def step(self, queue):
        # CAPACITY * STEP_S packets are sent in a step
        self.average += (1 - (1 - self.w) ** (CAPACITY * STEP_S)) * (queue - self.average)
        return self.slope * (self.average - self.min_th)


class Rem:
    """Athuraliya et al. 2001, as in LRED's equations 35 and 36: an update in each step."""

    alpha, phi = 0.1, 1.001

    def __init__(self, gain):
        self.gamma, self.before = 0.002 * gain, QUEUE
        self.price = -np.log1p(-P0) / np.log(self.phi)
        self.params = {
            "q_ref": QUEUE,
            "gamma": self.gamma,
            "alpha": self.alpha,
            "phi": self.phi,
            "sampling_interval": STEP_S,
        }

    def step(self, queue):
        self.price += self.gamma * (queue - (1 - self.alpha) * self.before - self.alpha * QUEUE)
        self.before = queue
        return 1 - self.phi**-self.price


class Pie:
    """RFC 8033, section 4.2, for p between 0.1 % and 1 %, where changes are divided by 8."""

    def __init__(self, gain):
        self.alpha, self.beta, self.p = 0.001 * gain, 0.2 * gain, P0
        self.before_s = self.target_s = QUEUE / CAPACITY
        self.params = {
            "alpha": self.alpha,
            "beta": self.beta,
            "target": self.target_s,
            "t_update": STEP_S,
            "spacing": "independent",
        }

    def step(self, queue):
        delay_s = queue / CAPACITY
        change = self.alpha * (delay_s - self.target_s) + self.beta * (delay_s - self.before_s)
        self.p, self.before_s = self.p + change / 8, delay_s
        return self.p


def integrated(aqm):
    """Return queue - equilibrium after each step, by equations 4 and 5, R(t) = T_p + q(t) / C."""
    steps, late_s = round(SECONDS / STEP_S), RTT_S - QUEUE / CAPACITY
    window, queue = WINDOW, QUEUE + 1e-3
    past = np.empty((steps + 1, 2))  # w / R and p
    past[0] = CAPACITY / FLOWS, P0
    found = np.empty(steps)
    for k in range(steps):
        rtt_s = late_s + queue / CAPACITY
        past[k] = window / rtt_s, aqm.step(queue)
        place = k - rtt_s / STEP_S
        rate, p = CAPACITY / FLOWS, P0
        if place > 0:
            whole = int(place)
            rate, p = past[whole] + (place - whole) * (past[whole + 1] - past[whole])
        growth = FLOWS * window / rtt_s - CAPACITY
        window += STEP_S * (1 / rtt_s - window * rate * p / 1.5)
        queue += STEP_S * growth
        found[k] = queue - QUEUE
    return found


def root(found):
    """Return a root, 1/s, of x(t + 2h) = c1 x(t + h) - c2 x(t), fitted to the later half."""
    late, apart = found[len(found) // 2 :], round(0.15 / STEP_S)
    now = np.stack([late[apart:-apart], -late[: -2 * apart]], axis=1)
    (c1, c2), *_ = np.linalg.lstsq(now, late[2 * apart :], rcond=None)
    swing = np.roots([1, -c1, c2])[0]
    found = np.log(complex(swing)) / (apart * STEP_S)
    return complex(found.real, abs(found.imag))


@pytest.mark.parametrize(("kind", "name"), [(Red, "red"), (Rem, "rem"), (Pie, "pie")])
def test_disturbances_die_out_below_the_boundary_and_grow_above(kind, name):
    network = FluidNetwork(FLOWS, CAPACITY, RTT_S)

    def loop(gain):
        return loop_of(model_of(sg.Discipline(aqm=name, params=kind(gain).params)), network, "full")

    edge = loop(1.0).margins.gain
    for factor in (0.85, 1.15):
        expected = loop(factor * edge).rightmost_root
        seen = root(integrated(kind(factor * edge)))
        assert (expected.real < 0) == (seen.real < 0) == (factor < 1)
        # Euler's method adds STEP_S / 2 times the frequency squared to the growth rate
        assert seen == pytest.approx(expected, abs=STEP_S * abs(expected) ** 2), (name, factor)
