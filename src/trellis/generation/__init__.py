"""Text from language models: `trellis.generate`."""

from .._programs import generate as generate


def __dir__() -> list[str]:
    return ["generate"]
