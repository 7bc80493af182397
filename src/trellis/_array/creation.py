"""Creating arrays. Without an array among the arguments, `backend=` or the default backend decides
the framework."""

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from .._core.arrays import is_array, plain, plain_for, shape_of
from .._core.dispatch import (
    SCALAR_TYPES,
    default_xp,
    load,
    named_xp,
    xp_of,
    xp_of_all,
    xp_of_any,
)
from .._core.dtypes import default_dtype, fitted, name_of
from .._core.errors import ArgumentError, ArgumentTypeError
from .._core.explain import explain
from .._core.guards import (
    WrongKind,
    check_array,
    check_axis,
    check_flag,
    check_rank,
    check_scalar,
    check_whole,
    check_within,
)
from .._core.leafwise import call_leafwise
from .._core.shapes import normal_axis, one_of
from .._core.tracing import is_followed
from .._core.typing import A, Array, Device, DTypeLike, Scalar, Shape

if TYPE_CHECKING:
    from .._backends.interface import Backend


def arange(
    start: Scalar,
    /,
    stop: Scalar | None = None,
    step: Scalar = 1,
    *,
    dtype: DTypeLike | None = None,
    device: Device | None = None,
    backend: str | None = None,
) -> Array:
    """Numbers from `start` to before `stop`, a `step` apart; one argument counts from 0 up to it.

    >>> import trellis
    >>> trellis.arange(1, 10, 3)
    array([1, 4, 7])
    """
    try:
        if start is None or step is None:
            raise WrongKind("arange() of None")
        start, stop, step = _number(start), _number(stop), _number(step)
        if complex in (type(start), type(stop), type(step)):
            raise WrongKind("arange() of complex numbers")
        if isinstance(step, (int, float)) and step == 0:
            raise ArgumentError("arange() expects a step other than 0.")
        xp = _named_or_of(backend, start, stop, step)
        return xp.arange(start, stop, step, dtype=dtype, device=device)
    except Exception as error:
        return explain(error, arange)


def asarray(
    obj: object,
    /,
    *,
    dtype: DTypeLike | None = None,
    device: Device | None = None,
    copy: bool | None = None,
    backend: str | None = None,
) -> Array:
    """An array of numbers, nested lists, buffers or arrays.

    An array stays in its own framework unless `backend` names another one; everything else becomes
    an array of the default backend. Python floats get the default float. `copy=False` raises where
    a copy is
    needed.

    >>> import trellis
    >>> trellis.asarray([[1, 2], [3, 4]], dtype="float32")
    array([[1., 2.],
           [3., 4.]], dtype=float32)
    """
    try:
        if copy is not None:
            check_flag(copy)
        if isinstance(obj, dict):
            options = {"dtype": dtype, "device": device, "copy": copy, "backend": backend}
            return call_leafwise(asarray, (obj,), options)
        home = _home_of(obj)
        if backend is None:
            xp = default_xp() if home is None else home
        else:
            xp = load(backend)
            # While torch.compile traces, an array of NumPy is already one of torch.
            if home is not None and home is not xp and not is_followed():
                from .interchange import to_backend

                if dtype is not None:
                    # Before the crossing: the other side may be unable to hold the wider type.
                    obj = home.asarray(obj, dtype=name_of(dtype))
                return to_backend(obj, backend, device=device, copy=copy)
        return xp.asarray(obj, dtype=dtype, device=device, copy=copy)
    except Exception as error:
        return explain(error, asarray)


def empty(
    shape: Shape,
    *,
    dtype: DTypeLike | None = None,
    device: Device | None = None,
    backend: str | None = None,
) -> Array:
    """An array of that shape whose elements are not set; fill all of them before reading any.

    >>> import trellis
    >>> trellis.empty((2, 3)).shape
    (2, 3)
    """
    try:
        return named_xp(backend).empty(shape, dtype=dtype, device=device)
    except Exception as error:
        return explain(error, empty)


def empty_like(x: A, /, *, dtype: DTypeLike | None = None, device: Device | None = None) -> A:
    """An array like `x` whose elements are not set.

    >>> import numpy as np, trellis
    >>> trellis.empty_like(np.zeros((2, 3))).shape
    (2, 3)
    """
    return xp_of(x).empty_like(x, dtype=dtype, device=device)


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: DTypeLike | None = None,
    device: Device | None = None,
    backend: str | None = None,
) -> Array:
    """Ones on the diagonal number `k` (positive above the main one), zeros elsewhere.

    >>> import trellis
    >>> trellis.eye(2, 3, k=1)
    array([[0., 1., 0.],
           [0., 0., 1.]], dtype=float32)
    """
    try:
        check_within(k)
        check_within(n_rows)
        if n_cols is not None:
            check_within(n_cols)
        return named_xp(backend).eye(n_rows, n_cols, k=k, dtype=dtype, device=device)
    except Exception as error:
        return explain(error, eye)


