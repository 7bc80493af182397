"""Images at other sizes and places."""

from collections.abc import Sequence
from typing import Any

from ..._core.errors import NotSupportedError
from .builder import Size, Tensor, TorchBuilder
from .table import rule

_METHODS = {
    "upsample_linear1d": "linear",
    "upsample_bilinear2d": "bilinear",
    "upsample_trilinear3d": "trilinear",
    "upsample_bicubic2d": "bicubic",
    "_upsample_bilinear2d_aa": "bilinear",
    "_upsample_bicubic2d_aa": "bicubic",
}
_NO_STEP = 1e9  # a factor by which coordinates are all the same


def upsample(g: TorchBuilder, x: Tensor, output_size: Sequence[Size] | None, align_corners: bool,
             *scales: float | Sequence[float] | None) -> Any:  # fmt: skip
    name = g.source.split(".")[1]
    options: dict[str, Any] = {"method": _METHODS[name]}
    if name.endswith("_aa"):
        options["antialias"] = True
        if "bicubic" in name:  # another than without
            options["cubic_coefficient"] = -0.5
        if align_corners:
            scales = (_between_corners(g, x),)
    elif align_corners:  # the corners say all, factors nothing
        options["align_corners"], scales = True, ()
    return _resized(g, x, output_size, scales, options)


for _name in _METHODS:
    rule(f"aten.{_name}")(upsample)


@rule("aten.upsample_nearest1d", "aten.upsample_nearest2d", "aten.upsample_nearest3d")
def upsample_nearest(g: TorchBuilder, x: Tensor, output_size: Sequence[Size] | None,
                     *scales: float | Sequence[float] | None) -> Any:  # fmt: skip
    options = {"method": "nearest", "coordinates": "asymmetric", "rounding": "floor"}
    return _resized(g, x, output_size, scales, options)


@rule("aten._upsample_nearest_exact1d", "aten._upsample_nearest_exact2d",
      "aten._upsample_nearest_exact3d")  # fmt: skip
def upsample_nearest_exact(g: TorchBuilder, x: Tensor, output_size: Sequence[Size] | None,
                           *scales: float | Sequence[float] | None) -> Any:  # fmt: skip
    return _resized(g, x, output_size, scales, {"method": "nearest"})


def _resized(
    g: TorchBuilder, x: Tensor, size: Sequence[Size] | None, scales: Any, options: dict[str, Any]
) -> Any:
    wanted = g.out.shape[2:]
    if not all([isinstance(n, int) for n in wanted]):
        if size is None:
            raise NotSupportedError(
                f"{g.source} by a factor needs images of a fixed size; convert without dynamic= "
                "for them."
            )
        wanted = tuple(size)
    factors = _factors(scales, len(wanted))
    sizes: tuple[Any, ...] = x.shape[2:]
    if factors is not None and any([n * f != m for n, f, m in zip(sizes, factors, wanted)]):
        options["scale"] = factors
    return g.F.resize(x, wanted, data_format="channel_first", **options)


def _between_corners(g: TorchBuilder, x: Tensor) -> list[float]:
    """With antialias torch takes the factors of aligned corners, and centres by halves of pixels
    all the same. Where one element comes in or out, it takes the first: no step in coordinates."""
    pairs: list[tuple[Any, Any]] = list(zip(x.shape[2:], g.out.shape[2:]))
    if not all([isinstance(n, int) for pair in pairs for n in pair]):
        raise NotSupportedError(
            f"{g.source} with align_corners=True needs images of a fixed size; convert without "
            "dynamic= for them."
        )
    return [(out - 1) / (n - 1) if min(n, out) > 1 else _NO_STEP for n, out in pairs]


def _factors(scales: Sequence[Any], dims: int) -> tuple[float, ...] | None:
    """The factors by which coordinates grow, where torch was given some."""
    if len(scales) == 1 and isinstance(scales[0], (list, tuple)):
        return tuple(scales[0])
    given = [s for s in scales if s is not None]
    return tuple(given) if len(given) == dims else None


@rule("aten.grid_sampler", "aten.grid_sampler_2d", "aten.grid_sampler_3d")
def grid_sampler(
    g: TorchBuilder, x: Tensor, grid: Tensor, mode: int, padding: int, align: bool
) -> Any:
    return g.F.grid_sample(
        x, grid, method=("linear", "nearest", "cubic")[mode],
        padding=("zeros", "border", "reflection")[padding], align_corners=align,
        data_format="channel_first",
    )  # fmt: skip


@rule("aten.im2col")
def im2col(g: TorchBuilder, x: Tensor, kernel: Sequence[int], dilation: Sequence[int],
           padding: Sequence[int], stride: Sequence[int]) -> Any:  # fmt: skip
    return g.F.unfold(
        x, tuple(kernel), tuple(stride), [(p, p) for p in padding], dilations=tuple(dilation),
        data_format="channel_first",
    )  # fmt: skip
