"""Sharpness-aware minimization: gradients a little uphill of the variables."""

from collections.abc import Callable
from typing import Any

from .._core import tree
from .._core.dispatch import xp_of
from .._gradients.transforms import value_and_grad
from .arguments import explained, positive
from .clipping import global_norm
from .engine import cast_like


@explained
def sharpness_aware(
    loss: Callable[..., Any], rho: float = 0.05, *, has_aux: bool = False
) -> Callable[..., Any]:
    """`value_and_grad` with the gradients where the loss is highest nearby (Foret et al., 2021).

        e = rho * g / ||g||;    the result is loss(v) and the gradient at v + e

    Flat minima are favoured; every step takes two gradients.

    Args:
        loss: From the variables, and whatever else, to one number.
        rho: The distance at which the gradient is taken, above 0.
        has_aux: Whether the loss returns `(value, aux)`; the result is then
            `((value, aux), gradients)`, at v.

    >>> import numpy as np, trellis
    >>> from trellis import optim
    >>> gradients = optim.sharpness_aware(lambda v: trellis.sum(v * v), rho=0.5)
    >>> value, g = gradients(np.array([3.0, 4.0]))
    >>> float(value), g
    (25.0, array([6.6, 8.8]))
    """
    distance = positive("rho", rho)
    both = value_and_grad(loss, has_aux=has_aux)

    def gradients(v: Any, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        value, g = both(v, *args, **kwargs)
        norm: Any = global_norm(g)
        xp = xp_of(norm)
        is_zero = norm == 0
        factor = xp.where(is_zero, norm, distance / xp.where(is_zero, norm + 1, norm))
        uphill = tree.map(lambda w, g: w + cast_like(xp, factor, w) * g, v, g)
        return value, both(uphill, *args, **kwargs)[1]

    return gradients
