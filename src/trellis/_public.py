"""The names of `trellis` that are defined in its core: loaded together, when the first is used.

`trellis/_core/lazy.py` finds them here at run time, type checkers through the import in
`trellis/__init__.py`.
"""

# ruff: noqa: I001 (sorted by module)

# Constants
from ._core.constants import e as e
from ._core.constants import inf as inf
from ._core.constants import nan as nan
from ._core.constants import newaxis as newaxis
from ._core.constants import pi as pi

# The base of all errors; the others are in trellis.errors
from ._core.errors import TrellisError as TrellisError

# Containers
from ._core.container import Container as Container

# Control flow
from ._array.control import apply_where as apply_where
from ._array.control import associative_scan as associative_scan
from ._array.control import cond as cond
from ._array.control import fori_loop as fori_loop
from ._array.control import scan as scan
from ._array.control import switch as switch
from ._array.control import while_loop as while_loop

# Creation
from ._array.creation import arange as arange
from ._array.creation import asarray as asarray
from ._array.creation import empty as empty
from ._array.creation import empty_like as empty_like
from ._array.creation import eye as eye
from ._array.creation import from_dlpack as from_dlpack
from ._array.creation import full as full
from ._array.creation import full_like as full_like
from ._array.creation import linspace as linspace
from ._array.creation import meshgrid as meshgrid
from ._array.creation import one_hot as one_hot
from ._array.creation import ones as ones
from ._array.creation import ones_like as ones_like
from ._array.creation import tril as tril
from ._array.creation import triu as triu
from ._array.creation import zeros as zeros
from ._array.creation import zeros_like as zeros_like

# Data types: functions
from ._array.casting import astype as astype
from ._array.casting import can_cast as can_cast
from ._array.casting import dtype as dtype
from ._array.casting import finfo as finfo
from ._array.casting import iinfo as iinfo
from ._array.casting import isdtype as isdtype
from ._array.casting import result_type as result_type

# Data types: names and the default float
from ._core.dtypes import DType as DType
from ._core.dtypes import bfloat16 as bfloat16
from ._core.dtypes import bool_ as bool  # noqa: F401
from ._core.dtypes import complex64 as complex64
from ._core.dtypes import complex128 as complex128
from ._core.dtypes import default_dtype as default_dtype
from ._core.dtypes import float16 as float16
from ._core.dtypes import float32 as float32
from ._core.dtypes import float64 as float64
from ._core.dtypes import int8 as int8
from ._core.dtypes import int16 as int16
from ._core.dtypes import int32 as int32
from ._core.dtypes import int64 as int64
from ._core.dtypes import set_default_dtype as set_default_dtype
from ._core.dtypes import uint8 as uint8
from ._core.dtypes import uint16 as uint16
from ._core.dtypes import uint32 as uint32
from ._core.dtypes import uint64 as uint64
from ._core.dtypes import using_default_dtype as using_default_dtype

# Devices
from ._array.device import device as device
from ._array.device import to_device as to_device

# Dispatch
from ._core.dispatch import backend_of as backend_of
from ._core.dispatch import current_backend as current_backend
from ._core.dispatch import namespace as namespace
from ._core.dispatch import set_backend as set_backend
from ._core.dispatch import using_backend as using_backend
from ._core.host_fallback import set_host_fallback as set_host_fallback
from ._core.host_fallback import using_host_fallback as using_host_fallback
from ._core.installed import backends as backends

