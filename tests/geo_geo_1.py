"""The Geo/Geo/1/K queue in closed form, with the conventions of the slotted world.

Within a slot a service may end (probability mu), then a packet may arrive (alpha). With
K = limit + 1 packets at most in the system, the number at the end of a slot is a birth-death
chain: up from 0 with alpha, up from n with alpha (1 - mu), down with mu (1 - alpha).
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class GeoGeo1:
    alpha: float
    mu: float
    limit: int

    @property
    def system(self):
        """Probability of n packets in the system at the end of a slot, n = 0 .. limit + 1."""
        down = self.mu * (1 - self.alpha)
        ratios = np.full(self.limit + 1, self.alpha * (1 - self.mu) / down)
        ratios[0] = self.alpha / down
        weights = np.cumprod(np.append(1.0, ratios))
        return weights / weights.sum()

    @property
    def queue(self):
        """Probability that k packets wait, k = 0 .. limit."""
        return np.append(self.system[:2].sum(), self.system[2:])

    @property
    def queue_mean(self):
        return float(self.queue @ np.arange(self.limit + 1))

    @property
    def utilization(self):
        return float(1 - self.system[0])

    @property
    def loss_ratio(self):
        """Loss ratio: an arrival is lost if the system was full and no service ended."""
        return float(self.system[-1] * (1 - self.mu))

    @property
    def found(self):
        """Probability that an admitted packet finds n in the system, n = 0 .. limit."""
        after_service = self.system * np.append(1.0, np.full(self.limit + 1, 1 - self.mu))
        after_service[:-1] += self.system[1:] * self.mu
        return after_service[:-1] / after_service[:-1].sum()

    @property
    def sojourn_mean(self):
        """Mean sojourn, slots: a packet that finds n waits for n geometric services."""
        return float(self.found @ np.arange(self.limit + 1)) / self.mu

    @property
    def sojourn_variance(self):
        services = np.arange(self.limit + 1)
        of_number = self.found @ services**2 - (self.found @ services) ** 2
        within = (1 - self.mu) / self.mu**2 * (self.found @ services)
        return float(within + of_number / self.mu**2)

    @property
    def delay_mean(self):
        """Mean delay, slots: a packet that finds n stays for n + 1 geometric services."""
        return float(self.found @ (np.arange(self.limit + 1) + 1)) / self.mu

    @property
    def delay_variance(self):
        services = np.arange(self.limit + 1) + 1
        of_number = self.found @ services**2 - (self.found @ services) ** 2
        within = (1 - self.mu) / self.mu**2 * (self.found @ services)
        return float(within + of_number / self.mu**2)
