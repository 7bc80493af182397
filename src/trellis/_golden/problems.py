"""The Python functions that entries about solvers, chains and loaders call.

A golden file holds no code, so it names one of these: `{"$problem": "valley"}`. They belong to each
release that names them, and never change; a new entry that needs another one adds it.
"""

from collections.abc import Callable
from typing import Any

from .._array.elementwise import cos, log
from .._array.manipulation import stack
from .._core.errors import ArgumentError
from .._random.seeded import random_uniform


def valley(x: Any) -> Any:
    """Rosenbrock's function."""
    return 100.0 * (x[1] - x[0] ** 2) ** 2 + (1.0 - x[0]) ** 2


def valley_residuals(x: Any) -> Any:
    return stack([10.0 * (x[1] - x[0] ** 2), 1.0 - x[0]])


def meeting(x: Any) -> Any:
    """Zero where a circle meets a hyperbola."""
    return stack([x[0] ** 2 + x[1] ** 2 - 4.0, x[0] * x[1] - 1.0])


def half_cosine(x: Any) -> Any:
    return 0.5 * cos(x)


def prey(t: Any, y: Any) -> Any:
    """The numbers of prey and of those that eat it (Lotka and Volterra)."""
    return stack([1.5 * y[0] - y[0] * y[1], y[0] * y[1] - 3.0 * y[1]])


def oscillator(t: Any, y: Any) -> Any:
    """Van der Pol's, a little stiff."""
    return stack([y[1], 5.0 * (1.0 - y[0] * y[0]) * y[1] - y[0]])


def second_number(t: Any, y: Any) -> Any:
    return y[1] - 1.0


def slanted(p: Any) -> Any:
    """The log density of a normal pair "x" and of a gamma number "s"."""
    x, s = p["x"], p["s"]
    square = 2.0 * x[0] * x[0] - 2.4 * x[0] * x[1] + 1.5 * x[1] * x[1]
    return -0.5 * square - 3.0 * s + 2.0 * log(s)


def noised(example: Any) -> Any:
    return {"number": example, "noise": random_uniform(shape=2)}


PROBLEMS: dict[str, Callable[..., Any]] = {
    fn.__name__: fn
    for fn in (
        valley,
        valley_residuals,
        meeting,
        half_cosine,
        prey,
        oscillator,
        second_number,
        slanted,
        noised,
    )
}


def problem(name: str) -> Callable[..., Any]:
    """The function of a name."""
    if name not in PROBLEMS:
        raise ArgumentError(f"A golden file names the problem {name!r}, which there is not.")
    return PROBLEMS[name]
