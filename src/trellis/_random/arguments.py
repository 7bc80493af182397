"""What random functions do with their arguments before drawing: backend, dtype, shape, key,
checks."""

import operator
from collections.abc import Callable
from typing import Any

from .._core.arrays import plain
from .._core.dispatch import xp_of_any
from .._core.dtypes import FLOATING, default_dtype, name_of, promote
from .._core.errors import ArgumentError, ArgumentTypeError, OutOfMemoryError, ShapeError
from .._core.leafwise import call_leafwise
from .._core.shapes import LARGEST, broadcast_shapes
from .._core.threefry import Words, fold_in_words
from .._core.typing import Array, Backend, Device, DTypeLike, Scalar, Seed, Shape
from .stream import as_key, key_words, seed_array


def as_shape(shape: Any) -> tuple[int, ...]:
    """A shape as a tuple; one number is a shape of one dimension."""
    if hasattr(shape, "__index__") and not isinstance(shape, (list, tuple)):
        shape = (shape,)
    sizes = tuple([operator.index(n) for n in shape])
    for n in sizes:
        if n < 0:
            raise ShapeError(f"A shape has no negative sizes, got {sizes}.")
        if n > LARGEST:
            raise OutOfMemoryError(f"No machine holds an axis of {n} elements: shape {sizes}.")
    return sizes


def result_shape(shape: Shape | None, *params: Array | Scalar) -> tuple[int, ...]:
    """The shape of a draw: that of its parameters, or `shape` if they broadcast to it."""
    together = broadcast_shapes(*[tuple(p.shape) for p in params if hasattr(p, "shape")])
    if shape is None:
        return together
    wanted = as_shape(shape)
    if broadcast_shapes(together, wanted) != wanted:
        raise ShapeError(
            f"Parameters of shape {together} do not broadcast to the requested shape {wanted}."
        )
    return wanted


def float_name(xp: Backend, dtype: DTypeLike | None, *params: Array | Scalar) -> str:
    """The name of the dtype of a draw: as asked, else that of the floating parameters, else the
    default."""
    if dtype is not None:
        return name_of(dtype)
    found = None
    for p in params:
        name = name_of(p.dtype) if hasattr(p, "dtype") else ""
        if name in FLOATING:
            found = name if found is None else promote(found, name)
    return str(default_dtype()) if found is None else found


def backend_and_key(
    seed: Seed, device: Device | None, *params: Array | Scalar | None
) -> tuple[Any, Any]:
    """The backend of a draw and its key, given the array parameters."""
    xp = xp_of_any(*params, seed_array(seed))
    if device is None:
        for p in params:
            if hasattr(p, "shape"):
                device = xp.random.key_device(p)
                break
    return xp, as_key(seed, xp, device)


def param(xp: Backend, value: Array | Scalar, dtype: DTypeLike | None, key: Array) -> Any:
    """A parameter as an array of the draw's dtype, on the key's device."""
    if hasattr(value, "dtype"):
        return xp.astype(value, dtype, copy=False)
    return xp.asarray(value, dtype=dtype, device=xp.random.key_device(key))


def is_known(xp: Backend, *params: Array | Scalar) -> bool:
    """Whether the values of all parameters can be checked now: not while a function is traced."""
    for p in params:
        if hasattr(p, "dtype") and not xp.is_concrete(p):
            return False
    return True


def is_any(xp: Backend, condition: Array | bool) -> bool:
    return condition if isinstance(condition, bool) else bool(xp.any(condition))


def draw_leafwise(fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """One draw per leaf of the pytrees among the arguments: leaf number i draws from (seed, i)."""
    seed = kwargs.pop("seed")
    number = [0]

    def draw(*leaf_args: Any, **leaf_kwargs: Any) -> Any:
        i = number[0]
        number[0] = i + 1
        return fn(*leaf_args, **leaf_kwargs, seed=leaf_seed(seed, i))

    return call_leafwise(draw, args, kwargs)


def leaf_seed(seed: Seed | Words, i: int) -> Any:
    """The seed of leaf number `i`; without a seed every leaf takes the next key of the stream."""
    if seed is None:
        return None
    words = seed if isinstance(seed, tuple) else key_words(seed)
    if words is not None and seed_array(seed) is None:
        return fold_in_words(words, i)
    from .._core.dispatch import xp_of

    xp = xp_of(seed)
    return xp.random.fold_in(as_key(seed, xp), i)


def int_dtype(xp: Backend, dtype: DTypeLike | None) -> Any:
    """The native dtype of a draw of integers; None and `int` are the default one."""
    return xp.asarray(0).dtype if dtype in (None, int) else xp.as_dtype(name_of(dtype))


def check_float_name(name: str, function: str) -> None:
    if name not in FLOATING:
        raise ArgumentError(
            f"{function} draws floating-point numbers, not {name}. Use one of "
            f"{', '.join(FLOATING)}."
        )


def draw_dtype(xp: Backend, dtype: DTypeLike | None, *params: Array | Scalar, function: str) -> Any:
    """The native dtype of a draw of floats."""
    name = float_name(xp, dtype, *params)
    check_float_name(name, function)
    return xp.as_dtype(name)


def scaled_uniform(xp: Backend, u: Array, low: Array | float, high: Array | float) -> Any:
    """Uniforms of [0, 1) brought to [low, high)."""
    if xp.dtype_name(u.dtype) == "float16":
        # float16 ends at 65504, and the span may be twice that: halves are exact.
        draw = (u * (high / 2 - low / 2) + low / 2) * 2
    else:
        draw = u * (high - low) + low
    # Rounding may reach `high`. What does belongs to `low`, whose own rounding interval is cut in
    # half.
    return xp.where(draw < high, draw, low)


def check_number(function: str, what: str, value: Any, need: str = "a number or an array") -> Any:
    """A parameter of a distribution: a Python number, or an array; anything else raises.

    A NumPy scalar is a number on NumPy too, so that it draws the same everywhere.
    """
    value = plain(value)
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number and not hasattr(value, "dtype"):
        raise ArgumentTypeError(f"{function}() expects {need} for {what}, got {value!r}.")
    return value


def check_array(function: str, what: str, value: object) -> None:
    """A parameter that must be an array."""
    if not hasattr(value, "dtype"):
        raise ArgumentTypeError(f"{function}() expects an array for {what}, got {value!r}.")


def check_below(xp: Backend, function: str, low: Array | float, high: Array | float, names: str,
                or_equal: bool) -> None:  # fmt: skip
    """Raise where bounds whose values are known now are in the wrong order; nan is in none."""
    if not is_known(xp, low, high):
        return
    if hasattr(low, "dtype") or hasattr(high, "dtype"):
        order = xp.less_equal(low, high) if or_equal else xp.less(low, high)
        is_right = bool(xp.all(order))
    else:
        is_right = low <= high if or_equal else low < high
    if not is_right:
        raise ArgumentError(f"{function}() needs {names} everywhere, got {low!r} and {high!r}.")


def check_values(xp: Backend, function: str, what: str, value: Array | Scalar,
                 is_good: Callable[..., Any], need: str) -> None:  # fmt: skip
    """Raise where a parameter whose values are known now is not what the distribution needs.

    `is_good` is a condition on the parameter that nan fails.
    """
    if not is_known(xp, value):
        return
    good = is_good(value)
    if not (good if isinstance(good, bool) else bool(xp.all(good))):
        raise ArgumentError(f"{function}() needs {what} {need}, got {value!r}.")
