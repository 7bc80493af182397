"""Text from language models: `trellis.generate`."""

from .._core.exports import public_names as _public_names
from .generate import generate as generate


def __dir__() -> list[str]:
    return _public_names(__name__)
