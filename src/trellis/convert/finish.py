"""From a reader's graph to a module: simplified, built, compared with its source."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from .._core.typing import Device
from ..graph import drop_unused, fold_constants, fuse, inline_numbers
from .module import ConvertedModule
from .reading import Reading
from .verify import verify

_watched: ContextVar[list[Reading] | None] = ContextVar("trellis_readings", default=None)


@contextmanager
def readings() -> Iterator[list[Reading]]:
    """Inside the block, the results of readers are added to the list, with the way to run them."""
    found: list[Reading] = []
    token = _watched.set(found)
    try:
        yield found
    finally:
        _watched.reset(token)


def finish(
    reading: Reading, *, to: str, device: Device | None = None, with_verification: bool = True
) -> ConvertedModule:
    """The last steps of every conversion."""
    noted = _watched.get()
    if noted is not None:
        noted.append(reading)
    notes = reading.notes
    notes.dropped += drop_unused(reading.graph)
    notes.folded += fold_constants(reading.graph)
    notes.folded += inline_numbers(reading.graph)
    notes.fused += fuse(reading.graph)
    notes.dropped += drop_unused(reading.graph)
    model = ConvertedModule(reading, to=to, device=device)
    if with_verification:
        notes.verified = verify(model, reading, to)
    return model
