"""What the files of this backend share: data type tables, promotion, and the unsigned types'
detour.

PyTorch has few kernels for uint16, uint32 and uint64. Those types are computed in int64: arithmetic
modulo 2**64 is the same for both, and casting back keeps the low bits. Where the order of values
counts, uint64 is shifted by 2**63 first, so that int64 compares as the unsigned type would.
"""

from typing import Any

import torch

from ..._core import dtypes
from ..._core.container import Container, unflatten_container
from ..._core.errors import ArgumentTypeError, DeviceError
from ._types import Tensor

NATIVE: dict[str, Any] = {name: getattr(torch, name) for name in ("bool", *dtypes.NUMERIC)}
NAMES: dict[Any, str] = {native: name for name, native in NATIVE.items()}

FEW_KERNELS = frozenset((torch.uint16, torch.uint32, torch.uint64))
# PyTorch multiplies no matrices of these: int64 wraps around to the same, and is true where it is
# not 0.
NO_PRODUCTS = FEW_KERNELS | {torch.bool}
UNSIGNED = frozenset((torch.uint8, torch.uint16, torch.uint32, torch.uint64))
INTEGER = frozenset(NATIVE[name] for name in dtypes.INTEGER)
FLOATING = frozenset(NATIVE[name] for name in dtypes.FLOATING)
COMPLEX = frozenset(NATIVE[name] for name in dtypes.COMPLEX)
INEXACT = FLOATING | COMPLEX

# To be asked for first: a comparison by identity is faster than a look-up in a set.
FLOAT32 = torch.float32

PROMOTED: dict[tuple[Any, Any], Any] = {}
for _a in NATIVE:
    for _b in NATIVE:
        try:
            PROMOTED[NATIVE[_a], NATIVE[_b]] = NATIVE[dtypes.promote(_a, _b)]
        except KeyError:  # uint64 beside a signed integer: no type holds both
            pass

# Pairs of a tensor's dtype and a Python number's type where PyTorch's own rule is ours: the number
# takes the tensor's dtype.
NUMBER_FITS = frozenset(
    [(d, kind) for d in INEXACT for kind in (int, float)] + [(d, complex) for d in COMPLEX]
)
NUMBERS = frozenset((bool, int, float, complex))
# Integers with kernels that hold a number of 8 bits; what is larger is looked at first.
SIGNED = frozenset((torch.int8, torch.int16, torch.int32, torch.int64))

_SMALLEST_INT64 = -(2**63)


def default_float() -> Any:
    return NATIVE[str(dtypes.default_dtype())]


def default_complex() -> Any:
    return torch.complex128 if default_float() is torch.float64 else torch.complex64


def as_device(device: Any) -> Any:
    """A device that is there, out of a name or a torch.device; None stays None."""
    if device is None or device == "cpu" or torch.compiler.is_compiling():
        return device
    try:
        found = torch.device(device)
    except (RuntimeError, TypeError, ValueError):
        raise DeviceError(
            f"PyTorch knows no device {device!r}. Write for example 'cpu' or 'cuda:0'."
        ) from None
    if found.type not in ("cpu", "meta") and (found.index or 0) >= _device_count(found.type):
        raise DeviceError(
            f"PyTorch has no device {str(found)!r} here: it sees {_device_count(found.type)} of "
            f"the type {found.type!r}. Write 'cpu', or install the PyTorch that serves it."
        )
    return found


def _device_count(kind: str) -> int:
    try:
        return int(torch.get_device_module(kind).device_count())
    except (RuntimeError, AttributeError):
        return 0


def promote(a: Any, b: Any) -> Any:
    if a is b:
        return a
    try:
        return PROMOTED[a, b]
    except KeyError:
        raise dtypes.no_common_type(NAMES.get(a, str(a)), NAMES.get(b, str(b))) from None


def number_dtype(number: Any, dtype: Any) -> Any:
    """The dtype of an operation between a tensor of `dtype` and a Python number."""
    if isinstance(number, bool):
        return dtype
    if isinstance(number, int):
        return torch.int64 if dtype is torch.bool else dtype
    if isinstance(number, float):
        return dtype if dtype in INEXACT else default_float()
    if isinstance(number, complex):
        if dtype in COMPLEX:
            return dtype
        if dtype in FLOATING:
            return torch.complex128 if dtype is torch.float64 else torch.complex64
        return default_complex()
    raise ArgumentTypeError(
        f"Expected a torch.Tensor or a Python number, got {type(number).__module__}."
        f"{type(number).__qualname__}. Write trellis.asarray(...) around it first."
    )


def filled(value: Any, dtype: Any, device: Any, shape: Any = ()) -> Any:
    """A tensor of one value, which an integer type must hold; uint16 to uint64 through int64."""
    if type(value) is int and (dtype in INTEGER or not dtypes.is_64_bits(value)):
        value = dtypes.fitted(value, NAMES[dtype])
    if dtype in FEW_KERNELS:
        wrapped = int(value)
        wrapped = wrapped - 2**64 if wrapped >= 2**63 else wrapped
        return torch.full(shape, wrapped, dtype=torch.int64, device=device).to(dtype)
    if isinstance(value, float) and dtype.is_floating_point and abs(value) > torch.finfo(dtype).max:
        # torch.full refuses these; rounding gives the largest number or infinity, as everywhere
        # else.
        return torch.full(shape, value, dtype=torch.float64, device=device).to(dtype)
    return torch.full(shape, value, dtype=dtype, device=device)


def both(x1: Any, x2: Any) -> tuple[Any, Any]:
    """Two arguments, one of which may be a number, as tensors of one promoted dtype.

    Casting both also keeps 0-d tensors from being weak, as PyTorch's own promotion has them.
    """
    if not isinstance(x1, torch.Tensor):
        dtype = number_dtype(x1, x2.dtype)
        return filled(x1, dtype, x2.device), x2.to(dtype)
    if not isinstance(x2, torch.Tensor):
        dtype = number_dtype(x2, x1.dtype)
        return x1.to(dtype), filled(x2, dtype, x1.device)
    if x1.dtype is x2.dtype:
        return x1, x2
    dtype = promote(x1.dtype, x2.dtype)
    return x1.to(dtype), x2.to(dtype)


def all_same(xs: Any) -> Any:
    """Tensors, cast to the one dtype that holds them all."""
    dtype = xs[0].dtype
    for x in xs:
        dtype = promote(dtype, x.dtype)
    return [x.to(dtype) for x in xs]


def ordered(x: Tensor) -> Any:
    """An int64 tensor in the order of the unsigned tensor `x`."""
    carrier = x.to(torch.int64)
    return carrier ^ _SMALLEST_INT64 if x.dtype is torch.uint64 else carrier


def unordered(carrier: Any, dtype: Any) -> Any:
    """The inverse of `ordered`."""
    return (carrier ^ _SMALLEST_INT64 if dtype is torch.uint64 else carrier).to(dtype)


def as_float(x: Tensor) -> Any:
    """Integers and bools become the default float."""
    return x if x.dtype in INEXACT else x.to(default_float())


def unflattened(children: Any, static: Any) -> Container:
    """`unflatten_container` with its arguments in the order of PyTorch's registry."""
    return unflatten_container(static, children)
