"""The NumPy backend; the package itself is the Array API namespace."""

import sys

import numpy as np

from ..._dispatch import register
from . import fft as fft
from . import linalg as linalg
from . import random as random
from . import rules_elementwise, rules_fft, rules_indexing, rules_linalg, rules_reduction, rules_shape
from .activation import *  # noqa: F403
from .compilation import *  # noqa: F403
from .control import *  # noqa: F403
from .creation import *  # noqa: F403
from .datatypes import *  # noqa: F403
from .device import *  # noqa: F403
from .elementwise import *  # noqa: F403
from .gradients import *  # noqa: F403
from .functional import *  # noqa: F403
from .indexing import *  # noqa: F403
from .inspection import __array_namespace_info__ as __array_namespace_info__
from .interchange import *  # noqa: F403
from .linear_algebra import *  # noqa: F403
from .manipulation import *  # noqa: F403
from .multi_tensor import *  # noqa: F403
from .normalization import *  # noqa: F403
from .reduction import *  # noqa: F403
from .searching import *  # noqa: F403
from .sets import *  # noqa: F403
from .sorting import *  # noqa: F403
from .tape import TracedArray

__array_api_version__ = "2024.12"
e, pi, inf, nan, newaxis = np.e, np.pi, np.inf, np.nan, None

register(sys.modules[__name__], np.ndarray, TracedArray, *np.sctypeDict.values())
# Star imports bring the framework's own name along.
del np, sys, register, builtins  # type: ignore[name-defined]  # noqa: F821
del rules_elementwise, rules_fft, rules_indexing, rules_linalg, rules_reduction, rules_shape
