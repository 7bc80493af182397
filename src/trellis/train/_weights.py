"""Weights of classes and of examples in the loss of `fit`.

The loss stays a mean over examples, each times its weight: mean(w * loss). So it adds up over
batches, ranks and accumulated gradients; weights whose mean is 1 keep its size.
"""

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .._array.casting import dtype as dtype_of
from .._array.interchange import to_numpy
from .._core.dispatch import xp_of
from .._core.dtypes import FLOATING
from .._core.errors import ArgumentError, ArgumentTypeError, ShapeError
from ..functional._arguments import check_indices


class Weighting:
    """The weighted mean of a loss."""

    def __init__(self, class_weight: Any, has_examples: bool):
        self.has_examples = has_examples
        self._classes = None if class_weight is None else _of_classes(class_weight)

    def __call__(self, loss: Callable[..., Any], output: Any, targets: tuple[Any, ...]) -> Any:
        """The loss of a batch, whose last target has the weights of examples, if there are any."""
        target = targets[0]
        values = _one_by_one(loss, output, target)
        xp = xp_of(values)
        if self._classes is not None:
            values = values * self._by_class(
                xp, values, target, tuple(getattr(output, "shape", ()))
            )
        rows = int(values.shape[0])
        values = xp.mean(xp.reshape(values, (rows, -1)), axis=1)
        if self.has_examples:
            weights = xp.astype(targets[1], values.dtype, copy=False)
            if tuple(weights.shape) not in ((rows,), (rows, 1)):
                raise ShapeError(
                    f"sample_weight has one number for each example, ({rows},), got shape "
                    f"{tuple(weights.shape)}."
                )
            values = values * xp.reshape(weights, (rows,))
        return xp.mean(values)

    def _by_class(self, xp: Any, values: Any, target: Any, outputs: tuple[int, ...]) -> Any:
        assert self._classes is not None
        known, rest = self._classes
        shape, ours = tuple(target.shape), tuple(values.shape)
        self._check_classes(len(known), rest, shape, outputs)
        if shape[:-1] == ours and (shape[-1] == len(known) or (shape[-1] > len(known) and rest)):
            # one-hot, or shares of classes
            weights = self._weights(xp, values, known + [rest] * (shape[-1] - len(known)))
            return xp.sum(weights * xp.astype(target, values.dtype), axis=-1)
        if shape != ours:
            raise ShapeError(
                f"class_weight needs targets that are classes, of the shape {ours} of the losses, "
                f"or one-hot with {len(known)} classes; got shape {shape}."
            )
        chosen = xp.astype(xp.reshape(target, (-1,)), xp.int32)
        if not rest:
            check_indices("class_weight", "targets", chosen, len(known))
        # A class beyond the list would be that of another one in a compiled step: nan is seen.
        weights = self._weights(xp, values, [*known, rest or math.nan])
        return xp.reshape(xp.take(weights, xp.clip(chosen, 0, len(known)), axis=0), shape)

    def _check_classes(
        self, named: int, rest: float, targets: tuple[int, ...], outputs: tuple[int, ...]
    ) -> None:
        """Where the output has an axis of classes, the weights are of those."""
        if not outputs or outputs[:-1] != targets or outputs[-1] == 1:
            return
        if named > outputs[-1] or (named < outputs[-1] and not rest):
            raise ArgumentError(
                f"class_weight names {named} classes, numbered from 0, and the model gives scores "
                f"of {outputs[-1]}. A list has one weight for each; a dict may leave out some."
            )

    def _weights(self, xp: Any, values: Any, weights: list[float]) -> Any:
        return xp.asarray(weights, dtype=values.dtype, device=xp.device(values))


def _one_by_one(loss: Callable[..., Any], output: Any, target: Any) -> Any:
    """One loss for each example, or each position of one."""
    options = {"reduction": "none"} if _can_reduce(loss) else {}
    values = loss(output, target, **options)
    rows = tuple(target.shape)[:1]
    if not rows or tuple(getattr(values, "shape", ()))[:1] != rows:
        raise ArgumentError(
            "With class_weight or sample_weight the loss has to give one value for each example, "
            f"got shape {tuple(getattr(values, 'shape', ()))} for {rows[0] if rows else 'no'} "
            'examples: use a loss of trellis.functional, or one that takes reduction="none".'
        )
    return values


def _can_reduce(loss: Callable[..., Any]) -> bool:
    try:
        return "reduction" in inspect.signature(loss).parameters
    except ValueError:  # a function in C, which does not show its arguments
        return False


def _of_classes(given: Any) -> tuple[list[float], float]:
    """The weights in the order of the classes, and that of all others: 1 for a dict, and 0 for a
    list, which has to name them all."""
    if isinstance(given, Mapping):
        wrong = [key for key in given if not hasattr(key, "__index__") or key < 0]
        if wrong or not given:
            raise ArgumentTypeError(
                "class_weight is a dict from classes, integers from 0, to weights, or a list with "
                f"one for each class; got {given!r}."
            )
        found, rest = [float(given.get(i, 1.0)) for i in range(max(given) + 1)], 1.0
    else:
        found, rest = [float(x) for x in np.asarray(given, np.float64).reshape(-1)], 0.0
    if not all([math.isfinite(x) and x >= 0 for x in found]):
        raise ArgumentError(f"class_weight has weights that are finite and not negative: {found}.")
    return found, rest


def with_examples(data: Any, sample_weight: Any) -> Any:
    """The data with the weights of their examples as the last part of each batch."""
    if isinstance(sample_weight, str):
        if sample_weight != "last":
            raise ArgumentError(
                "sample_weight is an array with one weight for each example, or "
                f'"last": the last part of every batch has them; got {sample_weight!r}.'
            )
        return data
    is_pair = isinstance(data, tuple) and len(data) > 1 and all([hasattr(x, "shape") for x in data])
    if not is_pair:
        raise ArgumentTypeError(
            "sample_weight as an array is for data given as arrays (inputs, targets). Data that "
            "come in batches have the weights as the last part of each batch, (x, y, weights): "
            'write sample_weight="last".'
        )
    weights: Any = sample_weight if hasattr(sample_weight, "shape") else np.asarray(sample_weight)
    if tuple(weights.shape)[:1] != tuple(data[0].shape)[:1]:
        raise ShapeError(
            f"sample_weight has {tuple(weights.shape)} weights for {int(data[0].shape[0])} "
            "examples."
        )
    seen = np.asarray(to_numpy(weights), np.float64)
    if not (np.isfinite(seen).all() and (seen >= 0).all()):
        raise ArgumentError(
            "sample_weight has weights that are finite and not negative; got some that are not: "
            f"the first is {seen[~(np.isfinite(seen) & (seen >= 0))][0]}."
        )
    if str(dtype_of(weights)) not in FLOATING:
        weights = xp_of(weights).astype(weights, "float32")
    return (*data, weights)


def weighting_of(class_weight: Any, sample_weight: Any) -> Weighting | None:
    """What the two arguments of `fit` ask for."""
    if class_weight is None and sample_weight is None:
        return None
    return Weighting(class_weight, sample_weight is not None)


Weights = Mapping[int, float] | Sequence[float]
