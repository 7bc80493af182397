"""Metrics of generated text."""

import math
from collections import Counter
from typing import Any

import numpy as np

from ..._core.dispatch import xp_of
from ..._core.errors import ArgumentError, ShapeError
from ..._core.kinds import check_arguments
from ..._core.typing import Nest
from .base import Metric, as_host


class BLEU(Metric):
    """How many n-grams of the outputs are in the targets, up to `max_n` tokens long: BLEU of a
    corpus with one reference for each text (Papineni et al., 2002).

    Outputs are tokens (texts, length), or scores (texts, length, vocabulary) of which the largest
    counts; targets are tokens. Their lengths may differ. The statistics are counts, so that the
    value is that of the whole corpus, and no mean over texts. Without any common n-gram of some
    length it is 0, unless `smooth`.

    Args:
        max_n: The longest n-grams.
        padding: A token that does not count.
        end: A token after which a text is over; it does not count either.
        smooth: Whether one is added to the counts of n-grams of two and more tokens (Lin and Och,
            2004).

    >>> import numpy as np, trellis
    >>> metric = trellis.train.BLEU(max_n=2)
    >>> found = metric.update(None, np.array([[1, 2, 3, 4]]), np.array([[1, 2, 3, 5]]))
    >>> round(metric.compute(found), 4)
    0.7071
    """

    def __init__(
        self,
        *,
        max_n: int = 4,
        padding: int | None = None,
        end: int | None = None,
        smooth: bool = False,
    ):
        check_arguments(BLEU, locals())
        if max_n < 1:
            raise ArgumentError(f"BLEU() expects max_n of at least 1, got {max_n}.")
        self.max_n, self.padding, self.end, self.smooth = max_n, padding, end, smooth

    def measure(self, output: Any, *targets: Any) -> Nest:
        target = targets[0]
        if len(output.shape) == len(target.shape) + 1:
            output = xp_of(output).argmax(output, axis=-1)
        if len(output.shape) != 2 or len(target.shape) != 2:
            raise ShapeError(
                "BLEU() expects tokens (texts, length) for outputs and targets, got shapes "
                f"{tuple(output.shape)} and {tuple(target.shape)}."
            )
        return {"output": output, "target": target}

    def keep(self, statistics: Any) -> Nest:
        """Counts: n-grams are counted on the host, after the step."""
        if "matches" in statistics:
            return statistics
        matches, possible = np.zeros(self.max_n, np.int64), np.zeros(self.max_n, np.int64)
        lengths = np.zeros(2, np.int64)
        outputs, targets = as_host(statistics["output"]), as_host(statistics["target"])
        for output, target in zip(outputs.tolist(), targets.tolist(), strict=True):
            said, wanted = self._text(output), self._text(target)
            lengths += (len(said), len(wanted))
            for n in range(1, self.max_n + 1):
                found = _grams(said, n)
                matches[n - 1] += sum((found & _grams(wanted, n)).values())
                possible[n - 1] += sum(found.values())
        return {"matches": matches, "possible": possible, "lengths": lengths}

    def _text(self, tokens: list[int]) -> list[int]:
        if self.end is not None and self.end in tokens:
            tokens = tokens[: tokens.index(self.end)]
        return [token for token in tokens if token != self.padding]

    def compute(self, statistics: Any) -> float:
        matches = np.asarray(statistics["matches"], np.float64)
        possible = np.asarray(statistics["possible"], np.float64)
        said, wanted = np.asarray(statistics["lengths"]).tolist()
        if self.smooth:
            matches[1:] += 1
            possible[1:] += 1
        if not matches.all():
            return 0.0
        penalty = 1.0 if said > wanted else math.exp(1 - wanted / said)
        return penalty * math.exp(float(np.mean(np.log(matches / possible))))


def _grams(tokens: list[int], n: int) -> Counter[tuple[int, ...]]:
    return Counter([tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1)])
