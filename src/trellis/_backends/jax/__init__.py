"""JAX as an Array API namespace, and what Trellis needs beyond it."""

import sys

import jax
import jax.numpy as jnp

from ..._dispatch import register
from . import _pytrees as _pytrees
from . import fft as fft
from . import linalg as linalg
from . import random as random
from .activation import *  # noqa: F403
from .compilation import *  # noqa: F403
from .control import *  # noqa: F403
from .creation import *  # noqa: F403
from .datatypes import *  # noqa: F403
from .device import *  # noqa: F403
from .elementwise import *  # noqa: F403
from .functional import *  # noqa: F403
from .gradients import *  # noqa: F403
from .indexing import *  # noqa: F403
from .inspection import *  # noqa: F403
from .interchange import *  # noqa: F403
from .linear_algebra import *  # noqa: F403
from .manipulation import *  # noqa: F403
from .multi_tensor import *  # noqa: F403
from .normalization import *  # noqa: F403
from .reduction import *  # noqa: F403
from .searching import *  # noqa: F403
from .sets import *  # noqa: F403
from .sorting import *  # noqa: F403

__array_api_version__ = "2024.12"
e, pi, inf, nan, newaxis = jnp.e, jnp.pi, jnp.inf, jnp.nan, None

# The class of arrays, the one that users name, and that of arrays inside jax.jit, grad and vmap.
register(sys.modules[__name__], type(jnp.zeros(1)), jax.Array, jax.core.Tracer)

del jax, jnp, register, sys
