"""From a list of examples to a batch: arrays with one row for each example."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._array.interchange import to_numpy
from .._array.manipulation import stack
from .._core import tree
from .._core.arrays import is_array
from .._core.errors import ArgumentTypeError, ShapeError

Pad = float | None


def collated(examples: Sequence[Any], pad: Pad = None, float_type: str = "float32") -> Any:
    """A pytree like that of one example, with the leaves of all examples stacked.

    Numbers become arrays, Python's floats of `float_type`; text becomes a list. `pad` is what
    shorter arrays are filled up with.

    >>> collated([(1, [2.0, 3.0]), (4, [5.0, 6.0])])
    (array([1, 4]), [array([2., 5.], dtype=float32), array([3., 6.], dtype=float32)])
    """
    first = examples[0]
    kind = type(first)
    if kind is np.ndarray:
        return _stacked(examples, pad)
    if kind is tuple or kind is list:
        _check_lengths(examples)
        return kind([collated(column, pad, float_type) for column in zip(*examples)])
    if kind is dict:
        _check_keys(examples)
        return {
            name: collated([each[name] for each in examples], pad, float_type) for name in first
        }
    if tree.is_nest(first):  # Containers, named tuples
        columns, structure = tree.align(tuple(examples))
        assert structure is not None, "a pytree with leaves"
        leaves = [collated(leaf, pad, float_type) for leaf in zip(*columns)]
        return tree.unflatten(structure, leaves)
    if isinstance(first, (str, bytes)):
        return list(examples)
    if isinstance(first, (bool, int, float, complex, np.generic)):
        return _numbers(examples, float_type)
    if first is None:
        return None
    if is_array(first):
        if pad is None and len({tuple(each.shape) for each in examples}) == 1:
            return to_numpy(stack(list(examples)))
        return _stacked([to_numpy(each) for each in examples], pad)
    raise ArgumentTypeError(
        f"An example has a {kind.__name__} in it. Examples are arrays, numbers and text in tuples, "
        "lists and dicts; for others pass Loader(..., collate=fn), fn(list of examples)."
    )


def _numbers(values: Sequence[Any], float_type: str) -> Any:
    found = np.asarray(values)
    if found.dtype == np.float64 and all([isinstance(x, (bool, int, float)) for x in values]):
        # NumPy's float64 is a Python float too; but it says what it is.
        is_plain = not any([isinstance(x, np.generic) for x in values])
        return found.astype(float_type) if is_plain else found
    return found


def _stacked(arrays: Sequence[Any], pad: Pad) -> Any:
    shape = arrays[0].shape
    if not all([type(x) is np.ndarray and x.shape == shape for x in arrays]):
        return _padded(arrays, pad)
    if not shape:
        return np.stack(arrays)
    # Faster than np.stack, which makes a view of each array first.
    return np.concatenate(arrays).reshape(len(arrays), *shape)


def _padded(arrays: Sequence[Any], pad: Pad) -> Any:
    shapes = [np.shape(x) for x in arrays]
    if pad is None or len({len(shape) for shape in shapes}) > 1:
        other = next(i for i, shape in enumerate(shapes) if shape != shapes[0])
        advice = " Pass Loader(..., pad=0) to fill up the shorter ones." if pad is None else ""
        raise ShapeError(
            f"Examples of one batch have arrays of different shapes: {shapes[0]} and, in row "
            f"{other}, {shapes[other]}.{advice}"
        )
    longest = [max(lengths) for lengths in zip(*shapes)]
    out = np.full((len(arrays), *longest), pad, np.result_type(*[x.dtype for x in arrays]))
    for row, x in zip(out, arrays):
        row[tuple([slice(0, n) for n in x.shape])] = x
    return out


def _check_lengths(examples: Sequence[Any]) -> None:
    length = len(examples[0])
    for row, each in enumerate(examples):
        if type(each) is not type(examples[0]) or len(each) != length:
            raise ShapeError(
                f"Examples of one batch differ: the first is a {type(examples[0]).__name__} of "
                f"{length}, that in row {row} is not."
            )


def _check_keys(examples: Sequence[Any]) -> None:
    names = examples[0].keys()
    for row, each in enumerate(examples):
        if type(each) is not dict or each.keys() != names:
            raise ShapeError(
                f"Examples of one batch differ: the first has the keys {sorted(names, key=str)}, "
                f"that in row {row} does not."
            )
