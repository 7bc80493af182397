"""Statistics of a batch that is divided among several processes. Inside `joined`, batch norms take
the mean over all parts of the batch. The caller supplies the reduction: these functions know
nothing of processes.
"""

from collections.abc import Callable
from contextvars import ContextVar, Token
from typing import Any

from .._core.tracing import is_followed
from .._core.typing import Array, Backend

_current: ContextVar["joined | None"] = ContextVar("trellis_joined_statistics", default=None)
# torch.compile cannot trace context variables, but it can trace a list that is left as it was
# found.
_while_followed: list["joined"] = []


class joined:
    """Inside the block, in this thread or task: `total` adds arrays of all shares, and `weight`, an
    array of one number, is this share of the examples.
    """

    def __init__(self, total: Callable[[Any], Any], weight: Array | None):
        self.total, self.weight = total, weight
        self._token: Token[joined | None] | None = None

    def __enter__(self) -> None:
        if is_followed():
            _while_followed.append(self)
        else:
            self._token = _current.set(self)

    def __exit__(self, *exception: object) -> None:
        if is_followed():
            _while_followed.pop()
        elif self._token is not None:
            _current.reset(self._token)


def shares() -> joined | None:
    """How statistics are joined here, if they are."""
    if is_followed():
        return _while_followed[-1] if len(_while_followed) else None
    return _current.get()


def joined_moments(
    xp: Backend, y: Array, axes: tuple[int, ...], count: float | Array, how: joined
) -> Any:
    """y without its mean over all shares, that mean, the variance, and the number of values."""
    weight = xp.reshape(xp.astype(how.weight, y.dtype), ())
    # A share of weight 0 replaces an empty one: its values do not matter.
    number = xp.where(weight > 0, xp.ones_like(weight), xp.zeros_like(weight)) * count
    rough = xp.mean(y, axis=axes, keepdims=True)
    shape = rough.shape
    rough = xp.reshape(xp.stop_gradient(rough), (-1,)) * weight
    found = how.total(xp.concat([rough, xp.reshape(number, (1,))], axis=0))
    rough, number = xp.reshape(found[:-1], shape), found[-1]
    y = y - rough
    rest = _total(xp, xp.mean(y, axis=axes, keepdims=True) * weight, how)
    y = y - rest
    spread = _total(xp, xp.mean(y * y, axis=axes, keepdims=True) * weight, how)
    return y, xp.stop_gradient(rough + rest), spread, number


def _total(xp: Backend, x: Array, how: joined) -> Any:
    return xp.reshape(how.total(xp.reshape(x, (-1,))), x.shape)
