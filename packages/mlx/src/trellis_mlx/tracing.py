"""Whether a compiler is tracing, and whether an array is being differentiated.

MLX does not show either, so what this backend traces itself is counted.
"""

import io
import re
import threading
from typing import Any

import mlx.core as mx


class _Depth(threading.local):
    compiled = 0  # functions that mx.compile traces
    derived = 0  # functions that are being differentiated
    mapped = 0


depth = _Depth()


class counted:
    """Inside the block one more function is traced in that way."""

    def __init__(self, what: str):
        self._what = what

    def __enter__(self) -> None:
        setattr(depth, self._what, getattr(depth, self._what) + 1)

    def __exit__(self, *exception: object) -> None:
        setattr(depth, self._what, getattr(depth, self._what) - 1)


def is_tracing() -> bool:
    return depth.compiled > 0


def is_concrete(x: Any) -> bool:
    return depth.compiled == 0


def lasts(x: Any) -> bool:
    return depth.compiled == 0


def has_history(x: Any) -> bool:
    """Whether the array depends on one that is being differentiated.

    After it was computed, MLX keeps the graph of such arrays alone. It shows it as a drawing, in
    which what is differentiated begins with a copy.
    """
    mx.eval(x)
    text = io.StringIO()
    mx.export_to_dot(text, x)
    drawn = text.getvalue()
    labels = dict(re.findall(r'(\d+) \[label ="(\w+)"', drawn))
    before: dict[str, list[str]] = {}
    for start, end in re.findall(r'"?(\w+)"? -> "?(\w+)"?', drawn):
        before.setdefault(end, []).append(start)
    waiting = re.findall(r'rank=sink; "(\w+)"', drawn)[-1:]  # others are results that nobody uses
    seen = set(waiting)
    while waiting:
        here = waiting.pop()
        if labels.get(here) == "Copy":
            return True
        if labels.get(here) != "StopGradient":
            new = [name for name in before.get(here, []) if name not in seen]
            seen.update(new)
            waiting += new
    return False
