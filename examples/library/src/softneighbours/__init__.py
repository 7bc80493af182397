"""Kernel regression over any array: a value is the mean of those near it, weighted by distance."""

import trellis
from trellis.typing import A

__all__ = ["grid", "regress", "weights"]


def weights(x: A, at: A, /, *, bandwidth: float = 1.0) -> A:
    """How much each point of `x` (points, features) counts at each of `at`; rows sum to 1.

    >>> import numpy as np
    >>> weights(np.array([[0.0], [2.0]]), np.array([[1.0]]))
    array([[0.5, 0.5]])
    """
    difference = trellis.expand_dims(at, axis=-2) - trellis.expand_dims(x, axis=-3)
    distance = trellis.sum(trellis.square(difference), axis=-1)
    return trellis.functional.softmax(trellis.multiply(distance, -0.5 / bandwidth**2), axis=-1)


def regress(x: A, y: A, at: A, /, *, bandwidth: float = 1.0) -> A:
    """The values at the points `at` of a function that has the values `y` at `x`.

    >>> import numpy as np
    >>> regress(np.array([[0.0], [2.0]]), np.array([3.0, 5.0]), np.array([[1.0]]))
    array([4.])
    """
    return trellis.matmul(weights(x, at, bandwidth=bandwidth), y)


# No array says which type a grid has. The library's own default is float64, whatever the program
# has chosen for itself; nothing outside of this function changes.
@trellis.using_default_dtype("float64")
def grid(low: float, high: float, n: int, *, like: A) -> A:
    """`n` points (n, 1) from `low` to `high`, of the framework that `like` belongs to.

    >>> import numpy as np
    >>> grid(0.0, 1.0, 3, like=np.zeros(1))[:, 0]
    array([0. , 0.5, 1. ])
    """
    points = trellis.linspace(low, high, n, backend=trellis.backend_of(like))
    return trellis.expand_dims(points, axis=-1)
