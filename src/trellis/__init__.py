"""Trellis: one machine-learning API on NumPy, JAX, PyTorch and TensorFlow.

The arrays decide which framework runs; native arrays go in and come out. Importing Trellis loads no
framework but NumPy.
"""

from typing import TYPE_CHECKING


# ruff: noqa: I001 (sorted by room)

# Rooms that are modules of their own
from . import errors as errors
from . import fft as fft
from . import interchange as interchange
from . import linalg as linalg
from . import random as random
from . import tree as tree

# Constants
from ._constants import e as e
from ._constants import inf as inf
from ._constants import nan as nan
from ._constants import newaxis as newaxis
from ._constants import pi as pi

# Containers
from ._container import Container as Container

# Control flow
from ._control import cond as cond
from ._control import scan as scan
from ._control import while_loop as while_loop

# Creation
from ._creation import arange as arange
from ._creation import asarray as asarray
from ._creation import empty as empty
from ._creation import empty_like as empty_like
from ._creation import eye as eye
from ._creation import from_dlpack as from_dlpack
from ._creation import full as full
from ._creation import full_like as full_like
from ._creation import linspace as linspace
from ._creation import meshgrid as meshgrid
from ._creation import one_hot as one_hot
from ._creation import ones as ones
from ._creation import ones_like as ones_like
from ._creation import tril as tril
from ._creation import triu as triu
from ._creation import zeros as zeros
from ._creation import zeros_like as zeros_like

# Data types: functions
from ._datatypes import astype as astype
from ._datatypes import can_cast as can_cast
from ._datatypes import dtype as dtype
from ._datatypes import finfo as finfo
from ._datatypes import iinfo as iinfo
from ._datatypes import isdtype as isdtype
from ._datatypes import result_type as result_type

# Data types: names and the default float
from ._dtypes import DType as DType
from ._dtypes import bfloat16 as bfloat16
from ._dtypes import bool_ as bool  # noqa: F401
from ._dtypes import complex64 as complex64
from ._dtypes import complex128 as complex128
from ._dtypes import default_dtype as default_dtype
from ._dtypes import float16 as float16
from ._dtypes import float32 as float32
from ._dtypes import float64 as float64
from ._dtypes import int8 as int8
from ._dtypes import int16 as int16
from ._dtypes import int32 as int32
from ._dtypes import int64 as int64
from ._dtypes import set_default_dtype as set_default_dtype
from ._dtypes import uint8 as uint8
from ._dtypes import uint16 as uint16
from ._dtypes import uint32 as uint32
from ._dtypes import uint64 as uint64
from ._dtypes import using_default_dtype as using_default_dtype

# Devices
from ._device import device as device
from ._device import to_device as to_device

# Dispatch
from ._dispatch import backend_of as backend_of
from ._dispatch import current_backend as current_backend
from ._dispatch import namespace as namespace
from ._dispatch import set_backend as set_backend
from ._dispatch import using_backend as using_backend

# Element by element
from ._elementwise import abs as abs
from ._elementwise import acos as acos
from ._elementwise import acosh as acosh
from ._elementwise import add as add
from ._elementwise import asin as asin
from ._elementwise import asinh as asinh
from ._elementwise import atan as atan
from ._elementwise import atan2 as atan2
from ._elementwise import atanh as atanh
from ._elementwise import bitwise_and as bitwise_and
from ._elementwise import bitwise_invert as bitwise_invert
from ._elementwise import bitwise_left_shift as bitwise_left_shift
from ._elementwise import bitwise_or as bitwise_or
from ._elementwise import bitwise_right_shift as bitwise_right_shift
from ._elementwise import bitwise_xor as bitwise_xor
from ._elementwise import ceil as ceil
from ._elementwise import clip as clip
from ._elementwise import conj as conj
from ._elementwise import copysign as copysign
from ._elementwise import cos as cos
from ._elementwise import cosh as cosh
from ._elementwise import divide as divide
from ._elementwise import equal as equal
from ._elementwise import erf as erf
from ._elementwise import exp as exp
from ._elementwise import expm1 as expm1
from ._elementwise import floor as floor
from ._elementwise import floor_divide as floor_divide
from ._elementwise import greater as greater
from ._elementwise import greater_equal as greater_equal
from ._elementwise import hypot as hypot
from ._elementwise import imag as imag
from ._elementwise import isclose as isclose
from ._elementwise import isfinite as isfinite
from ._elementwise import isinf as isinf
from ._elementwise import isnan as isnan
from ._elementwise import less as less
from ._elementwise import less_equal as less_equal
from ._elementwise import log as log
from ._elementwise import log10 as log10
from ._elementwise import log1p as log1p
from ._elementwise import log2 as log2
from ._elementwise import logaddexp as logaddexp
from ._elementwise import logical_and as logical_and
from ._elementwise import logical_not as logical_not
from ._elementwise import logical_or as logical_or
from ._elementwise import logical_xor as logical_xor
from ._elementwise import maximum as maximum
from ._elementwise import minimum as minimum
from ._elementwise import multiply as multiply
from ._elementwise import nan_to_num as nan_to_num
from ._elementwise import negative as negative
from ._elementwise import nextafter as nextafter
from ._elementwise import not_equal as not_equal
from ._elementwise import positive as positive
from ._elementwise import pow as pow
from ._elementwise import real as real
from ._elementwise import reciprocal as reciprocal
from ._elementwise import remainder as remainder
from ._elementwise import round as round
from ._elementwise import sign as sign
from ._elementwise import signbit as signbit
from ._elementwise import sin as sin
from ._elementwise import sinh as sinh
from ._elementwise import sqrt as sqrt
from ._elementwise import square as square
from ._elementwise import subtract as subtract
from ._elementwise import tan as tan
from ._elementwise import tanh as tanh
from ._elementwise import trunc as trunc

