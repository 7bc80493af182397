"""Markov chain Monte Carlo: draws from a density that is known up to a factor.

The same key gives the same chains on every backend, in float64 to the rounding of the density.
"""

from .._core.exports import public_names as _public_names
from .diagnostics import ess as ess
from .diagnostics import rhat as rhat
from .diagnostics import summary as summary
from .samplers import HMC as HMC
from .samplers import NUTS as NUTS
from .sampling import Chains as Chains
from .sampling import sample as sample


def __dir__() -> list[str]:
    return _public_names(__name__)
