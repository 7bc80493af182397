"""The PyTorch backend: an Array API namespace, and what Trellis needs beyond it."""

import sys as _sys
from typing import TYPE_CHECKING

from ..._core.versions import require as _require
from ._triton import load_beside_tensorflow as _load_beside_tensorflow

if TYPE_CHECKING:  # what `complete` adds
    from ..shared.formulas import *

_require("torch")  # before the files below import what an older version does not have
_load_beside_tensorflow()  # before they import torch's compiler

from . import fft as fft
from . import linalg as linalg
from . import random as random
from .activation import *
from .attention import *
from .casting import *
from .compilation import *
from .control import *
from .convolution import *
from .creation import *
from .dense import *
from .device import *
from .distributed import *
from .elementwise import *
from .foreach import *
from .gradients import *
from .host_calls import *
from .indexing import *
from .inspection import *
from .inspection import __array_namespace_info__ as __array_namespace_info__
from .interchange import *
from .manipulation import *
from .normalization import *
from .pooling import *
from .products import *
from .recurrent import *
from .reduction import *
from .searching import *
from .sets import *
from .sorting import *
from .special import *
from .tracing import *

from . import _register as _register  # isort: skip
from ._helpers import NATIVE  # isort: skip
from ._register import ARRAY_TYPES as ARRAY_TYPES  # isort: skip
from ..complete import complete as _complete  # isort: skip
from ..exports import keep_asked as _keep_asked  # isort: skip

__array_api_version__ = "2025.12"
TYPES = NATIVE
_keep_asked(globals())
MADE = _complete(_sys.modules[__name__])

# Last, when everything is there: from now on arrays of this framework find the backend.
_register.make_known()
