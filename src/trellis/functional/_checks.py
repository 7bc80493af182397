"""What the layer functions share: argument checks that are the same on every backend, and common dtypes."""

import operator
from math import ceil
from typing import Any

from .._core.dispatch import xp_of
from .._core.dtypes import COMPLEX, FLOATING, default_dtype, promote
from .._core.errors import ArgumentError, ArgumentTypeError, DtypeError, ShapeError
from .._core.threefry import fold_in_words
from .._core.tree import call_leafwise
from .._random.stream import as_key, key_words


def has_nest(*args: Any) -> bool:
    """Whether a dict or Container is among the arguments.

    >>> has_nest(1, {"a": 2})
    True
    """
    return any([isinstance(arg, dict) for arg in args])


def as_floats(name: str, xp: Any, *arrays: Any) -> list[Any]:
    """The arrays in one float dtype: the widest float among them, else the default float; None passes."""
    first = arrays[0].dtype
    is_one = all([x is None or x.dtype == first for x in arrays])
    found = xp.dtype_name(first)
    if is_one and found in FLOATING:
        return list(arrays)
    names = [xp.dtype_name(x.dtype) for x in arrays if x is not None]
    target = None
    for each in names:
        if each in COMPLEX:
            raise DtypeError(f"{name}() computes with real numbers, got an array of {each}.")
        if each in FLOATING:
            target = each if target is None else promote(target, each)
    target = str(default_dtype()) if target is None else target
    return [
        x if x is None or xp.dtype_name(x.dtype) == target else xp.astype(x, target) for x in arrays
    ]


def whole_number(name: str, what: str, value: Any) -> int:
    """An integer; bools, floats and arrays with a fraction raise.

    >>> whole_number("conv1d", "strides", 2)
    2
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool):
        raise ArgumentTypeError(f"{name}() expects integers for {what}, got {value!r}.")
    return number


def per_axis(name: str, what: str, value: Any, dims: int) -> tuple[int, ...]:
    """One entry >= 1 per spatial axis, out of an int, one entry, or all of them.

    >>> per_axis("conv2d", "strides", 2, 2)
    (2, 2)
    """
    entries = tuple(value) if isinstance(value, (list, tuple)) else (value,)
    if len(entries) not in (1, dims):
        raise ArgumentError(
            f"{name}() expects {what} as an int or with 1 or {dims} entries, got {value!r} with {len(entries)}."
        )
    numbers = tuple([whole_number(name, what, entry) for entry in entries])
    if min(numbers) < 1:
        raise ArgumentError(
            f"{name}() expects {what} of at least 1 along every axis, got {value!r}."
        )
    return numbers if len(numbers) == dims else numbers * dims


def probability(name: str, what: str, value: Any) -> float:
    """A number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        try:
            number = float(value)
        except (TypeError, ValueError):
            raise ArgumentTypeError(
                f"{name}() expects a number for {what}, got {value!r}."
            ) from None
    else:
        number = float(value)
    if not 0 <= number <= 1:
        raise ArgumentError(f"{name}() expects {what} from 0 to 1, got {value!r}.")
    return number


def broadcast_shape(name: str, *shapes: tuple[Any, ...]) -> tuple[Any, ...]:
    """The shape that all the shapes stretch to; None stands for a size not known while tracing.

    >>> broadcast_shape("f", (2, 1), (3,))
    (2, 3)
    """
    rank = max([len(shape) for shape in shapes])
    result: list[Any] = [1] * rank
    for shape in shapes:
        for i, size in enumerate(shape, start=rank - len(shape)):
            if result[i] == 1:
                result[i] = size
            elif result[i] is None or size is None:
                result[i] = size if result[i] is None and size != 1 else result[i]
            elif size not in (1, result[i]):
                raise ShapeError(
                    f"{name}() got shapes that do not broadcast: {', '.join(map(str, shapes))}."
                )
    return tuple(result)


# Draws -----------------------------------------------------------------------------------------------


def keep_mask(xp: Any, like: Any, shape: tuple[Any, ...], prob: float, seed: Any) -> Any:
    """A bool array on the backend of `like`: True, "keep", where a uniform draw is not below `prob`.

    The draws are 32-bit words, compared as integers whatever the dtype of the layer: a seed gives one mask everywhere.
    Both words of each hashed counter are used, which halves the work that a mask consists of.
    """
    if any([size is None for size in shape]):
        raise ShapeError(
            f"A random mask needs a shape known while tracing, got {shape}. Give tf.function a signature "
            "with these sizes."
        )
    key = as_key(seed, xp, xp.device(like))
    threshold = min(ceil(prob * 2**32), 2**32 - 1)
    return xp.random.keep(key, shape, threshold)


def call_seeded_leafwise(fn: Any, args: Any, kwargs: Any, seed: Any, is_drawing: bool) -> Any:
    """`call_leafwise` where leaf number i draws from a stream derived from (seed, i)."""
    numbers: list[int] = []

    def on_leaf(*leaf_args: Any, **leaf_kwargs: Any) -> Any:
        numbers.append(len(numbers))
        leaf_seed = _seed_of_leaf(seed, numbers[-1]) if is_drawing else seed
        return fn(*leaf_args, **leaf_kwargs, seed=leaf_seed)

    return call_leafwise(on_leaf, args, kwargs)


def _seed_of_leaf(seed: Any, number: int) -> Any:
    if seed is None:
        return None
    words = key_words(seed)
    if words is not None:
        return fold_in_words(words, number)
    xp = xp_of(seed)
    return xp.random.fold_in(as_key(seed, xp), number)