# Indexing
from ._indexing import at as at
from ._indexing import scatter as scatter
from ._indexing import segment_sum as segment_sum
from ._indexing import take as take
from ._indexing import take_along_axis as take_along_axis

# Linear algebra
from ._linear_algebra import einsum as einsum
from ._linear_algebra import matmul as matmul
from ._linear_algebra import matrix_transpose as matrix_transpose
from ._linear_algebra import tensordot as tensordot
from ._linear_algebra import vecdot as vecdot

# Manipulation
from ._manipulation import broadcast_arrays as broadcast_arrays
from ._manipulation import broadcast_to as broadcast_to
from ._manipulation import concat as concat
from ._manipulation import expand_dims as expand_dims
from ._manipulation import flip as flip
from ._manipulation import moveaxis as moveaxis
from ._manipulation import pad as pad
from ._manipulation import permute_dims as permute_dims
from ._manipulation import repeat as repeat
from ._manipulation import reshape as reshape
from ._manipulation import roll as roll
from ._manipulation import sliding_window as sliding_window
from ._manipulation import squeeze as squeeze
from ._manipulation import stack as stack
from ._manipulation import tile as tile
from ._manipulation import unstack as unstack

# Reduction
from ._reduction import all as all
from ._reduction import allclose as allclose
from ._reduction import any as any
from ._reduction import cumulative_prod as cumulative_prod
from ._reduction import cumulative_sum as cumulative_sum
from ._reduction import diff as diff
from ._reduction import logsumexp as logsumexp
from ._reduction import max as max
from ._reduction import mean as mean
from ._reduction import min as min
from ._reduction import prod as prod
from ._reduction import std as std
from ._reduction import sum as sum
from ._reduction import var as var

# Layers
from ._attention import multi_head_attention as multi_head_attention
from ._attention import scaled_dot_product_attention as scaled_dot_product_attention
from ._convolution import conv1d as conv1d
from ._convolution import conv1d_transpose as conv1d_transpose
from ._convolution import conv2d as conv2d
from ._convolution import conv2d_transpose as conv2d_transpose
from ._convolution import conv3d as conv3d
from ._convolution import conv3d_transpose as conv3d_transpose
from ._convolution import conv_general_dilated as conv_general_dilated
from ._convolution import conv_general_transpose as conv_general_transpose
from ._convolution import depthwise_conv2d as depthwise_conv2d
from ._dense import dropout as dropout
from ._dense import linear as linear
from ._recurrent import lstm_update as lstm_update

# Random
from ._random_rows import multinomial as multinomial
from ._random_rows import randint as randint
from ._random_rows import random_normal as random_normal
from ._random_rows import random_uniform as random_uniform
from ._random_rows import seed as seed
from ._random_rows import shuffle as shuffle

# Searching
from ._searching import argmax as argmax
from ._searching import argmin as argmin
from ._searching import count_nonzero as count_nonzero
from ._searching import nonzero as nonzero
from ._searching import searchsorted as searchsorted
from ._searching import topk as topk
from ._searching import where as where

# Sets
from ._sets import unique_all as unique_all
from ._sets import unique_counts as unique_counts
from ._sets import unique_inverse as unique_inverse
from ._sets import unique_values as unique_values

# Interchange
from .interchange import to_backend as to_backend
from .interchange import to_numpy as to_numpy

# Sorting
from ._sorting import argsort as argsort
from ._sorting import sort as sort

__version__ = "0.1.0"

# Gradients
from ._execute import execute_with_gradients as execute_with_gradients
from ._updates import adam_step as adam_step
from ._updates import adam_update as adam_update
from ._updates import gradient_descent_update as gradient_descent_update
from ._updates import lamb_update as lamb_update
from ._updates import lars_update as lars_update
from ._updates import optimizer_update as optimizer_update
from ._with_grads import no_grads as no_grads
from ._with_grads import set_with_grads as set_with_grads
from ._with_grads import unset_with_grads as unset_with_grads
from ._with_grads import with_grads as with_grads
from .compilation import compile as compile
from .gradients import bind_custom_gradient_function as bind_custom_gradient_function
from .gradients import checkpoint as checkpoint
from .gradients import grad as grad
from .gradients import hessian as hessian
from .gradients import jac as jac
from .gradients import jvp as jvp
from .gradients import stop_gradient as stop_gradient
from .gradients import value_and_grad as value_and_grad
from .gradients import vjp as vjp
from .gradients import vmap as vmap

# Rooms that open when one of them is first entered
from ._rooms import enter as __getattr__  # noqa: F401

if TYPE_CHECKING:
    from . import functional as functional
    from . import nn as nn
    from . import optim as optim
    from . import train as train
    from .nn import Module as Module
