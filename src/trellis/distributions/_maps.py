"""Bijections: maps that can be inverted, with the logarithm of how much they stretch volume.

Compositions of them are flows. One with parameters is a pytree of them.

>>> import numpy as np
>>> from trellis.distributions import bijections
>>> b = bijections.Compose([bijections.Sigmoid(), bijections.Affine(1.0, 2.0)])
>>> b(np.zeros(2)), b.inverse(b(np.array([0.25])))
(array([2., 2.]), array([0.25]))
"""

from collections.abc import Sequence
from math import log
from typing import Any, ClassVar

from .._core.dispatch import xp_of
from .._core.errors import ArgumentTypeError
from .._core.typing import Backend
from ..special import expit, log_expit, logit, softplus_inverse
from ._calling import Value, as_value, in_one_dtype, quietly
from .distribution import described, register


class Bijection:
    """A map that can be inverted: the base of all.

    A bijection of one's own defines `_forward`, `_inverse` and `_log_det` over the backend and
    arrays, and names its parameters in `_parts`.

    >>> from trellis.distributions import bijections
    >>> bijections.Exp()(0.0).item()
    1.0
    """

    # The axes of one element before and after: 0 for numbers.
    _ranks: ClassVar[tuple[int, int]] = (0, 0)
    _parts: ClassVar[tuple[str, ...]] = ()
    _constants: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        register(cls)

    @property
    def ranks(self) -> tuple[int, int]:
        """How many axes one element has before and after: 0 for numbers, 1 for vectors."""
        return self._ranks

    def __call__(self, x: Value, /) -> Any:
        """The image of `x`."""
        return self._with(self._forward, x)

    def inverse(self, y: Value, /) -> Any:
        """The point whose image is `y`."""
        return self._with(self._inverse, y)

    def log_det(self, x: Value, /) -> Any:
        """The logarithm of the size of the derivative at `x`, of its determinant for vectors."""
        return self._with(self._log_det, x)

    def _with(self, formula: Any, x: Value) -> Any:
        xp, (at, *values), _ = in_one_dtype([x, *[getattr(self, name) for name in self._parts]])
        return quietly(xp, formula, at, *values)

    def _forward(self, xp: Backend, x: Any, *parameters: Any, **_: Any) -> Any:
        raise NotImplementedError

    def _inverse(self, xp: Backend, y: Any, *parameters: Any, **_: Any) -> Any:
        raise NotImplementedError

    def _log_det(self, xp: Backend, x: Any, *parameters: Any, **_: Any) -> Any:
        raise NotImplementedError

    def shape_of(self, event_shape: tuple[int, ...], /) -> tuple[int, ...]:
        """The shape of the image of an element of shape `event_shape`."""
        return event_shape

    def shape_before(self, event_shape: tuple[int, ...], /) -> tuple[int, ...]:
        """The shape of the elements whose images have the shape `event_shape`."""
        return event_shape

    def slope(self, x: Value, /) -> Any:
        """1 where a map of numbers rises at `x`, and -1 where it falls."""
        xp, (at,), _ = in_one_dtype([x])
        return xp.ones_like(at)

    def __repr__(self) -> str:
        return described(self)


class Identity(Bijection):
    """The map that changes nothing.

    >>> from trellis.distributions import bijections
    >>> bijections.Identity()(2.0).item()
    2.0
    """

    def _forward(self, xp: Backend, x: Any) -> Any:
        return x

    def _inverse(self, xp: Backend, y: Any) -> Any:
        return y

    def _log_det(self, xp: Backend, x: Any) -> Any:
        return xp.zeros_like(x)


class Affine(Bijection):
    """`loc` + `scale` * x, for a scale that is not 0.

    >>> from trellis.distributions import bijections
    >>> bijections.Affine(1.0, 2.0)(3.0).item()
    7.0
    """

    _parts = ("loc", "scale")

    def __init__(self, loc: Value, scale: Value):
        self.loc = as_value("Affine", "loc", loc, False)
        self.scale = as_value("Affine", "scale", scale, False)

    def _forward(self, xp: Backend, x: Any, loc: Any, scale: Any) -> Any:
        return loc + scale * x

    def _inverse(self, xp: Backend, y: Any, loc: Any, scale: Any) -> Any:
        return (y - loc) / scale

    def _log_det(self, xp: Backend, x: Any, loc: Any, scale: Any) -> Any:
        return xp.log(xp.abs(scale)) + xp.zeros_like(x)

    def slope(self, x: Value, /) -> Any:
        """The sign of `scale`, at every `x`."""
        xp, (at, scale), _ = in_one_dtype([x, self.scale])
        return xp.sign(scale) + xp.zeros_like(at)


