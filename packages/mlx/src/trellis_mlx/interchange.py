"""To and from NumPy, and devices."""

from typing import Any

import mlx.core as mx
import numpy as np

from trellis.errors import ArgumentError, CopyError, DeviceError, DtypeError, TracingError

from .tracing import depth, has_history
from .types import TYPES, array, dtype_name


def from_numpy(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    """A NumPy array as one of MLX, which always has memory of its own."""
    found = np.asarray(x)
    name = found.dtype.name
    if copy is False:
        raise CopyError("copy=False, but MLX cannot share the memory of NumPy. Write copy=None.")
    if name not in TYPES:
        if name == "complex128":
            dtype_name(name)  # says that there is no such type
        raise DtypeError(f"MLX has no data type for NumPy's {name}. Cast the array first.")
    if not found.dtype.isnative:
        found = found.astype(found.dtype.newbyteorder("="))
    if name == "bfloat16":
        plain = array(np.ascontiguousarray(found).view(np.uint16).reshape(found.shape))
        made = plain.view(mx.bfloat16)
    else:
        made = array(found, dtype=TYPES[name])
    return made if device is None else to_device(made, device)


def evaluate(x: Any) -> Any:
    """The array with its values computed; raises where there are none."""
    try:
        mx.eval(x)
    except ValueError as error:
        if "transformations" not in str(error):
            raise
        raise TracingError(
            "A value of an array of MLX is needed while mx.compile traces the function, and there "
            "are none then. A function that MLX lacks needs them, too: it runs on NumPy; "
            'trellis.backends("mlx").made(...) says which. Compute it outside the compiled '
            "function."
        ) from None
    return x


def to_numpy(x: Any, /) -> Any:
    """The values as a NumPy array of its own memory."""
    evaluate(x)
    if x.dtype == mx.bfloat16:
        from ml_dtypes import bfloat16

        return np.array(x.view(mx.uint16)).view(bfloat16)
    return np.array(x)


def check_leaving(x: Any, /) -> None:
    """Raise if converting the array would lose a gradient, or if it has no values yet."""
    if depth.compiled or depth.mapped:
        to_numpy(x)
    if depth.derived and has_history(x):
        raise TracingError(
            "This array of MLX is being differentiated, and its gradient would be cut when it "
            "leaves MLX. Convert trellis.stop_gradient(x) instead."
        )


_KINDS = {mx.cpu: "cpu", mx.gpu: "gpu"}


def as_device(device: Any) -> Any:
    """A device by its name; MLX's arrays live in memory that all of its devices share."""
    found = device if isinstance(device, mx.Device) else None
    if isinstance(device, mx.DeviceType):
        found = mx.Device(device, 0)
    if isinstance(device, str):
        kind, _, index = device.partition(":")
        kinds = {name: native for native, name in _KINDS.items()}
        if kind in kinds and (index or "0").isdecimal():
            found = mx.Device(kinds[kind], int(index or 0))
    if found is None or not mx.is_available(found):
        raise DeviceError(f"MLX has no device {device!r} here. Write one of {_available()}.")
    return found


def _available() -> str:
    return ", ".join([repr(name) for kind, name in _KINDS.items() if mx.is_available(kind)])


def device(x: Any, /) -> Any:
    """Where operations run: arrays themselves are on no single device."""
    return mx.default_device()


def to_device(x: Any, device: Any, /, *, stream: Any = None) -> Any:
    if stream is not None:
        raise ArgumentError(f"to_device() takes no stream on MLX, got stream={stream!r}.")
    found = as_device(device)
    if found != mx.default_device():
        raise DeviceError(
            f"Arrays of MLX live in memory that its devices share, and operations run on its "
            f"default device, {mx.default_device()}. Write mx.set_default_device(...)."
        )
    return x
