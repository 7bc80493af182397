"""Reductions along some axes or all of them, and cumulative sums and products.

Sums and products of small integers are computed in the default int, so that they do not overflow
early.
"""

from .._core.arrays import is_array, shape_of
from .._core.dispatch import xp_of, xp_of_all, xp_of_pair
from .._core.explain import explain
from .._core.guards import check_axis, check_flag, check_number, check_over, check_tolerances
from .._core.leafwise import call_leafwise
from .._core.typing import A, DTypeLike, Scalar

_Axes = int | tuple[int, ...] | None


def all(x: A, /, *, axis: _Axes = None, keepdims: bool = False) -> A:
    """Whether all elements are true; true for none.

    >>> import numpy as np, trellis
    >>> trellis.all(np.array([[True, True], [True, False]]), axis=1)
    array([ True, False])
    """
    try:
        if (axis is not None and type(axis) is not int) or keepdims is not False:
            check_over(axis, keepdims)
        return xp_of(x).all(x, axis=axis, keepdims=keepdims)
    except Exception as error:
        return explain(error, all)


def allclose(
    x1: A | Scalar,
    x2: A | Scalar,
    /,
    *,
    rtol: float = 1e-5,
    atol: float = 1e-8,
    equal_nan: bool = False,
) -> A:
    """Whether all elements of two arrays are close, in the sense of `isclose`; a bool of the
    framework.

    >>> import numpy as np, trellis
    >>> bool(trellis.allclose(np.array([1.0, 2.0]), np.array([1.0, 2.0 + 1e-9])))
    True
    """
    try:
        if equal_nan is not False:
            check_flag(equal_nan)
        check_tolerances("allclose", rtol, atol)
        if isinstance(x1, dict) or isinstance(x2, dict):
            options = {"rtol": rtol, "atol": atol, "equal_nan": equal_nan}
            return call_leafwise(allclose, (x1, x2), options)
        xp = xp_of_pair(x1, x2)
        return xp.all(xp.isclose(x1, x2, rtol=rtol, atol=atol, equal_nan=equal_nan))
    except Exception as error:
        return explain(error, allclose)


def any(x: A, /, *, axis: _Axes = None, keepdims: bool = False) -> A:
    """Whether at least one element is true; false for none.

    >>> import numpy as np, trellis
    >>> trellis.any(np.array([[True, False], [False, False]]), axis=1)
    array([ True, False])
    """
    try:
        if (axis is not None and type(axis) is not int) or keepdims is not False:
            check_over(axis, keepdims)
        return xp_of(x).any(x, axis=axis, keepdims=keepdims)
    except Exception as error:
        return explain(error, any)


def array_equal(x1: A | Scalar, x2: A | Scalar, /, *, equal_nan: bool = False) -> A:
    """Whether two arrays have one shape and equal elements; a bool of the framework.

    >>> import numpy as np, trellis
    >>> bool(trellis.array_equal(np.array([1, 2]), np.array([[1, 2]])))
    False
    """
    try:
        if isinstance(x1, dict) or isinstance(x2, dict):
            return call_leafwise(array_equal, (x1, x2), {"equal_nan": equal_nan})
        check_flag(equal_nan)
        xp = xp_of_pair(x1, x2)
        shapes = [shape_of(x) for x in (x1, x2)]
        if len(shapes[0]) != len(shapes[1]) or _differ(*shapes):
            device = xp.device(x1 if is_array(x1) else x2)
            return xp.zeros((), dtype=xp.bool, device=device)
        is_same = xp.equal(x1, x2)
        if equal_nan:
            is_same = xp.logical_or(
                is_same, xp.logical_and(xp.not_equal(x1, x1), xp.not_equal(x2, x2))
            )
        return xp.all(is_same)
    except Exception as error:
        return explain(error, array_equal)


def _differ(shape: tuple[int | None, ...], other: tuple[int | None, ...]) -> bool:
    """Whether a length is known in both shapes and not the same."""
    for n, m in zip(shape, other, strict=True):
        if n is not None and m is not None and n != m:
            return True
    return False


def cumulative_prod(
    x: A,
    /,
    *,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    include_initial: bool = False,
) -> A:
    """Running product; `include_initial` puts a 1 before it. Only a vector needs no axis.

    >>> import numpy as np, trellis
    >>> trellis.cumulative_prod(np.array([1, 2, 3]))
    array([1, 2, 6])
    """
    try:
        if (axis is not None and type(axis) is not int) or include_initial is not False:
            check_over(axis, include_initial)
        xp = xp_of(x)
        return xp.cumulative_prod(x, axis=axis, dtype=dtype, include_initial=include_initial)
    except Exception as error:
        return explain(error, cumulative_prod)


def cumulative_sum(
    x: A,
    /,
    *,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    include_initial: bool = False,
) -> A:
    """Running sum; `include_initial` puts a 0 before it. Only a vector needs no axis.

    >>> import numpy as np, trellis
    >>> trellis.cumulative_sum(np.array([1, 2, 3]), include_initial=True)
    array([0, 1, 3, 6])
    """
    try:
        if (axis is not None and type(axis) is not int) or include_initial is not False:
            check_over(axis, include_initial)
        xp = xp_of(x)
        return xp.cumulative_sum(x, axis=axis, dtype=dtype, include_initial=include_initial)
    except Exception as error:
        return explain(error, cumulative_sum)