class Exp(Bijection):
    """The exponential: from all numbers to those above 0.

    >>> from trellis.distributions import bijections
    >>> bijections.Exp().inverse(1.0).item()
    0.0
    """

    def _forward(self, xp: Backend, x: Any) -> Any:
        return xp.exp(x)

    def _inverse(self, xp: Backend, y: Any) -> Any:
        return xp.log(y)

    def _log_det(self, xp: Backend, x: Any) -> Any:
        return x


class Sigmoid(Bijection):
    """The sigmoid: from all numbers to those between 0 and 1.

    >>> from trellis.distributions import bijections
    >>> bijections.Sigmoid()(0.0).item()
    0.5
    """

    def _forward(self, xp: Backend, x: Any) -> Any:
        return expit(x)

    def _inverse(self, xp: Backend, y: Any) -> Any:
        return logit(y)

    def _log_det(self, xp: Backend, x: Any) -> Any:
        return log_expit(x) + log_expit(-x)


class Tanh(Bijection):
    """The hyperbolic tangent: from all numbers to those between -1 and 1.

    >>> from trellis.distributions import bijections
    >>> bijections.Tanh()(0.0).item()
    0.0
    """

    def _forward(self, xp: Backend, x: Any) -> Any:
        return xp.tanh(x)

    def _inverse(self, xp: Backend, y: Any) -> Any:
        return xp.atanh(y)

    def _log_det(self, xp: Backend, x: Any) -> Any:
        return log_slope_of_tanh(x)


def log_slope_of_tanh(x: Any) -> Any:
    """log(1 - tanh(x)**2), also where the tangent is rounded to 1."""
    return 2.0 * (log(2.0) - x + log_expit(2.0 * x))


class Softplus(Bijection):
    """log(1 + exp(x)): from all numbers to those above 0, almost x for large x.

    >>> from trellis.distributions import bijections
    >>> round(bijections.Softplus()(0.0).item(), 4)
    0.6931
    """

    def _forward(self, xp: Backend, x: Any) -> Any:
        return -log_expit(-x)

    def _inverse(self, xp: Backend, y: Any) -> Any:
        return softplus_inverse(y)

    def _log_det(self, xp: Backend, x: Any) -> Any:
        return log_expit(x)


class Power(Bijection):
    """x to the power `exponent`, for x above 0 and an exponent that is not 0.

    >>> from trellis.distributions import bijections
    >>> bijections.Power(2.0)(3.0).item()
    9.0
    """

    _parts = ("exponent",)

    def __init__(self, exponent: Value):
        self.exponent = as_value("Power", "exponent", exponent, False)

    def _forward(self, xp: Backend, x: Any, exponent: Any) -> Any:
        return xp.pow(x, exponent)

    def _inverse(self, xp: Backend, y: Any, exponent: Any) -> Any:
        return xp.pow(y, 1.0 / exponent)

    def _log_det(self, xp: Backend, x: Any, exponent: Any) -> Any:
        return xp.log(xp.abs(exponent)) + (exponent - 1.0) * xp.log(x)

    def slope(self, x: Value, /) -> Any:
        """The sign of `exponent`, at every `x`."""
        xp, (at, exponent), _ = in_one_dtype([x, self.exponent])
        return xp.sign(exponent) + xp.zeros_like(at)


class Inverse(Bijection):
    """The inverse of `bijection`.

    >>> from trellis.distributions import bijections
    >>> bijections.Inverse(bijections.Exp())(1.0).item()
    0.0
    """

    _parts = ("bijection",)

    def __init__(self, bijection: Bijection):
        self.bijection = _bijection("Inverse", bijection)

    @property
    def ranks(self) -> tuple[int, int]:
        """Those of the bijection, turned round."""
        before, after = self.bijection.ranks
        return after, before

    def __call__(self, x: Value, /) -> Any:
        """The point whose image under the bijection is `x`."""
        return self.bijection.inverse(x)

    def inverse(self, y: Value, /) -> Any:
        """The image of `y` under the bijection."""
        return self.bijection(y)

    def log_det(self, x: Value, /) -> Any:
        """That of the bijection at the result, negative."""
        return -self.bijection.log_det(self.bijection.inverse(x))

    def slope(self, x: Value, /) -> Any:
        """That of the bijection."""
        return self.bijection.slope(self.bijection.inverse(x))

    def shape_of(self, event_shape: tuple[int, ...], /) -> tuple[int, ...]:
        """The shape whose image has the shape `event_shape`."""
        return self.bijection.shape_before(event_shape)

    def shape_before(self, event_shape: tuple[int, ...], /) -> tuple[int, ...]:
        """The shape of the elements whose images have the shape `event_shape`."""
        return self.bijection.shape_of(event_shape)


