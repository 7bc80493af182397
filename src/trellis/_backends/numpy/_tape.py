"""Reverse mode on NumPy: HIPS autograd keeps the tape, NumPy's own protocols do the dispatch.

`TracedArray` answers `__array_ufunc__` and `__array_function__`, so the backend's functions are the
plain NumPy ones: on plain arrays they cost nothing extra, on traced arrays NumPy itself hands the
call to the rule book `RULES` below. A NumPy function without a rule raises: it never cuts the path
in silence.
"""

from collections.abc import Callable
from inspect import signature
from typing import Any

import numpy as np
from autograd.core import primitive_vjps
from autograd.extend import defvjp
from autograd.numpy.numpy_boxes import ArrayBox
from autograd.numpy.numpy_vspaces import ArrayVSpace
from autograd.tracer import getval, isbox, trace_primitives_map

from ..._core.errors import NotSupportedError, TracingError
from ._helpers import BFLOAT16, widened
from ._record import RULES as RULES
from ._record import primitive
from ._surface import ArraySurface


class TracedArray(ArraySurface, ArrayBox):
    """An array whose history is being recorded; made by gradient functions only."""

    __slots__ = ()

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method != "__call__":
            raise no_rule(f"{ufunc.__name__}.{method}")
        rule = _rule_for(ufunc, inputs)
        if not kwargs:
            return rule(*inputs)
        refuse_out(ufunc.__name__, kwargs.get("out"))
        if kwargs.get("where", True) is not True:
            raise no_rule(f"{ufunc.__name__} with where=")
        try:
            return rule(*inputs, **kwargs)
        except TypeError:
            _explain(ufunc, rule, inputs, kwargs)
            raise

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        rule = _rule_for(func, args)
        try:
            return rule(*args, **kwargs)
        except TypeError:
            _explain(func, rule, args, kwargs)
            raise

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotSupportedError(
            "An array that is being differentiated cannot become a plain NumPy array: its gradient "
            "would be lost. Use trellis or NumPy functions on it, trellis.stack instead of "
            "np.array([...]), or trellis.stop_gradient(x) where a constant is meant."
        )

    def __getitem__(self, index: Any) -> Any:
        return RULES["getitem"](self, index)


# autograd makes boxes by the type of the value: from now on ours, a subclass of its own.
TracedArray.register(np.ndarray)
_bfloat16 = BFLOAT16.type
for _scalar in (np.float16, _bfloat16, np.float32, np.float64, np.complex64, np.complex128):
    TracedArray.register(_scalar)
ArrayVSpace.register(_bfloat16)  # autograd knows NumPy's own scalar types


class Parts:
    """The gradients of a function with several results: one for each, or None."""

    __slots__ = ("gs",)

    def __init__(self, gs: list[Any]):
        self.gs = gs

    def plus(self, other: "Parts") -> "Parts":
        return Parts([_sum(a, b) for a, b in zip(self.gs, other.gs, strict=True)])


def _sum(a: Any, b: Any) -> Any:
    if a is None or b is None:
        return b if a is None else a
    return a + b


# The rule book ------------------------------------------------------------------------------------


def _rule_for(function: Any, args: tuple[Any, ...]) -> Callable[..., Any]:
    rule = RULES.get(function)
    return _autograds_rule(function, args) if rule is None else rule


def _autograds_rule(function: Any, args: tuple[Any, ...]) -> Callable[..., Any]:
    """What autograd itself knows and we do not: right as it is, only not always in float32."""
    theirs = trace_primitives_map.get(function)
    if theirs in primitive_vjps and any([isbox(arg) for arg in args]):
        return theirs
    raise no_rule(getattr(function, "__name__", str(function)))


def no_rule(name: str) -> NotSupportedError:
    return NotSupportedError(
        f"NumPy's {name} has no derivative rule on the numpy backend, so it cannot be used on an "
        "array that is being differentiated. Use the trellis function of that purpose, give it a "
        "rule with trellis.bind_custom_gradient_function, or write trellis.stop_gradient(x) for a "
        "constant."
    )


