"""Random numbers, drawn from `trellis.random.stream`."""

from typing import Any

from ...graph import Value
from .builder import OnnxBuilder
from .table import TYPES, rules


def _kind(dtype: int | None, like: Value | None = None) -> str:
    if dtype is not None:
        return TYPES[dtype]
    return (like.dtype if like is not None else None) or "float32"


@rules("RandomUniform")
def uniform(
    g: OnnxBuilder, dtype: int = 1, high: float = 1.0, low: float = 0.0, seed: Any = None,
    shape: Any = (),
) -> Value:  # fmt: skip
    g.draws = True
    return g.s.random_uniform(tuple(shape), low, high, dtype=_kind(dtype), backend=g.to)


@rules("RandomNormal")
def normal(
    g: OnnxBuilder, dtype: int = 1, mean: float = 0.0, scale: float = 1.0, seed: Any = None,
    shape: Any = (),
) -> Value:  # fmt: skip
    g.draws = True
    return g.s.random_normal(tuple(shape), mean, scale, dtype=_kind(dtype), backend=g.to)


@rules("RandomUniformLike")
def uniform_like(
    g: OnnxBuilder, x: Value, dtype: int | None = None, high: float = 1.0, low: float = 0.0,
    seed: Any = None,
) -> Value:  # fmt: skip
    g.draws = True
    sizes = g.s.shape(x)
    return g.s.random_uniform(sizes, low, high, dtype=_kind(dtype, x), backend=g.to)


@rules("RandomNormalLike")
def normal_like(
    g: OnnxBuilder, x: Value, dtype: int | None = None, mean: float = 0.0, scale: float = 1.0,
    seed: Any = None,
) -> Value:  # fmt: skip
    g.draws = True
    sizes = g.s.shape(x)
    return g.s.random_normal(sizes, mean, scale, dtype=_kind(dtype, x), backend=g.to)


@rules("Bernoulli")
def bernoulli(g: OnnxBuilder, x: Value, dtype: int | None = None, seed: Any = None) -> Value:
    g.draws = True
    drawn = g.s.random_uniform(g.s.shape(x), 0.0, 1.0, dtype=_kind(None, x), backend=g.to)
    return g.t.astype(g.t.less(drawn, x), g.dtype(_kind(dtype, x)))


@rules("Multinomial")
def multinomial(
    g: OnnxBuilder, x: Value, dtype: int = 6, sample_size: int = 1, seed: Any = None
) -> Value:
    g.draws = True
    return g.s.random_categories(x, sample_size, dtype=g.dtype(_kind(dtype)), backend=g.to)
