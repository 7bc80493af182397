"""Bijections: maps that can be inverted, with the logarithm of how much they stretch volume.

Compositions of them are flows. One with parameters is a pytree of them.

>>> import numpy as np
>>> from trellis.distributions import bijections
>>> b = bijections.Compose([bijections.Sigmoid(), bijections.Affine(1.0, 2.0)])
>>> b(np.zeros(2)), b.inverse(b(np.array([0.25])))
(array([2., 2.]), array([0.25]))
"""

from .._core.exports import public_names as _public_names
from ._bijecting import biject_to as biject_to
from ._maps import Affine as Affine
from ._maps import Bijection as Bijection
from ._maps import Compose as Compose
from ._maps import Exp as Exp
from ._maps import Identity as Identity
from ._maps import Inverse as Inverse
from ._maps import OverEvent as OverEvent
from ._maps import Power as Power
from ._maps import Sigmoid as Sigmoid
from ._maps import Softplus as Softplus
from ._maps import Tanh as Tanh
from ._vector_maps import CorrelationCholesky as CorrelationCholesky
from ._vector_maps import LowerCholesky as LowerCholesky
from ._vector_maps import Ordered as Ordered
from ._vector_maps import StickBreaking as StickBreaking


def __dir__() -> list[str]:
    return _public_names(__name__)
