"""To and from NumPy, without copying where that is possible."""

from typing import Any

import numpy as np
import torch

from ..._core.errors import CopyError, DtypeError, TracingError
from ._helpers import NATIVE, as_device
from ._private import running_transform
from ._types import Tensor


def check_leaving(x: Tensor, /) -> None:
    """Raise if converting the tensor would lose a gradient."""
    if x.requires_grad and torch.is_grad_enabled():
        raise TracingError(
            "This tensor requires a gradient, which would be cut when it leaves PyTorch. Convert "
            "x.detach(), or convert inside `with torch.no_grad():`."
        )


def to_numpy(x: Tensor, /) -> Any:
    """The values as a NumPy array, detached from any gradient; shares memory for tensors on the
    CPU.

    bfloat16 becomes `ml_dtypes.bfloat16` where that package is installed, else float32.
    """
    plain = x.detach().cpu().resolve_conj().resolve_neg()
    if plain.dtype is torch.bfloat16:
        try:
            from ml_dtypes import bfloat16
        except ImportError:
            return plain.to(torch.float32).numpy()
        return plain.view(torch.uint16).numpy().view(bfloat16)
    try:
        return plain.numpy()
    except RuntimeError:
        # Inside two transforms of torch.func the memory of a plain tensor is known to DLPack alone.
        if running_transform() is None or x.requires_grad:
            raise
        return np.from_dlpack(x if x.device.type == "cpu" else x.cpu())


def from_numpy(x: Tensor, /, *, device: Any = None, copy: Any = None) -> Any:
    """A tensor of a NumPy array; shares memory unless the array is read-only or has negative
    strides.

    PyTorch supports neither read-only memory nor negative strides, so those arrays are copied.
    """
    if torch.compiler.is_compiling():
        # Dynamo traces NumPy's functions as torch's own; its arrays have no dtype.
        traced = torch.from_numpy(x)
        return traced.clone() if copy and device is None else traced.to(device, copy=bool(copy))
    array = np.asarray(x)
    name = array.dtype.name
    if name not in NATIVE:
        raise DtypeError(f"PyTorch has no data type for NumPy's {name}. Cast the array first.")
    must_copy = not array.flags.writeable or not array.dtype.isnative or isinstance(x, np.generic)
    for stride in array.strides:
        # Strides must also be multiples of the element size: those of a record array's field may
        # not be.
        must_copy = must_copy or stride < 0 or stride % array.itemsize != 0
    if must_copy and copy is False:
        raise CopyError(
            "copy=False, but PyTorch cannot share the memory of a read-only, byte-swapped or "
            "reversed NumPy array. Write copy=None."
        )
    if must_copy or copy:
        array = array.astype(array.dtype.newbyteorder("="), order="C", copy=True)
    if name == "bfloat16":
        tensor = torch.from_numpy(array.view(np.uint16)).view(torch.bfloat16)
    else:
        tensor = torch.from_numpy(array)
    moved = tensor if device is None else tensor.to(as_device(device))
    if copy is False and moved is not tensor:
        raise CopyError(f"copy=False, but a NumPy array can move to {device} only by copying.")
    return moved
