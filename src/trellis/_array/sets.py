"""The distinct elements of arrays. Their number depends on the values, so JAX cannot compile these.

Every nan counts as an element of its own. Values come in ascending order on all backends.
"""

from .._core.dispatch import xp_of
from .._core.results import UniqueAllResult, UniqueCountsResult, UniqueInverseResult
from .._core.typing import A


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
