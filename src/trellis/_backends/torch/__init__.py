"""The PyTorch backend. The package itself is an Array API namespace."""

import sys

import torch
from torch.utils import _pytree

from ..._container import Container, flatten_container
from ..._dispatch import register
from ..._settings import Setting
from . import fft as fft
from . import linalg as linalg
from . import random as random
from ._helpers import _unflattened
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

__array_api_version__ = "2024.12"

e = torch.e
pi = torch.pi
inf = torch.inf
nan = torch.nan
newaxis = None

register(sys.modules[__name__], torch.Tensor, torch.nn.Parameter)

# So that Containers pass through torch.compile, torch.func and torch.cond.
_pytree.register_pytree_node(
    Container,
    flatten_container,
    _unflattened,
    serialized_type_name="trellis.Container",
)

# Dynamo cannot read context variables; see Setting.
torch.compiler.assume_constant_result(Setting._look_up)

# Names that the imports above brought along and that are not part of the namespace.
del sys, torch, register, Container, Setting, flatten_container
del Any, Callable, NamedTuple, builtins, threading  # type: ignore[name-defined]  # noqa: F821