def from_dlpack(
    x: object,
    /,
    *,
    device: Device | None = None,
    copy: bool | None = None,
    backend: str | None = None,
) -> Array:
    """An array over the memory of any object with `__dlpack__`, copied only where it must be.

    >>> import numpy as np, trellis
    >>> trellis.from_dlpack(np.array([1.0, 2.0]))
    array([1., 2.])
    """
    try:
        return named_xp(backend).from_dlpack(x, device=device, copy=copy)
    except Exception as error:
        return explain(error, from_dlpack)


def full(
    shape: Shape,
    fill_value: Array | Scalar,
    *,
    dtype: DTypeLike | None = None,
    device: Device | None = None,
    backend: str | None = None,
) -> Array:
    """An array of that shape with one value everywhere; the type is that of the value.

    >>> import trellis
    >>> trellis.full((2, 2), 7)
    array([[7, 7],
           [7, 7]])
    """
    try:
        check_scalar(fill_value)
        xp = _named_or_of(backend, plain(fill_value))
        value = plain_for(xp, fill_value)
        if backend is not None and is_array(value) and not isinstance(value, xp.ARRAY_TYPES):
            value = asarray(value, backend=backend)
        return xp.full(shape, value, dtype=dtype, device=device)
    except Exception as error:
        return explain(error, full)


def full_like(
    x: A,
    /,
    fill_value: Array | Scalar,
    *,
    dtype: DTypeLike | None = None,
    device: Device | None = None,
) -> A:
    """An array like `x` with one value everywhere.

    >>> import numpy as np, trellis
    >>> trellis.full_like(np.zeros(3), 2)
    array([2., 2., 2.])
    """
    try:
        if fill_value is None:
            raise WrongKind("full_like() of None")
        if type(fill_value) is complex:
            fitted(fill_value, name_of(x.dtype if dtype is None else dtype))
        return xp_of_all(x, fill_value).full_like(x, fill_value, dtype=dtype, device=device)
    except Exception as error:
        return explain(error, full_like)


def linspace(
    start: Scalar,
    stop: Scalar,
    /,
    num: int,
    *,
    dtype: DTypeLike | None = None,
    device: Device | None = None,
    endpoint: bool = True,
    backend: str | None = None,
) -> Array:
    """`num` numbers evenly spaced from `start` to `stop`, which is included if `endpoint`.

    >>> import trellis
    >>> trellis.linspace(0, 1, 5)
    array([0.  , 0.25, 0.5 , 0.75, 1.  ], dtype=float32)
    """
    try:
        if type(num) is not int:
            check_whole(num)
        if endpoint is not True:
            check_flag(endpoint)
        start, stop = _number(start), _number(stop)
        if shape_of(start) != () or shape_of(stop) != ():
            raise WrongKind("linspace() of arrays")
        xp = _named_or_of(backend, start, stop)
        return xp.linspace(start, stop, num, dtype=dtype, device=device, endpoint=endpoint)
    except Exception as error:
        return explain(error, linspace)


def meshgrid(*arrays: A, indexing: Literal["xy", "ij"] = "xy") -> tuple[A, ...]:
    """Coordinate arrays of the grid spanned by vectors.

    "ij" keeps the order of the arguments as axes; "xy" exchanges the first two.

    >>> import numpy as np, trellis
    >>> trellis.meshgrid(np.array([1, 2]), np.array([3, 4]), indexing="ij")[0]
    array([[1, 1],
           [2, 2]])
    """
    try:
        one_of("meshgrid", "indexing", indexing, ("xy", "ij"))
        for x in arrays:
            check_array(x)
        return tuple(xp_of_all(*arrays).meshgrid(*arrays, indexing=indexing)) if arrays else ()
    except Exception as error:
        return explain(error, meshgrid)


