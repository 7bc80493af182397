"""What is drawn: arrays with a layout in memory, and calls of public functions."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Given:
    """An array argument: its values, and how they lie in memory."""

    values: np.ndarray
    layout: str = "plain"

    def array(self) -> np.ndarray:
        """The values, read-only, in that layout; NumPy and torch see the strides themselves."""
        x = self.values
        if self.layout == "transposed":
            x = x.copy(order="F")
        elif self.layout == "stepped" and x.ndim:
            wide = np.zeros((*x.shape[:-1], 2 * x.shape[-1]), x.dtype)
            wide[..., ::2] = x
            x = wide[..., ::2]
        elif self.layout == "reversed" and x.ndim:
            x = x[::-1].copy()[::-1]
        x = x.view()
        x.flags.writeable = False
        return x

    def __repr__(self) -> str:
        how = "" if self.layout == "plain" else f", {self.layout}"
        shown = self.values.astype(object).tolist()
        if not 0 < self.values.size <= 24:
            shown = f"shape {self.values.shape}"
        return f"<{shown} {self.values.dtype.name}{how}>"


LAYOUTS = ("plain", "plain", "transposed", "stepped", "reversed")


@dataclass(frozen=True, eq=False)
class Call:
    """One call of a public function. `Given` arrays become arrays of the backend that runs it."""

    op: str
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    # The answer by NumPy or SciPy, of the arguments with floats widened to 64 bits.
    expected: Callable[..., Any] | None = None
    # The call itself, where it is not `trellis.<op>(*args, **kwargs)`.
    invoke: Callable[..., Any] | None = None
    # What of the result is compared, where the result itself is free (signs of eigenvectors).
    then: Callable[..., Any] | None = None
    # Whether derivatives by the floats among the arguments are compared too.
    gradient: bool = True
    # Whether a compiler can take it; the shape of some results depends on values.
    compiled: bool = True
    # Errors are measured in units of the last place: of each element, or of the largest one.
    units: float = 32.0
    elementwise: bool = False
    # The least size that counts, where larger numbers cancel on the way.
    floor: float = 0.0

    def __repr__(self) -> str:
        parts = [repr(x) for x in self.args] + [f"{k}={v!r}" for k, v in self.kwargs.items()]
        return f"{self.op}({', '.join(parts)})"

    def given(self) -> list[Given]:
        return givens((self.args, self.kwargs))


def givens(value: Any) -> list[Given]:
    """All arrays of an argument, in order."""
    if isinstance(value, Given):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [x for item in value for x in givens(item)]
    return []


def replaced(value: Any, arrays: list[Any]) -> Any:
    """The argument with its arrays, in order, replaced by those taken from the front of a list."""
    if isinstance(value, Given):
        return arrays.pop(0)
    if isinstance(value, dict):
        return {key: replaced(item, arrays) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)([replaced(item, arrays) for item in value])
    return value
