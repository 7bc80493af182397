"""How a function of matrices is called: dtypes, complex numbers and derivatives, once for all."""

from collections.abc import Callable
from typing import Any

from .._core.dispatch import xp_of
from .._core.typing import Backend
from .checks import check_matrices

# The value, from the backend and matrices in float32 or float64.
Formula = Callable[[Backend, Any], Any]


def function_of(name: str, formula: Formula, x: Any) -> Any:
    """`formula(xp, x)` of square matrices, with derivatives of any order.

    Complex matrices are computed as real ones of twice the size, half precision in float32. The
    function must be real for real matrices.
    """
    check_matrices(name, x, is_square=True)
    xp = xp_of(x)
    size, kind = int(x.shape[-1]), xp.dtype_name(x.dtype)
    if 0 in [int(n) for n in x.shape]:
        return xp.zeros_like(x)
    if kind in ("float32", "float64"):
        return _of_real(xp, formula, x)
    if kind not in ("complex64", "complex128"):
        return xp.astype(_of_real(xp, formula, xp.astype(x, "float32")), kind)
    real, imaginary = xp.real(x), xp.imag(x)
    above = xp.concat([real, -imaginary], axis=-1)
    below = xp.concat([imaginary, real], axis=-1)
    whole = _of_real(xp, formula, xp.concat([above, below], axis=-2))
    parts = [xp.astype(whole[..., i : i + size, :size], kind) for i in (0, size)]
    return parts[0] + 1j * parts[1]


def _of_real(xp: Backend, formula: Formula, x: Any) -> Any:
    size = int(x.shape[-1])

    def forward(leaves: list[Any]) -> list[Any]:
        return [formula(xp, leaves[0])]

    def backward(leaves: list[Any], ys: list[Any], upstream: list[Any]) -> list[Any]:
        # f([[X, E], [0, X]]) holds the derivative along E; its adjoint is that at X.T.
        turned = xp.matrix_transpose(leaves[0])
        above = xp.concat([turned, upstream[0]], axis=-1)
        below = xp.concat([xp.zeros_like(turned), turned], axis=-1)
        whole = xp.concat([above, below], axis=-2)
        return [_of_real(xp, formula, whole)[..., :size, size:]]

    return xp.custom_vjp(forward, backward)([x])[0]
