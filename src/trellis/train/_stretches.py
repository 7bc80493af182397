"""Epochs of a given number of batches, whatever the data are: `steps_per_epoch`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .._core.errors import ArgumentError
from .._core.kinds import length_of
from .._core.shapes import LARGEST
from ._data import Cut, LoaderSource, Source

if TYPE_CHECKING:
    from ..data.placing import Target


class Stretches:
    """A source whose epochs have so many batches; they go on where the one before ended.

    Data with a length begin anew when they are through, in the order of their next pass. Data
    without one are one stream; `make` is asked for a new one when it ends.
    """

    def __init__(self, source: Source, steps: int):
        if not 1 <= steps <= LARGEST:
            raise ArgumentError(f"steps_per_epoch must be from 1 to {LARGEST}, got {steps}.")
        self.source, self._steps = source, steps
        self._length = length_of(source)
        if self._length == 0:
            raise ArgumentError("steps_per_epoch needs at least one batch, and data has none.")
        if isinstance(source, LoaderSource) and self._length is None:
            raise ArgumentError(
                "steps_per_epoch needs to know how many batches a Loader has in an epoch, and this "
                "one cannot say it. Leave steps_per_epoch out, and use validate_every and "
                "checkpoint_every for what should happen more often."
            )
        self._stream: Iterator[Any] | None = None
        self._given = 0
        self._cut: Cut | None = None

    def __len__(self) -> int:
        return self._steps

    def place(self, epoch: int, position: int) -> tuple[int, int]:
        """The epoch and the position in the data."""
        assert self._length is not None
        return divmod(epoch * self._steps + position, self._length)

    def batches(
        self, epoch: int, target: "Target", skip: int = 0, cut: Cut | None = None
    ) -> Iterator[Any]:
        if self._length is None:
            return self._of_stream(epoch * self._steps + skip, self._steps - skip, target, cut)
        return self._of_passes(epoch, skip, target, cut)

    def _of_passes(self, epoch: int, skip: int, target: "Target", cut: Cut | None) -> Iterator[Any]:
        left = self._steps - skip
        while left:
            turn, position = self.place(epoch, self._steps - left)
            for batch in self.source.batches(turn, target, position, cut):
                yield batch
                left -= 1
                if not left:
                    return

    def _of_stream(
        self, begin: int, count: int, target: "Target", cut: Cut | None
    ) -> Iterator[Any]:
        self._cut = cut  # the stream is older than this epoch
        if self._stream is None or begin < self._given:
            self._stream, self._given = self._endless(target, cut is not None), 0
        while self._given < begin:
            next(self._stream)
            self._given += 1
        for _ in range(count):
            self._given += 1
            yield next(self._stream)

    def _endless(self, target: "Target", is_cut: bool) -> Iterator[Any]:
        def cut(begin: int, end: int) -> tuple[int, int]:
            assert self._cut is not None
            return self._cut(begin, end)

        turn = 0
        while True:
            yield from self.source.batches(turn, target, 0, cut if is_cut else None)
            turn += 1
