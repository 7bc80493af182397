"""The exponential of matrices, by scaling, a Padé quotient and squaring."""

import math
from typing import Any

from .._array.linalg import solve
from .._core.explain import explain
from .._core.typing import A, Backend
from .functions import function_of

# The coefficients of Padé's numerator of degree 13 and 7, and up to which norm the quotient is
# exact in float64 and in float32 (N. Higham, SIAM J. Matrix Anal. Appl. 26, 2005).
_PADE = {
    n: tuple(
        [
            math.factorial(2 * n - k) * math.factorial(n) / math.factorial(2 * n)
            / (math.factorial(k) * math.factorial(n - k))
            for k in range(n + 1)
        ]
    )
    for n in (13, 7)
}  # fmt: skip
_LARGEST = {"float64": (13, 5.371920351148152), "float32": (7, 3.925724783138660)}


def expm(x: A, /) -> A:
    """The exponential of square matrices: the sum of x**n / n!, with matrix powers.

    Its derivatives are exponentials of matrices, too, of any order, and do not mind repeated
    eigenvalues. Complex matrices are computed as real ones of twice the size.

    >>> import numpy as np, trellis
    >>> trellis.linalg.expm(np.array([[0.0, 1.0], [0.0, 0.0]]))
    array([[1., 1.],
           [0., 1.]])
    """
    try:
        found: A = function_of("expm", _value, x)
        return found
    except Exception as error:
        return explain(error, expm)


def _value(xp: Backend, x: Any) -> Any:
    degree, largest = _LARGEST[xp.dtype_name(x.dtype)]
    norm = xp.max(xp.sum(xp.abs(x), axis=-2, keepdims=True), axis=-1, keepdims=True)
    # How often each matrix of the stack is halved, and its exponential squared.
    often = xp.ceil(xp.log2(xp.maximum(norm / largest, 1.0)))
    often = xp.where(xp.isfinite(often), often, 0.0)
    scaled = x * xp.exp2(-often)
    identity = xp.eye(int(x.shape[-1]), dtype=x.dtype, device=xp.device(x))
    square = xp.matmul(scaled, scaled)
    even, odd = _PADE[degree][0] * identity, _PADE[degree][1] * identity
    power = identity
    for k in range(2, degree + 1, 2):
        power = square if k == 2 else xp.matmul(power, square)
        even = even + _PADE[degree][k] * power
        odd = odd + _PADE[degree][k + 1] * power
    odd = xp.matmul(scaled, odd)

    def goes_on(state: tuple[Any, Any]) -> Any:
        return xp.any(often > state[0])

    def step(state: tuple[Any, Any]) -> tuple[Any, Any]:
        count, found = state
        return count + 1.0, xp.where(often > count, xp.matmul(found, found), found)

    zero = xp.zeros((), dtype=x.dtype, device=xp.device(x))
    return xp.while_loop(goes_on, step, (zero, solve(even - odd, even + odd)))[1]
