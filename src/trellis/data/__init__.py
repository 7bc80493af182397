"""Data: batches from arrays, files, datasets and streams, in an order that is resumed exactly."""

from .._core.exports import public_names as _public_names
from .batching import Buckets as Buckets
from .batching import Packing as Packing
from .files import Lines as Lines
from .files import MemoryMapped as MemoryMapped
from .images import Images as Images
from .loader import Loader as Loader


def __dir__() -> list[str]:
    return _public_names(__name__)
