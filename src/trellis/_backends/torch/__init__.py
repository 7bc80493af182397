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
del Any, Callable, NamedTuple, builtins, threading  # type: ignore[name-defined]
