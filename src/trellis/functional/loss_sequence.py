"""The loss of sequences whose alignment is not known: CTC."""

from typing import Any

from .._core.dispatch import xp_of_all
from .._core.errors import ArgumentError, ShapeError
from .._core.explain import explain
from .._core.leafwise import call_leafwise, has_nest
from .._core.typing import A, Array
from ._arguments import check_indices, check_range, whole_number
from ._precision import precise
from ._reduction import Reduction, reduced

# Used for log(0): finite, so that gradients are, and far below any logarithm of a probability.
_NEVER = -1e30


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
    reduction: Reduction = "mean",
) -> A:
    """Connectionist temporal classification: -log of the chance of all alignments of `targets`.

    `log_probs` (batch, T, classes), or (T, batch, classes) with `time_major`, come from
    `log_softmax`; `targets` (batch, S) are class indices, of which each row uses the first
    `target_lengths`; both lengths are (batch,). "mean" divides each loss by its target length
    first, as in torch. A target that does not fit into its input costs inf, or 0 with
    `zero_infinity`; its gradient is 0.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> log_probs = np.log(np.full((1, 2, 3), 1 / 3))
    >>> loss = F.ctc_loss(log_probs, np.array([[1]]), np.array([2]), np.array([1]))
    >>> round(float(np.exp(-loss)), 6)
    0.333333
    """
    try:
        if has_nest(log_probs, targets, input_lengths, target_lengths):
            kwargs = {
                "blank": blank,
                "zero_infinity": zero_infinity,
                "time_major": time_major,
                "reduction": reduction,
            }
            return call_leafwise(
                ctc_loss, (log_probs, targets, input_lengths, target_lengths), kwargs
            )
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
        # The label before the last blank may be reached directly, unless it is the same label
        # again.
        may_skip = xp.logical_and(extended[:, 2:] != blank, extended[:, 2:] != extended[:, :-2])
        batch_index = xp.expand_dims(extended, axis=0) + xp.zeros_like(
            x[:, :, :1], dtype=extended.dtype
        )
        emitted = xp.take_along_axis(x, batch_index, axis=2)
        never = xp.zeros_like(emitted[0, ...]) + _NEVER
        # -inf (a class that was masked out) would make nan of the gradients.
        emitted = xp.where(emitted < _NEVER, _NEVER, emitted)
        alpha = xp.concat([emitted[0, :, :2], never[:, 2:]], axis=1)
        times = xp.arange(x.shape[0], device=xp.device(x))
        lengths = xp.astype(input_lengths, times.dtype)

        def advance(alpha: Array, step: tuple[Any, Any]) -> tuple[Any, Any]:
            at, emission = step
            one = xp.concat([never[:, :1], alpha[:, :-1]], axis=1)
            two = xp.concat([never[:, :2], xp.where(may_skip, alpha[:, :-2], _NEVER)], axis=1)
            reached = xp.logsumexp(xp.stack([alpha, one, two], axis=0), axis=0) + emission
            reached = xp.where(reached < _NEVER, _NEVER, reached)
            # Beyond its input a row stays as it is.
            alpha = xp.where(xp.expand_dims(at < lengths, axis=1), reached, alpha)
            return alpha, alpha[:, :1]

        if x.shape[0] is None or x.shape[0] > 1:
            alpha, _ = xp.scan(advance, alpha, (times[1:], emitted[1:, ...]))
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
        return reduced("ctc_loss", xp, losses, reduction, kind)
    except Exception as error:
        return explain(error, ctc_loss)


def _check_ctc(
    log_probs: Array,
    targets: Array,
    input_lengths: Array,
    target_lengths: Array,
    blank: int,
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
                f"ctc_loss() expects targets and {what} for a batch of {batch} (log_probs "
                f"{shape}), got {rows} and {tuple(array.shape)}."
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
