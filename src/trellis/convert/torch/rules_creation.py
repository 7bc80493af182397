"""Arrays made out of nothing."""

from collections.abc import Sequence
from typing import Any

import torch

from ..._core.errors import NotSupportedError
from ...graph import Value
from ..rules import Rule
from .builder import Operand, Size, Tensor, TorchBuilder
from .table import rule


def _shape(g: TorchBuilder, sizes: Sequence[Size]) -> Any:
    """The recorded shape where it is known, otherwise the sizes of the call."""
    known = g.out.shape
    if known is not None and all([isinstance(size, int) for size in known]):
        return known
    return tuple(sizes)


# Everywhere here `dtype` is the type of the recorded result.


@rule("aten.arange")
def arange(g: TorchBuilder, *bounds: Size | float, dtype: object = None) -> Any:
    return g.t.arange(*bounds, **g.created())


@rule("aten.linspace")
def linspace(
    g: TorchBuilder, start: Size | float, end: Size | float, steps: int, dtype: object = None
) -> Any:
    return g.t.linspace(start, end, steps, **g.created())


def _filled(name: str) -> Rule:
    """`zeros(size)`, `full(size, value)`."""

    def convert(
        g: TorchBuilder, size: Sequence[Size], *value: Operand, dtype: object = None
    ) -> Any:
        return getattr(g.t, name)(_shape(g, size), *value, **g.created())

    return convert


def _new(name: str) -> Rule:
    """`new_zeros(x, size)`, where only the type is that of x."""

    def convert(
        g: TorchBuilder, x: Tensor, size: Sequence[Size], *value: Operand, dtype: object = None
    ) -> Any:
        return getattr(g.t, name)(_shape(g, size), *value, **g.created())

    return convert


@rule("aten.empty_permuted", "aten.empty_strided")
def empty(g: TorchBuilder, size: Sequence[Size], order: object, dtype: object = None) -> Any:
    """The order is one in memory."""
    return g.t.zeros(_shape(g, size), **g.created())


@rule("aten.new_empty_strided")
def new_empty(
    g: TorchBuilder, x: Tensor, size: Sequence[Size], order: object, dtype: object = None
) -> Any:
    return g.t.zeros(_shape(g, size), **g.created())


def _filled_like(name: str) -> Rule:
    """Of a known shape: a constant, which does not have to wait for `x`."""

    def convert(g: TorchBuilder, x: Tensor, *value: Operand, dtype: object = None) -> Any:
        if all([isinstance(size, int) for size in g.out.shape]):
            return getattr(g.t, name)(g.out.shape, *value, **g.created())
        options = {} if x.dtype == g.out.dtype else {"dtype": g.dtype(g.out.dtype)}
        return getattr(g.t, f"{name}_like")(x, *value, **options)

    return convert


rule("aten.zeros", "aten.empty")(_filled("zeros"))
rule("aten.new_zeros", "aten.new_empty")(_new("zeros"))
rule("aten.ones")(_filled("ones"))
rule("aten.new_ones")(_new("ones"))
rule("aten.full")(_filled("full"))
rule("aten.new_full")(_new("full"))
rule("aten.zeros_like", "aten.empty_like")(_filled_like("zeros"))
rule("aten.ones_like")(_filled_like("ones"))
rule("aten.full_like")(_filled_like("full"))


@rule("aten.scalar_tensor")
def scalar_tensor(g: TorchBuilder, value: Operand, dtype: object = None) -> Any:
    return g.t.full((), value, **g.created())


@rule("aten.eye")
def eye(g: TorchBuilder, n: Size, m: Size | None = None, dtype: object = None) -> Any:
    return g.t.eye(n, m, **g.created())


@rule("aten.tril", "aten.triu")
def triangle(g: TorchBuilder, x: Tensor, diagonal: int = 0) -> Any:
    call = g.t.tril if "tril" in g.source else g.t.triu
    return call(x, k=diagonal) if diagonal else call(x)


