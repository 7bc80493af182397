"""Special functions that are TensorFlow's own: none of them is as exact as its formula."""

from collections.abc import Callable
from typing import Any

SPECIAL_KERNELS: dict[tuple[str, str], Callable[..., Any]] = {}
