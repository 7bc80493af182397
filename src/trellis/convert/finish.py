"""From what a reader found to a module: made smaller, built, compared with its source."""

from .._core.typing import Device
from ..graph import drop_unused, fold_constants, fuse, inline_numbers
from .module import ConvertedModule
from .reading import Reading
from .verify import verify


def finish(
    reading: Reading, *, to: str, device: Device = None, with_verification: bool = True
) -> ConvertedModule:
    """The last steps of every conversion."""
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
