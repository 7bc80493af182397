"""Windows that slide over an image: what ONNX's convolutions and pools have in common."""

from typing import Any, NamedTuple

from ..._core.errors import ArgumentError
from ...functional._windows import same_padding
from ...graph import Value

_LARGEST = 1 << 31


class Window(NamedTuple):
    """Their attributes, as in a file."""

    auto_pad: str = "NOTSET"
    dilations: Any = None
    kernel_shape: Any = None
    pads: Any = None
    strides: Any = None

    def sizes(self, w: Value) -> tuple[int, ...]:
        """The size of the filters `w` along their spatial axes."""
        if self.kernel_shape:
            dims = len(self.kernel_shape) if w.shape is None else len(w.shape) - 2
            return _numbers("kernel_shape", self.kernel_shape, dims)
        sizes = (w.shape or ())[2:]
        if not sizes or not all([isinstance(n, int) for n in sizes]):
            raise ArgumentError("the size of the filters is not known before the model runs")
        return sizes  # type: ignore[return-value]

    def steps(self, dims: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Strides and dilations, one for each spatial axis."""
        ones = (1,) * dims
        strides = _numbers("strides", self.strides or ones, dims)
        return strides, _numbers("dilations", self.dilations or ones, dims)

    def explicit(self, dims: int) -> list[tuple[int, int]]:
        """The padding that `pads` says: both ends of each spatial axis."""
        if not self.pads or self.auto_pad == "VALID":
            return [(0, 0)] * dims
        pads = _numbers("pads", self.pads, 2 * dims, lowest=-_LARGEST)
        return [(pads[i], pads[i + dims]) for i in range(dims)]

    def options(self, x: Value, sizes: tuple[int, ...]) -> dict[str, Any]:
        """Strides, dilations and explicit padding for a window of those sizes over `x`."""
        dims = len(sizes)
        strides, dilations = self.steps(dims)
        padding = self.explicit(dims)
        if self.auto_pad in ("SAME_UPPER", "SAME_LOWER"):
            known: Any = (x.shape or ())[2:]
            if len(known) != dims or not all([isinstance(n, int) for n in known]):
                raise ArgumentError(
                    f"auto_pad={self.auto_pad} needs the sizes of the image; give args and "
                    "dynamic={}, so that they are fixed"
                )
            spans = [(k - 1) * d + 1 for k, d in zip(sizes, dilations, strict=True)]
            padding = list(same_padding(known, spans, strides))
            if self.auto_pad == "SAME_LOWER":  # the odd element goes to the begin
                padding = [(high, low) for low, high in padding]
        return {"strides": strides, "padding": tuple(padding), "dilations": dilations}


def _numbers(name: str, given: Any, count: int, lowest: int = 1) -> tuple[int, ...]:
    found = tuple(given)
    if len(found) != count or not all([lowest <= n <= _LARGEST for n in found]):
        raise ArgumentError(
            f"{name}={found} where {count} numbers from {lowest} to {_LARGEST} are expected"
        )
    return found


def groups(count: int) -> int:
    """The number of groups of a convolution, which is at least 1."""
    if not 1 <= count <= _LARGEST:
        raise ArgumentError(f"group={count} where at least 1 is expected")
    return count
