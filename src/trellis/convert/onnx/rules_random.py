"""Random numbers, drawn from `trellis.random.stream`."""

from collections.abc import Callable, Sequence

from ...graph import Value
from .builder import OnnxBuilder
from .table import TYPES, rules


def _kind(dtype: int | None, like: Value | None = None) -> str:
    if dtype is not None:
        return TYPES[dtype]
    return (like.dtype if like is not None else None) or "float32"


def _drawn(g: OnnxBuilder, draw: Callable[..., Value], like: Value | None, shape: Sequence[int],
           dtype: int | None, *bounds: float) -> Value:  # fmt: skip
    g.draws = True
    sizes = tuple(shape) if like is None else g.s.shape(like)
    return draw(sizes, *bounds, dtype=_kind(dtype, like), backend=g.to)  # type: ignore[no-any-return]


@rules("RandomUniform", "RandomUniformLike")
def uniform(
    g: OnnxBuilder, like: Value | None = None, dtype: int | None = None, high: float = 1.0,
    low: float = 0.0, seed: float | None = None, shape: Sequence[int] = (),
) -> Value:  # fmt: skip
    return _drawn(g, g.s.random_uniform, like, shape, dtype, low, high)


@rules("RandomNormal", "RandomNormalLike")
def normal(
    g: OnnxBuilder, like: Value | None = None, dtype: int | None = None, mean: float = 0.0,
    scale: float = 1.0, seed: float | None = None, shape: Sequence[int] = (),
) -> Value:  # fmt: skip
    return _drawn(g, g.s.random_normal, like, shape, dtype, mean, scale)


@rules("Bernoulli")
def bernoulli(
    g: OnnxBuilder, x: Value, dtype: int | None = None, seed: float | None = None
) -> Value:
    g.draws = True
    drawn = g.s.random_uniform(g.s.shape(x), 0.0, 1.0, dtype=_kind(None, x), backend=g.to)
    return g.t.astype(g.t.less(drawn, x), g.dtype(_kind(dtype, x)))


@rules("Multinomial")
def multinomial(
    g: OnnxBuilder, x: Value, dtype: int = 6, sample_size: int = 1, seed: float | None = None
) -> Value:
    g.draws = True
    return g.s.random_categories(x, sample_size, dtype=g.dtype(_kind(dtype)), backend=g.to)
