"""Bijections of vectors: onto simplices, ordered vectors and triangular matrices."""

from math import isqrt, log
from typing import Any

from .._core.errors import ShapeError
from .._core.typing import Array, Backend
from ..special import log_expit
from ._maps import Bijection, log_slope_of_tanh


class StickBreaking(Bijection):
    """From n - 1 numbers to n shares of a stick: each share is broken off what the last ones left.

    Zeros become equal shares.

    >>> import numpy as np
    >>> from trellis.distributions import bijections
    >>> bijections.StickBreaking()(np.zeros(3)).round(6)
    array([0.25, 0.25, 0.25, 0.25])
    """

    _ranks = (1, 1)

    def _forward(self, xp: Backend, x: Any) -> Any:
        logs, left = _broken(xp, x)
        return xp.exp(xp.concat([logs, left[..., -1:]], axis=-1))

    def _inverse(self, xp: Backend, y: Any) -> Any:
        # What is left after each share, added up from the end: no digits are lost.
        left = xp.flip(xp.cumulative_sum(xp.flip(y, axis=-1), axis=-1), axis=-1)[..., 1:]
        return xp.log(y[..., :-1]) - xp.log(left) + _offsets(xp, y, int(y.shape[-1]) - 1)

    def _log_det(self, xp: Backend, x: Any) -> Any:
        logs, _ = _broken(xp, x)
        moved = x - _offsets(xp, x, int(x.shape[-1]))
        return xp.sum(logs + log_expit(-moved), axis=-1)

    def shape_of(self, event_shape: tuple[int, ...], /) -> tuple[int, ...]:
        """One more than `event_shape`."""
        return (*event_shape[:-1], event_shape[-1] + 1)

    def shape_before(self, event_shape: tuple[int, ...], /) -> tuple[int, ...]:
        """One less than `event_shape`."""
        return (*event_shape[:-1], event_shape[-1] - 1)


def _offsets(xp: Backend, x: Any, count: int) -> Any:
    logs = [log(float(count - i)) for i in range(count)]
    return xp.asarray(logs, dtype=x.dtype, device=xp.device(x))


def _broken(xp: Backend, x: Any) -> tuple[Any, Any]:
    """The logarithms of all shares but the last, and of what is left after each."""
    moved = x - _offsets(xp, x, int(x.shape[-1]))
    left = xp.cumulative_sum(log_expit(-moved), axis=-1)
    before = xp.concat([xp.zeros_like(left[..., :1]), left[..., :-1]], axis=-1)
    return log_expit(moved) + before, left


class Ordered(Bijection):
    """From any vector to one in rising order: the first number, and steps that are exponentials.

    >>> import numpy as np
    >>> from trellis.distributions import bijections
    >>> bijections.Ordered()(np.array([5.0, 0.0, 0.0]))
    array([5., 6., 7.])
    """

    _ranks = (1, 1)

    def _forward(self, xp: Backend, x: Any) -> Any:
        steps = xp.concat([x[..., :1], xp.exp(x[..., 1:])], axis=-1)
        return xp.cumulative_sum(steps, axis=-1)

    def _inverse(self, xp: Backend, y: Any) -> Any:
        return xp.concat([y[..., :1], xp.log(y[..., 1:] - y[..., :-1])], axis=-1)

    def _log_det(self, xp: Backend, x: Any) -> Any:
        return xp.sum(x[..., 1:], axis=-1)