@rule("aten.tril_indices", "aten.triu_indices")
def triangle_indices(
    g: TorchBuilder, rows: int, columns: int, offset: int = 0, dtype: object = None
) -> Any:
    ones = g.t.ones((rows, columns), dtype="bool", backend=g.to)
    kept = (g.t.tril if "tril" in g.source else g.t.triu)(ones, k=offset)
    found = g.t.nonzero(kept)
    both = g.t.stack([g.item(found, 0), g.item(found, 1)])
    return g.t.astype(both, g.dtype(g.out.dtype))


@rule("aten.hann_window", "aten.hamming_window", "aten.blackman_window", "aten.bartlett_window")
def window(g: TorchBuilder, length: int, *options: float, dtype: object = None) -> Any:
    name = g.source.partition("aten.")[2].partition(".")[0]
    made = getattr(torch, name)(length, *options, dtype=getattr(torch, str(g.out.dtype)))
    return g.constant(made.numpy())


@rule("aten.rand", "aten.rand_like", "aten.randn", "aten.randn_like", "aten.uniform",
      "aten.normal_functional")  # fmt: skip
def random(
    g: TorchBuilder, x: Tensor | list[Size], *bounds: Size | float, dtype: object = None
) -> Any:
    """Other numbers than torch's: from the stream of Trellis."""
    if "complex" in g.out.dtype:
        raise NotSupportedError(f"{g.source} draws complex numbers, which has no counterpart here.")
    sizes = x if isinstance(x, list) else [g.s.size(x, i) for i in range(len(g.out.shape))]
    options = {"shape": _shape(g, sizes), "dtype": g.dtype(g.out.dtype)}
    names = ("mean", "std") if "n" in g.source.partition("rand")[2][:1] else ("low", "high")
    if "normal" in g.source:
        names = ("mean", "std")
    options |= dict(zip(names, bounds))
    draw = g.t.random_normal if names[0] == "mean" else g.t.random_uniform
    return g.t.to_backend(draw(**options), g.to)


@rule("aten.normal")
def normal(g: TorchBuilder, mean: Operand, std: Operand = 1.0, size: object = None,
           dtype: object = None) -> Any:  # fmt: skip
    """Around a mean, or one for each number; the size is that of the recorded result."""
    shape = _shape(g, [g.s.size(mean, i) for i in range(len(g.out.shape))]
                   if isinstance(mean, Value) else ())  # fmt: skip
    drawn = g.t.random_normal(shape=shape, dtype=g.dtype(g.out.dtype))
    return g.t.add(g.t.multiply(g.t.to_backend(drawn, g.to), std), mean)


@rule("aten.randint", "aten.randint_like")
def randint(g: TorchBuilder, *args: Any, dtype: object = None) -> Any:
    """`randint(high, size)`, `randint(low, high, size)`, `randint_like(x, low, high)`."""
    bounds = args[1:] if "like" in g.source else args[:-1]
    low, high = bounds if len(bounds) == 2 else (0, bounds[0])
    drawn = g.t.random_uniform(shape=_shape(g, args[-1] if "like" not in g.source else ()))
    whole = g.t.floor(g.t.add(g.t.multiply(g.t.to_backend(drawn, g.to), high - low), low))
    # Rounding may give the upper limit itself.
    return g.t.astype(g.t.minimum(whole, high - 1.0), g.dtype(g.out.dtype))


@rule("aten.multinomial")
def multinomial(g: TorchBuilder, x: Tensor, num_samples: int, replacement: bool = False) -> Any:
    found = g.s.random_places(x, num_samples, replacement=replacement)
    return g.t.astype(found, g.dtype(g.out.dtype))


@rule("aten.bernoulli")
def bernoulli(g: TorchBuilder, x: Tensor, p: Operand | None = None) -> Any:
    drawn = g.t.random_uniform(shape=_shape(g, ()), dtype="float32")
    kept = g.t.less(g.t.to_backend(drawn, g.to), x if p is None else p)
    return g.t.astype(kept, g.dtype(g.out.dtype))
