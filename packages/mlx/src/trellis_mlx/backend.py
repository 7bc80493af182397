"""The backend: an Array API namespace, and what Trellis needs beyond it."""

import mlx.core as mx

from trellis.backend import Abilities, asked, keep_asked

from . import compilation, elementwise, gradients, interchange, kernels, structure, tracing, types
from . import fft as fft
from . import random as random
from .source import SOURCE as SOURCE

NAME = "mlx"
TYPES = types.TYPES
ARRAY_TYPES = (mx.array,)
ABILITIES = Abilities(
    has_compiler=True,
    has_fast_half=True,
    has_float64=mx.default_device().type == mx.cpu,  # its GPUs have none
    has_complex128=False,
    has_boolean_masks=False,
)

_FILES = (*(compilation, elementwise, gradients, interchange, kernels, structure, tracing, types),)
for _file in _FILES:
    for _name in asked():
        if _name in vars(_file):
            globals()[_name] = vars(_file)[_name]
keep_asked(globals())