class LowerCholesky(Bijection):
    """From n (n + 1) / 2 numbers to a lower triangular matrix with a positive diagonal.

    First what is below the diagonal, row by row; then the logarithms of the diagonal.

    >>> import numpy as np
    >>> from trellis.distributions import bijections
    >>> bijections.LowerCholesky()(np.array([3.0, 0.0, 0.0]))
    array([[1., 0.],
           [3., 1.]])
    """

    _ranks = (1, 2)

    def _forward(self, xp: Backend, x: Any) -> Any:
        n = _side(int(x.shape[-1]), 1)
        below = _filled(xp, x, n)
        eye = xp.eye(n, dtype=x.dtype, device=xp.device(x))
        return below + eye * xp.expand_dims(xp.exp(x[..., -n:]), axis=-1)

    def _inverse(self, xp: Backend, y: Any) -> Any:
        return xp.concat([_below(xp, y), xp.log(xp.linalg.diagonal(y))], axis=-1)

    def _log_det(self, xp: Backend, x: Any) -> Any:
        return xp.sum(x[..., -_side(int(x.shape[-1]), 1) :], axis=-1)

    def shape_of(self, event_shape: tuple[int, ...], /) -> tuple[int, ...]:
        """The shape of the matrix for a vector of shape `event_shape`."""
        n = _side(event_shape[-1], 1)
        return (*event_shape[:-1], n, n)

    def shape_before(self, event_shape: tuple[int, ...], /) -> tuple[int, ...]:
        """The length of the vector for a matrix of shape `event_shape`."""
        n = event_shape[-1]
        return (*event_shape[:-2], n * (n + 1) // 2)


class CorrelationCholesky(Bijection):
    """From n (n - 1) / 2 numbers to the Cholesky factor of a correlation matrix.

    The numbers are partial correlations before `tanh`, row by row; the rows have length 1.

    >>> import numpy as np
    >>> from trellis.distributions import bijections
    >>> bijections.CorrelationCholesky()(np.zeros(1))
    array([[1., 0.],
           [0., 1.]])
    """

    _ranks = (1, 2)

    def _forward(self, xp: Backend, x: Any) -> Any:
        n = _side(int(x.shape[-1]), -1)
        eye = xp.eye(n, dtype=x.dtype, device=xp.device(x))
        return (xp.tanh(_filled(xp, x, n)) + eye) * xp.exp(0.5 * _left_over(xp, x, n))

    def _inverse(self, xp: Backend, y: Any) -> Any:
        squares = xp.flip(xp.cumulative_sum(xp.flip(y * y, axis=-1), axis=-1), axis=-1)
        # Above the diagonal nothing is left: no quotient there.
        part = _below(xp, y) / xp.sqrt(_below(xp, squares))
        return xp.atanh(part)

    def _log_det(self, xp: Backend, x: Any) -> Any:
        n = _side(int(x.shape[-1]), -1)
        rows = _below(xp, _left_over(xp, x, n))
        return xp.sum(0.5 * rows + log_slope_of_tanh(x), axis=-1)

    def shape_of(self, event_shape: tuple[int, ...], /) -> tuple[int, ...]:
        """The shape of the matrix for a vector of shape `event_shape`."""
        n = _side(event_shape[-1], -1)
        return (*event_shape[:-1], n, n)

    def shape_before(self, event_shape: tuple[int, ...], /) -> tuple[int, ...]:
        """The length of the vector for a matrix of shape `event_shape`."""
        n = event_shape[-1]
        return (*event_shape[:-2], n * (n - 1) // 2)


def _left_over(xp: Backend, x: Any, n: int) -> Any:
    """log of what is left of the length 1 of each row before each element."""
    logs = _filled(xp, log_slope_of_tanh(x), n)
    return xp.cumulative_sum(logs, axis=-1) - logs


def _side(length: int, more: int) -> int:
    """n, of n (n + more) / 2 numbers."""
    n = (isqrt(8 * length + 1) - more) // 2
    if n * (n + more) // 2 != length:
        sign = "+" if more > 0 else "-"
        raise ShapeError(f"A triangular matrix has n (n {sign} 1) / 2 numbers, got {length}.")
    return n


def _filled(xp: Backend, x: Any, n: int) -> Any:
    """The first numbers of x below the diagonal of a matrix, row by row, and zeros elsewhere."""
    count = n * (n - 1) // 2
    start = xp.zeros_like(xp.sum(x, axis=-1, keepdims=True))
    padded = xp.concat([x[..., :count], start], axis=-1)
    places = []
    for i in range(n):
        places += [i * (i - 1) // 2 + j if j < i else count for j in range(n)]
    at = xp.asarray(places, dtype="int32", device=xp.device(x))
    flat = xp.take(padded, at, axis=-1)
    return xp.reshape(flat, (*tuple(x.shape)[:-1], n, n))


def _below(xp: Backend, y: Array) -> Any:
    """What is below the diagonal, row by row."""
    n = int(y.shape[-1])
    places = []
    for i in range(n):
        places += [i * n + j for j in range(i)]
    flat = xp.reshape(y, (*tuple(y.shape)[:-2], n * n))
    at = xp.asarray(places, dtype="int32", device=xp.device(y))
    return xp.take(flat, at, axis=-1)
