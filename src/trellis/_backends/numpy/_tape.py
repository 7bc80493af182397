"""Arrays that are being differentiated, and how a call on them gets onto the tape.

`TracedArray` answers `__array_ufunc__` and `__array_function__`, so the backend's functions are the
plain NumPy ones. On plain arrays they have no overhead; on traced arrays NumPy itself passes the
call to the derivative in the table `RULES`. A NumPy function without a derivative raises: it never
loses the gradient silently.
"""

import sys
from collections.abc import Callable
from inspect import signature
from typing import Any

import numpy as np

from ..._core.errors import NotSupportedError, TracingError
from ._helpers import BFLOAT16, widened
from ._record import RULES as RULES
from ._record import Node, Parts, entry, numbers
from ._surface import ArraySurface


class TracedArray(ArraySurface):
    """An array whose history is being recorded; only gradient functions create it.  Nested
    gradients have levels: the value of an array of an inner level may be one of an outer level.
    """

    # `_source`, of views only: their base array, the function that created them, and its arguments.
    __slots__ = ("_level", "_node", "_source", "_value")

    def __init__(self, value: Any, level: int, node: Node):
        self._value = value
        self._level = level
        self._node = node

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method != "__call__":
            raise no_rule(f"{ufunc.__name__}.{method}")
        rule = _rule_for(ufunc)
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
        rule = _rule_for(func)
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
        return as_view(RULES["getitem"](self, index), self, "getitem", index)

    def __setitem__(self, index: Any, value: Any) -> None:
        """Write elements: no memory changes, the array gets another value and history.

        Gradients flow to the old elements that remain and to `value`. As in NumPy, all
        names of this array see the new elements, and a write to a view (a slice, `x.T`,
        `x.reshape(...)`) writes to its base array. Unlike in NumPy, a view that was created before
        a write to its base keeps the old elements: create it again. And `x += y` rebinds x to a new
        array; `x[...] += y` writes.
        """
        if isinstance(value, (list, tuple)):
            value = array_from(value, None)
        self._become(RULES["setitem"](self._current(), value, index))

    def _current(self) -> "TracedArray":
        """This array; if it is a view, created again."""
        source = getattr(self, "_source", None)
        if source is None:
            return self
        whole, function, arguments = source
        return RULES[function](whole._current(), *arguments)

    def _become(self, new: Any) -> None:
        """Take the value and history of `new`; if this array is a view, its base changes too."""
        self._value, self._level, self._node = new._value, new._level, new._node
        source = getattr(self, "_source", None)
        if source is not None:
            whole, function, arguments = source
            whole._become(WRITES[function](new, whole._current(), *arguments))


# For functions that create views: `write(view, whole, *arguments)` returns `whole` with `view` in
# it.
WRITES: dict[Any, Callable[..., Any]] = {}


def as_view(part: Any, whole: TracedArray, function: Any, *arguments: Any) -> Any:
    """`part`, computed from `whole`; if it is a view, writing to it also changes `whole`."""
    value, base = part._value, whole._value
    while type(value) is TracedArray:
        value, base = value._value, base._value
    owner = value.base
    if owner is not None and (owner is base or owner is base.base):
        part._source = (whole, function, arguments)
    return part


# The types of results that are arrays; `_boxed` handles all others.
ARRAYS = {
    np.ndarray, np.float16, BFLOAT16.type, np.float32, np.float64, np.complex64, np.complex128,
}  # fmt: skip


# Recording ----------------------------------------------------------------------------------------


def primitive(
    function: Callable[..., Any], jointly: Callable[..., Any] | None = None
) -> Callable[..., Any]:
    """`function`, recorded where an argument is traced; the function itself sees plain values only.

    Its derivatives are defined by `defvjp`, one for each argument, or by `jointly(places, ans,
    args, kwargs)`, which returns the map from a gradient to the list of the gradients of the
    arguments at `places`. Of nested gradients, the innermost is recorded first.
    """
    makers: list[Any] = []
    # As little Python as possible: this runs for every call on a traced array.
    new, traced, new_node, node_type = TracedArray.__new__, TracedArray, Node.__new__, Node

    def record(*args: Any, **kwargs: Any) -> Any:
        level, places, is_nested = 0, [], False
        for i, arg in enumerate(args):
            if type(arg) is traced:
                found = arg._level
                if found == level:
                    places.append(i)
                elif found > level:
                    is_nested = level > 0
                    level, places = found, [i]
                else:
                    is_nested = True
        if not places:
            return function(*args, **kwargs)
        values, parents = list(args), []
        for i in places:
            box = args[i]
            value = values[i] = box._value
            parents.append(box._node)
            if type(value) is traced:
                is_nested = True
        ans = record(*values, **kwargs) if is_nested else function(*values, **kwargs)
        backs: Any
        if jointly is not None:
            backs = jointly(places, ans, values, kwargs)
        else:
            backs = []
            try:
                for i in places:
                    backs.append(makers[i](ans, *values, **kwargs))
            except IndexError:
                _check_place(record, i, makers)
                raise
        node = new_node(node_type)
        node.number = next(numbers)
        node.parents = parents
        node.backs = backs
        if type(ans) not in ARRAYS:
            return _boxed(ans, level, node, record)
        result = new(traced)
        result._value = ans
        result._level = level
        result._node = node
        return result

    record.__name__ = getattr(function, "__name__", "function")
    record.__doc__ = function.__doc__
    record.__wrapped__ = function  # type: ignore[attr-defined]
    record.makers = makers  # type: ignore[attr-defined]
    return record


