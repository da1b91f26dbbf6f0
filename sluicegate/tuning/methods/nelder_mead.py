"""The simplex search of Nelder and Mead, from each start."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sluicegate.tuning.axes import Place
from sluicegate.tuning.methods.method import Method, Search

# sides of the first simplex and of the last one, as shares of a range
_FIRST_SIDE = 1 / 8
_LAST_SIDE = 1 / 256


class NelderMead(Method):
    """Nelder & Mead 1965 with the coefficients of Gao & Han 2012, as scipy has it."""

    starts: ClassVar[bool] = True

    def search(self, search: Search) -> None:
        """Search from one start after the other."""
        from scipy import optimize  # takes a second to import

        minimize: Any = optimize.minimize  # its types are too narrow
        starts = search.problem.starts()
        for number, start in enumerate(starts):
            minimize(
                lambda place: search.judge([tuple(map(float, place))])[0].merit,
                start,
                method="Nelder-Mead",
                bounds=[(0.0, 1.0)] * search.dimension,
                options={
                    "adaptive": True,
                    "initial_simplex": _simplex(start),
                    "xatol": _LAST_SIDE,
                    # noise in the scores neither ends the search nor keeps it going
                    "fatol": np.inf,
                },
            )
            search.on_progress((number + 1) / len(starts))


def _simplex(start: Place) -> NDArray[np.float64]:
    """The start, and a step along each axis: inwards from where it is in the upper half."""
    corners = np.tile(np.array(start), (len(start) + 1, 1))
    for axis, share in enumerate(start):
        corners[axis + 1, axis] += _FIRST_SIDE if share < 0.5 else -_FIRST_SIDE
    return corners
