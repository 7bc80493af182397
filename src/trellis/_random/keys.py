"""Keys: uint32 arrays of shape (2,), made of seeds, split, and folded with numbers."""

import operator
from typing import Any

from .._core.arrays import plain
from .._core.dispatch import default_xp, load, xp_of
from .._core.dtypes import INTEGER, UNSIGNED, name_of
from .._core.errors import ArgumentError, ArgumentTypeError
from .._core.explain import explain
from .._core.typing import A, Array, Device, DTypeLike, Shape
from .arguments import as_shape
from .stream import is_key, known_words


def key(seed: int | Array, /, *, backend: str | None = None, device: Device | None = None) -> Any:
    """The key of an integer seed from 0 up, on the default backend unless another one is named.

    The seed may be a traced integer; then the key is of its framework.

    >>> import trellis
    >>> trellis.random.key(2**32 + 5)
    array([1, 5], dtype=uint32)
    """
    if is_key(seed):
        raise ArgumentTypeError("key() takes an integer seed, got a key.")
    words = known_words(seed)
    if words is None:
        return xp_of(seed).random.key_of_seed(seed)
    xp = default_xp() if backend is None else load(backend)
    return xp.random.make_key(*words, device)


def split(key: A, /, num: int | tuple[int, ...] = 2) -> A:
    """New keys out of one; use them instead of it. A tuple gives an array of keys of that shape.

    >>> import trellis
    >>> trellis.random.split(trellis.random.key(0), 3).shape
    (3, 2)
    """
    try:
        return backend_of_key(key).random.split(key, as_shape(num))
    except Exception as error:
        return explain(error, split)


def fold_in(key: A, data: int | Array, /) -> A:
    """A new key out of a key and an integer: the number of a step, a layer, a worker.

    >>> import trellis
    >>> trellis.random.fold_in(trellis.random.key(0), 1)
    array([ 928981903, 3453687069], dtype=uint32)
    """
    return backend_of_key(key).random.fold_in(key, _checked_data(data))


def _checked_data(data: Any) -> Any:
    """What is folded into a key: an integer of 32 bits, or an array of one without axes."""
    data = plain(data)
    if hasattr(data, "dtype"):
        if name_of(data.dtype) not in INTEGER:
            raise ArgumentTypeError(
                f"fold_in() folds an integer into a key, got an array of {name_of(data.dtype)}."
            )
        if len(data.shape) > 0:
            raise ArgumentTypeError(
                f"fold_in() folds one integer into a key, got an array of shape {data.shape}."
            )
        return data
    if isinstance(data, bool) or not hasattr(data, "__index__"):
        raise ArgumentTypeError(f"fold_in() folds an integer into a key, got {data!r}.")
    number = operator.index(data)
    if not 0 <= number < 2**32:
        raise ArgumentError(
            f"fold_in() takes integers from 0 to 2**32 - 1, got {number}. Fold a larger one in "
            "twice: "
            "its upper half, then its lower half."
        )
    return number


def bits(key: A, /, shape: Shape = (), dtype: DTypeLike = "uint32") -> A:
    """Uniform random bits as unsigned integers.

    >>> import trellis
    >>> trellis.random.bits(trellis.random.key(0), (2,))
    array([4070199207, 4202968722], dtype=uint32)
    """
    try:
        if name_of(dtype) not in UNSIGNED:
            raise ArgumentError(
                f"bits are unsigned integers, one of {', '.join(UNSIGNED)}, not {name_of(dtype)}."
            )
        xp = backend_of_key(key)
        return xp.random.bits(key, as_shape(shape), xp.as_dtype(name_of(dtype)))
    except Exception as error:
        return explain(error, bits)


def backend_of_key(key: Array) -> Any:
    """The backend that a key belongs to; anything else raises."""
    if not is_key(key):
        raise ArgumentTypeError(
            f"Expected a key first, a uint32 array of shape (2,), got {key!r}. "
            "Write trellis.random.key(seed)."
        )
    return xp_of(key)


def key_data(key: Array) -> Any:
    """The key as a uint32 array, on JAX out of its typed keys too."""
    return backend_of_key(key).random.as_raw_key(key)
