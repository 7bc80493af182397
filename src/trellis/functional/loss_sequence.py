"""Losses of vectors and sequences: cosine, triplet, CTC."""

from typing import Any

from .._core.dispatch import xp_of_all
from .._core.errors import ArgumentError, ShapeError
from .._core.tree import call_leafwise
from .._core.typing import A
from ._arguments import all_precise, check_indices, check_range, precise, reduced, same_shape
from ._checks import has_nest, whole_number
from .loss import _check_signs

# Stands for log(0): finite, so that gradients are, and far below any logarithm of a probability.
_NEVER = -1e30


# Vectors ---------------------------------------------------------------------------------------------


def cosine_similarity(x1: A, x2: A, /, *, axis: int = -1, epsilon: float = 1e-8) -> A:
    """x1 . x2 / (|x1| |x2|) along `axis`; lengths below `epsilon` count as that.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> F.cosine_similarity(np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([[2.0, 0.0], [-1.0, 1.0]]))
    array([1., 0.])
    """
    if has_nest(x1, x2):
        return call_leafwise(cosine_similarity, (x1, x2), {"axis": axis, "epsilon": epsilon})
    same_shape("cosine_similarity", x1=x1, x2=x2)
    xp = xp_of_all(x1, x2)
    (x1, x2), kind = all_precise("cosine_similarity", xp, x1, x2)
    return xp.astype(_cosine(xp, x1, x2, axis, epsilon), kind, copy=False)


def _cosine(xp: Any, x1: Any, x2: Any, axis: int, epsilon: float) -> Any:
    lengths = _length(xp, x1, axis, epsilon) * _length(xp, x2, axis, epsilon)
    return xp.sum(x1 * x2, axis=axis) / lengths


def _length(xp: Any, x: Any, axis: int, epsilon: float) -> Any:
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
    reduction: str = "mean",
) -> A:
    """1 - cosine_similarity(x1, x2) where `targets` are 1 or None, max(0, similarity - margin) where they are -1.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> float(F.cosine_loss(np.array([[1.0, 0.0]]), np.array([[0.0, 3.0]])))
    1.0
    """
    if has_nest(x1, x2, targets):
        kwargs = {
            "targets": targets,
            "margin": margin,
            "axis": axis,
            "epsilon": epsilon,
            "reduction": reduction,
        }
        return call_leafwise(cosine_loss, (x1, x2), kwargs)
    same_shape("cosine_loss", x1=x1, x2=x2)
    xp = xp_of_all(x1, x2, targets)
    (x1, x2), kind = all_precise("cosine_loss", xp, x1, x2)
    similarity = _cosine(xp, x1, x2, axis, epsilon)
    losses = 1 - similarity
    if targets is not None:
        same_shape("cosine_loss", similarities=similarity, targets=targets)
        _check_signs("cosine_loss", targets)
        losses = xp.where(xp.greater(targets, 0), losses, xp.relu(similarity - margin))
    return xp.astype(reduced("cosine_loss", xp, losses, reduction), kind, copy=False)


def triplet_loss(
    anchor: A,
    positive: A,
    negative: A,
    /,
    *,
    margin: float = 1.0,
    p: float = 2.0,
    epsilon: float = 1e-6,
    reduction: str = "mean",
) -> A:
    """max(0, |anchor - positive| - |anchor - negative| + margin), in the p-norm of the last axis.

    `epsilon` is added to the differences, as in torch: equal vectors then have a gradient.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> a, p, n = np.array([[0.0, 0.0]]), np.array([[3.0, 4.0]]), np.array([[0.0, 2.0]])
    >>> round(float(F.triplet_loss(a, p, n)), 4)
    4.0
    """
    if has_nest(anchor, positive, negative):
        kwargs = {"margin": margin, "p": p, "epsilon": epsilon, "reduction": reduction}
        return call_leafwise(triplet_loss, (anchor, positive, negative), kwargs)
    same_shape("triplet_loss", anchor=anchor, positive=positive, negative=negative)
    if p < 1:
        raise ArgumentError(f"triplet_loss() expects p of at least 1, got {p!r}.")
    xp = xp_of_all(anchor, positive, negative)
    (a, b, c), kind = all_precise("triplet_loss", xp, anchor, positive, negative)
    near, far = [_distance(xp, a - other + epsilon, p) for other in (b, c)]
    return xp.astype(
        reduced("triplet_loss", xp, xp.relu(near - far + margin), reduction), kind, copy=False
    )


def _distance(xp: Any, x: Any, p: float) -> Any:
    if p == 2:
        return _length(xp, x, -1, 0.0)
    return xp.sum(xp.abs(x) ** p, axis=-1) ** (1 / p)


# Sequences -------------------------------------------------------------------------------------------


