"""Trellis: one machine-learning API on NumPy, JAX, PyTorch and TensorFlow.

The arrays decide which framework runs; native arrays go in and come out. `import trellis` loads
nothing, not even NumPy: names are found when they are first used.
"""

from typing import TYPE_CHECKING

from ._core.lazy import enter as __getattr__  # noqa: F401
from ._core.lazy import names_of_package as __dir__  # noqa: F401

__version__ = "0.2.0"

# For type checkers; at run time `_core/lazy.py` finds the same names.
if TYPE_CHECKING:
    from . import array_api as array_api
    from . import backend as backend
    from . import compilation as compilation
    from . import convert as convert
    from . import data as data
    from . import debug as debug
    from . import distributed as distributed
    from . import distributions as distributions
    from . import errors as errors
    from . import export as export
    from . import fft as fft
    from . import functional as functional
    from . import generation as generation
    from . import gradients as gradients
    from . import graph as graph
    from . import interchange as interchange
    from . import linalg as linalg
    from . import mcmc as mcmc
    from . import models as models
    from . import nn as nn
    from . import ode as ode
    from . import optim as optim
    from . import optimize as optimize
    from . import random as random
    from . import signal as signal
    from . import sklearn as sklearn
    from . import special as special
    from . import testing as testing
    from . import train as train
    from . import tree as tree
    from . import typing as typing
    from ._public import *  # noqa: F403
    from .functional import conv1d as conv1d
    from .functional import conv1d_transpose as conv1d_transpose
    from .functional import conv2d as conv2d
    from .functional import conv2d_transpose as conv2d_transpose
    from .functional import conv3d as conv3d
    from .functional import conv3d_transpose as conv3d_transpose
    from .functional import conv_general_dilated as conv_general_dilated
    from .functional import conv_general_transpose as conv_general_transpose
    from .functional import depthwise_conv2d as depthwise_conv2d
    from .functional import dropout as dropout
    from .functional import linear as linear
    from .functional import lstm_update as lstm_update
    from .functional import multi_head_attention as multi_head_attention
    from .functional import scaled_dot_product_attention as scaled_dot_product_attention
    from .nn import Module as Module
    from .optim.functions import adam_step as adam_step
    from .optim.functions import adam_update as adam_update
    from .optim.functions import gradient_descent_update as gradient_descent_update
    from .optim.functions import lamb_update as lamb_update
    from .optim.functions import lars_update as lars_update
    from .optim.functions import optimizer_update as optimizer_update
