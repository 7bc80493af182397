"""`Parametric`: distributions of which only formulas have to be written.

A family names its parameters and where they lie, and defines formulas: `_log_prob(xp, x,
*parameters)`, `_cdf`, `_icdf`, `_draws`, `_mean` and so on. They are given arrays of one float
dtype, in the order of `parameters`; a parameter that was not given is None. What lies outside of
the `_bounds` never reaches them.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from .._core.dispatch import load, xp_of, xp_of_any
from .._core.errors import ArgumentError, ShapeError
from .._core.shapes import broadcast_shapes
from .._core.tracing import is_followed
from .._core.typing import Array, Backend
from . import constraints
from ._calling import Value, as_value, in_one_dtype, quietly
from .constraints import Constraint, interval
from .distribution import Distribution, rebuilt_with
from .searching import quantile

NAN, INF = float("nan"), float("inf")


def named(**parameters: Constraint) -> Mapping[str, Constraint]:
    """The parameters of a family, in their order, and where they lie."""
    return parameters


class Parametric(Distribution):
    """A family of distributions with parameters, each of which is a number or an array.

    >>> from trellis.distributions import Normal
    >>> Normal(0.0, 1.0).parameters
    {'loc': real, 'scale': positive}
    """

    #: The parameters by name, and where each of them lies.
    parameters: ClassVar[Mapping[str, Constraint]] = {}
    # The ends of the support do not belong to it: the density is taken to be 0 there.
    _is_open: ClassVar[bool] = False

    if TYPE_CHECKING:  # the parameters are attributes

        def __getattr__(self, name: str) -> Any: ...

    def __init_subclass__(cls, **options: Any) -> None:
        cls._parts = tuple(cls.parameters)
        super().__init_subclass__(**options)

    def _set(self, **given: Any) -> None:
        """Store the parameters, and check those whose values are known now."""
        owner = type(self).__name__
        for name, constraint in self.parameters.items():
            value = given[name]
            if value is not None:
                value = as_value(owner, name, value, constraint.is_discrete)
                check_parameter(owner, name, value, constraint)
            setattr(self, name, value)
        self.batch_shape  # raises here for parameters that do not fit each other  # noqa: B018

    def _set_one(self, first: str, second: str, **given: Any) -> None:
        """As `_set`, with exactly one of two parameters."""
        if (given[first] is None) == (given[second] is None):
            both = "neither" if given[first] is None else "both"
            raise ArgumentError(
                f"{type(self).__name__} needs either {first} or {second}, got {both}."
            )
        self._set(**given)

    def _values(self) -> list[Any]:
        return [_read(getattr(self, name), where) for name, where in self.parameters.items()]

    # Shapes ---------------------------------------------------------------------------------------

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The shape to which the parameters broadcast, without the axes of an event."""
        shapes = []
        for name, constraint in self.parameters.items():
            value = getattr(self, name)
            if hasattr(value, "shape"):
                sizes = tuple(value.shape)
                shapes.append(sizes[: len(sizes) - constraint.event_rank])
        return broadcast_shapes(*shapes)

    def _expanded(self, sizes: tuple[int, ...]) -> Distribution:
        for name, constraint in self.parameters.items():
            value = getattr(self, name)
            if hasattr(value, "shape"):
                own = tuple(value.shape)
                event = own[len(own) - constraint.event_rank :]
                wide = xp_of(value).broadcast_to(value, (*sizes, *event))
                expanded: Distribution = rebuilt_with(self, {name: wide})
                return expanded
        from .expanded import Expanded

        return Expanded(self, sizes)

    @property
    def support(self) -> Constraint:
        """The set of the values that can be drawn."""
        low, high = self._bounds(*self._values())
        if low is None and high is None and not self._is_discrete:
            return constraints.real
        return interval(low, high, self._is_open, self._is_discrete)

    def _bounds(self, *parameters: Any, **_: Any) -> tuple[Any, Any]:
        """The ends of the support, numbers or parameters; None for infinity."""
        return None, None

    # What families define -------------------------------------------------------------------------

    def _log_prob(self, xp: Backend, x: Any, *parameters: Any, **_: Any) -> Any:
        raise self._without("log_prob")

    def _cdf(self, xp: Backend, x: Any, *parameters: Any, **_: Any) -> Any:
        raise self._without("cdf")

    def _icdf(self, xp: Backend, p: Any, *parameters: Any, **_: Any) -> Any:
        """Quantiles by a search over the cdf, where a family has no formula."""
        if type(self)._cdf is Parametric._cdf:
            raise self._without("icdf")
        low, high = self._bounds(*parameters)
        shape = broadcast_shapes(tuple(p.shape), self.batch_shape)
        wide = xp.broadcast_to(p, shape)
        return quantile(
            xp, self._cdf, self._log_prob, wide, parameters, low, high, self._is_discrete
        )

    def _draws(self, xp: Backend, key: Any, sizes: tuple[int, ...], kind: str,
               *parameters: Any, **_: Any) -> Any:  # fmt: skip
        raise self._without("sample")

    def _entropy(self, xp: Backend, *parameters: Any, **_: Any) -> Any:
        raise self._without("entropy")

    def _mean(self, xp: Backend, *parameters: Any, **_: Any) -> Any:
        raise self._without("mean")

    def _variance(self, xp: Backend, *parameters: Any, **_: Any) -> Any:
        raise self._without("variance")

    def _mode(self, xp: Backend, *parameters: Any, **_: Any) -> Any:
        raise self._without("mode")

    # What they are used for -----------------------------------------------------------------------

    def _draw(self, key: Array, sizes: tuple[int, ...]) -> Any:
        xp, values, kind = in_one_dtype(self._values(), key)
        return quietly(xp, self._draws, key, sizes, kind, *values)

    def log_prob(self, x: Value, /) -> Any:
        """The logarithm of the density, or of the probability, at `x`."""
        xp, (at, *values), _ = in_one_dtype([x, *self._values()])
        self._check_event(at)
        return quietly(xp, self._log_prob_inside, at, *values)

    def _log_prob_inside(self, xp: Backend, x: Any, *values: Any) -> Any:
        low, high = self._bounds(*values)
        if low is None and high is None and not self._is_discrete:
            return self._log_prob(xp, x, *values)
        is_inside = interval(low, high, self._is_open, self._is_discrete)._check(xp, x)
        found = self._log_prob(xp, _moved_inside(xp, x, is_inside, low, high, self), *values)
        return xp.where(is_inside, found, xp.where(xp.isnan(x), NAN, -INF))

    def cdf(self, x: Value, /) -> Any:
        """The probability of a draw up to `x`."""
        xp, (at, *values), _ = in_one_dtype([x, *self._values()])
        return quietly(xp, self._cdf_inside, at, *values)

    def _cdf_inside(self, xp: Backend, x: Any, *values: Any) -> Any:
        x = xp.floor(x) if self._is_discrete else x
        low, high = self._bounds(*values)
        is_below = x < low if low is not None else x == -INF
        is_above = x >= high if high is not None else x == INF
        is_inside = ~(is_below | is_above)
        found = self._cdf(xp, _moved_inside(xp, x, is_inside, low, high, self), *values)
        return xp.where(is_inside, found, xp.where(is_above, 1.0, xp.zeros_like(found)))

    def icdf(self, p: Value, /) -> Any:
        """The smallest value whose `cdf` is at least `p`: quantiles."""
        xp, (at, *values), _ = in_one_dtype([p, *self._values()])
        return quietly(xp, self._icdf_inside, at, *values)

    def _icdf_inside(self, xp: Backend, p: Any, *values: Any) -> Any:
        is_inside = (p >= 0) & (p <= 1)
        found = self._icdf(xp, xp.where(is_inside, p, xp.full_like(p, 0.5)), *values)
        return xp.where(is_inside, found, NAN)

    def entropy(self) -> Any:
        """The entropy in nats: the mean of `-log_prob` over draws."""
        return self._of_batch(self._entropy, False)

    @property
    def mean(self) -> Any:
        """The mean of the draws; nan or infinite where it does not exist."""
        return self._of_batch(self._mean, True)

    @property
    def variance(self) -> Any:
        """The variance of each element of the draws."""
        return self._of_batch(self._variance, True)

    @property
    def mode(self) -> Any:
        """The value with the largest density or probability."""
        return self._of_batch(self._mode, True)

    def _of_batch(self, formula: Any, has_event: bool) -> Any:
        xp, values, _ = in_one_dtype(self._values())
        found = quietly(xp, formula, *values)
        sizes = (*self.batch_shape, *(self.event_shape if has_event else ()))
        return found if tuple(found.shape) == sizes else xp.broadcast_to(found, sizes)

    def _check_event(self, x: Any) -> None:
        event = self.event_shape
        rank = len(event)
        if rank > 0 and tuple(x.shape)[-rank:] != event:
            raise ShapeError(
                f"{type(self).__name__} has events of shape {event}, got an array of shape "
                f"{tuple(x.shape)}: the event's axes come last."
            )


