"""The methods, properties and operators of an ndarray, for arrays that are being differentiated.

A method is the NumPy function of the same name, so both have the same derivative. Whatever would
change an array in place, or lose the gradient of its values, raises an error that says what to
write instead.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._core.errors import NotSupportedError, ShapeError, TracingError
from ._record import RULES

__all__ = ["ArraySurface"]


class ArraySurface:
    """The operators, properties and methods of an ndarray, over NumPy's own functions."""

    __slots__ = ()

    _value: Any
    shape: Any
    ndim: Any
    dtype: Any

    # Numbers ---------------------------------------------------------------------------------

    def __bool__(self) -> bool:
        return bool(self._value)

    def __float__(self) -> float:
        raise _as_number("float(x)")

    def __int__(self) -> int:
        raise _as_number("int(x)")

    def __complex__(self) -> complex:
        raise _as_number("complex(x)")

    def item(self, *args: Any) -> Any:
        raise _as_number("x.item()")

    def tolist(self) -> Any:
        raise _as_number("x.tolist()")

    def __format__(self, spec: str) -> str:
        """Printing shows the value: f"{loss:.3f}" loses no gradient."""
        return format(_plain(self), spec) if spec else str(self)

    def __str__(self) -> str:
        return f"traced({_plain(self)})"

    def __repr__(self) -> str:
        return f"traced({_plain(self)!r})"

    # Elements --------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(_plain(self))

    def __iter__(self) -> Any:
        return iter([self[i] for i in range(len(self))])

    def __contains__(self, value: Any) -> bool:
        return bool(np.any(np.equal(self, value)))

    def __getitem__(self, index: Any) -> Any:
        raise NotImplementedError  # defined by TracedArray

    def __setitem__(self, index: Any, value: Any) -> None:
        raise NotImplementedError  # defined by TracedArray

    def __delitem__(self, index: Any) -> None:
        raise _in_place("del x[index]", "x = x[indices of what stays]")

    # Copies ----------------------------------------------------------------------------------

    def __copy__(self) -> Any:
        return np.copy(self)

    def __deepcopy__(self, memo: Any) -> Any:
        return np.copy(self)

    def copy(self, order: str = "C") -> Any:
        return np.copy(self)

    def view(self, *args: Any, **kwargs: Any) -> Any:
        if not args and not kwargs:
            return self
        raise _outside("x.view(dtype)", "x.astype(dtype)")

    def to_device(self, device: Any, /, *, stream: Any = None) -> Any:
        from .casting import check_device

        check_device(device)
        return self

    def astype(
        self,
        dtype: Any,
        order: str = "K",
        casting: Any = "unsafe",
        subok: bool = True,
        copy: bool = True,
    ) -> Any:
        if not np.can_cast(self.dtype, dtype, casting=casting):
            raise TypeError(f"Cannot cast from {self.dtype} to {dtype} by the rule {casting!r}.")
        return np.astype(self, dtype, copy=copy)

    # Shapes ----------------------------------------------------------------------------------

    def reshape(self, *shape: Any, **kwargs: Any) -> Any:
        return np.reshape(self, shape[0] if len(shape) == 1 else shape, **kwargs)

    def transpose(self, *axes: Any) -> Any:
        return np.transpose(self, (axes[0] if len(axes) == 1 else axes) or None)

    def flatten(self, order: Any = "C") -> Any:
        return np.ravel(self, order)

    def conj(self) -> Any:
        return np.conjugate(self)

    conjugate = conj

    def compress(self, condition: Any, axis: int | None = None, out: Any = None) -> Any:
        return np.compress(condition, self, axis=axis, out=out)

    # Protocols of other libraries ------------------------------------------------------------

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        from ..._core import dispatch

        return dispatch.load("numpy")

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)  # the CPU, in DLPack's numbers

    def __dlpack__(self, **kwargs: Any) -> Any:
        raise _outside("x.__dlpack__()")

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise _outside("pickle of x")


def _plain(x: Any) -> Any:
    while isinstance(x, ArraySurface):
        x = x._value
    return x


# Errors -------------------------------------------------------------------------------------------


def _as_number(call: str) -> TracingError:
    return TracingError(
        f"{call} of an array that is being differentiated would lose its gradient. Keep it as an "
        f"array, or write x = trellis.stop_gradient(x) before {call}."
    )


def _in_place(call: str, instead: str) -> TracingError:
    return TracingError(
        f"{call} would change an array that is being differentiated. Write {instead}."
    )


def _outside(call: str, instead: str = "trellis.stop_gradient(x) first") -> NotSupportedError:
    return NotSupportedError(
        f"{call} of an array that is being differentiated would lose its gradient: its memory is "
        f"not part of the recorded computation on the numpy backend. Write {instead}."
    )


# Operators ----------------------------------------------------------------------------------------

_binary = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.divide, "pow": np.power,
    "floordiv": np.floor_divide, "mod": np.remainder, "matmul": np.matmul, "and": np.bitwise_and,
    "or": np.bitwise_or, "xor": np.bitwise_xor, "lshift": np.left_shift, "rshift": np.right_shift,
    "divmod": np.divmod,
}  # fmt: skip
_comparisons = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
    "ge": np.greater_equal,
}  # fmt: skip
_unary = {
    "neg": np.negative, "pos": np.positive, "abs": np.absolute, "invert": np.invert,
}  # fmt: skip


