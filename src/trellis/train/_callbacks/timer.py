"""Where the time of the steps of a run goes."""

import json
import os
from statistics import median
from typing import TYPE_CHECKING

from ..._core.files import replace_file
from ..._core.kinds import check_arguments
from .._timing import Clock
from .base import Callback

if TYPE_CHECKING:
    from .._run_state import RunState

PARTS = ("data", "forward", "backward", "update", "callbacks")


class StepTimer(Callback):
    """Measure where the time of a step goes: data, forward, backward, update and callbacks.

    `summary` has the median of each in milliseconds, and `print(timer)` a table. A compiled step is
    one program; to be measured it runs as three, each waited for, and forward runs once more by
    itself: a run with a timer is slower, and its numbers agree with those of one without to
    rounding. The first step, which compiles, is not counted.

    Args:
        trace: A file for the whole record as a Chrome trace, for chrome://tracing or Perfetto.

    >>> import numpy as np, trellis
    >>> timer = trellis.train.StepTimer()
    >>> data = np.ones((4, 1)), np.ones((4, 1))
    >>> _ = trellis.train.fit(
    ...     trellis.nn.Linear(1, 1), "mse_loss", data, optimizer="adam", callbacks=timer,
    ...     epochs=3, progress=False,
    ... )
    >>> list(timer.summary)
    ['data', 'forward', 'backward', 'update', 'callbacks']
    """

    def __init__(self, trace: str | os.PathLike[str] | None = None):
        check_arguments(StepTimer, locals())
        self.trace = trace
        self.clock: Clock = Clock()

    def on_step(self, run: "RunState") -> None:
        """Nothing but that callbacks are measured."""

    def on_end(self, run: "RunState") -> None:
        if self.trace is not None:
            self.save_trace(self.trace)

    @property
    def summary(self) -> dict[str, float]:
        """The median of each part in milliseconds."""
        found: dict[str, list[float]] = {}
        for name, _, length in self.clock.spans:
            found.setdefault(name, []).append(1000 * length)
        return {name: median(found.get(name, [0.0])) for name in PARTS}

    def save_trace(self, path: str | os.PathLike[str]) -> None:
        """Write all spans as a Chrome trace. Those of a step add up to it, but for "forward alone",
        the forward pass that is run once more to be timed."""
        events = [
            {
                "name": name,
                "cat": "fit",
                "ph": "X",
                "ts": round(1e6 * begin, 1),
                "dur": round(1e6 * length, 1),
                "pid": 1,
                "tid": 1,
            }
            for name, begin, length in self.clock.spans
        ]
        text = json.dumps({"traceEvents": events, "displayTimeUnit": "ms"})
        replace_file(path, [text.encode()])

    def __str__(self) -> str:
        summary = self.summary
        whole = sum(summary.values()) or 1.0
        rows = [f"{name:<10}{x:>10.3f} ms{x / whole:>8.1%}" for name, x in summary.items()]
        return "\n".join(rows)
