"""The distinct elements of arrays, and arrays as sets. Where the length of a result depends on the
values, JAX cannot compile it.

Every nan counts as an element of its own. Values come in ascending order on all backends.
"""

from typing import Any

from .._core.dispatch import xp_of, xp_of_pair
from .._core.explain import explain
from .._core.guards import check_array, check_flag, check_scalar
from .._core.leafwise import call_leafwise, has_nest
from .._core.membership import is_among
from .._core.results import UniqueAllResult, UniqueCountsResult, UniqueInverseResult
from .._core.typing import A, Scalar


def isin(x1: A | Scalar, x2: A | Scalar, /, *, invert: bool = False) -> A:
    """Whether each element of `x1` is one of `x2`; with `invert` whether it is none of them. nan is
    in no array.

    >>> import numpy as np, trellis
    >>> trellis.isin(np.array([1, 2, 3]), np.array([3, 1]))
    array([ True, False,  True])
    """
    try:
        if has_nest(x1, x2):
            return call_leafwise(isin, (x1, x2), {"invert": invert})
        if invert is not False:
            check_flag(invert)
        return is_among(xp_of_pair(x1, x2), x1, x2, invert)
    except Exception as error:
        return explain(error, isin)


def setdiff1d(x1: A | Scalar, x2: A | Scalar, /, *, assume_unique: bool = False) -> A:
    """The distinct elements of `x1` that are not in `x2`, in ascending order; with `assume_unique`
    all of them, in their order.

    >>> import numpy as np, trellis
    >>> trellis.setdiff1d(np.array([3, 1, 2, 3]), np.array([2]))
    array([1, 3])
    """
    try:
        if has_nest(x1, x2):
            return call_leafwise(setdiff1d, (x1, x2), {"assume_unique": assume_unique})
        check_flag(assume_unique)
        check_scalar(x1)
        xp = xp_of_pair(x1, x2)
        values: Any = xp.reshape(_as_array(xp, x1, x2), (-1,))
        values = values if assume_unique else xp.unique_values(values)
        return xp.take(values, xp.nonzero(is_among(xp, values, x2, True))[0], axis=0)
    except Exception as error:
        return explain(error, setdiff1d)


def union1d(x1: A, x2: A, /) -> A:
    """The distinct elements of both arrays together, in ascending order.

    >>> import numpy as np, trellis
    >>> trellis.union1d(np.array([3, 1]), np.array([2, 3]))
    array([1, 2, 3])
    """
    try:
        if has_nest(x1, x2):
            return call_leafwise(union1d, (x1, x2), {})
        check_array(x1)
        check_array(x2)
        xp = xp_of_pair(x1, x2)
        return xp.unique_values(xp.concat([xp.reshape(x, (-1,)) for x in (x1, x2)]))
    except Exception as error:
        return explain(error, union1d)


def _as_array(xp: Any, x: Any, other: Any) -> Any:
    """A Python number as an array in the type that both have together."""
    if hasattr(x, "dtype"):
        return x
    return xp.asarray(x, dtype=xp.result_type(x, other), device=xp.device(other))


def unique_all(x: A, /) -> UniqueAllResult[A]:
    """Distinct values, where each first occurs, which one each element is, and how often each
    occurs.

    >>> import numpy as np, trellis
    >>> trellis.unique_all(np.array([3, 1, 3])).indices
    array([1, 0])
    """
    return xp_of(x).unique_all(x)


def unique_counts(x: A, /) -> UniqueCountsResult[A]:
    """Distinct values, and how often each occurs.

    >>> import numpy as np, trellis
    >>> values, counts = trellis.unique_counts(np.array([3, 1, 3]))
    >>> counts
    array([1, 2])
    """
    return xp_of(x).unique_counts(x)


def unique_inverse(x: A, /) -> UniqueInverseResult[A]:
    """Distinct values, and for each element of `x` the index of its value.

    >>> import numpy as np, trellis
    >>> trellis.unique_inverse(np.array([3, 1, 3])).inverse_indices
    array([1, 0, 1])
    """
    return xp_of(x).unique_inverse(x)


def unique_values(x: A, /) -> A:
    """Distinct values.

    >>> import numpy as np, trellis
    >>> trellis.unique_values(np.array([3, 1, 3]))
    array([1, 3])
    """
    return xp_of(x).unique_values(x)
