"""JAX as an Array API namespace, and what Trellis needs beyond it."""

import sys

import jax
import jax.numpy as jnp

from ..._dispatch import register
from . import _pytrees as _pytrees
from . import fft as fft
from . import linalg as linalg
from . import random as random
from .activation import *
from .compilation import *
from .control import *
from .creation import *
from .datatypes import *
from .device import *
from .elementwise import *
from .functional import *
from .gradients import *
from .indexing import *
from .inspection import *
from .interchange import *
from .linear_algebra import *
from .manipulation import *
from .multi_tensor import *
from .normalization import *
from .pooling import *
from .reduction import *
from .searching import *
from .sets import *
from .sorting import *

__array_api_version__ = "2024.12"
e, pi, inf, nan, newaxis = jnp.e, jnp.pi, jnp.inf, jnp.nan, None

# The class of arrays, the one that users name, and that of arrays inside jax.jit, grad and vmap.
register(sys.modules[__name__], type(jnp.zeros(1)), jax.Array, jax.core.Tracer)

del jax, jnp, register, sys
