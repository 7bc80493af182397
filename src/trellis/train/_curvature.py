"""The curvature that some optimizers use, measured every few steps on the batch of the next one.

An optimizer with `measure_every` takes an estimate of the diagonal of the Hessian of the loss by
its `measured(state, estimate)`, as `optim.Sophia` does.
"""

from typing import Any

from .._array.compilation import compile as compiled
from .._core.container import Container
from .._core.errors import NotSupportedError
from .._core.typing import Array
from ._step import Parts, forward_of


class Curvature:
    """Estimates for the optimizer of a run; the Hessian times a vector is one compiled function."""

    def __init__(self, parts: Parts, *, is_compiled: bool):
        from ..optim.sophia import curvature_along, random_signs

        if parts.precision == "float16":
            raise NotSupportedError(
                f"{type(parts.optimizer).__name__} measures the curvature, which has no range in "
                'float16: write mixed_precision="bfloat16", or leave it out.'
            )
        self.every: int = parts.optimizer.measure_every
        self._optimizer, self._signs = parts.optimizer, random_signs
        forward = forward_of(parts)
        optimizer = parts.optimizer

        def along(free: Container, v: Container, signs: Container, *rest: Any) -> Any:
            def loss_of(free: Container) -> Any:
                whole = optimizer.join(v, free) if hasattr(optimizer, "join") else free
                return forward(whole, *rest)

            return curvature_along(loss_of, free, signs)

        self._along = compiled(along) if is_compiled else along

    def measured(self, state: Any, key: Array, v: Container, *rest: Any) -> Any:
        """The state with a new estimate; `rest` is buffers, the key of the step, inputs, targets.

        The signs are drawn here: a draw for each leaf makes a long program to compile.
        """
        optimizer = self._optimizer
        free = optimizer.split(v)[0] if hasattr(optimizer, "split") else v
        estimate = self._along(free, v, self._signs(free, key), *rest)
        return optimizer.measured(state, estimate)
