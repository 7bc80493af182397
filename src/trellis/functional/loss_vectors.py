"""Losses of vectors, by distance or by direction."""

from functools import partial
from typing import Any

from .._core.dispatch import xp_of_all
from .._core.errors import ArgumentError
from .._core.explain import explain
from .._core.guards import check_axis, check_numbers
from .._core.leafwise import call_leafwise, has_nest
from .._core.typing import A, Array, Backend
from ._arguments import check_signs, same_shape
from ._precision import all_precise
from ._reduction import Reduction, reduced


def cosine_similarity(x1: A, x2: A, /, *, axis: int = -1, epsilon: float = 1e-8) -> A:
    """x1 . x2 / (|x1| |x2|) along `axis`; lengths below `epsilon` count as that.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> F.cosine_similarity(np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([[2.0, 0.0], [-1.0, 1.0]]))
    array([1., 0.])
    """
    try:
        if type(axis) is not int:
            check_axis(axis)
        if type(epsilon) is not float:
            check_numbers(epsilon)
        if has_nest(x1, x2):
            return call_leafwise(cosine_similarity, (x1, x2), {"axis": axis, "epsilon": epsilon})
        same_shape("cosine_similarity", x1=x1, x2=x2)
        xp = xp_of_all(x1, x2)
        (x1, x2), kind = all_precise("cosine_similarity", xp, x1, x2)
        return xp.astype(_cosine(xp, x1, x2, axis, epsilon), kind, copy=False)
    except Exception as error:
        return explain(error, cosine_similarity)


def _cosine(xp: Backend, x1: Array, x2: Array, axis: int, epsilon: float) -> Any:
    lengths = _length(xp, x1, axis, epsilon) * _length(xp, x2, axis, epsilon)
    return xp.sum(x1 * x2, axis=axis) / lengths


def _length(xp: Backend, x: Array, axis: int, epsilon: float) -> Any:
    squares = xp.sum(x * x, axis=axis)
    # The root of zero has no finite slope.
    return xp.sqrt(xp.where(squares < epsilon * epsilon, epsilon * epsilon, squares))


def cosine_loss(
    x1: A,
    x2: A,
    /,
    *,
    targets: A | None = None,
    margin: float = 0.0,
    axis: int = -1,
    epsilon: float = 1e-8,
    reduction: Reduction = "mean",
) -> A:
    """1 - cosine_similarity(x1, x2), or max(0, similarity - margin) where `targets` are -1.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> float(F.cosine_loss(np.array([[1.0, 0.0]]), np.array([[0.0, 3.0]])))
    1.0
    """
    try:
        if type(axis) is not int:
            check_axis(axis)
        if not (type(margin) is type(epsilon) is float):
            check_numbers(margin, epsilon)
        if has_nest(x1, x2, targets):
            fn = partial(
                cosine_loss, margin=margin, axis=axis, epsilon=epsilon, reduction=reduction
            )
            return call_leafwise(fn, (x1, x2), {"targets": targets})
        same_shape("cosine_loss", x1=x1, x2=x2)
        xp = xp_of_all(x1, x2, targets)
        (x1, x2), kind = all_precise("cosine_loss", xp, x1, x2)
        similarity = _cosine(xp, x1, x2, axis, epsilon)
        losses = 1 - similarity
        if targets is not None:
            same_shape("cosine_loss", similarities=similarity, targets=targets)
            check_signs("cosine_loss", targets)
            losses = xp.where(xp.greater(targets, 0), losses, xp.relu(similarity - margin))
        return reduced("cosine_loss", xp, losses, reduction, kind)
    except Exception as error:
        return explain(error, cosine_loss)


def triplet_loss(
    anchor: A,
    positive: A,
    negative: A,
    /,
    *,
    margin: float = 1.0,
    p: float = 2.0,
    epsilon: float = 1e-6,
    reduction: Reduction = "mean",
) -> A:
    """max(0, |anchor - positive| - |anchor - negative| + margin), in the p-norm of the last axis.

    `epsilon` is added to the differences, as in torch: equal vectors then have a gradient.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> a, p, n = np.array([[0.0, 0.0]]), np.array([[3.0, 4.0]]), np.array([[0.0, 2.0]])
    >>> round(float(F.triplet_loss(a, p, n)), 4)
    4.0
    """
    try:
        if not (type(margin) is type(epsilon) is type(p) is float):
            check_numbers(margin, epsilon, p)
        if has_nest(anchor, positive, negative):
            kwargs = {"margin": margin, "p": p, "epsilon": epsilon, "reduction": reduction}
            return call_leafwise(triplet_loss, (anchor, positive, negative), kwargs)
        same_shape("triplet_loss", anchor=anchor, positive=positive, negative=negative)
        if p < 1:
            raise ArgumentError(f"triplet_loss() expects p of at least 1, got {p!r}.")
        xp = xp_of_all(anchor, positive, negative)
        (a, b, c), kind = all_precise("triplet_loss", xp, anchor, positive, negative)
        near, far = [_distance(xp, a - other + epsilon, p) for other in (b, c)]
        return reduced("triplet_loss", xp, xp.relu(near - far + margin), reduction, kind)
    except Exception as error:
        return explain(error, triplet_loss)


def _distance(xp: Backend, x: Array, p: float) -> Any:
    if p == 2:
        return _length(xp, x, -1, 0.0)
    return xp.sum(xp.abs(x) ** p, axis=-1) ** (1 / p)
