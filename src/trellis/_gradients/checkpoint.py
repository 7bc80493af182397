"""`checkpoint`: less memory for more time."""

from collections.abc import Callable
from typing import Any

from .._core import tree
from .._core.arrays import is_array
from .._core.dispatch import xp_of_any
from .._core.kinds import check_callable
from .._core.repeating import Surroundings
from .._core.tracing import is_followed


def checkpoint(func: Callable[..., Any]) -> Callable[..., Any]:
    """`func` with the same values and gradients, but without stored intermediate values.

    The backward pass runs `func` again: more time for less memory. Arrays and modules that `func`
    closes over get their gradients too. The second run sees the same random draws, running
    statistics, modes and settings as the first, and running statistics are updated once. Other
    state that `func` reads must not change in between. `torch.compile` decides by itself what to
    compute again. For modules there is `nn.Checkpoint`.

    >>> import numpy as np, trellis
    >>> f = trellis.checkpoint(lambda x: trellis.sin(x) ** 2)
    >>> trellis.grad(lambda x: trellis.sum(f(x)))(np.array([0.0]))
    array([0.])
    """
    check_callable("checkpoint", func)

    def recomputed(*args: Any, **kwargs: Any) -> Any:
        if is_followed():
            return func(*args, **kwargs)
        call = _Repeatable(func, args, kwargs)
        return call.finish(xp_of_any(*call.arrays).checkpoint(call.run)(call.arrays))

    return recomputed


class _Repeatable:
    """A call as a function from arrays to arrays that can run again."""

    def __init__(self, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]):
        leaves, self._spec = tree.flatten([list(args), kwargs])
        self.arrays, self._join = _arrays_apart(leaves)
        self._func, self._around = func, Surroundings()
        self._finish: Callable[[list[Any]], Any] | None = None

    def run(self, xs: list[Any]) -> list[Any]:
        args, kwargs = tree.unflatten(self._spec, self._join(xs))
        outputs, spec = tree.flatten(list(self._around.run(lambda: self._func(*args, **kwargs))))
        ys, join = _arrays_apart(outputs)
        if self._finish is None:
            self._finish = lambda ys: tree.unflatten(spec, join(ys))
        return ys

    def finish(self, ys: list[Any]) -> Any:
        """What the function returned; what it changed is kept."""
        assert self._finish is not None, "it has run"
        result, changes = self._finish(list(ys))
        self._around.keep(changes)
        return result


def _arrays_apart(leaves: list[Any]) -> tuple[list[Any], Callable[[list[Any]], list[Any]]]:
    """The arrays among the leaves, and what puts others into their places."""
    others = [None if is_array(x) else x for x in leaves]
    places = [i for i, x in enumerate(leaves) if is_array(x)]

    def join(arrays: list[Any]) -> list[Any]:
        joined = list(others)
        for i, x in zip(places, arrays, strict=True):
            joined[i] = x
        return joined

    return [leaves[i] for i in places], join
