"""Conversion of arrays between frameworks."""

from ._array.creation import from_dlpack as from_dlpack
from ._array.interchange import is_zero_copy as is_zero_copy
from ._array.interchange import register_with_array_api as register_with_array_api
from ._array.interchange import shares_memory as shares_memory
from ._array.interchange import to_backend as to_backend
from ._array.interchange import to_numpy as to_numpy
