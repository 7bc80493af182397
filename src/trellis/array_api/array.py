"""The array object of the standard, over a native array of any backend.

The native array is never written to. `x[i] = v` and `x += y` give the object a new native array,
so they work on immutable frameworks, under gradients and under compilers. What is written into a
part of an array, such as `x[1:]` or `x.T`, is written into that array too, as in NumPy: a part
knows where it is from.
"""

import math
import operator
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from .._array import elementwise, products
from .._array.items import check_holds, get_item, is_basic, set_item
from .._core import tree
from .._core.arrays import NUMBERS, is_array, plain
from .._core.dispatch import of_version, tell_of_backends, xp_of
from .._core.errors import ArgumentTypeError, DtypeError, ShapeError
from .leaving import check_leaving, dlpack
from .lending import lend
from .namespace import LiftedNamespace
from .parts import Part, Rearranged, Sliced

_writing = threading.RLock()
_NAMES = {float: "float64", complex: "complex128"}  # as NumPy takes Python's types


class WrappedArray:
    """An array of the Array API standard around `native`, an array of any backend; made by `wrap`.

    >>> import numpy as np
    >>> from trellis import array_api
    >>> x = array_api.wrap(np.array([[1, 2], [3, 4]]))
    >>> x[0, :] = 7
    >>> x.T
    WrappedArray(array([[7, 3],
           [7, 4]]))
    """

    __slots__ = ("__weakref__", "_native", "_part")
    # NumPy's arrays on the left of an operator leave it to this object.
    __array_priority__ = 1e6

    def __init__(self, native: Any):
        self._native = native
        self._part: Part | None = None

    @property
    def native(self) -> Any:
        if self._part is not None:
            self._native = self._part.read(self._native)
        return self._native

    @native.setter
    def native(self, value: Any) -> None:
        self._native = value
        if self._part is not None:
            self._part.write(value)

    def __trellis_backend__(self) -> Any:
        """What `xp_of` returns for it."""
        return namespace_over(xp_of(self.native))

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        return of_version(self.__trellis_backend__(), api_version)

    # What is known without values -----------------------------------------------------------------

    @property
    def dtype(self) -> Any:
        return self.native.dtype

    @property
    def shape(self) -> tuple[Any, ...]:
        return tuple(self.native.shape)

    @property
    def ndim(self) -> int:
        return len(self.native.shape)

    @property
    def size(self) -> int | None:
        shape = self.shape
        return None if None in shape else math.prod(shape)

    @property
    def device(self) -> Any:
        return xp_of(self.native).device(self.native)

    @property
    def T(self) -> "WrappedArray":
        if self.ndim != 2:
            raise ShapeError(f"x.T is for matrices, got shape {self.shape}. Write x.mT.")
        return self.mT

    @property
    def mT(self) -> "WrappedArray":
        if self.ndim < 2:
            raise ShapeError(f"x.mT needs at least two axes, got shape {self.shape}.")
        return _part_of(self, Rearranged)

    def to_device(self, device: Any, /, *, stream: Any = None) -> "WrappedArray":
        return WrappedArray(xp_of(self.native).to_device(self.native, device, stream=stream))

    def view(self, dtype: Any, /) -> "WrappedArray":
        """The array itself, as its own type: not of the standard, but `RBFInterpolator` of SciPy
        writes `x.view(float)` for every array. Other types raise."""
        xp, name = xp_of(self.native), _NAMES.get(dtype)
        own = xp.dtype_name(self.native.dtype)
        if own != (name or xp.dtype_name(dtype)):
            raise DtypeError(
                f"Memory of {own} cannot be seen as {name or dtype}. Write xp.astype, or xp.real "
                "and xp.imag, in its namespace."
            )
        return self

    def __len__(self) -> int:
        if self.ndim == 0:
            raise TypeError("len() of an array without axes")
        return int(self.native.shape[0])

    def __iter__(self) -> Iterator["WrappedArray"]:
        if self.ndim == 0:
            raise TypeError("iteration over an array without axes")
        return iter([self[i] for i in range(len(self))])

    def __contains__(self, value: Any) -> bool:
        return bool(xp_of(self.native).any(unwrap(self == value)))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(
            f"An array of the Array API standard has no attribute {name!r}. Write a function of "
            f"its namespace, or unwrap(x).{name}.",
            name=name,
            obj=self,
        )

    def __repr__(self) -> str:
        return f"WrappedArray({self.native!r})"

    def __format__(self, spec: str) -> str:
        if not spec:
            return str(self)
        shown = xp_of(self.native).stop_gradient(self.native)
        return format(xp_of(shown).to_numpy(shown)[()], spec)

    # Elements -------------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> "WrappedArray":
        key = _lowered(key)
        if is_basic(key):
            part = _part_of(self, partial(Sliced, key=key))
            # One element is a copy, as in NumPy.
            return part if part.ndim else WrappedArray(part.native)
        return WrappedArray(get_item(xp_of(self.native), self.native, key))

    def __setitem__(self, key: Any, value: Any) -> None:
        xp = xp_of(self.native)
        key, value = _lowered(key), _value(value)
        if not xp.lasts(self.native):  # a function that is traced has no threads
            self.native = set_item(xp, self.native, key, value)
            return
        with _writing:  # threads of scikit-learn write parts of one result
            self.native = set_item(xp, self.native, key, value)

    # Values that leave the framework --------------------------------------------------------------

    def __bool__(self) -> bool:
        return bool(self._only("bool"))

    def __int__(self) -> int:
        return int(self._only("int"))

    def __float__(self) -> float:
        return float(self._only("float"))

    def __complex__(self) -> complex:
        return complex(self._only("complex"))

    def __index__(self) -> int:
        xp = xp_of(self.native)
        if not xp.isdtype(self.native.dtype, "integral"):
            raise TypeError(f"Only integer arrays can be an index, got {self.native.dtype}.")
        return int(self._only("operator.index"))

    def _only(self, name: str) -> Any:
        """The one element. A truth value, and an integer, have no gradient to lose."""
        if self.ndim != 0:
            raise TypeError(f"{name}() needs an array without axes, got shape {self.shape}.")
        xp = xp_of(self.native)
        is_real = xp.isdtype(self.native.dtype, ("real floating", "complex floating"))
        if is_real and name != "bool":
            check_leaving(xp, self.native, f"{name}(x)")
        # Through NumPy: int() of a torch.uint64 raises beyond int64. Tracers answer for themselves.
        return xp.to_numpy(self.native).item() if xp.is_concrete(self.native) else self.native

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        xp = xp_of(self.native)
        check_leaving(xp, self.native, "A NumPy array of x")
        values = xp.to_numpy(self.native)
        if copy is None and not values.flags.writeable:
            # Compiled code that others write takes no read-only memory.
            found = np.array(values, dtype=dtype, copy=True)
            if found.dtype == values.dtype:
                lend(found, self)
            return found
        return np.array(values, dtype=dtype, copy=copy)

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: Any = None,
        copy: bool | None = None,
    ) -> Any:
        options = {"stream": stream, "max_version": max_version, "dl_device": dl_device}
        return dlpack(xp_of(self.native), self.native, {**options, "copy": copy})

    def __copy__(self) -> "WrappedArray":
        """A copy has memory of its own, as in NumPy, and keeps the gradient."""
        return WrappedArray(xp_of(self.native).asarray(self.native, copy=True))

    def __deepcopy__(self, memo: dict[int, Any]) -> "WrappedArray":
        return self.__copy__()  # copy.deepcopy of a torch tensor would cut the gradient

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        check_leaving(xp_of(self.native), self.native, "A pickle of x")
        return WrappedArray, (self.native,)  # what it is a part of does not go along

    def __dlpack_device__(self) -> tuple[int, int]:
        x = self.native
        kind, number = (np.asarray(x) if isinstance(x, np.generic) else x).__dlpack_device__()
        return kind, number