def refuse_out(name: str, out: Any) -> None:
    """Raise if a result is to be written into an array that is there already."""
    if out is not None:
        raise TracingError(
            f"NumPy's {name} was asked to write a result that is being differentiated into another "
            "array, as out= and `a += x` with a plain array `a` do: its gradient would be lost. "
            f"Write a = np.{name}(...), or a = a + x."
        )


def _explain(function: Any, rule: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """After a TypeError: our error, if arguments were given that the rule does not know."""
    refuse_out(function.__name__, kwargs.get("out"))
    if rule in primitive_vjps:
        fits = not kwargs
    else:
        try:
            signature(rule).bind(*args, **kwargs)
            fits = True
        except TypeError:
            fits = False
    if not fits:
        given = ", ".join([f"{name}=" for name in kwargs]) or f"{len(args)} arguments"
        raise no_rule(f"{function.__name__} with {given}") from None


def differentiable(function: Any, *vjps: Any, keys: tuple[Any, ...] = ()) -> Any:
    """A primitive with its derivatives, one per positional argument; entered in the rule book.

    `vjps` are of autograd's form `lambda ans, *args: lambda g: ...`; they may call NumPy functions
    on traced arrays, which is how higher orders come about.
    """
    traced = primitive(function)
    defvjp(traced, *vjps)
    for key in keys or (function,):
        RULES[key] = traced
    return traced


def constant(*functions: Any) -> None:
    """Functions that are constant almost everywhere: they see plain values, and no gradient
    comes back.
    """

    def on_values(function: Any) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            values = [_plain(arg) for arg in args]
            return function(*values, **{key: _plain(value) for key, value in kwargs.items()})

        return call

    for function in functions:
        RULES[function] = on_values(function)


def _plain(x: Any) -> Any:
    if isinstance(x, (list, tuple)):
        return type(x)([_plain(item) for item in x])
    return getval(x)


def composed(*functions: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter a Python function, written over other NumPy functions, as the rule for `functions`."""

    def enter(rule: Callable[..., Any]) -> Callable[..., Any]:
        for function in functions:
            RULES[function] = rule
        return rule

    return enter


def unbroadcast(g: Any, like: Any) -> Any:
    """Sum a gradient down to the shape of the argument it belongs to, in that argument's dtype."""
    shape = np.shape(like)
    if g.shape != shape:
        lead = g.ndim - len(shape)
        axes = list(range(lead))
        axes += [i + lead for i, size in enumerate(shape) if size == 1 and g.shape[i + lead] != 1]
        if axes:
            g = np.sum(widened(g), axis=tuple(axes))
        g = np.reshape(g, shape)
    dtype = getattr(like, "dtype", g.dtype)
    if g.dtype == dtype:
        return g
    if np.iscomplexobj(g) and dtype.kind != "c":
        g = np.real(g)
    return g.astype(dtype)


class Form:
    """The shape and dtype of an array that need not be kept itself."""

    __slots__ = ("dtype", "shape")

    def __init__(self, x: Any):
        self.shape, self.dtype = np.shape(x), x.dtype


def back_to(x: Any, ans: Any, fn: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """`fn(g)`, from the gradient of `ans`, in the form of the argument `x`; neither is kept."""
    if type(x) is type(ans) and x.shape == ans.shape and x.dtype is ans.dtype:
        return fn
    form = Form(x)
    return lambda g: unbroadcast(fn(g), form)


def array_from(obj: Any, dtype: Any) -> Any:
    """An array out of nested lists that hold traced arrays."""
    if isinstance(obj, (list, tuple)):
        return np.stack([array_from(item, dtype) for item in obj])
    if isbox(obj):
        return obj if dtype is None else obj.astype(dtype)
    return np.asarray(obj, dtype=dtype)


def stop(x: Any, /) -> Any:
    """The plain value of a traced array."""
    return getval(x)
