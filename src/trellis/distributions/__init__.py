"""Distributions as pytrees: draws, probabilities, moments, transformations and divergences.

>>> import trellis
>>> from trellis.distributions import Normal
>>> d = Normal(trellis.asarray([0.0, 1.0]), 2.0)
>>> d.sample(trellis.random.key(0), (3,)).shape
(3, 2)
"""

from .._core.exports import public_names as _public_names
from . import constraints as constraints
from .distribution import Distribution as Distribution
from .expanded import Expanded as Expanded
from .location_scale import Cauchy as Cauchy
from .location_scale import Gumbel as Gumbel
from .location_scale import HalfCauchy as HalfCauchy
from .location_scale import Laplace as Laplace
from .location_scale import Logistic as Logistic
from .location_scale import Uniform as Uniform
from .normal import HalfNormal as HalfNormal
from .normal import LogNormal as LogNormal
from .normal import Normal as Normal
from .parametric import Parametric as Parametric


def __dir__() -> list[str]:
    return _public_names(__name__, "constraints")
