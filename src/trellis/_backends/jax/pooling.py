"""Maxima over windows, as one compiled program."""

import sys
from functools import partial
from typing import Any

import jax

from ..shared.windows import WindowSpec, max_over_windows
from ._types import Array


@partial(jax.jit, static_argnames=("spec", "indices"))
def max_pool(x: Array, spec: WindowSpec, *, indices: bool) -> tuple[Any, Any]:
    """Maxima and, if asked for, their positions in the input plane."""
    return max_over_windows(sys.modules[__package__], x, spec, indices)
