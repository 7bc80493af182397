"""Batches from arrays, loaders, iterables, torch DataLoaders and tf.data Datasets, on the model's
framework.

Frameworks are recognised by the names of their classes: nothing is imported for that.
"""

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from .._array.casting import dtype as dtype_of
from .._array.device import device as device_of
from .._array.indexing import take
from .._array.interchange import to_backend, to_numpy
from .._core import tree
from .._core.dispatch import backend_of, load
from .._core.dtypes import FLOATING
from .._core.errors import ArgumentError, ArgumentTypeError, ShapeError
from .._core.kinds import length_of, shown
from .._core.threefry import Words, fold_in_words
from .._core.typing import Array, Nest

if TYPE_CHECKING:  # imported where they are used: the package of loaders is not needed for arrays
    from ..data.loader import Loader
    from ..data.placing import Target


def target_of(v: Nest, is_cast: bool, source: "Source", sharding: Any = None) -> "Target":
    """The target for a model with these variables; where it has none, for the arrays of a first
    batch."""
    arrays = _arrays_of(v) or _arrays_of(first_batch(source))
    if not arrays:
        raise ArgumentError("There are neither variables in the model nor arrays in the data.")
    floats = [str(dtype_of(x)) for x in arrays if str(dtype_of(x)) in FLOATING]
    device = device_of(arrays[0])
    # Without a device nothing is copied on the CPU.
    place = None if "cpu" in str(device).lower() or sharding is not None else device
    backend = backend_of(arrays[0])
    if sharding is not None and not load(backend).ABILITIES.can_shard:
        raise ArgumentError(
            "sharding is for models on JAX, whose arrays can be spread over devices; this one is "
            f"on {backend}."
        )
    from ..data.placing import Target

    return Target(backend, place, floats[0] if floats else None, is_cast, sharding)


def _arrays_of(nest: Nest) -> list[Any]:
    return [x for x in tree.leaves(nest) if hasattr(x, "dtype")]


# Sources
# ---------------------------------------------------------------------------------------------

# From the rows of a batch, begin and end, to those that are wanted of it.
Cut = Callable[[int, int], tuple[int, int]]


class ArraySource:
    """Arrays in memory, cut into batches along their first axis."""

    def __init__(
        self, arrays: Any, batch_size: int | None, shuffle: bool, drop_last: bool, key: Words
    ):
        leaves = tree.leaves(arrays)
        sizes = {x.shape[0] if len(x.shape) else None for x in leaves}
        if len(sizes) != 1 or None in sizes:
            shapes = ", ".join([str(tuple(x.shape)) for x in leaves])
            raise ShapeError(
                "All arrays of the data need the same length along their first axis, got shapes "
                f"{shapes}."
            )
        self._length = int(leaves[0].shape[0])
        self._batch_size = self._length if batch_size is None else batch_size
        if self._length == 0:
            raise ShapeError("The data are empty.")
        if self._batch_size < 1:
            raise ArgumentError(f"batch_size must be at least 1, got {batch_size}.")
        if drop_last and self._batch_size > self._length:
            raise ArgumentError(
                f"drop_last leaves nothing: batch_size is {batch_size}, the data have "
                f"{self._length} rows."
            )
        self.arrays, self.key, self._shuffle, self._drop_last = arrays, key, shuffle, drop_last

    def __len__(self) -> int:
        whole, rest = divmod(self._length, self._batch_size)
        return whole + (1 if rest and not self._drop_last else 0)

    def batches(
        self, epoch: int, target: "Target", skip: int = 0, cut: Cut | None = None
    ) -> Iterator[Any]:
        arrays = tree.map(
            lambda x: x if backend_of(x) == target.backend else to_numpy(x), self.arrays
        )
        order = self._order(epoch)
        for i in range(skip, len(self)):
            begin = i * self._batch_size
            end = min(begin + self._batch_size, self._length)
            if cut is not None:
                begin, end = cut(begin, end)
            rows = slice(begin, end) if order is None else order[begin:end]
            yield target(tree.map(lambda x, rows=rows: _rows(x, rows), arrays))

    def _order(self, epoch: int) -> Any:
        """The order of the rows: the same on every framework, whatever the arrays are."""
        if not self._shuffle:
            return None
        random: Any = load("numpy").random
        return random.permutation(random.make_key(*fold_in_words(self.key, epoch)), self._length)