def ctc_loss(
    log_probs: A,
    targets: A,
    input_lengths: A,
    target_lengths: A,
    /,
    *,
    blank: int = 0,
    zero_infinity: bool = False,
    time_major: bool = False,
    reduction: str = "mean",
) -> A:
    """Connectionist temporal classification: -log of the probability of all alignments of `targets`.

    `log_probs` (batch, T, classes), or (T, batch, classes) with `time_major`, come from `log_softmax`; `targets`
    (batch, S) are class indices, of which each row uses the first `target_lengths`; both lengths are (batch,). "mean"
    divides each loss by its target length first, as in torch. A target that does not fit into its input costs inf, or 0
    with `zero_infinity`; its gradient is 0.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> log_probs = np.log(np.full((1, 2, 3), 1 / 3))
    >>> loss = F.ctc_loss(log_probs, np.array([[1]]), np.array([2]), np.array([1]))
    >>> round(float(np.exp(-loss)), 6)
    0.333333
    """
    if has_nest(log_probs, targets, input_lengths, target_lengths):
        kwargs = {
            "blank": blank,
            "zero_infinity": zero_infinity,
            "time_major": time_major,
            "reduction": reduction,
        }
        return call_leafwise(ctc_loss, (log_probs, targets, input_lengths, target_lengths), kwargs)
    xp = xp_of_all(log_probs, targets, input_lengths, target_lengths)
    _check_ctc(log_probs, targets, input_lengths, target_lengths, blank, time_major)
    x, kind = precise("ctc_loss", xp, log_probs)
    x = x if time_major else xp.permute_dims(x, (1, 0, 2))
    count = targets.shape[1]
    # Blanks around every label: row s of the extended target is label (s - 1) / 2 for odd s.
    blanks = xp.full_like(targets, blank)
    last = xp.full_like(xp.expand_dims(target_lengths, axis=1), blank, dtype=targets.dtype)
    extended = last
    if count:
        pairs = xp.reshape(xp.stack([blanks, targets], axis=2), (-1, 2 * count))
        extended = xp.concat([pairs, last], axis=1)
    # The label before the last blank may be reached directly, unless it is the same label again.
    may_skip = xp.logical_and(extended[:, 2:] != blank, extended[:, 2:] != extended[:, :-2])
    batch_index = xp.expand_dims(extended, axis=0) + xp.zeros_like(
        x[:, :, :1], dtype=extended.dtype
    )
    emitted = xp.take_along_axis(x, batch_index, axis=2)
    never = xp.zeros_like(emitted[0]) + _NEVER
    # -inf (a class that was masked out) would make nan of the gradients.
    emitted = xp.where(emitted < _NEVER, _NEVER, emitted)
    alpha = xp.concat([emitted[0, :, :2], never[:, 2:]], axis=1)
    times = xp.arange(x.shape[0], device=xp.device(x))
    lengths = xp.astype(input_lengths, times.dtype)

    def advance(alpha: Any, step: tuple[Any, Any]) -> tuple[Any, Any]:
        at, emission = step
        one = xp.concat([never[:, :1], alpha[:, :-1]], axis=1)
        two = xp.concat([never[:, :2], xp.where(may_skip, alpha[:, :-2], _NEVER)], axis=1)
        reached = xp.logsumexp(xp.stack([alpha, one, two], axis=0), axis=0) + emission
        reached = xp.where(reached < _NEVER, _NEVER, reached)
        # Beyond its input a row stays as it is.
        alpha = xp.where(xp.expand_dims(at < lengths, axis=1), reached, alpha)
        return alpha, alpha[:, :1]

    if x.shape[0] is None or x.shape[0] > 1:
        alpha, _ = xp.scan(advance, alpha, (times[1:], emitted[1:]))
    ends = 2 * xp.expand_dims(xp.astype(target_lengths, extended.dtype), axis=1)
    rows = xp.expand_dims(xp.arange(2 * count + 1, device=xp.device(x)), axis=0)
    ends = xp.astype(ends, rows.dtype)
    is_end = xp.logical_or(rows == ends, rows == ends - 1)
    losses = -xp.logsumexp(xp.where(is_end, alpha, _NEVER), axis=1)
    is_impossible = losses > -0.5 * _NEVER
    losses = xp.where(is_impossible, 0.0 if zero_infinity else xp.inf, losses)
    if reduction == "mean":
        sizes = xp.astype(target_lengths, losses.dtype)
        losses = losses / xp.where(sizes < 1, 1.0, sizes)
    return xp.astype(reduced("ctc_loss", xp, losses, reduction), kind, copy=False)


def _check_ctc(
    log_probs: Any,
    targets: Any,
    input_lengths: Any,
    target_lengths: Any,
    blank: Any,
    time_major: bool,
) -> None:
    shape, rows = tuple(log_probs.shape), tuple(targets.shape)
    if len(shape) != 3 or len(rows) != 2:
        raise ShapeError(
            f"ctc_loss() expects log_probs with 3 axes and targets with 2, got {shape} and {rows}."
        )
    steps, batch = (shape[0], shape[1]) if time_major else (shape[1], shape[0])
    for what, array in (("input_lengths", input_lengths), ("target_lengths", target_lengths)):
        if tuple(array.shape) != (batch,) or rows[0] != batch:
            raise ShapeError(
                f"ctc_loss() expects targets and {what} for a batch of {batch} (log_probs {shape}), got {rows} and "
                f"{tuple(array.shape)}."
            )
    if not 0 <= whole_number("ctc_loss", "blank", blank) < shape[2]:
        raise ArgumentError(f"ctc_loss() expects blank from 0 to {shape[2] - 1}, got {blank!r}.")
    check_indices("ctc_loss", "targets", targets, shape[2])
    check_range("ctc_loss", "input_lengths", input_lengths, 1, steps, f"There are {steps} steps.")
    check_range(
        "ctc_loss",
        "target_lengths",
        target_lengths,
        0,
        rows[1],
        f"targets has room for {rows[1]} labels.",
    )
