"""The NumPy backend; the package itself is the Array API namespace."""

import sys

import numpy as np

from ..._dispatch import register
from . import fft as fft
from . import linalg as linalg
from . import random as random
from . import (
    rules_elementwise,
    rules_fft,
    rules_indexing,
    rules_linalg,
    rules_reduction,
    rules_shape,
)
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
from .inspection import __array_namespace_info__ as __array_namespace_info__
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
from .tape import TracedArray

__array_api_version__ = "2024.12"
e, pi, inf, nan, newaxis = np.e, np.pi, np.inf, np.nan, None

register(sys.modules[__name__], np.ndarray, TracedArray, *np.sctypeDict.values())
# Star imports bring the framework's own name along.
del np, sys, register, builtins  # type: ignore[name-defined]
del rules_elementwise, rules_fft, rules_indexing, rules_linalg, rules_reduction, rules_shape
