"""Functions that a framework does not see, inside programs that it compiles."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._core import tree
from .._core.announced import check_count, check_result
from .._core.arrays import NUMBERS, is_array, plain, shape_of
from .._core.dispatch import load, xp_of, xp_of_all
from .._core.errors import ArgumentError, ArgumentTypeError
from .._core.kinds import check_callable, shown
from .._core.shapes import broadcast_shapes
from .._core.typing import Array, DTypeLike, Scalar
from .casting import result_type
from .interchange import to_numpy


def lazy_apply(
    func: Callable[..., Any],
    /,
    *args: Array | Scalar | None,
    shape: Sequence[Any] | None = None,
    dtype: DTypeLike | Sequence[DTypeLike] | None = None,
    as_numpy: bool = False,
    **kwargs: Any,
) -> Any:
    """`func(*args, **kwargs)`, for a function that no compiler can trace, in compiled programs too.

    There the program calls `func` with the values when it runs: `jax.pure_callback`,
    `tf.numpy_function`, an operator of torch. Eagerly it is called at once. With `as_numpy` it gets
    NumPy arrays, so that functions of SciPy, Numba or Cython can be used.

    A compiled program must know `shape` and `dtype` of the result; without them they are those of
    the arguments, broadcast and promoted. A result that is different raises. A list of shapes
    stands for several results, which are returned as a tuple. `func` must be free of side effects:
    it may be called more than once, or never.

    Such a call has no derivative, and says so. `bind_custom_gradient_function` gives it one.

    >>> import numpy as np, trellis
    >>> trellis.lazy_apply(np.sort, np.array([3.0, 1.0, 2.0]), as_numpy=True)
    array([1., 2., 3.])
    """
    check_callable("lazy_apply", func)
    as_numpy = plain(as_numpy)
    if not isinstance(as_numpy, bool):
        raise ArgumentTypeError(
            f"lazy_apply() expects True or False for as_numpy, got {shown(as_numpy)}."
        )
    if shape is not None and not isinstance(shape, (list, tuple)):
        raise ArgumentTypeError(f"lazy_apply() expects a tuple for shape, got {shown(shape)}.")
    arrays = [x for x in args if is_array(x)]
    others = [x for x in args if not (is_array(x) or x is None or isinstance(x, NUMBERS))]
    if others or not arrays:
        got = shown(others[0]) if others else "no array"
        raise ArgumentTypeError(
            f"lazy_apply() expects arrays, at least one, and numbers and None besides; got {got}."
        )
    # Wrapped arrays are pytrees of one native array.
    wrapper: Any = type(arrays[0]) if hasattr(type(arrays[0]), "__trellis_backend__") else None
    natives = [tree.leaves(x)[0] for x in arrays]
    xp = xp_of_all(*natives)
    is_many = shape is not None and any([isinstance(size, (tuple, list)) for size in shape])
    shapes = _shapes(natives, shape, is_many)
    names = _names(xp, [x for x in args if x is not None], dtype, len(shapes))
    if as_numpy or xp.is_tracing():
        layout = tuple([(is_array(x), None if is_array(x) else x) for x in args])
        backend = None if as_numpy else xp.NAME
        given = (func, layout, tuple(kwargs.items()), backend, is_many)
        ys = xp.callback(_host_function, given, natives, shapes, names)
    else:
        found = func(*args, **kwargs)
        found = found if is_many else [found]
        ys = [_native(xp, y, name, natives) for y, name in zip(found, names)]
        _check(xp, ys, shapes, names)
    if wrapper is not None:
        ys = [wrapper(y) for y in ys]
    return tuple(ys) if is_many else ys[0]


def _shapes(arrays: list[Any], shape: Any, is_many: bool) -> list[tuple[int | None, ...]]:
    if shape is None:
        sizes = [shape_of(x) for x in arrays]
        return [broadcast_shapes(*sizes, function="lazy_apply")]
    return [tuple(each) for each in shape] if is_many else [tuple(shape)]


def _names(xp: Any, values: list[Any], dtype: Any, count: int) -> list[str]:
    if dtype is None:
        return [xp.dtype_name(result_type(*values))] * count
    dtypes = dtype if isinstance(dtype, (list, tuple)) else [dtype]
    if len(dtypes) != count:
        raise ArgumentError(
            f"lazy_apply() expects a data type for each shape; got {len(dtypes)} for {count}."
        )
    return [xp.dtype_name(xp.as_dtype(each)) for each in dtypes]


def _native(xp: Any, y: Any, name: str, given: list[Any]) -> Any:
    """An array that a function returned, or the number, as a native array."""
    if not is_array(y):
        return xp.asarray(y, dtype=xp.as_dtype(name))
    array = tree.leaves(y)[0]
    if not isinstance(array, np.ndarray) or np.ndarray in xp.ARRAY_TYPES:
        return array
    for x in given:  # NumPy's functions take tensors, and their derivative would be lost
        to_numpy(x)
    return xp.from_numpy(array)


def _check(xp: Any, ys: list[Any], shapes: Any, names: list[str]) -> None:
    """Raise as a compiled program would."""
    check_count(len(ys), len(shapes))
    for y, shape, name in zip(ys, shapes, names, strict=True):
        check_result(shape_of(y), xp.dtype_name(y.dtype), shape, name)


def _host_function(
    func: Callable[..., Any],
    layout: tuple[tuple[bool, Any], ...],
    options: tuple[tuple[str, Any], ...],
    backend: str | None,
    is_many: bool,
) -> Callable[[list[Any]], list[Any]]:
    """`func` over NumPy arrays, as a program calls it when it runs."""

    def on_host(arrays: list[Any]) -> list[Any]:
        waiting = list(arrays)
        if backend is not None:
            waiting = [load(backend).from_numpy(np.asarray(x)) for x in arrays]
        given = [waiting.pop(0) if is_of_array else value for is_of_array, value in layout]
        found = func(*given, **dict(options))
        ys = list(found) if is_many else [found]
        return ys if backend is None else [_on_host(y) for y in ys]

    return on_host


def _on_host(y: Any) -> Any:
    return xp_of(y).to_numpy(y) if is_array(y) else y