def _rows(x: Array, rows: np.ndarray | slice) -> Any:
    if isinstance(rows, slice) or isinstance(x, np.ndarray):
        return x[rows, ...]
    return take(
        x, to_backend(np.asarray(rows, np.int32), backend_of(x), device=device_of(x)), axis=0
    )


def _share_of(batch: object, cut: Cut) -> Any:
    begin, end = cut(0, batch_size_of(batch))
    rows = slice(begin, end)
    return tree.map(lambda x: _rows(x, rows) if len(getattr(x, "shape", ())) else x, batch)


class IterableSource:
    """An iterable that yields batches for every epoch."""

    def __init__(
        self, make: Callable[[], Iterable[Any]], length: int | None, is_made_anew: bool = False
    ):
        self.make, self.is_made_anew = make, is_made_anew
        self._length = length

    def __len__(self) -> int:
        if self._length is None:
            raise TypeError("The length of these data is not known.")
        return self._length

    def batches(
        self, epoch: int, target: "Target", skip: int = 0, cut: Cut | None = None
    ) -> Iterator[Any]:
        is_empty = True
        for i, batch in enumerate(self.make()):
            is_empty = False
            if i >= skip:
                # torch's DataLoader gives lists; a batch is a tuple here.
                batch = tuple(batch) if isinstance(batch, list) else batch
                yield target(batch if cut is None else _share_of(batch, cut))
        if is_empty:
            raise ArgumentError(
                f"The data gave no batch in epoch {epoch + 1}. A generator can be read only once: "
                "pass a function that returns a new one, fit(model, loss, lambda: batches(), ...)."
            )


class LoaderSource:
    """A `trellis.data.Loader`, whose position is that of the run."""

    def __init__(self, loader: "Loader"):
        self.loader = loader
        # The epoch of the loader that is the first one of the run.
        self.first = loader.epoch

    def __len__(self) -> int:
        return len(self.loader)

    def batches(
        self, epoch: int, target: "Target", skip: int = 0, cut: Cut | None = None
    ) -> Iterator[Any]:
        cut_rows = None if cut is None else lambda rows: cut(0, rows)
        is_empty = skip == 0
        for rows, batch in self.loader.host_batches(self.first + epoch, skip, cut=cut_rows):
            is_empty = False
            if cut is not None:
                cut(0, rows)  # once more, as the loader has cut later batches already
            yield target(tuple(batch) if isinstance(batch, list) else batch)
        if is_empty:
            raise ArgumentError(f"The data gave no batch in epoch {epoch + 1}.")

    def state_at(self, epoch: int, position: int) -> dict[str, int]:
        return self.loader.state_at(self.first + epoch, position)

    def go_to(self, epoch: int, position: int) -> None:
        self.loader.go_to(self.first + epoch, position)

    def load(self, state: dict[str, int], epoch: int) -> None:
        """Continue from a state, in which the run had finished so many epochs."""
        self.loader.load_state(state)
        self.first = state["epoch"] - epoch


Source = ArraySource | IterableSource | LoaderSource


def first_batch(source: Source) -> Any:
    """The first batch, to find the framework of the data; arrays are not split for that."""
    if isinstance(source, ArraySource):
        return source.arrays
    if isinstance(source, LoaderSource):
        return source.loader.batch(0)
    data = source.make()
    if iter(data) is data and not source.is_made_anew:
        raise ArgumentError(
            "fit() looks at the data first if a model has no variables, and a generator can be "
            "read only once: call the model once first, or pass a function that returns a new "
            "generator."
        )
    for batch in data:
        return batch
    return None


