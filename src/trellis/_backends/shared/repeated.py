"""Eigenvectors and singular vectors of matrices whose values are repeated.

Such vectors can be any of a whole space and have no derivative. A function that only seems to use
them, as `(v * log(w)) @ v.T`, may have one, but that cannot be found from the derivative by the
vectors: for log(1) = 0 it is 0, and so it is where the vectors are not used at all. Formulas that
leave out such pairs are therefore silently wrong, and frameworks differ in what they leave out.
Here the derivative is nan, or an error where values can be read.
"""

from typing import TYPE_CHECKING

from ..._core.errors import NotSupportedError
from ..array_api import Native
from .promotion import type_name

if TYPE_CHECKING:
    from ..interface import Backend, Natives

# LAPACK's results for one repeated value differ by up to 15 roundings of the largest value (2,000
# matrices of sizes 2 to 300); dividing by such a difference gives any number.
_ROUNDINGS = 16
_WIDE = ("float64", "complex128")


def guarded(
    xp: "Backend", function: str, values: Native, vectors: Native, *, axis: int = -1
) -> Native:
    """`vectors` with the derivative that the framework has for them, and nan instead of a wrong
    one. They are counted along `axis`; those beyond the number of values have no guard.
    """
    count, size = values.shape[-1], vectors.shape[axis]
    if count is None or count < 2 or size != count:
        return vectors
    across = -2 if axis == -1 else -1
    weight = weights(xp, xp.stop_gradient(values))
    weight = xp.astype(xp.expand_dims(weight, axis=across), type_name(xp, vectors))
    # One argument: Dynamo cannot trace a custom derivative of several.
    joined = xp.concat([vectors, weight], axis=across)

    def parts(leaf: Native) -> tuple[Native, Native]:
        if across == -2:
            return leaf[..., :-1, :], leaf[..., -1:, :]
        return leaf[..., :-1], leaf[..., -1:]

    def forward(leaves: "Natives") -> "Natives":
        return [parts(leaves[0])[0]]

    def backward(leaves: "Natives", ys: "Natives", upstream: "Natives") -> "Natives":
        weight = parts(leaves[0])[1]
        g = checked(xp, function, weight, upstream[0])
        return [xp.concat([g, xp.zeros_like(weight)], axis=across)]

    def push(leaves: "Natives", ys: "Natives", tangents: "Natives") -> "Natives":
        # JAX transposes it, so that it is linear: 0 stays 0, any other number becomes infinite.
        factor, tangent = parts(leaves[0])[1], parts(tangents[0])[0]
        return [xp.where(factor == 0, tangent, (tangent * factor) * factor)]

    return xp.custom_jvp(forward, backward, push)([joined])[0]


def checked(xp: "Backend", function: str, weight: Native, g: Native) -> Native:
    """The derivative by vectors, or nan where a matrix has repeated values and uses theirs."""
    is_used = xp.logical_and(weight != 0, g != 0)
    is_bad = xp.logical_or(xp.isnan(weight), is_used)
    is_bad = xp.any(is_bad, axis=(-2, -1), keepdims=True)
    if xp.is_concrete(is_bad) and bool(xp.any(is_bad)):
        raise NotSupportedError(
            f"The vectors of {function}() have no derivative here: a matrix has repeated "
            f"{'singular values' if function == 'svd' else 'eigenvalues'}, whose vectors can be "
            "any of a whole space. Use the values alone, or a function of the whole matrix (inv, "
            "pinv, expm, sqrtm, logm), or tell them apart: x + 1e-3 * diag(arange(n))."
        )
    return xp.where(is_bad, xp.full_like(g, float("nan")), g)


def weights(xp: "Backend", values: Native) -> Native:
    """For each value 0 where it is the only one, nan where a matrix has two that are equal, and a
    large number where it is equal to another one but for rounding."""
    wide = type_name(xp, values) in _WIDE
    epsilon, large = (2.0**-52, 1e308) if wide else (2.0**-23, 3e38)
    size = xp.abs(values)
    gaps = xp.abs(xp.expand_dims(values, axis=-1) - xp.expand_dims(values, axis=-2))
    same = xp.eye(int(values.shape[-1]), dtype="bool", device=xp.device(values))
    limit = _ROUNDINGS * epsilon * xp.max(size, axis=-1, keepdims=True)
    gaps = xp.where(same, xp.full_like(gaps, float("inf")), gaps)
    nearest = xp.min(gaps, axis=-1)
    zero = xp.zeros_like(nearest)
    near = xp.where(nearest <= limit, xp.full_like(zero, large), zero)
    is_equal = xp.any(nearest == 0, axis=-1, keepdims=True)
    return xp.where(is_equal, xp.full_like(near, float("nan")), near)
