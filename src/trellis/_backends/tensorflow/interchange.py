"""To and from NumPy."""

from typing import Any

import numpy as np
import tensorflow as tf

from ..._core.errors import CopyError, TracingError
from ._helpers import is_aligned, on
from ._types import Tensor
from .gradients import is_differentiated


def check_leaving(x: Tensor, /) -> None:
    """Raise if `x` has no value yet, or if converting it would lose a gradient."""
    _check_value(x)
    if is_differentiated(x):
        raise TracingError(
            "A tape of TensorFlow follows this tensor: converting it would cut the gradient. "
            "Convert it after grad(), or write stop_gradient(x) if it is meant as a constant."
        )


def _check_value(x: Tensor) -> None:
    if not hasattr(x, "numpy"):
        raise TracingError(
            "While tf.function is tracing, a tensor has no value yet, so it cannot leave "
            "TensorFlow. "
            "Return the tensor from the function and convert the result."
        )


def to_numpy(x: Tensor, /) -> Any:
    """The values as a NumPy array; a read-only view of the tensor's memory on the CPU.

    bfloat16 becomes ml_dtypes.bfloat16, which TensorFlow installs.
    """
    _check_value(x)
    tensor = tf.convert_to_tensor(x)
    if tensor.shape.rank == 0:
        # NumPy raises for the scalar that `__array__` of a 0-d bfloat16 tensor returns; this copies
        # nothing.
        return np.asarray(tf.reshape(tensor, [1])).reshape(())
    return np.asarray(tensor)


def from_numpy(x: Tensor, /, *, device: Any = None, copy: Any = None) -> Any:
    """A tensor of a NumPy array. TensorFlow copies, unless `copy=False` requests shared memory."""
    if copy is False:
        if not is_aligned(x):
            raise CopyError(
                "TensorFlow cannot share memory that does not begin at a multiple of 64 bytes."
            )
        try:
            return tf.experimental.dlpack.from_dlpack(x.__dlpack__())
        except Exception as error:
            raise CopyError(
                "copy=False: TensorFlow can share only writeable, contiguous CPU memory of a plain "
                "data type. "
                "Leave out copy."
            ) from error
    if device is None:
        return tf.constant(x)
    with on(device):
        return tf.constant(x)
