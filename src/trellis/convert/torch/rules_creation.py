"""Arrays made out of nothing."""

from collections.abc import Sequence
from typing import Any

import torch

from ..rules import Rule
from .builder import Operand, Size, Tensor, TorchBuilder
from .table import rule


def _shape(g: TorchBuilder, sizes: Sequence[Size]) -> Any:
    """The recorded shape where it is known, otherwise the sizes of the call."""
    known = g.out.shape
    if known is not None and all([isinstance(size, int) for size in known]):
        return known
    return tuple(sizes)


@rule("aten.arange")
def arange(g: TorchBuilder, *bounds: Size | float, **_: object) -> Any:
    return g.t.arange(*bounds, **g.created())


@rule("aten.linspace")
def linspace(
    g: TorchBuilder, start: Size | float, end: Size | float, steps: int, **_: object
) -> Any:
    return g.t.linspace(start, end, steps, **g.created())


def _filled(name: str) -> Rule:
    """`zeros(size)`, `full(size, value)`; and `new_zeros(x, size)`, where only the type is x's."""

    def convert(g: TorchBuilder, *args: Any, **_: object) -> Any:
        size, *rest = args[1:] if "new_" in g.source else args
        value = rest[:1] if name == "full" else ()
        return getattr(g.t, name)(_shape(g, size), *value, **g.created())

    return convert


def _filled_like(name: str) -> Rule:
    """Of a known shape: a constant, which does not have to wait for `x`."""

    def convert(g: TorchBuilder, x: Tensor, *value: Operand, **_: object) -> Any:
        if all([isinstance(size, int) for size in g.out.shape]):
            return getattr(g.t, name)(g.out.shape, *value, **g.created())
        dtype = {} if x.dtype == g.out.dtype else {"dtype": g.dtype(g.out.dtype)}
        return getattr(g.t, f"{name}_like")(x, *value, **dtype)

    return convert


rule("aten.zeros", "aten.empty", "aten.empty_permuted", "aten.empty_strided", "aten.new_zeros",
     "aten.new_empty", "aten.new_empty_strided")(_filled("zeros"))  # fmt: skip
rule("aten.ones", "aten.new_ones")(_filled("ones"))
rule("aten.full", "aten.new_full")(_filled("full"))
rule("aten.zeros_like", "aten.empty_like")(_filled_like("zeros"))
rule("aten.ones_like")(_filled_like("ones"))
rule("aten.full_like")(_filled_like("full"))


@rule("aten.scalar_tensor")
def scalar_tensor(g: TorchBuilder, value: Operand, **_: object) -> Any:
    return g.t.full((), value, **g.created())


@rule("aten.eye")
def eye(g: TorchBuilder, n: Size, m: Size | None = None, **_: object) -> Any:
    return g.t.eye(n, m, **g.created())


@rule("aten.tril", "aten.triu")
def triangle(g: TorchBuilder, x: Tensor, diagonal: int = 0) -> Any:
    call = g.t.tril if "tril" in g.source else g.t.triu
    return call(x, k=diagonal) if diagonal else call(x)


@rule("aten.tril_indices", "aten.triu_indices")
def triangle_indices(g: TorchBuilder, rows: int, columns: int, offset: int = 0, **_: object) -> Any:
    ones = g.t.ones((rows, columns), dtype="bool", backend=g.to)
    kept = (g.t.tril if "tril" in g.source else g.t.triu)(ones, k=offset)
    found = g.t.nonzero(kept)
    return g.t.stack([g.item(found, 0), g.item(found, 1)])


@rule("aten.hann_window", "aten.hamming_window", "aten.blackman_window", "aten.bartlett_window")
def window(g: TorchBuilder, length: int, *options: float, **_: object) -> Any:
    name = g.source.partition("aten.")[2].partition(".")[0]
    made = getattr(torch, name)(length, *options, dtype=getattr(torch, str(g.out.dtype)))
    return g.constant(made.numpy())


@rule("aten.rand", "aten.rand_like", "aten.randn", "aten.randn_like", "aten.uniform",
      "aten.normal_functional")  # fmt: skip
def random(g: TorchBuilder, x: Tensor | list[Size], *bounds: Size | float, **_: object) -> Any:
    """Other numbers than torch's: from the stream of Trellis."""
    sizes = x if isinstance(x, list) else [g.s.size(x, i) for i in range(len(g.out.shape))]
    options = {"shape": _shape(g, sizes), "dtype": g.dtype(g.out.dtype)}
    names = ("mean", "std") if "n" in g.source.partition("rand")[2][:1] else ("low", "high")
    if "normal" in g.source:
        names = ("mean", "std")
    options |= dict(zip(names, bounds))
    draw = g.t.random_normal if names[0] == "mean" else g.t.random_uniform
    return g.t.to_backend(draw(**options), g.to)


@rule("aten.bernoulli")
def bernoulli(g: TorchBuilder, x: Tensor, p: Operand | None = None) -> Any:
    drawn = g.t.random_uniform(shape=_shape(g, ()), dtype="float32")
    kept = g.t.less(g.t.to_backend(drawn, g.to), x if p is None else p)
    return g.t.astype(kept, g.dtype(g.out.dtype))