class Compose(Bijection):
    """Several bijections, `bijections`, the first one of which is applied first.

    >>> from trellis.distributions import bijections
    >>> bijections.Compose([bijections.Exp(), bijections.Affine(1.0, 1.0)])(0.0).item()
    2.0
    """

    _parts = ("bijections",)

    def __init__(self, bijections: Sequence[Bijection]):
        self.bijections = tuple([_bijection("Compose", b) for b in bijections])

    @property
    def ranks(self) -> tuple[int, int]:
        """How many axes one element has before and after all of them."""
        before, after = 0, 0
        for b in self.bijections:
            first, last = b.ranks
            # More axes than there are so far were axes of an element from the beginning.
            more = max(first - after, 0)
            before, after = before + more, max(after, first) - first + last
        return before, after

    def __call__(self, x: Value, /) -> Any:
        """The image of `x` under one after the other."""
        for b in self.bijections:
            x = b(x)
        return x

    def inverse(self, y: Value, /) -> Any:
        """The point whose image is `y`."""
        for b in self.bijections[::-1]:
            y = b.inverse(y)
        return y

    def log_det(self, x: Value, /) -> Any:
        """The sum of theirs, over the axes of one element."""
        rank = self.ranks[0]
        total: Any = 0.0
        for b in self.bijections:
            first, last = b.ranks
            total = total + summed(b.log_det(x), rank - first)
            rank = rank - first + last
            x = b(x)
        return total

    def slope(self, x: Value, /) -> Any:
        """The product of theirs."""
        total: Any = 1.0
        for b in self.bijections:
            total = total * b.slope(x)
            x = b(x)
        return total

    def shape_of(self, event_shape: tuple[int, ...], /) -> tuple[int, ...]:
        """The shape of the image of an element of shape `event_shape`."""
        for b in self.bijections:
            event_shape = b.shape_of(event_shape)
        return event_shape

    def shape_before(self, event_shape: tuple[int, ...], /) -> tuple[int, ...]:
        """The shape of the elements whose images have the shape `event_shape`."""
        for b in self.bijections[::-1]:
            event_shape = b.shape_before(event_shape)
        return event_shape


class OverEvent(Bijection):
    """`bijection` for elements with `rank` more axes, over which `log_det` is summed.

    >>> import numpy as np
    >>> from trellis.distributions import bijections
    >>> bijections.OverEvent(bijections.Exp(), 1).log_det(np.array([1.0, 2.0])).item()
    3.0
    """

    _parts = ("bijection",)
    _constants = ("rank",)

    def __init__(self, bijection: Bijection, rank: int):
        self.bijection, self.rank = _bijection("OverEvent", bijection), rank

    @property
    def ranks(self) -> tuple[int, int]:
        """Those of the bijection, and `rank` more."""
        before, after = self.bijection.ranks
        return before + self.rank, after + self.rank

    def __call__(self, x: Value, /) -> Any:
        """The image of `x`."""
        return self.bijection(x)

    def inverse(self, y: Value, /) -> Any:
        """The point whose image is `y`."""
        return self.bijection.inverse(y)

    def log_det(self, x: Value, /) -> Any:
        """The sum over the new axes."""
        return summed(self.bijection.log_det(x), self.rank)

    def shape_of(self, event_shape: tuple[int, ...], /) -> tuple[int, ...]:
        """The shape of the image of an element of shape `event_shape`."""
        return self.bijection.shape_of(event_shape)

    def shape_before(self, event_shape: tuple[int, ...], /) -> tuple[int, ...]:
        """The shape of the elements whose images have the shape `event_shape`."""
        return self.bijection.shape_before(event_shape)


def summed(x: Any, rank: int) -> Any:
    """The sum over the last axes."""
    if rank <= 0:
        return x
    return xp_of(x).sum(x, axis=tuple(range(-rank, 0)))


def _bijection(owner: str, value: object) -> Bijection:
    if not isinstance(value, Bijection):
        raise ArgumentTypeError(
            f"{owner} expects bijections, such as bijections.Exp(), got {value!r}."
        )
    return value
