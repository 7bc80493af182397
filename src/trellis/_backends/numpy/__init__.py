"""The NumPy backend: an Array API namespace, and what Trellis needs beyond it."""

import sys as _sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # what `complete` adds
    from ..shared.formulas import *
    from ..shared.formulas.inspection import __array_namespace_info__ as __array_namespace_info__

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
from .distributed import *
from .elementwise import *
from .foreach import *
from .gradients import *
from .host_calls import *
from .indexing import *
from .inspection import *
from .interchange import *
from .manipulation import *
from .normalization import *
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

# Last, when everything is defined: from now on, arrays of this framework are dispatched here.
_register.make_known()