def as_source(
    data: Any, batch_size: int | None, shuffle: bool | None, drop_last: bool, key: Words
) -> Source:
    """The data source for the `data` argument of `fit`."""
    if _is_loader(data):
        if batch_size is not None or drop_last or shuffle:
            raise ArgumentError(
                "batch_size, shuffle and drop_last are for data given as arrays; a Loader has its "
                "own."
            )
        return LoaderSource(data)
    if is_arrays(data):
        return ArraySource(data, batch_size, shuffle is not False, drop_last, key)
    if isinstance(data, (tuple, list, dict)):
        numbers = [isinstance(x, (bool, int, float, complex)) for x in tree.leaves(data)]
        if any(numbers) and (all(numbers) or not isinstance(data, list)):
            raise ArgumentTypeError(
                "These data are lists of numbers; make arrays of them first, so that their dtype "
                'is known: fit(model, loss, (np.array(x, "float32"), np.array(y, "float32"))).'
            )
    kind = _framework_kind(data)
    if kind == "torch dataset":
        raise ArgumentTypeError(
            "A torch Dataset has single examples: wrap it, torch.utils.data.DataLoader(dataset, "
            "batch_size=64)."
        )
    if batch_size is not None or drop_last or shuffle:
        raise ArgumentError(
            "batch_size, shuffle and drop_last are for data given as arrays; these data come in "
            "batches already."
        )
    if kind == "tf.data":
        count = int(data.cardinality())
        return IterableSource(lambda: data, count if count >= 0 else None)
    if callable(data) and not hasattr(data, "__iter__"):
        return IterableSource(data, None, is_made_anew=True)
    if not hasattr(data, "__iter__"):
        raise ArgumentTypeError(
            "Data are a tuple of arrays, a trellis.data.Loader, an iterable of batches, a function "
            "that returns one, a torch DataLoader or a tf.data.Dataset; got "
            f"{type(data).__name__}."
        )
    return IterableSource(lambda: data, length_of(data))


def _is_loader(data: object) -> "TypeGuard[Loader]":
    module = sys.modules.get("trellis.data.loader")
    return module is not None and isinstance(data, module.Loader)


def is_arrays(data: object) -> bool:
    """One array, a tuple of arrays, or a dict of them. A list is an iterable of batches."""
    if isinstance(data, (tuple, dict)):
        leaves = tree.leaves(data)
        return bool(leaves) and all([hasattr(x, "dtype") and hasattr(x, "shape") for x in leaves])
    return hasattr(data, "dtype") and hasattr(data, "shape")


def _framework_kind(data: object) -> str | None:
    for cls in type(data).__mro__:
        module = cls.__module__
        if module.startswith("tensorflow.python.data") and cls.__name__ == "DatasetV2":
            return "tf.data"
        if module.startswith("torch.utils.data"):
            if cls.__name__ == "DataLoader":
                return "torch loader"
            if cls.__name__ == "Dataset":
                return "torch dataset"
    return None


def as_batch(
    batch: object, loss: Callable[..., Any], *, has_weights: bool = False
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The arguments of the model, and the targets of the loss: (x, y), (x1, x2, y), or one array
    alone, for a loss without a target. The weights of examples come after the target."""
    if has_weights:
        if not isinstance(batch, tuple) or len(batch) < 3:
            raise ArgumentError(
                'With sample_weight="last" a batch is a tuple (inputs, target, weights), got '
                f"{shown(batch)}{f' of {len(batch)}' if isinstance(batch, tuple) else ''}."
            )
        return batch[:-2], batch[-2:]
    if isinstance(batch, tuple) and len(batch) != 1:
        if len(batch) == 0:
            raise ArgumentError("A batch is an empty tuple; it should be (inputs, targets).")
        return batch[:-1], batch[-1:]
    if not _takes_output_alone(loss):
        what = shown(batch) if isinstance(batch, dict) else "one array"
        raise ArgumentTypeError(
            f"A batch is {what}, all of which goes to the model, and the loss needs a target too. "
            "Pass inputs and targets as a tuple, fit(model, loss, (x, y)); a list has batches as "
            "its elements, fit(model, loss, [(x1, y1), (x2, y2)])."
        )
    return batch if isinstance(batch, tuple) else (batch,), ()


def _takes_output_alone(loss: Callable[..., Any]) -> bool:
    try:
        signature = inspect.signature(loss)
    except ValueError:  # a function in C, which does not show its arguments
        return True
    try:
        signature.bind(None)
    except TypeError:
        return False
    return True


def batch_size_of(batch: object) -> int:
    """The number of examples in a batch, for means over an epoch."""
    for x in tree.leaves(batch):
        if hasattr(x, "shape") and len(x.shape):
            return int(x.shape[0])
    return 1