def _part_of(whole: WrappedArray, kind: "Callable[[WrappedArray], Part]") -> WrappedArray:
    part = kind(whole)
    found = WrappedArray(part.read(None))
    found._part = part
    return found


def wrap(x: Any, /) -> WrappedArray:
    """An array of the Array API standard around a native array of any backend, for code that is
    written for the standard.

    It has the operators, properties and methods of the standard, with the promotion of Trellis, and
    `x[i] = v`. A function of Trellis or of its namespace that is called with one returns one.
    Gradients, `vmap` and `compile` pass through it. NumPy gets its values only where no gradient is
    lost; otherwise `TracingError` is raised.

    Args:
        x: A native array; a wrapped one is returned as it is.

    >>> import numpy as np
    >>> from trellis import array_api
    >>> x = array_api.wrap(np.array([3.0, 4.0]))
    >>> xp = x.__array_namespace__()
    >>> xp.sqrt(xp.sum(x**2))
    WrappedArray(np.float64(5.0))
    """
    if isinstance(x, WrappedArray):
        return x
    if not is_array(x):
        raise ArgumentTypeError(
            f"wrap() expects an array, got {type(x).__name__}. Write trellis.asarray(...) around "
            "lists and numbers first."
        )
    xp_of(x)  # raises for arrays of no backend
    return WrappedArray(x)


