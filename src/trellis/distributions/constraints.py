"""Where the values and the parameters of a distribution lie: sets with a test of membership.

>>> import numpy as np
>>> from trellis.distributions import constraints
>>> constraints.positive.check(np.array([-1.0, 2.0]))
array([False,  True])
"""

from typing import Any

from .._core.dispatch import xp_of_any
from .._core.errors import ArgumentTypeError
from .._core.typing import Array, Backend
from ._calling import Value

# How far sums and triangles of matrices may be from what they should be, in float32 as well.
_TOLERANCE = 1e-4


class Constraint:
    """A set of numbers, vectors or matrices.

    Arguments:
        words: What an element is, to end the sentence "it must be ...".
        event_rank: How many axes one element has: 0 for numbers, 1 for vectors, 2 for matrices.
        is_discrete: Whether its numbers are whole.

    >>> from trellis.distributions import constraints
    >>> constraints.simplex
    simplex
    """

    def __init__(self, words: str, event_rank: int = 0, is_discrete: bool = False):
        self.words = words
        self.event_rank = event_rank
        self.is_discrete = is_discrete

    def check(self, x: Array, /) -> Any:
        """Which elements of `x` belong to the set, as an array of bools without the event's axes.

        >>> import numpy as np
        >>> from trellis.distributions import constraints
        >>> constraints.unit_interval.check(np.array([0.0, 1.5]))
        array([ True, False])
        """
        if not hasattr(x, "dtype"):
            raise ArgumentTypeError(f"check() expects an array, got {x!r}.")
        xp = xp_of_any(x)
        return self._check(xp, x)

    def _check(self, xp: Backend, x: Any) -> Any:
        raise NotImplementedError

    def __repr__(self) -> str:
        for name, value in globals().items():
            if value is self:
                return name
        return type(self).__name__


class _Real(Constraint):
    def _check(self, xp: Backend, x: Any) -> Any:
        return _over_event(xp, x == x, self.event_rank)


class interval(Constraint):
    """The numbers from `low` to `high`; None leaves an end open to infinity.

    Arguments:
        low: The lower end.
        high: The upper end.
        is_open: The ends themselves do not belong to it.
        is_discrete: Only whole numbers.

    >>> import numpy as np
    >>> from trellis.distributions import constraints
    >>> constraints.interval(0.0, 2.0).check(np.array([1.0, 3.0]))
    array([ True, False])
    """

    def __init__(
        self,
        low: Value | None = None,
        high: Value | None = None,
        is_open: bool = False,
        is_discrete: bool = False,
    ):
        kind = "a whole number" if is_discrete else "a number"
        self.low, self.high, self.is_open = low, high, is_open
        lower, upper = _shown(low), _shown(high)
        if low is None and high is None:
            words = kind
        elif high is None:
            words = f"{kind} above {lower}" if is_open else f"{kind} of at least {lower}"
        elif low is None:
            words = f"{kind} below {upper}" if is_open else f"{kind} of at most {upper}"
        else:
            words = f"{kind} from {lower} to {upper}" + (", without the ends" if is_open else "")
        super().__init__(words, 0, is_discrete)

    def _check(self, xp: Backend, x: Any) -> Any:
        good = x == xp.floor(x) if self.is_discrete else x == x
        if self.low is not None:
            good = good & ((x > self.low) if self.is_open else (x >= self.low))
        if self.high is not None:
            good = good & ((x < self.high) if self.is_open else (x <= self.high))
        return good

    def __repr__(self) -> str:
        name = super().__repr__()
        if name != "interval":
            return name
        return f"interval({_shown(self.low)}, {_shown(self.high)})"


def _shown(x: Any) -> str:
    return str(x) if x is None or not hasattr(x, "shape") else f"an array of shape {tuple(x.shape)}"


def _over_event(xp: Backend, good: Any, rank: int) -> Any:
    for _ in range(rank):
        good = xp.all(good, axis=-1)
    return good


class _Simplex(Constraint):
    def _check(self, xp: Backend, x: Any) -> Any:
        is_one = xp.abs(xp.sum(x, axis=-1) - 1.0) < _TOLERANCE
        return is_one & xp.all(x >= 0, axis=-1)


