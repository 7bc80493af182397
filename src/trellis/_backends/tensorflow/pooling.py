"""Maxima over windows."""

import sys
from typing import Any

from ..shared.windows import max_over_windows

__all__ = ["max_pool"]


def max_pool(
    x: Any,
    *,
    window: Any,
    strides: Any,
    padding: Any,
    dilations: Any,
    channel_first: bool,
    indices: bool,
) -> tuple[Any, Any]:
    """Maxima and, if asked for, their positions in the input plane; `padding` is one pair per spatial axis."""
    return max_over_windows(
        sys.modules[__package__], x, window=window, strides=strides, padding=padding, dilations=dilations,
        channel_first=channel_first, indices=indices,
    )  # fmt: skip