# With an operand of one of these types, no other type can change what an operator does, so its
# derivative is called directly.
_plain_types = {np.ndarray, int, float}


def _operator(ufunc: Any) -> Callable[[Any, Any], Any]:
    def operator(self: Any, other: Any) -> Any:
        if type(other) is type(self) or type(other) in _plain_types:
            return RULES[ufunc](self, other)
        return ufunc(self, other)

    return operator


def _reflected(ufunc: Any) -> Callable[[Any, Any], Any]:
    def operator(self: Any, other: Any) -> Any:
        return RULES[ufunc](other, self) if type(other) in _plain_types else ufunc(other, self)

    return operator


def _alone(ufunc: Any) -> Callable[[Any], Any]:
    return lambda self: RULES[ufunc](self)


def _rebound(ufunc: Any) -> Callable[[Any, Any], Any]:
    """`x += y` rebinds x to a new array, of the shape and type that an ndarray would keep."""

    def operator(self: Any, other: Any) -> Any:
        result = ufunc(self, other)
        if result.shape != self.shape:
            raise ShapeError(
                f"In place, x of shape {self.shape} cannot take a result of shape {result.shape}."
            )
        if result.dtype == self.dtype:
            return result
        if not np.can_cast(result.dtype, self.dtype, casting="same_kind"):
            raise TypeError(
                f"In place, x of type {self.dtype} cannot take a result of type {result.dtype}."
            )
        return result.astype(self.dtype)

    return operator


for _name, _ufunc in _binary.items():
    setattr(ArraySurface, f"__{_name}__", _operator(_ufunc))
    setattr(ArraySurface, f"__r{_name}__", _reflected(_ufunc))
    if _name != "divmod":
        setattr(ArraySurface, f"__i{_name}__", _rebound(_ufunc))
for _name, _ufunc in _comparisons.items():
    setattr(ArraySurface, f"__{_name}__", _operator(_ufunc))
for _name, _ufunc in _unary.items():
    setattr(ArraySurface, f"__{_name}__", _alone(_ufunc))
# Python removes the hash because `==` is element-wise; the tape identifies arrays by identity.
ArraySurface.__hash__ = object.__hash__  # type: ignore[method-assign]


# Methods ------------------------------------------------------------------------------------------


def _method(name: str) -> Callable[..., Any]:
    function = getattr(np, name)

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        # Through NumPy, where arguments may be wrong or the derivative is not from this table.
        is_simple = function in RULES and not args and not kwargs
        return RULES[function](self) if is_simple else function(self, *args, **kwargs)

    return method


for _name in (
    "all any argmax argmin argpartition argsort choose clip cumprod cumsum diagonal dot max mean "
    "min nonzero prod ptp ravel repeat round searchsorted squeeze std sum swapaxes take trace var"
).split():
    setattr(ArraySurface, _name, _method(_name))


def _refusing(error: Callable[..., Exception], *words: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise error(*words)

    return method


# ndarray's methods that work in place, and what to write instead.
for _name, _instead in {
    "fill": "x = trellis.full_like(x, value)",
    "partition": "x = np.partition(x, kth)",
    "put": "x = trellis.at(x, indices).set(values)",
    "resize": "x = trellis.reshape(x, shape)",
    "setfield": "x = trellis.at(x, index).set(value)",
    "setflags": "nothing: its memory is never written to",
    "sort": "x = trellis.sort(x)",
}.items():
    setattr(ArraySurface, _name, _refusing(_in_place, f"x.{_name}()", _instead))
for _name in ("byteswap", "dump", "dumps", "getfield", "tobytes", "tofile", "tostring"):
    setattr(ArraySurface, _name, _refusing(_outside, f"x.{_name}()"))


# Properties ---------------------------------------------------------------------------------------


def _property(name: str, get: Callable[[Any], Any]) -> None:
    """A property that can be assigned on ndarrays, in place, but not on traced arrays."""

    def refuse(self: Any, value: Any) -> None:
        raise _in_place(f"x.{name} = value", "x = a new array")

    setattr(ArraySurface, name, property(get, refuse))


def _of_value(name: str) -> property:
    return property(lambda self: getattr(self._value, name))


def _flags(x: Any) -> Any:
    return np.asarray(_plain(x)).view().flags


_property("shape", lambda self: self._value.shape)
_property("dtype", lambda self: self._value.dtype)
_property("strides", lambda self: self._value.strides)
_property("real", lambda self: np.real(self))
_property("imag", lambda self: np.imag(self))
_property("flat", lambda self: RULES["flat"](self))
for _name in ("ndim", "size", "itemsize", "nbytes"):
    setattr(ArraySurface, _name, _of_value(_name))
for _name, _get in {
    "T": lambda self: np.transpose(self),
    "mT": lambda self: np.matrix_transpose(self),
    "base": lambda self: None,
    "device": lambda self: "cpu",
    "flags": _flags,
}.items():
    setattr(ArraySurface, _name, property(_get))
for _name in ("ctypes", "data"):
    setattr(ArraySurface, _name, property(_refusing(_outside, f"x.{_name}")))
