"""Losses and metrics."""

import numpy as np
from hypothesis import strategies as st

from ..call import Call, Given
from ..drawing import COMMON_FLOATS, array, axis_of, drawn, indices, options, shapes

REDUCTIONS = ("mean", "sum", "none")


def loss(draw, op, *args, units=128, **chosen):
    return Call(op, args, {**chosen, **options(draw, reduction=REDUCTIONS)}, units=units)


@drawn("functional.mse_loss", "functional.mae_loss", "functional.huber_loss")
def regression(draw, op):
    shape, name = draw(shapes(0, 2)), draw(st.sampled_from(COMMON_FLOATS))
    chosen = options(draw, delta=(0.5, 2.0)) if op.endswith("huber_loss") else {}
    return loss(draw, op, array(draw, name, shape), array(draw, name, shape), **chosen)


@drawn("functional.poisson_nll_loss")
def poisson(draw, op):
    shape, name = draw(shapes(0, 2)), draw(st.sampled_from(COMMON_FLOATS))
    chosen = options(draw, log_input=(True, False), full=(True, False))
    x = array(draw, name, shape, "positive" if chosen.get("log_input") is False else "plain")
    return loss(draw, op, x, array(draw, name, shape, "positive"), **chosen)


@drawn("functional.binary_cross_entropy")
def binary(draw, op):
    shape, name = draw(shapes(0, 2)), draw(st.sampled_from(COMMON_FLOATS))
    logits = draw(st.booleans())
    x = array(draw, name, shape, "plain" if logits else "share")
    chosen = {"from_logits": logits}
    chosen |= options(draw, label_smoothing=(0.25,), positive_weight=(2.0, None))
    return loss(draw, op, x, array(draw, name, shape, "share"), **chosen)


@drawn("functional.focal_loss")
def focal(draw, op):
    shape, name = draw(shapes(0, 2)), draw(st.sampled_from(COMMON_FLOATS))
    targets = array(draw, "bool", shape)
    targets = Given(targets.values.astype("float32").astype(array(draw, name, ()).values.dtype))
    chosen = options(draw, alpha=(0.5, None), gamma=(2.0, 1.0))
    return loss(draw, op, array(draw, name, shape), targets, **chosen)


@drawn("functional.hinge_loss")
def hinge(draw, op):
    shape, name = draw(shapes(0, 2)), draw(st.sampled_from(COMMON_FLOATS))
    signs = array(draw, name, shape)
    signs = Given(np.where(signs.values < 0, -1, 1).astype(signs.values.dtype))
    return loss(draw, op, array(draw, name, shape), signs, **options(draw, margin=(0.5, 2.0)))


@drawn("functional.cross_entropy", "functional.nll_loss")
def classes(draw, op):
    shape = draw(shapes(1, 2))
    axis = axis_of(draw, len(shape))
    shape = (*shape[:axis], 3, *shape[axis + 1 :]) if axis >= 0 else _at(shape, axis)
    logits = array(draw, COMMON_FLOATS, shape)
    rest = list(shape)
    del rest[axis]
    targets, chosen = indices(draw, 3, rest), {"axis": axis}
    if draw(st.booleans()):
        chosen["weight"] = array(draw, logits.values.dtype.name, (3,), "positive")
    chosen |= options(draw, ignore_index=(0, 2, None))
    if op.endswith("cross_entropy"):
        chosen |= options(draw, label_smoothing=(0.25,))
    return loss(draw, op, logits, targets, **chosen)


def _at(shape, axis):
    sizes = list(shape)
    sizes[axis] = 3
    return tuple(sizes)


@drawn("functional.kl_divergence")
def kl(draw, op):
    shape, name = draw(shapes(1, 2)), draw(st.sampled_from(COMMON_FLOATS))
    logs = draw(st.booleans())
    targets = array(draw, name, shape, "plain" if logs else "share")
    return loss(draw, op, array(draw, name, shape), targets, log_targets=logs)


@drawn("functional.ctc_loss")
def ctc(draw, op):
    batch, time, labels = draw(st.integers(1, 2)), draw(st.integers(1, 4)), 2
    log_probs = array(draw, COMMON_FLOATS, (batch, time, 3), "positive")
    log_probs = Given((-log_probs.values).astype(log_probs.values.dtype))
    targets = Given(indices(draw, 2, (batch, labels)).values.astype("int64") + 1)
    lengths = [draw(st.integers(1, time)) for _ in range(batch)]
    wanted = [draw(st.integers(0, labels)) for _ in range(batch)]
    args = (log_probs, targets, Given(np.array(lengths)), Given(np.array(wanted)))
    return loss(draw, op, *args, units=256, **options(draw, zero_infinity=(True, False)))


@drawn("functional.cosine_similarity", "functional.cosine_loss")
def cosine(draw, op):
    shape, name = draw(shapes(1)), draw(st.sampled_from(COMMON_FLOATS))
    args = (array(draw, name, shape), array(draw, name, shape))
    chosen = {"axis": axis_of(draw, len(shape)), **options(draw, epsilon=(0.5,))}
    if op.endswith("similarity"):
        return Call(op, args, chosen, units=128)
    return loss(draw, op, *args, **chosen)


@drawn("functional.triplet_loss")
def triplet(draw, op):
    shape, name = draw(shapes(1, 2)), draw(st.sampled_from(COMMON_FLOATS))
    args = [array(draw, name, shape) for _ in range(3)]
    return loss(draw, op, *args, **options(draw, margin=(0.5,), p=(1.0, 2.0)))


@drawn("functional.accuracy", "functional.top_k_accuracy")
def accuracy(draw, op):
    rest = draw(shapes(0, 2, empty=False))
    scores, targets = array(draw, COMMON_FLOATS, (*rest, 3)), indices(draw, 3, rest)
    args = (scores, targets, draw(st.integers(1, 3))) if "top" in op else (scores, targets)
    return Call(op, args, gradient=False)


@drawn("functional.confusion_matrix", "functional.f1_score")
def confusion(draw, op):
    shape = draw(shapes(1, 1))
    args = (indices(draw, 3, shape), indices(draw, 3, shape), 3)
    averages = ("macro", "micro", "weighted", "none")
    chosen = options(draw, average=averages) if op.endswith("score") else {}
    return Call(op, args, chosen, gradient=False)