def one_hot(
    indices: A, num_classes: int, /, *, dtype: DTypeLike | None = None, axis: int = -1
) -> A:
    """A new axis of `num_classes` with 1 at the index and 0 elsewhere; indices outside give zeros.

    >>> import numpy as np, trellis
    >>> trellis.one_hot(np.array([2, 0]), 3)
    array([[0., 0., 1.],
           [1., 0., 0.]], dtype=float32)
    """
    try:
        check_within(num_classes)
        if num_classes < 0:
            raise ArgumentError(f"one_hot() needs 0 classes or more, got {num_classes}.")
        if type(axis) is not int:
            check_axis(axis)
        if isinstance(indices, dict):
            return call_leafwise(one_hot, (indices, num_classes), {"dtype": dtype, "axis": axis})
        xp = xp_of(indices)
        rank = len(indices.shape) + 1
        place = normal_axis(axis, rank)
        classes = xp.arange(num_classes, device=xp.device(indices))
        classes = xp.reshape(classes, (num_classes,) + (1,) * (rank - place - 1))
        hot = xp.equal(xp.expand_dims(indices, axis=place), classes)
        return xp.astype(hot, xp.as_dtype(default_dtype() if dtype is None else dtype))
    except Exception as error:
        return explain(error, one_hot)


def ones(
    shape: Shape,
    *,
    dtype: DTypeLike | None = None,
    device: Device | None = None,
    backend: str | None = None,
) -> Array:
    """An array of ones, of the default float unless `dtype` says otherwise.

    >>> import trellis
    >>> trellis.ones(3)
    array([1., 1., 1.], dtype=float32)
    """
    try:
        return named_xp(backend).ones(shape, dtype=dtype, device=device)
    except Exception as error:
        return explain(error, ones)


def ones_like(x: A, /, *, dtype: DTypeLike | None = None, device: Device | None = None) -> A:
    """An array like `x`, of ones.

    >>> import numpy as np, trellis
    >>> trellis.ones_like(np.array([3, 4]))
    array([1, 1])
    """
    return xp_of(x).ones_like(x, dtype=dtype, device=device)


def tril(x: A, /, *, k: int = 0) -> A:
    """The lower triangle of matrices; zeros above diagonal number `k`.

    >>> import numpy as np, trellis
    >>> trellis.tril(np.array([[1, 2], [3, 4]]))
    array([[1, 0],
           [3, 4]])
    """
    try:
        return _of_matrices("tril", x, k).tril(x, k=k)
    except Exception as error:
        return explain(error, tril)


def triu(x: A, /, *, k: int = 0) -> A:
    """The upper triangle of matrices; zeros below diagonal number `k`.

    >>> import numpy as np, trellis
    >>> trellis.triu(np.array([[1, 2], [3, 4]]))
    array([[1, 2],
           [0, 4]])
    """
    try:
        return _of_matrices("triu", x, k).triu(x, k=k)
    except Exception as error:
        return explain(error, triu)


def zeros(
    shape: Shape,
    *,
    dtype: DTypeLike | None = None,
    device: Device | None = None,
    backend: str | None = None,
) -> Array:
    """An array of zeros, of the default float unless `dtype` says otherwise.

    >>> import trellis
    >>> trellis.zeros((2, 2))
    array([[0., 0.],
           [0., 0.]], dtype=float32)
    """
    try:
        return named_xp(backend).zeros(shape, dtype=dtype, device=device)
    except Exception as error:
        return explain(error, zeros)


def zeros_like(x: A, /, *, dtype: DTypeLike | None = None, device: Device | None = None) -> A:
    """An array like `x`, of zeros.

    >>> import numpy as np, trellis
    >>> trellis.zeros_like(np.array([3, 4]))
    array([0, 0])
    """
    return xp_of(x).zeros_like(x, dtype=dtype, device=device)


def _of_matrices(name: str, x: object, k: int) -> "Backend":
    """The backend of matrices, where `k` is a number of a diagonal."""
    check_within(k)
    xp = xp_of(x)
    if not isinstance(x, dict):
        check_rank(name, x, 2)
    return xp


def _number(x: Any) -> Any:
    """A NumPy scalar or array without axes as a Python number; everything else as it is."""
    return x.item() if isinstance(x, (np.generic, np.ndarray)) and x.ndim == 0 else x


def _named_or_of(backend: str | None, *values: object) -> "Backend":
    """The named backend, else that of the arrays among the values, else the default one."""
    return xp_of_any(*values) if backend is None else load(backend)


def _home_of(obj: object) -> "Backend | None":
    """The backend an object belongs to, or None. A list belongs where its first element does."""
    is_list = isinstance(obj, (list, tuple))
    while isinstance(obj, (list, tuple)) and len(obj) > 0:
        obj = obj[0]
    obj = plain(obj) if is_list else obj
    if type(obj) in SCALAR_TYPES or isinstance(obj, (list, tuple)):
        return None
    try:
        return xp_of(obj)
    except ArgumentTypeError:
        return None
