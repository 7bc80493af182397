"""TensorFlow as an Array API namespace. Native tensors in and out; tf.Variable is read where it comes in."""

import sys as _sys
from math import e as e
from math import inf as inf
from math import nan as nan
from math import pi as pi

import tensorflow as tf

from ... import _dispatch
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
newaxis = None


def _array_types() -> list[type]:
    """The exact classes of eager and symbolic tensors and of variables; most have no public name."""
    classes = []

    def note(x: tf.Tensor) -> tf.Tensor:
        classes.append(type(x))
        return x

    # A backend may load while a function is being traced: step out of it.
    with tf.init_scope():
        spec = tf.TensorSpec([], tf.float32)
        tf.function(note, autograph=False).get_concrete_function(spec)
        classes += [type(tf.constant(0)), tf.Tensor, type(tf.Variable(0)), tf.Variable]
    return classes


_dispatch.register(_sys.modules[__name__], *_array_types())

del tf
