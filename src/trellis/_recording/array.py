"""The arrays that a recorded function works with, which report every operator to a recorder. They
are not arrays of a framework. Public functions accept them, since their type is in the dispatch
table while a recording runs; functions of torch and NumPy are recorded through the protocols of
these frameworks; those of JAX and TensorFlow raise.
"""

import math
import operator
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .._core.errors import ArgumentTypeError
from .._core.frames import is_in


class RecordedArray:
    """One array of the recorded program; `native` is the framework's own."""

    __slots__ = ("__weakref__", "native", "note", "recorder")

    def __init__(self, native: Any, recorder: Any, note: Any = None):
        self.native = native
        self.recorder = recorder
        self.note = note  # whatever the recorder wants to know again

    # What is known without looking at values ------------------------------------------------------

    @property
    def shape(self) -> Any:
        return self.native.shape

    @property
    def dtype(self) -> Any:
        return self.native.dtype

    @property
    def ndim(self) -> int:
        return len(self.native.shape)

    @property
    def size(self) -> int:
        return math.prod([int(n) for n in self.native.shape])

    @property
    def device(self) -> Any:
        return self.recorder.xp.device(self.native)

    @property
    def T(self) -> Any:
        return self.recorder.call("permute_dims", (self, tuple(range(self.ndim))[::-1]), {})

    @property
    def mT(self) -> Any:
        return self.recorder.call("matrix_transpose", (self,), {})

    def __array_namespace__(self, api_version: str | None = None) -> Any:
        return self.recorder.backend

    def __len__(self) -> int:
        return int(self.native.shape[0])

    def __iter__(self) -> Iterator[Any]:
        return iter([self[i] for i in range(len(self))])

    def __repr__(self) -> str:
        return f"RecordedArray({self.native!r})"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self.recorder.attribute(self, name)

    # Values leave the recorded program ------------------------------------------------------------

    def __bool__(self) -> bool:
        return bool(self.recorder.leaving(self, "bool()"))

    def __int__(self) -> int:
        return int(self.recorder.leaving(self, "int()"))

    def __float__(self) -> float:
        return float(self.recorder.leaving(self, "float()"))

    def __complex__(self) -> complex:
        return complex(self.recorder.leaving(self, "complex()"))

    def __index__(self) -> int:
        return operator.index(self.recorder.leaving(self, "an index or a size"))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        caller = sys._getframe(1).f_code.co_filename
        if self.recorder.xp.ABILITIES.asks_for_arrays and is_in(caller, self.recorder.name):
            # An array on the left of an operator asks: then the operator comes here, and is seen.
            raise TypeError(
                f"A function of {self.recorder.name} was called with a recorded array. Use the "
                "Trellis function instead."
            )
        values = self.recorder.xp.to_numpy(self.recorder.leaving(self, "a NumPy array"))
        return values if dtype is None else values.astype(dtype)

    # Operators ------------------------------------------------------------------------------------

    def __getitem__(self, key: object) -> Any:
        return self.recorder.operate(operator.getitem, self, key)

    def __setitem__(self, key: object, value: object) -> None:
        raise ArgumentTypeError(
            "A recorded program cannot write into an array. Write trellis.at(x, index).set(value), "
            "which works on every framework."
        )

    def __neg__(self) -> Any:
        return self.recorder.operate(operator.neg, self)

    def __pos__(self) -> Any:
        return self.recorder.operate(operator.pos, self)

    def __abs__(self) -> Any:
        return self.recorder.operate(operator.abs, self)

    def __invert__(self) -> Any:
        return self.recorder.operate(operator.invert, self)

    __hash__ = object.__hash__

    # Native calls ---------------------------------------------------------------------------------

    def __array_ufunc__(
        self, ufunc: Callable[..., Any], method: str, *args: Any, **kwargs: Any
    ) -> Any:
        op = _UFUNCS.get(ufunc.__name__)
        if method == "__call__" and op is not None and not kwargs:
            return self.recorder.operate(op, *args)
        fn = getattr(ufunc, method)
        return self.recorder.native_call(f"numpy.{ufunc.__name__}", fn, args, kwargs)

    def __array_function__(self, fn: Callable[..., Any], types: Iterable[type],
                           args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:  # fmt: skip
        return self.recorder.native_call(f"numpy.{fn.__name__}", fn, args, kwargs)

    @classmethod
    def __torch_function__(cls, fn: Callable[..., Any], types: Iterable[type],
                           args: tuple[Any, ...] = (),
                           kwargs: dict[str, Any] | None = None) -> Any:  # fmt: skip
        recorder = _recorder_in((args, kwargs))
        op = _TORCH.get(getattr(fn, "__name__", ""))
        if op is not None and not kwargs and len(args) == 2:
            op, is_swapped = op
            return recorder.operate(op, *(args[::-1] if is_swapped else args))
        return recorder.native_call(f"torch.{fn.__name__}", fn, args, kwargs or {})


_BINARY = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "truediv": operator.truediv,
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "pow": operator.pow,
    "matmul": operator.matmul,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "lshift": operator.lshift,
    "rshift": operator.rshift,
}
_COMPARISONS = {name: getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")}
# Called by NumPy's and torch's arrays on the left of an operator.
_UFUNCS = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
    "power": operator.pow,
    "matmul": operator.matmul,
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
    "equal": operator.eq,
    "not_equal": operator.ne,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
}
_TORCH: dict[str, tuple[Any, bool]] = {
    "add": (operator.add, False),
    "sub": (operator.sub, False),
    "mul": (operator.mul, False),
    "div": (operator.truediv, False),
    "true_divide": (operator.truediv, False),
    "matmul": (operator.matmul, False),
    "__getitem__": (operator.getitem, False),
    **{f"__{name}__": (op, False) for name, op in {**_BINARY, **_COMPARISONS}.items()},
    **{f"__r{name}__": (op, True) for name, op in _BINARY.items()},
    **{name: (op, False) for name, op in _COMPARISONS.items()},
}


def _recorder_in(nest: Any) -> Any:
    if isinstance(nest, RecordedArray):
        return nest.recorder
    items = nest.values() if isinstance(nest, dict) else nest
    if isinstance(nest, (tuple, list, dict)):
        for item in items:
            found = _recorder_in(item)
            if found is not None:
                return found
    return None


def _forward(op: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, other: self.recorder.operate(op, self, other)


def _backward(op: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, other: self.recorder.operate(op, other, self)


for _name, _op in _BINARY.items():
    setattr(RecordedArray, f"__{_name}__", _forward(_op))
    setattr(RecordedArray, f"__r{_name}__", _backward(_op))
for _name, _op in _COMPARISONS.items():
    setattr(RecordedArray, f"__{_name}__", _forward(_op))
