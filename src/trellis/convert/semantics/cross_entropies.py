"""Losses as TensorFlow's graphs have them: one operation for the loss and for its derivative."""

from typing import Any

import trellis as t

from ... import functional as F
from ..._core.typing import Array


def softmax_cross_entropy(x: Array, labels: Array, /) -> tuple[Any, Any]:
    """The loss of scores `x` (N, classes) for distributions `labels`, and its derivative by `x`.

    The derivative is softmax(x) - labels, as TensorFlow takes it, whatever the sum of the labels.

    >>> import numpy as np
    >>> softmax_cross_entropy(np.array([[0.0, 0.0]]), np.array([[1.0, 0.0]]))[0].round(6)
    array([0.693147])
    """
    fixed, weights = t.stop_gradient(x), t.stop_gradient(labels)
    loss = -t.sum(labels * F.log_softmax(fixed), axis=-1)
    slope = t.logsumexp(x, axis=-1) - t.sum(weights * x, axis=-1)
    change = t.where(t.isfinite(slope), slope - t.stop_gradient(slope), 0.0)
    return loss + change, t.subtract(F.softmax(x), labels)


def sparse_softmax_cross_entropy(x: Array, labels: Array, /) -> tuple[Any, Any]:
    """The same for the number of the right class, which counts alone.

    >>> import numpy as np
    >>> sparse_softmax_cross_entropy(np.array([[0.0, 0.0]]), np.array([1]))[0].round(6)
    array([0.693147])
    """
    places = t.expand_dims(labels, axis=-1)
    loss = -t.squeeze(t.take_along_axis(F.log_softmax(x), places, axis=-1), axis=-1)
    chosen = t.one_hot(labels, x.shape[-1], dtype=str(t.dtype(x)))
    return loss, t.subtract(F.softmax(x), chosen)
