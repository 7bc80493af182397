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
from .fitting import least_squares as least_squares
from .linear import bicgstab as bicgstab
from .linear import cg as cg
from .linear import gmres as gmres
from .linear import linear_solve as linear_solve
from .minimizing import minimize as minimize
from .roots import fixed_point as fixed_point
from .roots import root as root


def __dir__() -> list[str]:
    return _public_names(__name__)