# Element by element
from ._array.elementwise import abs as abs
from ._array.elementwise import acos as acos
from ._array.elementwise import acosh as acosh
from ._array.elementwise import add as add
from ._array.elementwise import asin as asin
from ._array.elementwise import asinh as asinh
from ._array.elementwise import atan as atan
from ._array.elementwise import atan2 as atan2
from ._array.elementwise import atanh as atanh
from ._array.elementwise import bitwise_and as bitwise_and
from ._array.elementwise import bitwise_invert as bitwise_invert
from ._array.elementwise import bitwise_left_shift as bitwise_left_shift
from ._array.elementwise import bitwise_or as bitwise_or
from ._array.elementwise import bitwise_right_shift as bitwise_right_shift
from ._array.elementwise import bitwise_xor as bitwise_xor
from ._array.elementwise import cbrt as cbrt
from ._array.elementwise import ceil as ceil
from ._array.elementwise import clip as clip
from ._array.elementwise import conj as conj
from ._array.elementwise import copysign as copysign
from ._array.elementwise import cos as cos
from ._array.elementwise import cosh as cosh
from ._array.elementwise import divide as divide
from ._array.elementwise import equal as equal
from ._array.elementwise import erf as erf
from ._array.elementwise import erfc as erfc
from ._array.elementwise import erfinv as erfinv
from ._array.elementwise import exp as exp
from ._array.elementwise import exp2 as exp2
from ._array.elementwise import expm1 as expm1
from ._array.elementwise import floor as floor
from ._array.elementwise import floor_divide as floor_divide
from ._array.elementwise import fmod as fmod
from ._array.elementwise import greater as greater
from ._array.elementwise import greater_equal as greater_equal
from ._array.elementwise import hypot as hypot
from ._array.elementwise import imag as imag
from ._array.elementwise import isclose as isclose
from ._array.elementwise import isfinite as isfinite
from ._array.elementwise import isinf as isinf
from ._array.elementwise import isnan as isnan
from ._array.elementwise import less as less
from ._array.elementwise import less_equal as less_equal
from ._array.elementwise import log as log
from ._array.elementwise import log10 as log10
from ._array.elementwise import log1p as log1p
from ._array.elementwise import log2 as log2
from ._array.elementwise import logaddexp as logaddexp
from ._array.elementwise import logical_and as logical_and
from ._array.elementwise import logical_not as logical_not
from ._array.elementwise import logical_or as logical_or
from ._array.elementwise import logical_xor as logical_xor
from ._array.elementwise import maximum as maximum
from ._array.elementwise import minimum as minimum
from ._array.elementwise import multiply as multiply
from ._array.elementwise import nan_to_num as nan_to_num
from ._array.elementwise import negative as negative
from ._array.elementwise import nextafter as nextafter
from ._array.elementwise import not_equal as not_equal
from ._array.elementwise import positive as positive
from ._array.elementwise import pow as pow
from ._array.elementwise import real as real
from ._array.elementwise import reciprocal as reciprocal
from ._array.elementwise import remainder as remainder
from ._array.elementwise import round as round
from ._array.elementwise import rsqrt as rsqrt
from ._array.elementwise import sign as sign
from ._array.elementwise import signbit as signbit
from ._array.elementwise import sin as sin
from ._array.elementwise import sinh as sinh
from ._array.elementwise import sqrt as sqrt
from ._array.elementwise import square as square
from ._array.elementwise import subtract as subtract
from ._array.elementwise import tan as tan
from ._array.elementwise import tanh as tanh
from ._array.elementwise import trunc as trunc
from ._array.elementwise import truncate_divide as truncate_divide

# Indexing
from ._array.indexing import at as at
from ._array.indexing import put_along_axis as put_along_axis
from ._array.indexing import scatter as scatter
from ._array.indexing import segment_sum as segment_sum
from ._array.indexing import take as take
from ._array.indexing import take_along_axis as take_along_axis

# Linear algebra
from ._array.products import einsum as einsum
from ._array.products import matmul as matmul
from ._array.products import matrix_transpose as matrix_transpose
from ._array.products import tensordot as tensordot
from ._array.products import vecdot as vecdot

# Manipulation
from ._array.manipulation import atleast_nd as atleast_nd
from ._array.manipulation import broadcast_arrays as broadcast_arrays
from ._array.manipulation import broadcast_shapes as broadcast_shapes
from ._array.manipulation import broadcast_to as broadcast_to
from ._array.manipulation import concat as concat
from ._array.manipulation import expand_dims as expand_dims
from ._array.manipulation import flip as flip
from ._array.manipulation import moveaxis as moveaxis
from ._array.manipulation import pad as pad
from ._array.manipulation import permute_dims as permute_dims
from ._array.manipulation import repeat as repeat
from ._array.manipulation import reshape as reshape
from ._array.manipulation import roll as roll
from ._array.manipulation import sliding_window as sliding_window
from ._array.manipulation import squeeze as squeeze
from ._array.manipulation import stack as stack
from ._array.manipulation import tile as tile
from ._array.manipulation import unstack as unstack

# Reduction
from ._array.reduction import all as all
from ._array.reduction import allclose as allclose
from ._array.reduction import any as any
from ._array.reduction import array_equal as array_equal
from ._array.reduction import cumulative_prod as cumulative_prod
from ._array.reduction import cumulative_sum as cumulative_sum
from ._array.reduction import diff as diff
from ._array.reduction import logsumexp as logsumexp
from ._array.reduction import max as max
from ._array.reduction import mean as mean
from ._array.reduction import min as min
from ._array.reduction import prod as prod
from ._array.reduction import std as std
from ._array.reduction import sum as sum
from ._array.reduction import var as var