def _read(value: Any, where: Constraint) -> Any:
    """A parameter; of a Cholesky factor the lower triangle, so that nothing moves the other one."""
    is_factor = where is constraints.lower_cholesky and hasattr(value, "dtype")
    return xp_of(value).tril(value) if is_factor else value


def _moved_inside(xp: Backend, x: Any, is_inside: Any, low: Any, high: Any,
                  family: Parametric) -> Any:  # fmt: skip
    """`x`, and another point of the support where it is outside: no formula overflows there, whose
    gradient would be nan."""
    if low is None and high is None:
        inner = 0.0 * x
        inner = xp.where(xp.isfinite(inner), inner, 0.0)
    elif high is None:
        inner = low + 1.0 + xp.zeros_like(x)
    elif low is None:
        inner = high - 1.0 + xp.zeros_like(x)
    elif family._is_discrete:
        inner = low + xp.zeros_like(x)
    else:
        inner = 0.5 * low + 0.5 * high + xp.zeros_like(x)
    # nan stays, and gives nan.
    return xp.where(is_inside | xp.isnan(x), x, inner)


def check_parameter(owner: str, name: str, value: Any, constraint: Constraint) -> None:
    """Raise for a parameter whose values are known now and are not what they must be."""
    if not hasattr(value, "dtype"):
        if constraint.event_rank > 0:
            raise ArgumentError(f"{owner} needs {name} to be {constraint.words}, got {value!r}.")
        if is_followed():  # Dynamo, which cannot trace the functions of NumPy that this calls
            return
        numpy = load("numpy")
        is_good = bool(constraint._check(numpy, numpy.asarray(float(value), dtype="float64")))
    else:
        if len(value.shape) < constraint.event_rank:
            raise ShapeError(
                f"{owner} needs {name} to be {constraint.words}, got an array of shape "
                f"{tuple(value.shape)}."
            )
        xp = xp_of(value)
        if not xp.is_concrete(value):
            return
        is_good = bool(xp.all(constraint._check(xp, xp.stop_gradient(value))))
    if not is_good:
        raise ArgumentError(f"{owner} needs {name} to be {constraint.words}, got {value!r}.")


def check_order(family: Distribution, low: str, high: str) -> None:
    """Raise where two parameters whose values are known now are in the wrong order."""
    first, second = getattr(family, low), getattr(family, high)
    xp = xp_of_any(first, second)
    for value in (first, second):
        if hasattr(value, "dtype") and not xp.is_concrete(value):
            return
    is_below = first < second
    if not (is_below if isinstance(is_below, bool) else bool(xp.all(is_below))):
        raise ArgumentError(
            f"{type(family).__name__} needs {low} < {high}, got {first!r} and {second!r}."
        )
