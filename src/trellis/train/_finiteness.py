"""Where the first number that is not finite comes from."""

from typing import Any

import numpy as np

from .._array.interchange import to_numpy
from .._core import tree
from .._core.container import Container
from .._random.stream import stream
from ._precision import cast_floats, is_float


class LastStep:
    """What went into the step of a run, so that it can be looked at again, module by module."""

    def __init__(self, model: Any, loss: Any, precision: str | None):
        self._model, self._loss, self._precision = model, loss, precision
        self._given: tuple[Any, ...] | None = None

    def note(self, *given: Any) -> None:
        """Keep the variables, the buffers, the key, the inputs and the targets of a step."""
        self._given = given

    def culprit(self) -> str:
        """A sentence about the first numbers of the step that are not finite."""
        if self._given is None:
            return ""
        from ..debug.watching import watch  # a run without errors does not need it

        v, buffers, key, inputs, targets = self._given
        wrong = _first(v)
        if wrong is not None:
            return (
                f"The variable {wrong!r} was not finite before the step: the gradient of the step "
                "before was not."
            )
        for i, x in enumerate((*inputs, *targets)):
            if not _is_finite(x):
                part = f"input {i}" if i < len(inputs) else "the target"
                return f"The first numbers that are not finite are in the data: {part}."
        if self._precision is not None:
            v, inputs = cast_floats(v, self._precision), cast_floats(inputs, self._precision)
        with stream(key), watch(self._model, show=False) as seen:
            output = self._model(*inputs, v=v, buffers=buffers)
        if seen.first_nonfinite is not None and not seen.first_nonfinite.startswith("."):
            named, _, why = seen.first_nonfinite.partition(",")
            later = (
                " Its input is not finite either: look at what is computed before it."
                if "because its input" in why
                else ""
            )
            return f"The first module whose output is not finite is {named}.{later}"
        if not _is_finite(output):
            return f"The output of {type(self._model).__name__} itself is the first that is not."
        return "The output of the model is finite: the loss function makes it so."


def _first(v: Container) -> str | None:
    for chain, x in zip(tree.key_chains(v), tree.leaves(v), strict=True):
        if not _is_finite(x):
            return chain
    return None


def _is_finite(nest: Any) -> bool:
    floats = [x for x in tree.leaves(nest) if is_float(x)]
    return all([bool(np.isfinite(np.asarray(to_numpy(x), np.float64)).all()) for x in floats])