def unwrap(x: Any, /) -> Any:
    """The native array of a wrapped one; everything else is returned as it is.

    Args:
        x: A wrapped array, or anything else.

    >>> import numpy as np
    >>> from trellis import array_api
    >>> array_api.unwrap(array_api.wrap(np.array([1, 2])))
    array([1, 2])
    """
    return x.native if isinstance(x, WrappedArray) else x


_namespaces: dict[str, LiftedNamespace] = {}


def namespace_over(xp: Any) -> LiftedNamespace:
    """The namespace of a backend's arrays, wrapped."""
    found = _namespaces.get(xp.NAME)
    if found is None or not found.is_over(xp):  # while a recording runs, it stands for the backend
        found = _namespaces[xp.NAME] = LiftedNamespace(xp, xp, WrappedArray)
    return found


tell_of_backends(namespace_over)

# For gradients, `vmap` and `compile` a wrapped array is a pytree with one leaf: its native array.
tree.register_node(WrappedArray(0), lambda x: ((x.native,), None), lambda _, xs: WrappedArray(*xs))


def _lowered(key: Any) -> Any:
    """An index with native arrays, and Python numbers in slices."""
    if isinstance(key, (tuple, list)):
        return type(key)([_lowered(part) for part in key])
    if isinstance(key, slice):
        bounds = [key.start, key.stop, key.step]
        return slice(*[None if i is None else operator.index(i) for i in bounds])
    return _value(key)


# Operators ----------------------------------------------------------------------------------------


def _operand(x: Any) -> Any:
    """What the function of an operator may be called with; NotImplemented for everything else."""
    x = _value(x)
    return x if type(x) in NUMBERS or is_array(x) else NotImplemented


def _value(x: Any) -> Any:
    """A native array; a scalar of NumPy that is not wrapped is a number, on every framework."""
    return x.native if isinstance(x, WrappedArray) else plain(x)


def _forward(fn: Callable[..., Any]) -> Callable[..., Any]:
    def operate(self: WrappedArray, other: Any) -> Any:
        y = _operand(other)
        return y if y is NotImplemented else WrappedArray(fn(self.native, y))

    return operate


def _reflected(fn: Callable[..., Any]) -> Callable[..., Any]:
    def operate(self: WrappedArray, other: Any) -> Any:
        y = _operand(other)
        return y if y is NotImplemented else WrappedArray(fn(y, self.native))

    return operate


def _in_place(fn: Callable[..., Any]) -> Callable[..., Any]:
    def operate(self: WrappedArray, other: Any) -> Any:
        y = _operand(other)
        if y is NotImplemented:
            return y
        x, result = self.native, fn(self.native, y)
        xp = xp_of(x)
        if tuple(result.shape) != tuple(x.shape):
            raise ShapeError(
                f"In place, an array of shape {self.shape} cannot take a result of shape "
                f"{tuple(result.shape)}."
            )
        if result.dtype != x.dtype:
            check_holds(xp, x, result)
            result = xp.astype(result, x.dtype)
        self.native = result
        return self

    return operate


def _alone(fn: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self: WrappedArray(fn(self.native))


_BINARY: dict[str, Callable[..., Any]] = {
    "add": elementwise.add,
    "sub": elementwise.subtract,
    "mul": elementwise.multiply,
    "truediv": elementwise.divide,
    "floordiv": elementwise.floor_divide,
    "mod": elementwise.remainder,
    "pow": elementwise.pow,
    "matmul": products.matmul,
    "and": elementwise.bitwise_and,
    "or": elementwise.bitwise_or,
    "xor": elementwise.bitwise_xor,
    "lshift": elementwise.bitwise_left_shift,
    "rshift": elementwise.bitwise_right_shift,
}
_COMPARISONS: dict[str, Callable[..., Any]] = {
    "eq": elementwise.equal,
    "ne": elementwise.not_equal,
    "lt": elementwise.less,
    "le": elementwise.less_equal,
    "gt": elementwise.greater,
    "ge": elementwise.greater_equal,
}
_UNARY: dict[str, Callable[..., Any]] = {
    "neg": elementwise.negative,
    "pos": elementwise.positive,
    "abs": elementwise.abs,
    "invert": elementwise.bitwise_invert,
}
for _name, _fn in _BINARY.items():
    setattr(WrappedArray, f"__{_name}__", _forward(_fn))
    setattr(WrappedArray, f"__r{_name}__", _reflected(_fn))
    setattr(WrappedArray, f"__i{_name}__", _in_place(_fn))
for _name, _fn in _COMPARISONS.items():
    setattr(WrappedArray, f"__{_name}__", _forward(_fn))
for _name, _fn in _UNARY.items():
    setattr(WrappedArray, f"__{_name}__", _alone(_fn))
# `==` compares elements, so equal arrays cannot be found by a hash.
WrappedArray.__hash__ = None  # type: ignore[assignment]
