"""Pooling."""

import math
from collections.abc import Sequence
from typing import Any

from ..._core.errors import NotSupportedError
from .builder import Dims, Tensor, TorchBuilder
from .rules_convolution import LETTERS, batched, each, exact, padding_of, short
from .table import rule


@rule("aten.max_pool1d", "aten.max_pool2d", "aten.max_pool3d", "aten.max_pool1d_with_indices",
      "aten.max_pool2d_with_indices", "aten.max_pool3d_with_indices")  # fmt: skip
def max_pool(g: TorchBuilder, x: Tensor, kernel: Dims, stride: Dims = (), padding: Dims = 0,
             dilation: Dims = 1, ceil_mode: bool = False) -> Any:  # fmt: skip
    dims = int(g.source.partition("pool")[2][0])
    window = each(kernel, dims)
    strides = each(stride, dims) if stride else window
    options: dict[str, Any] = {"data_format": LETTERS[dims]}
    if set(each(dilation, dims)) != {1}:
        options["dilations"] = short(each(dilation, dims))
    if ceil_mode:
        options["ceil_mode"] = True
    with_indices = "with_indices" in g.source
    if with_indices:
        options["return_indices"] = True
    pads = padding_of(padding, dims, window, (1,) * dims)

    x, back = exact(g, x)

    def pooled(x: Tensor) -> Any:
        y = getattr(g.F, f"max_pool{dims}d")(x, short(window), short(strides), pads, **options)
        return g.items(y, 2) if with_indices else y

    found = batched(g, x, dims, pooled)
    return (back(found[0]), found[1]) if with_indices else back(found)


@rule("aten.avg_pool1d", "aten.avg_pool2d", "aten.avg_pool3d")
def avg_pool(g: TorchBuilder, x: Tensor, kernel: Dims, stride: Dims = (), padding: Dims = 0,
             ceil_mode: bool = False, count_include_pad: bool = True,
             divisor_override: int | None = None) -> Any:  # fmt: skip
    dims = int(g.source.partition("pool")[2][0])
    window = each(kernel, dims)
    strides = each(stride, dims) if stride else window
    pads = padding_of(padding, dims, window, (1,) * dims)
    options: dict[str, Any] = {"data_format": LETTERS[dims]}
    if (count_include_pad and pads != 0) or divisor_override:
        options["count_include_pad"] = True
    if ceil_mode:
        options["ceil_mode"] = True
    if divisor_override and ceil_mode:
        raise NotSupportedError(
            f"{g.source}: divisor_override= together with ceil_mode=True has no counterpart here."
        )
    if "float" not in (x.dtype or ""):
        raise NotSupportedError(f"{g.source}: means of {x.dtype} are rounded in a way of torch's.")
    fn = getattr(g.F, f"avg_pool{dims}d")
    y = batched(g, x, dims, lambda x: fn(x, short(window), short(strides), pads, **options))
    return g.t.multiply(y, math.prod(window) / divisor_override) if divisor_override else y


@rule("aten.adaptive_avg_pool1d", "aten.adaptive_avg_pool2d", "aten.adaptive_avg_pool3d",
      "aten._adaptive_avg_pool2d", "aten._adaptive_avg_pool3d")  # fmt: skip
def adaptive_avg_pool(g: TorchBuilder, x: Tensor, output_size: Sequence[int]) -> Any:
    dims = len(output_size)
    if set(output_size) == {1}:
        return g.t.mean(x, axis=tuple(range(-dims, 0)), keepdims=True)
    sizes = g.out.shape[-dims:]
    fn = g.F.adaptive_avg_pool
    return batched(g, x, dims, lambda x: fn(x, sizes, data_format="channel_first"))


@rule("aten.adaptive_max_pool1d", "aten.adaptive_max_pool2d", "aten.adaptive_max_pool3d")
def adaptive_max_pool(g: TorchBuilder, x: Tensor, output_size: Sequence[int]) -> Any:
    dims = len(output_size)
    sizes, options = g.out.shape[-dims:], {"data_format": "channel_first", "return_indices": True}
    fn = g.F.adaptive_max_pool
    return batched(g, x, dims, lambda x: g.items(fn(x, sizes, **options), 2))