class _OneHot(Constraint):
    def _check(self, xp: Backend, x: Any) -> Any:
        are_bits = xp.all((x == 0) | (x == 1), axis=-1)
        return are_bits & (xp.sum(x, axis=-1) == 1)


class _Counts(Constraint):
    def _check(self, xp: Backend, x: Any) -> Any:
        return xp.all((x >= 0) & (x == xp.floor(x)), axis=-1)


class _PositiveVector(Constraint):
    def _check(self, xp: Backend, x: Any) -> Any:
        return xp.all(x > 0, axis=-1)


class _Ordered(Constraint):
    def _check(self, xp: Backend, x: Any) -> Any:
        return xp.all(x[..., 1:] > x[..., :-1], axis=-1)


class _LowerCholesky(Constraint):
    def _check(self, xp: Backend, x: Any) -> Any:
        is_lower = xp.all(xp.all(xp.tril(x) == x, axis=-1), axis=-1)
        return is_lower & xp.all(xp.linalg.diagonal(x) > 0, axis=-1)


class _CorrelationCholesky(_LowerCholesky):
    def _check(self, xp: Backend, x: Any) -> Any:
        lengths = xp.sum(x * x, axis=-1)
        are_ones = xp.all(xp.abs(lengths - 1.0) < _TOLERANCE, axis=-1)
        return super()._check(xp, x) & are_ones


class _PositiveDefinite(Constraint):
    def _check(self, xp: Backend, x: Any) -> Any:
        size = xp.max(xp.max(xp.abs(x), axis=-1), axis=-1)
        apart = xp.max(xp.max(xp.abs(x - xp.matrix_transpose(x)), axis=-1), axis=-1)
        is_finite = xp.all(xp.all(xp.isfinite(x), axis=-1), axis=-1)
        safe = xp.where(is_finite[..., None, None], x, xp.eye(x.shape[-1], dtype=x.dtype))
        return (
            is_finite
            & (apart <= _TOLERANCE * size)
            & (xp.min(xp.linalg.eigvalsh(safe), axis=-1) > 0)
        )


class _Correlation(_PositiveDefinite):
    def _check(self, xp: Backend, x: Any) -> Any:
        apart = xp.max(xp.abs(xp.linalg.diagonal(x) - 1.0), axis=-1)
        return super()._check(xp, x) & (apart < _TOLERANCE)


real = _Real("a number")
real_vector = _Real("a vector of numbers", 1)
real_matrix = _Real("a matrix of numbers", 2)
positive = interval(0.0, None, is_open=True)
nonnegative = interval(0.0, None)
unit_interval = interval(0.0, 1.0)
open_unit_interval = interval(0.0, 1.0, is_open=True)
circular = interval(-3.1415927410125732, 3.1415927410125732)
boolean = interval(0, 1, is_discrete=True)
nonnegative_integer = interval(0, None, is_discrete=True)
positive_integer = interval(1, None, is_discrete=True)
integer = interval(None, None, is_discrete=True)
simplex = _Simplex("a vector that is not negative and adds up to 1", 1)
one_hot = _OneHot("a vector with one 1 among zeros", 1, True)
counts = _Counts("a vector of whole numbers from 0 up", 1, True)
positive_vector = _PositiveVector("a vector of numbers above 0", 1)
ordered = _Ordered("a vector in rising order", 1)
lower_cholesky = _LowerCholesky("a lower triangular matrix with a positive diagonal", 2)
correlation_cholesky = _CorrelationCholesky(
    "a lower triangular matrix with a positive diagonal and rows of length 1", 2
)
positive_definite = _PositiveDefinite("a symmetric matrix with positive eigenvalues", 2)
correlation = _Correlation(
    "a symmetric matrix with positive eigenvalues and ones on its diagonal", 2
)
_HERE = tuple(globals())


def __dir__() -> list[str]:
    return [
        name
        for name in _HERE
        if name in ("Constraint", "interval")
        or (not name.startswith("_") and isinstance(globals()[name], Constraint))
    ]
