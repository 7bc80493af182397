"""Stores errors and numbers of evaluations of the ODE solvers, for the picture in docs/ode.md.

    python tools/solver_errors.py    # minutes; writes docs/data/work_precision.json

Evaluations are counted, not timed, so another machine finds the same numbers.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "ode"))

import equations
import numpy as np
from scipy.integrate import solve_ivp

import trellis
from trellis import ode

STORED = Path(__file__).resolve().parents[1] / "docs" / "data" / "work_precision.json"
TOLERANCES = [10.0**-k for k in range(3, 12)]
# Methods of order 3 need thousands of steps for more digits.
COARSE = ("bosh3", "kvaerno3")
COARSEST = 1e-8
METHODS = ("tsit5", "dopri5", "dopri8", "bosh3", "kvaerno5", "kvaerno3")
PEERS = ("RK45", "DOP853", "Radau")


class Problem(NamedTuple):
    """An equation of tests/ode, its start and end, and the solution there."""

    fn: Callable[..., list[Any]]
    start: list[float]
    end: float
    exact: Callable[[], Any]


def orbit() -> Any:
    """Problem D3 at 20 by Kepler's equation: an ellipse of eccentricity 0.5."""
    e, angle = 0.5, 20.0
    for _ in range(50):
        angle = angle - (angle - e * math.sin(angle) - 20.0) / (1.0 - e * math.cos(angle))
    sine, cosine = math.sin(angle), math.cos(angle)
    speed, height = 1.0 / (1.0 - e * cosine), math.sqrt(1.0 - e * e)
    return np.array([cosine - e, height * sine, -speed * sine, speed * height * cosine])


def hires() -> Any:
    """By small steps of an explicit method of order 8, which are exact where they are stable."""
    fn, start, end, _ = equations.STIFF["hires"]
    found = solve_ivp(
        lambda t, y: fn(np, t, y), (0.0, end), start, method="DOP853", rtol=1e-13, atol=1e-16
    )
    return found.y[:, -1]


PROBLEMS = {
    "D3": Problem(*equations.DETEST["D3"], 20.0, orbit),
    "hires": Problem(*equations.STIFF["hires"][:3], hires),
}


class Counted:
    """An equation that counts its evaluations. A matrix of derivatives counts as one for each
    unknown, which is what differences need, however it is computed."""

    def __init__(self, problem: Problem):
        self.count, self._fn = 0, problem.fn

    def of_trellis(self, t: Any, y: Any) -> Any:
        # Derivatives are computed from values that are recorded.
        self.count += 1 if isinstance(y, np.ndarray) else int(y.shape[0])
        return trellis.stack(self._fn(trellis, t, y))

    def of_scipy(self, t: Any, y: Any) -> Any:
        self.count += 1
        return np.stack(self._fn(np, t, y))


def solved(name: str, method: str, rtol: float) -> tuple[int, Any]:
    """The number of evaluations, and the point at the end."""
    problem = PROBLEMS[name]
    counted, atol = Counted(problem), 1e-3 * rtol
    if method in PEERS:
        peer = solve_ivp(
            counted.of_scipy,
            (0.0, problem.end),
            problem.start,
            method=method,
            rtol=rtol,
            atol=atol,
        )
        return counted.count, peer.y[:, -1]
    found = ode.solve(
        counted.of_trellis,
        np.array(problem.start),
        [0.0, problem.end],
        method=method,
        rtol=rtol,
        atol=atol,
        max_steps=10**6,
    )
    return counted.count, found.y


def measured(name: str) -> dict[str, list[list[float]]]:
    """By method: the relative tolerance, the evaluations and the largest error at the end."""
    exact = PROBLEMS[name].exact()
    rows: dict[str, list[list[float]]] = {}
    for method in (*METHODS, *PEERS):
        rows[method] = []
        for rtol in TOLERANCES:
            if method not in COARSE or rtol >= 0.99 * COARSEST:
                count, y = solved(name, method, rtol)
                error = float(f"{np.max(np.abs(y - exact)):.3g}")
                rows[method].append([rtol, count, error])
        print(name, method, rows[method], flush=True)
    return rows


def main() -> None:
    found = {name: measured(name) for name in PROBLEMS}
    STORED.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
