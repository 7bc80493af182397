"""Minima, roots and linear systems, with derivatives of their solutions.

All solvers take pytrees, run eagerly or compiled, are batched by `trellis.vmap`, and make the same
steps on all backends. Gradients of a solution come from the equations that hold there.

>>> import numpy as np, trellis
>>> trellis.optimize.minimize(lambda x: trellis.sum((x - 3.0) ** 2), np.zeros(2)).x
array([3., 3.])
"""

from .._core.exports import public_names as _public_names
from ._results import Minimum as Minimum
from ._results import Root as Root
from .minimizing import minimize as minimize


def __dir__() -> list[str]:
    return _public_names(__name__)