def diff(
    x: A, /, *, axis: int = -1, n: int = 1, prepend: A | None = None, append: A | None = None
) -> A:
    """Differences of neighbours, `n` times over; `prepend` and `append` are joined to `x` first.

    >>> import numpy as np, trellis
    >>> trellis.diff(np.array([1, 4, 9]))
    array([3, 5])
    """
    try:
        if type(axis) is not int:
            check_axis(axis)
        xp = xp_of_all(x, prepend, append)
        return xp.diff(x, axis=axis, n=n, prepend=prepend, append=append)
    except Exception as error:
        return explain(error, diff)


def logsumexp(x: A, /, *, axis: _Axes = None, keepdims: bool = False) -> A:
    """log(sum(exp(x))) without intermediate overflow.

    >>> import numpy as np, trellis
    >>> trellis.logsumexp(np.array([[1000.0, 1000.0], [0.0, 0.0]]), axis=1)
    array([1.00069315e+03, 6.93147181e-01])
    """
    try:
        if (axis is not None and type(axis) is not int) or keepdims is not False:
            check_over(axis, keepdims)
        return xp_of(x).logsumexp(x, axis=axis, keepdims=keepdims)
    except Exception as error:
        return explain(error, logsumexp)


def max(x: A, /, *, axis: _Axes = None, keepdims: bool = False) -> A:
    """The largest element; nan if there is one.

    >>> import numpy as np, trellis
    >>> trellis.max(np.array([[1, 5], [7, 3]]), axis=1)
    array([5, 7])
    """
    try:
        if (axis is not None and type(axis) is not int) or keepdims is not False:
            check_over(axis, keepdims)
        return xp_of(x).max(x, axis=axis, keepdims=keepdims)
    except Exception as error:
        return explain(error, max)


def mean(x: A, /, *, axis: _Axes = None, keepdims: bool = False) -> A:
    """The arithmetic mean.

    >>> import numpy as np, trellis
    >>> trellis.mean(np.array([[1.0, 2.0], [3.0, 5.0]]), axis=1)
    array([1.5, 4. ])
    """
    try:
        if (axis is not None and type(axis) is not int) or keepdims is not False:
            check_over(axis, keepdims)
        return xp_of(x).mean(x, axis=axis, keepdims=keepdims)
    except Exception as error:
        return explain(error, mean)


def min(x: A, /, *, axis: _Axes = None, keepdims: bool = False) -> A:
    """The smallest element; nan if there is one.

    >>> import numpy as np, trellis
    >>> trellis.min(np.array([[1, 5], [7, 3]]), axis=1)
    array([1, 3])
    """
    try:
        if (axis is not None and type(axis) is not int) or keepdims is not False:
            check_over(axis, keepdims)
        return xp_of(x).min(x, axis=axis, keepdims=keepdims)
    except Exception as error:
        return explain(error, min)


def prod(
    x: A, /, *, axis: _Axes = None, dtype: DTypeLike | None = None, keepdims: bool = False
) -> A:
    """The product; 1 for no elements.

    >>> import numpy as np, trellis
    >>> trellis.prod(np.array([[1, 2], [3, 4]]), axis=1)
    array([ 2, 12])
    """
    try:
        if (axis is not None and type(axis) is not int) or keepdims is not False:
            check_over(axis, keepdims)
        return xp_of(x).prod(x, axis=axis, dtype=dtype, keepdims=keepdims)
    except Exception as error:
        return explain(error, prod)


def std(x: A, /, *, axis: _Axes = None, correction: float = 0.0, keepdims: bool = False) -> A:
    """The standard deviation, dividing by n - correction.

    >>> import numpy as np, trellis
    >>> trellis.std(np.array([[1.0, 3.0], [2.0, 6.0]]), axis=1)
    array([1., 2.])
    """
    try:
        if (axis is not None and type(axis) is not int) or keepdims is not False:
            check_over(axis, keepdims)
        if type(correction) is not float:
            check_number(correction)
        return xp_of(x).std(x, axis=axis, correction=correction, keepdims=keepdims)
    except Exception as error:
        return explain(error, std)


def sum(
    x: A, /, *, axis: _Axes = None, dtype: DTypeLike | None = None, keepdims: bool = False
) -> A:
    """The sum; 0 for no elements.

    >>> import numpy as np, trellis
    >>> trellis.sum(np.array([[1, 2], [3, 4]]), axis=1)
    array([3, 7])
    """
    try:
        if (axis is not None and type(axis) is not int) or keepdims is not False:
            check_over(axis, keepdims)
        return xp_of(x).sum(x, axis=axis, dtype=dtype, keepdims=keepdims)
    except Exception as error:
        return explain(error, sum)


def var(x: A, /, *, axis: _Axes = None, correction: float = 0.0, keepdims: bool = False) -> A:
    """The variance, dividing by n - correction.

    >>> import numpy as np, trellis
    >>> trellis.var(np.array([[1.0, 3.0], [2.0, 6.0]]), axis=1, correction=1)
    array([2., 8.])
    """
    try:
        if (axis is not None and type(axis) is not int) or keepdims is not False:
            check_over(axis, keepdims)
        if type(correction) is not float:
            check_number(correction)
        return xp_of(x).var(x, axis=axis, correction=correction, keepdims=keepdims)
    except Exception as error:
        return explain(error, var)