def defvjp(recorded: Any, *makers: Callable[..., Any]) -> None:
    """Define the derivatives of a primitive with respect to its first arguments.

    They are of the form `lambda ans, *args: lambda g: ...`, and may call NumPy functions on traced
    arrays, which gives higher orders.
    """
    recorded.makers[:] = makers


def _check_place(recorded: Any, place: int, makers: list[Any]) -> None:
    if place >= len(makers):
        raise no_rule(f"{recorded.__name__}, by its argument {place},")


def _boxed(ans: Any, level: int, node: Node, recorded: Any) -> Any:
    """The traced form of a result that is not a plain array."""
    for y in ans if isinstance(ans, tuple) else (ans,):
        if type(y) is TracedArray and y._level >= level:
            raise TracingError(
                f"{recorded.__name__} has a derivative of its own and uses an array that is being "
                "differentiated, but was not given to it: that array's gradient would be lost. "
                "Make it an argument of the function."
            )
    if isinstance(ans, tuple):
        forms = [Form(y) for y in ans]
        backs, keeps_none = node.backs, hasattr(recorded, "keeps_none")

        def filled(given: Parts) -> Any:
            gs = [
                np.zeros(form.shape, form.dtype) if g is None and not keeps_none else g
                for g, form in zip(given.gs, forms, strict=True)
            ]
            return [back(gs) for back in backs] if isinstance(backs, list) else backs(gs)

        node.backs = filled
        return parts_of(ans, level, node)
    if type(ans) is TracedArray:
        return TracedArray(ans, level, node)
    raise TypeError(
        f"{recorded.__name__} gave a {type(ans).__name__}, which trellis.grad cannot differentiate."
    )


def parts_of(results: tuple[Any, ...], level: int, whole: Node) -> tuple[TracedArray, ...]:
    """Several results of one entry, which gets their gradients as `Parts`."""
    size = len(results)

    def part(i: int) -> Node:
        return entry([whole], [lambda g: Parts([g if j == i else None for j in range(size)])])

    return tuple([TracedArray(y, level, part(i)) for i, y in enumerate(results)])


# Derivatives --------------------------------------------------------------------------------------


def _rule_for(function: Any) -> Callable[..., Any]:
    rule = RULES.get(function)
    if rule is None and "scipy.special" in sys.modules:
        from ._scipy import special  # enters its rules

        rule = RULES.get(function) if hasattr(special, "expit") else None
    if rule is None:
        raise no_rule(getattr(function, "__name__", str(function)))
    return rule


def no_rule(name: str) -> NotSupportedError:
    return NotSupportedError(
        f"NumPy's {name} has no derivative rule on the numpy backend, so it cannot be used on an "
        "array that is being differentiated. Use the Trellis function for that purpose, define a "
        "rule with trellis.bind_custom_gradient_function, or write trellis.stop_gradient(x) for a "
        "constant."
    )


def refuse_out(name: str, out: Any) -> None:
    """Raise if a result is to be written into an existing array."""
    if out is not None:
        raise TracingError(
            f"NumPy's {name} was asked to write a result that is being differentiated into another "
            "array, as out= and `a += x` with a plain array `a` do: its gradient would be lost. "
            f"Write a = np.{name}(...), or a = a + x."
        )


def _explain(function: Any, rule: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """After a TypeError: raise our error, if arguments were passed that the derivative lacks."""
    refuse_out(function.__name__, kwargs.get("out"))
    if hasattr(rule, "makers"):
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
    """A primitive with its derivatives, as `defvjp` takes them; entered in `RULES`."""
    traced = primitive(function)
    defvjp(traced, *vjps)
    for key in keys or (function,):
        RULES[key] = traced
    return traced


def constant(*functions: Any) -> None:
    """Functions that are constant almost everywhere: they get plain values and have no gradient."""

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
    return stop(x)


def composed(*functions: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter a Python function over other NumPy functions as the implementation of `functions`."""

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
    """`fn(g)`, from the gradient of `ans`, in the shape and dtype of `x`; neither array is kept."""
    if type(x) is type(ans) and x.shape == ans.shape and x.dtype is ans.dtype:
        return fn
    form = Form(x)
    return lambda g: unbroadcast(fn(g), form)


def array_from(obj: Any, dtype: Any) -> Any:
    """An array from nested lists that contain traced arrays."""
    if isinstance(obj, (list, tuple)):
        return np.stack([array_from(item, dtype) for item in obj])
    if type(obj) is TracedArray:
        return obj if dtype is None else obj.astype(dtype)
    return np.asarray(obj, dtype=dtype)


def stop(x: Any, /) -> Any:
    """The plain value of a traced array."""
    while type(x) is TracedArray:
        x = x._value
    return x
