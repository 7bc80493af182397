"""Positions of a sequence as numbers that attention can use."""

import math
from typing import Any

from .._core.dispatch import xp_of, xp_of_all
from .._core.dtypes import FLOATING, default_dtype
from .._core.errors import ShapeError
from .._core.explain import explain
from .._core.leafwise import call_leafwise, has_nest
from .._core.typing import A, Array, Backend, DTypeLike
from ._arguments import known, whole_number
from ._precision import precise


def sinusoidal_encoding(
    positions: A, width: int, /, *, base: float = 10000.0, dtype: DTypeLike | None = None
) -> A:
    """Sines and cosines of the positions, a new last axis of `width`.

    Element 2i is sin(position / base**(2i / width)), element 2i + 1 the cosine of the same
    (https://arxiv.org/abs/1706.03762).

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> F.sinusoidal_encoding(np.array([0, 1]), 2)
    array([[0.       , 1.       ],
           [0.841471 , 0.5403023]], dtype=float32)
    """
    try:
        if has_nest(positions):
            return call_leafwise(
                sinusoidal_encoding, (positions, width), {"base": base, "dtype": dtype}
            )
        xp = xp_of(positions)
        _check_even("sinusoidal_encoding", "width", width)
        if dtype is None:
            kind = xp.dtype_name(positions.dtype)
            dtype = kind if kind in FLOATING else str(default_dtype())
        angles = _angles(xp, positions, width, base, xp.dtype_name(xp.as_dtype(dtype)))
        pairs = xp.stack([xp.sin(angles), xp.cos(angles)], axis=-1)
        shape = known(*positions.shape)
        return xp.astype(xp.reshape(pairs, (*shape, width)), dtype, copy=False)
    except Exception as error:
        return explain(error, sinusoidal_encoding)


def rotary_embedding(
    x: A,
    positions: A | None = None,
    /,
    *,
    base: float = 10000.0,
    width: int | None = None,
    interleaved: bool = False,
) -> A:
    """Rotate pairs of features of `x` (..., T, features) by angles position / base**(2i / width).

    Queries and keys rotated like this have products that depend on the distance of their positions
    only (https://arxiv.org/abs/2104.09864). Pairs are (i, i + width / 2), the two halves, or (2i,
    2i + 1) if `interleaved`. Only the first `width` features are rotated, by default all.
    `positions` broadcasts against x.shape[:-1]; None counts 0, 1, ... along the axis before the
    last.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> F.rotary_embedding(np.array([[1.0, 0.0], [1.0, 0.0]])).round(4)
    array([[1.    , 0.    ],
           [0.5403, 0.8415]])
    """
    try:
        if has_nest(x, positions):
            return call_leafwise(
                rotary_embedding,
                (x, positions),
                {"base": base, "width": width, "interleaved": interleaved},
            )
        xp = xp_of_all(x, positions)
        shape = tuple(x.shape)
        if len(shape) < 2 and positions is None:
            raise ShapeError(
                f"rotary_embedding() expects x of shape (..., T, features), got {shape}."
            )
        features = shape[-1]
        width = features if width is None else width
        _check_even("rotary_embedding", "width", width)
        if width > features:
            raise ShapeError(
                f"rotary_embedding() cannot rotate {width} of the {features} features of x {shape}."
            )
        y, kind = precise("rotary_embedding", xp, x)
        if positions is None:
            if shape[-2] is None:
                raise ShapeError(
                    "rotary_embedding() needs positions where the length is not known "
                    "while tracing: "
                    f"{shape}."
                )
            positions = xp.arange(shape[-2], device=xp.device(x))
        angles = _angles(xp, positions, width, base, xp.dtype_name(y.dtype))
        cos, sin = xp.cos(angles), xp.sin(angles)
        half = width // 2
        rotated, rest = y[..., :width], y[..., width:]
        if interleaved:
            sizes = known(*shape[:-1])
            pairs = xp.reshape(rotated, (*sizes, half, 2))
            a, b = pairs[..., 0], pairs[..., 1]
            rotated = xp.reshape(
                xp.stack([a * cos - b * sin, b * cos + a * sin], axis=-1), (*sizes, width)
            )
        else:
            a, b = rotated[..., :half], rotated[..., half:]
            rotated = xp.concat([a * cos - b * sin, b * cos + a * sin], axis=-1)
        y = rotated if width == features else xp.concat([rotated, rest], axis=-1)
        return xp.astype(y, kind, copy=False)
    except Exception as error:
        return explain(error, rotary_embedding)


def _angles(xp: Backend, positions: Array, width: int, base: float, kind: str) -> Any:
    """position / base**(2i / width) for i below width / 2, in float32 at least."""
    rates = [math.exp(-2 * i / width * math.log(base)) for i in range(width // 2)]
    dtype = kind if kind == "float64" else "float32"
    rates = xp.asarray(rates, dtype=dtype, device=xp.device(positions))
    return xp.expand_dims(xp.astype(positions, dtype, copy=False), axis=-1) * rates


def _check_even(name: str, what: str, width: int) -> None:
    if whole_number(name, what, width) < 2 or width % 2:
        raise ShapeError(
            f"{name}() pairs its features, so {what} must be even and at least 2, got {width!r}."
        )
