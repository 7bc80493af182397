"""Example inputs on a command line: `x=float32[batch,8,8,1]`."""

import argparse
import re
from dataclasses import dataclass
from typing import Any

_PATTERN = re.compile(r"(?:(\w+)=)?(\w+)\[([\w, ]*)\](?::(\d+))?")
HELP = (
    "an input of the model, in order: 'x=float32[batch,8,8,1]'. A name for a size makes that axis "
    "dynamic; 'int32[batch,16]:1000' are numbers below 1000"
)
TRUST = "read the model even if it could run code; only if you know who made the file"


@dataclass(frozen=True)
class Input:
    """One input as it was written."""

    name: str | None
    dtype: str
    shape: tuple[int | str, ...]
    bound: int

    def example(self, seed: int) -> Any:
        """An array like it; dynamic axes have 2 elements."""
        import numpy as np

        rng = np.random.default_rng(seed)
        shape = [2 if isinstance(size, str) else size for size in self.shape]
        if self.dtype == "bool":
            return rng.random(shape) < 0.5
        if "int" in self.dtype:
            return rng.integers(0, self.bound, shape).astype(self.dtype)
        return rng.standard_normal(shape).astype(self.dtype)

    def open_axes(self) -> dict[int, str]:
        """The dynamic axes."""
        return {i: size for i, size in enumerate(self.shape) if isinstance(size, str)}


def parsed(text: str) -> Input:
    """An input as the command line has it.

    >>> parsed("x=float32[batch,8]").open_axes()
    {0: 'batch'}
    """
    found = _PATTERN.fullmatch(text.strip())
    if found is None:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not an input; write name=dtype[sizes], such as x=float32[batch,8,8,1]"
        )
    name, dtype, sizes, bound = found.groups()
    shape = [size.strip() for size in sizes.split(",") if size.strip()]
    return Input(
        name,
        dtype,
        tuple([int(size) if size.isdigit() else size for size in shape]),
        int(bound or 2),
    )
