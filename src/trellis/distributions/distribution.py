"""`Distribution`: what all distributions can do, and how they become pytrees."""

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

from .._core import tree
from .._core.dispatch import xp_of
from .._core.errors import NotSupportedError, ShapeError
from .._core.typing import Array, Shape
from .._random.arguments import as_shape
from ._calling import Value
from .constraints import Constraint


class Distribution:
    """A distribution over numbers, vectors or matrices: the base of all.

    It has a batch shape, one distribution for each element, and an event shape, that of one draw.
    A distribution is a pytree whose leaves are its parameters: derivatives by it, `vmap`, `scan`
    and compiled functions take it as an argument and return it. Values outside of the support have
    the log-probability minus infinity.

    >>> import trellis
    >>> from trellis.distributions import Normal
    >>> d = Normal(trellis.asarray([0.0, 1.0]), 2.0)
    >>> d.batch_shape, d.event_shape, d.sample(trellis.random.key(0), (3,)).shape
    ((2,), (), (3, 2))
    """

    # What the properties `has_rsample` and `is_discrete` of a family are.
    _has_rsample: ClassVar[bool] = False
    _is_discrete: ClassVar[bool] = False
    # Attributes that are parts of the pytree, and those that are constants of it.
    _parts: ClassVar[tuple[str, ...]] = ()
    _constants: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        register(cls)

    @property
    def has_rsample(self) -> bool:
        """Whether `rsample` has gradients by the parameters."""
        return self._has_rsample

    @property
    def is_discrete(self) -> bool:
        """Whether the values can be counted, so that `log_prob` is of probabilities."""
        return self._is_discrete

    # Shapes ---------------------------------------------------------------------------------------

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The shape of the batch: parameters are broadcast to it."""
        raise NotImplementedError

    @property
    def event_shape(self) -> tuple[int, ...]:
        """The shape of one draw: `()` for numbers."""
        return ()

    @property
    def event_rank(self) -> int:
        """The number of axes of one draw."""
        return len(self.event_shape)

    @property
    def support(self) -> Constraint:
        """The set of the values that can be drawn."""
        raise NotImplementedError

    # Draws ----------------------------------------------------------------------------------------

    def sample(self, key: Array, shape: Shape = ()) -> Any:
        """Draws of shape `shape + batch_shape + event_shape`, without gradients by the parameters.

        The same key gives the same draws on every backend, within rounding.
        """
        xp, draws = self._drawn(key, as_shape(shape))
        return xp.stop_gradient(draws)

    def rsample(self, key: Array, shape: Shape = ()) -> Any:
        """Draws as those of `sample`, with gradients by the parameters."""
        if not self.has_rsample:
            raise NotSupportedError(
                f"Draws of {type(self).__name__} have no gradient by its parameters. Use sample(), "
                "and the gradient of log_prob times what the draws are worth."
            )
        return self._drawn(key, as_shape(shape))[1]

    def _drawn(self, key: Array, shape: tuple[int, ...]) -> tuple[Any, Any]:
        draws = self._draw(key, (*shape, *self.batch_shape))
        return xp_of(draws), draws

    def _draw(self, key: Array, sizes: tuple[int, ...]) -> Any:
        """Draws of shape `sizes + event_shape`; the batch shape broadcasts to `sizes`."""
        raise NotImplementedError

    # Probabilities --------------------------------------------------------------------------------

    def log_prob(self, x: Value, /) -> Any:
        """The logarithm of the density, or of the probability, at `x`."""
        raise self._without("log_prob")

    def cdf(self, x: Value, /) -> Any:
        """The probability of a draw up to `x`."""
        raise self._without("cdf")

    def icdf(self, p: Value, /) -> Any:
        """The smallest value whose `cdf` is at least `p`: quantiles."""
        raise self._without("icdf")

    def entropy(self) -> Any:
        """The entropy in nats: the mean of `-log_prob` over draws."""
        raise self._without("entropy")

    # Moments --------------------------------------------------------------------------------------

    @property
    def mean(self) -> Any:
        """The mean of the draws; nan or infinite where it does not exist."""
        raise self._without("mean")

    @property
    def variance(self) -> Any:
        """The variance of each element of the draws."""
        raise self._without("variance")

    @property
    def stddev(self) -> Any:
        """The standard deviation of each element of the draws."""
        variance = self.variance
        return xp_of(variance).sqrt(variance)

    @property
    def mode(self) -> Any:
        """The value with the largest density or probability."""
        raise self._without("mode")

    def _without(self, what: str) -> NotSupportedError:
        return NotSupportedError(
            f"{type(self).__name__} has no closed form of {what}. Estimate it from draws: "
            "sample(key, shape)."
        )

    # Shapes again ---------------------------------------------------------------------------------

    def expand(self, batch_shape: Shape, /) -> "Distribution":
        """The same distribution with a larger batch shape: more draws, independent of each other.

        >>> from trellis.distributions import Normal
        >>> Normal(0.0, 1.0).expand((2, 3)).batch_shape
        (2, 3)
        """
        sizes = as_shape(batch_shape)
        own = self.batch_shape
        ends = sizes[len(sizes) - len(own) :] if len(own) <= len(sizes) else ()
        if len(own) > len(sizes) or not all([a in (1, b) for a, b in zip(own, ends)]):
            raise ShapeError(
                f"A distribution of batch shape {own} cannot be expanded to {sizes}: sizes other "
                "than 1 stay as they are, and new axes come first."
            )
        return self if own == sizes else self._expanded(sizes)

    def _expanded(self, sizes: tuple[int, ...]) -> "Distribution":
        raise NotImplementedError

    def __repr__(self) -> str:
        return described(self)


def described(node: Any) -> str:
    """A distribution or bijection by its class and its parts."""
    shown = [
        f"{name}={_shown(getattr(node, name))}"
        for name in (*node._parts, *node._constants)
        if getattr(node, name) is not None
    ]
    return f"{type(node).__name__}({', '.join(shown)})"


def _shown(value: Any) -> str:
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return f"{xp_of(value).dtype_name(value.dtype)}{list(value.shape)}"
    return repr(value)


# Pytrees ------------------------------------------------------------------------------------------


def register(cls: Any) -> None:
    """Objects of a class with `_parts` and `_constants` are pytrees from now on.

    An int among the parts is a count, which decides shapes: it is a constant, too.
    """
    tree.register_node(object.__new__(cls), _flat, partial(_rebuilt, cls))


def _flat(node: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    children = []
    fixed = []
    for name in node._parts:
        value = getattr(node, name)
        is_count = isinstance(value, int)
        children.append(None if is_count else value)
        fixed.append(value if is_count else None)
    for name in node._constants:
        fixed.append(getattr(node, name))
    return tuple(children), tuple(fixed)


def _rebuilt(cls: Any, fixed: tuple[Any, ...], children: Any) -> Any:
    node: Any = object.__new__(cls)
    parts = cls._parts
    count = len(parts)
    for name, child, constant in zip(parts, children, fixed[:count]):
        setattr(node, name, child if constant is None else constant)
    for name, value in zip(cls._constants, fixed[count:]):
        setattr(node, name, value)
    return node


def rebuilt_with(node: Any, changed: Mapping[str, Any]) -> Any:
    """A copy with other values of some attributes, which are not checked."""
    new: Any = object.__new__(type(node))
    for name in (*node._parts, *node._constants):
        setattr(new, name, changed[name] if name in changed else getattr(node, name))
    return new
