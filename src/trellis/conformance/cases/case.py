"""The form of a row."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

COMPLEX = "complex numbers go in or come out"
CORNER = "no derivative at these corners"
NO_FLOATS = "no float goes in"
NOT_FLOAT = "what comes out is not a float"
PYTHON = "what comes out is no array"
STEPS = "a step function: its derivative is zero or undefined"
SHAPE = "the shape of the result depends on values"


@dataclass(frozen=True)
class Case:
    """One call. NumPy arrays among the arguments become arrays of the backend; nothing else is
    touched.

    Arrays of float64 and complex128 stand for the float type of the run: each row runs in float32
    and in float64. int64 stands for the default int of the backend. The same holds for `expected`,
    which is a value, or a function of the arguments in NumPy float64; never another backend.
    """

    op: str
    args: tuple[Any, ...]
    expected: Any
    kwargs: dict[str, Any] = field(default_factory=dict)
    # True: checked against finite differences. Otherwise the reason why there is none.
    gradient: bool | str = True
    about: str = ""
    # True: compiled equals eager. Otherwise the reason why it cannot be compiled, for all compilers
    # or by name.
    compiled: bool | str | dict[str, str] = True
    # What of the result is compared, where the result itself is free (signs of eigenvectors).
    then: Callable[..., Any] | None = None
    # The call itself, where it is not `trellis.<op>(*args, **kwargs)`.
    call: Callable[..., Any] | None = None
    # Where float32 cannot meet the usual tolerance, with the reason beside it in the row.
    rtol32: float | None = None
    # Backends whose result has another data type, and why.
    other_dtype: dict[str, str] = field(default_factory=dict)
    # Float types that the row runs in.
    dtypes: tuple[str, ...] = ("float32", "float64")

    def is_compilable(self, backend: str) -> bool:
        reasons = self.compiled if isinstance(self.compiled, dict) else {backend: self.compiled}
        return reasons.get(backend, True) is True


def numbers(*shape: int, low: float = -2.0, high: float = 2.0, seed: int = 0) -> np.ndarray:
    """Fixed float64 numbers without special values, different for each shape and seed."""
    rng = np.random.default_rng([seed, *shape])
    return rng.uniform(low, high, shape)


def complex_numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return numbers(*shape, seed=seed) + 1j * numbers(*shape, seed=seed + 100)
