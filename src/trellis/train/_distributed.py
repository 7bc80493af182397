"""A run of `fit` on one rank of several processes."""

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from .._array.creation import asarray
from .._array.interchange import to_numpy
from .._core import tree
from .._core.container import Container
from .._core.errors import ArgumentError, NotSupportedError
from .._core.threefry import fold_in_words
from .._random.stream import is_key
from ..data.placing import Target
from ..data.sharding import share
from ..distributed import all_reduce, broadcast, check_same
from ..distributed._agreement import broadcast_json, gather_arrays
from ..distributed._group import group
from ._data import Source
from ._distributed_step import DistributedStep
from ._epoch import Statistics
from ._evaluate import evaluated
from ._history import History
from ._resume import load_run
from ._run import Run


class Shares:
    """Data of which this rank reads its part of each batch."""

    def __init__(self, source: Source, rank: int, size: int):
        self.source, self._rank, self._size = source, rank, size

    def __len__(self) -> int:
        return len(self.source)

    def batches(self, epoch: int, target: Target, skip: int = 0) -> Iterator[tuple[Any, int, int]]:
        """This rank's rows of each batch, how many of them count, and the size of the whole batch.

        A rank without rows gets one row with weight 0.
        """
        bounds: list[int] = []

        def cut(begin: int, end: int) -> tuple[int, int]:
            first, last = share(end - begin, self._rank, self._size)
            bounds[:] = [last - first, end - begin]
            return (begin + first, begin + last) if last > first else (begin, begin + 1)

        for batch in self.source.batches(epoch, target, skip, cut):
            yield batch, bounds[0], bounds[1]


class DistributedRun(Run):
    """The run of one rank; what differs from that of a single process."""

    def prepare(self, *args: Any) -> None:
        super().prepare(*args)
        if self._curvature is not None:
            raise NotSupportedError(
                "fit(distributed=True) does not measure the curvature, which "
                f"{type(self.optimizer).__name__} needs: use another optimizer, such as "
                "optim.AdamW."
            )
        place = group().place
        self._rank, self._size = place.rank, place.size
        backend = self._target.backend
        self._engine = group().engine(backend)
        check_same((self.v, self.buffers, self.state), backend=backend)
        words = broadcast_json(list(self._words), backend)
        self.set_words((words[0], words[1]))
        self._take_from_first()
        if self._loader is not None:
            if self._loader.loader.ranks > 1:
                raise ArgumentError(
                    "fit(distributed=True) cuts each batch into shares itself, and this Loader "
                    "gives shares already: leave out its rank and ranks."
                )
            self._take_data_state()
        self._source = Shares(self._source, self._rank, self._size)
        self._train_step = DistributedStep(
            self._parts, is_compiled=self._is_compiled, is_synchronized=self.is_synchronized
        )

    @property
    def is_first_rank(self) -> bool:
        return bool(self._rank == 0)

    def _take_data_state(self) -> None:
        """The state of the loader of rank 0, on all ranks: seeds may have been drawn."""
        if self._loader is not None:
            known = broadcast_json([self.data_state(), self.epoch], self._target.backend)
            self._loader.load(*known)
            if self.steps_per_epoch is None:
                self._position = known[0]["batch"]

    def _take_from_first(self) -> None:
        """Variables, buffers and states of rank 0, on all ranks."""
        state = (self.v, self.buffers, self.state, self._scale)
        leaves, spec = tree.flatten(state)
        moved = [hasattr(x, "dtype") and not is_key(x) for x in leaves]
        found = broadcast([x for x, is_moved in zip(leaves, moved) if is_moved])
        filled = [found.pop(0) if is_moved else x for x, is_moved in zip(leaves, moved)]
        self.v, self.buffers, self.state, self._scale = tree.unflatten(spec, filled)

    def train(
        self, epochs: int, is_shown: bool, path: str | os.PathLike[str] | None, every: int | None
    ) -> None:
        super().train(epochs, is_shown and self._rank == 0, path, every)

    def _step_of_parts(self) -> Any:
        """That of several ranks is made when they have agreed."""
        if self.accumulate > 1:
            raise ArgumentError(
                "fit(distributed=True) has no accumulate: more ranks or smaller batches give the "
                "same update, and optimizer.accumulated(n) takes the mean gradient of n batches."
            )
        if any([each.clock is not None for each in self.callbacks]):
            raise ArgumentError("A StepTimer measures a step of one process: leave it out.")
        return None

    def _one_step(self, share: Any) -> bool:
        batch, count, total = share
        inputs, targets = self._as_batch(batch)
        draws = fold_in_words(fold_in_words(self._words, 1), self.step)
        # Each rank drops other units.
        draws = fold_in_words(draws, self._rank)
        key = self._xp.random.make_key(*draws, self._target.device)
        weight = asarray(
            np.array([count / total], np.float32),
            backend=self._target.backend,
            device=self._target.device,
        )
        self.v, self.buffers, self.state, self._scale, values = self._train_step(
            (self.v, self.buffers, self.state, self._scale),
            (key, weight, inputs, targets),
            is_even=total % self._size == 0,
        )
        self.step += 1
        self._position += 1
        self._pending.append(((count, total), values))
        return True

    def _note(self, values: dict[str, Any], size: tuple[int, int]) -> None:
        """The loss is that of the joined batch, which rank 0 counts; metrics are of the share."""
        count, total = size
        examples = total if self._rank == 0 else 0
        self._statistics.add(values, examples, only_loss=count == 0)

    def _joined(self, statistics: Statistics) -> Statistics:
        """Those of all ranks, on every rank."""
        whole = Statistics(self._metrics)
        backend = self._target.backend
        for packed in gather_arrays(statistics.packed(), backend):
            whole.merge_packed(packed, backend)
        return whole

    def _agree(self) -> None:
        flag = np.array([int(self.is_stopped)], np.int32)
        found = all_reduce(asarray(flag, backend=self._target.backend), "max")
        self.is_stopped = bool(to_numpy(found)[0])

    def _validated(self, source: Source) -> Statistics:
        """Each rank evaluates its share of the batches."""
        self._bring_home()
        batches = source.batches(0, self._target)
        return evaluated(
            self.model,
            self._loss,
            self._test_step,
            islice(batches, self._rank, None, self._size),
            (self.v, self.buffers),
            Statistics(self._metrics),
        )

    # State ------------------------------------------------------------------------------------

    def _bring_home(self) -> None:
        """Arrays of this process, where the engine keeps others between steps."""
        local = self._engine.local
        self.v, self.buffers = tree.map(local, self.v), tree.map(local, self.buffers)
        self.state, self._scale = tree.map(local, self.state), tree.map(local, self._scale)

    def hand_over(self) -> None:
        self._bring_home()
        super().hand_over()

    def snapshot(self) -> tuple[Container, dict[str, Any]] | None:
        self._collect()
        mine, self._statistics = self._statistics, self._joined(self._statistics)
        self._bring_home()
        found = super().snapshot() if self._rank == 0 else None
        self._statistics = mine
        return found

    def resume(self, path: str | os.PathLike[str]) -> None:
        """Rank 0 reads the file; the others need not see it."""
        backend = self._target.backend
        if self._rank == 0 and Path(path).exists():
            load_run(self, path)
        history = self.history.as_dict()
        known = [list(self._words), self.step, self.epoch, self._position, history]
        words, self.step, self.epoch, self._position, history = broadcast_json(known, backend)
        self.history = History(**history)
        self.set_words((words[0], words[1]))
        self._take_data_state()
        self._take_from_first()
