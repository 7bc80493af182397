"""What a loader reads examples from: arrays, sequences, map-style datasets and streams.

Frameworks are recognised by the names of their classes: nothing is imported for that.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np

from .._array.interchange import to_numpy
from .._core import tree
from .._core.errors import ArgumentError, ArgumentTypeError, ShapeError
from .._core.kinds import length_of


class Arrays:
    """Arrays in memory or in mapped files: an example is one row of each."""

    def __init__(self, arrays: Any):
        leaves = tree.leaves(arrays)
        sizes = {x.shape[0] if len(x.shape) else None for x in leaves}
        if len(sizes) != 1 or None in sizes:
            shapes = ", ".join([str(tuple(x.shape)) for x in leaves])
            raise ShapeError(
                "All arrays of the data need the same length along their first axis, got shapes "
                f"{shapes}."
            )
        # Plain arrays also of memory-mapped ones, whose rows are objects of their own class.
        self._arrays = tree.map(
            lambda x: np.asarray(x if isinstance(x, np.ndarray) else to_numpy(x)), arrays
        )
        self._length = int(leaves[0].shape[0])

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: int) -> Any:
        return tree.map(lambda x: x[index], self._arrays)

    def take(self, indices: Any) -> Any:
        """A batch of these rows, in arrays of its own."""
        is_run = len(indices) > 0 and indices[-1] - indices[0] == len(indices) - 1
        if is_run and bool((np.diff(indices) == 1).all()):
            rows = slice(int(indices[0]), int(indices[-1]) + 1)
            return tree.map(lambda x: np.array(x[rows]), self._arrays)
        return tree.map(lambda x: np.take(x, indices, axis=0), self._arrays)


class Stream:
    """An iterable of examples that can only be read from its beginning, once per epoch."""

    def __init__(self, make: Callable[[], Iterable[Any]]):
        self._make = make

    def examples(self, skip: int) -> Iterator[Any]:
        """The examples after the first `skip`.

        Datasets with a method `skip`, such as those of tf.data, need not compute what is left out.
        """
        data: Any = self._make()
        if skip and callable(getattr(data, "skip", None)):
            return iter(_readable(data.skip(skip)))
        return islice(iter(_readable(data)), skip, None)


class _Once:
    """Gives an iterator to a first epoch, and says what to do about a second one."""

    def __init__(self, iterator: Iterator[Any]):
        self._iterator: Iterator[Any] | None = iterator

    def __call__(self) -> Iterator[Any]:
        if self._iterator is None:
            raise ArgumentError(
                "These data are a generator, which can be read only once. Pass a function that "
                "returns a new one: Loader(lambda: examples(), ...)."
            )
        found, self._iterator = self._iterator, None
        return found


Source = Any  # what has __len__ and __getitem__, or a Stream


def as_source(data: Any) -> Source:
    """The source for the `data` argument of a loader."""
    if isinstance(data, (Arrays, Stream)):
        return data
    if _is_arrays(data):
        return Arrays(data)
    if isinstance(data, (str, bytes)):
        raise ArgumentTypeError(
            "Data are not a string. For the lines of a file write data.Lines(path), for a folder "
            "of images data.Images(path), for a file of numbers data.MemoryMapped(path)."
        )
    if isinstance(data, (tuple, dict)):
        raise ArgumentTypeError(
            f"A {type(data).__name__} of data holds arrays of one length; this one also holds "
            "something else. Examples that are not rows of arrays come as a list."
        )
    if _is_torch_stream(data):
        return Stream(lambda: data)
    if hasattr(data, "__getitem__") and length_of(data) is not None:
        return data
    if hasattr(data, "__next__"):
        return Stream(_Once(data))
    if hasattr(data, "__iter__"):
        return Stream(lambda: data)
    if callable(data):
        return Stream(data)
    raise ArgumentTypeError(
        "Data are arrays, a list, an object with __len__ and __getitem__, an iterable, or a "
        f"function that returns an iterable; got {type(data).__name__}."
    )


def _is_arrays(data: Any) -> bool:
    """One array, or a tuple or dict of them. A list is a sequence of examples."""
    if isinstance(data, (tuple, dict)):
        leaves = tree.leaves(data)
        return bool(leaves) and all([hasattr(x, "dtype") and hasattr(x, "shape") for x in leaves])
    return hasattr(data, "dtype") and hasattr(data, "shape")


def _is_torch_stream(data: Any) -> bool:
    """An IterableDataset inherits a __getitem__ that does not work."""
    return any(
        [
            cls.__module__.startswith("torch.utils.data") and cls.__name__ == "IterableDataset"
            for cls in type(data).__mro__
        ]
    )


def _readable(data: Any) -> Iterable[Any]:
    """A tf.data.Dataset gives NumPy arrays, not tensors of whatever device TensorFlow chooses."""
    if callable(getattr(data, "as_numpy_iterator", None)):
        found: Iterable[Any] = data.as_numpy_iterator()
        return found
    return data