# Random
from ._random.seeded import multinomial as multinomial
from ._random.seeded import randint as randint
from ._random.seeded import random_normal as random_normal
from ._random.seeded import random_uniform as random_uniform
from ._random.seeded import seed as seed
from ._random.seeded import shuffle as shuffle

# Searching
from ._array.searching import argmax as argmax
from ._array.searching import argmin as argmin
from ._array.searching import count_nonzero as count_nonzero
from ._array.searching import histogram as histogram
from ._array.searching import nonzero as nonzero
from ._array.searching import searchsorted as searchsorted
from ._array.searching import topk as topk
from ._array.searching import where as where

# Sets
from ._array.sets import isin as isin
from ._array.sets import setdiff1d as setdiff1d
from ._array.sets import union1d as union1d
from ._array.sets import unique_all as unique_all
from ._array.sets import unique_counts as unique_counts
from ._array.sets import unique_inverse as unique_inverse
from ._array.sets import unique_values as unique_values

# Statistics
from ._array.statistics import bincount as bincount
from ._array.statistics import cov as cov
from ._array.statistics import median as median
from ._array.statistics import nanmax as nanmax
from ._array.statistics import nanmean as nanmean
from ._array.statistics import nanmin as nanmin
from ._array.statistics import nansum as nansum
from ._array.statistics import nunique as nunique
from ._array.statistics import percentile as percentile
from ._array.statistics import quantile as quantile

# Sampled functions
from ._array.signals import angle as angle
from ._array.signals import convolve as convolve
from ._array.signals import correlate as correlate
from ._array.signals import deg2rad as deg2rad
from ._array.signals import digitize as digitize
from ._array.signals import gradient as gradient
from ._array.signals import interp as interp
from ._array.signals import rad2deg as rad2deg
from ._array.signals import sinc as sinc
from ._array.signals import trapezoid as trapezoid
from ._array.signals import unwrap as unwrap

# Diagonals and places
from ._array.diagonals import create_diagonal as create_diagonal
from ._array.diagonals import diag as diag
from ._array.diagonals import diag_indices as diag_indices
from ._array.diagonals import kron as kron
from ._array.diagonals import tril_indices as tril_indices
from ._array.diagonals import triu_indices as triu_indices
from ._array.diagonals import unravel_index as unravel_index

# Segments
from ._array.segments import segment_max as segment_max
from ._array.segments import segment_mean as segment_mean
from ._array.segments import segment_min as segment_min
from ._array.segments import segment_prod as segment_prod
from ._array.segments import segment_softmax as segment_softmax

# Whose arrays these are
from ._array.border import array_namespace as array_namespace
from ._array.border import is_array as is_array
from ._array.border import is_jax_array as is_jax_array
from ._array.border import is_numpy_array as is_numpy_array
from ._array.border import is_tensorflow_array as is_tensorflow_array
from ._array.border import is_torch_array as is_torch_array

# Interchange
from ._array.interchange import register_with_array_api as register_with_array_api
from ._array.interchange import to_backend as to_backend
from ._array.interchange import to_numpy as to_numpy

# Sorting
from ._array.sorting import argpartition as argpartition
from ._array.sorting import argsort as argsort
from ._array.sorting import partition as partition
from ._array.sorting import sort as sort

# Gradients
from ._gradients.checkpoint import checkpoint as checkpoint
from ._gradients.execute_with_gradients import execute_with_gradients as execute_with_gradients
from ._gradients.with_grads import no_grads as no_grads
from ._gradients.with_grads import set_with_grads as set_with_grads
from ._gradients.with_grads import unset_with_grads as unset_with_grads
from ._gradients.with_grads import with_grads as with_grads
from ._array.compilation import compile as compile
from ._array.lazily import lazy_apply as lazy_apply
from ._array.compilation import using_compilation as using_compilation
from ._gradients.transforms import bind_custom_gradient_function as bind_custom_gradient_function
from ._gradients.transforms import grad as grad
from ._gradients.transforms import hessian as hessian
from ._gradients.transforms import jac as jac
from ._gradients.transforms import jvp as jvp
from ._gradients.transforms import stop_gradient as stop_gradient
from ._gradients.transforms import value_and_grad as value_and_grad
from ._gradients.transforms import vjp as vjp
from ._gradients.transforms import vmap as vmap

# Whole programs
from ._programs import diverge as diverge
from ._programs import generate as generate
from ._programs import trace as trace
