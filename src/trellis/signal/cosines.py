"""The discrete cosine transform, of which cepstra and compressed images are made."""

import math
from typing import Any, Literal

from .._core.errors import DtypeError
from .._core.explain import explain
from .._core.shapes import one_of
from .._core.typing import A, Backend
from ._samples import COMPLEX_OF, is_complex, known_length, samples

_Norm = Literal["ortho"] | None


def dct(x: A, /, *, axis: int = -1, norm: _Norm = None) -> A:
    """The cosine transform of type 2: 2 sum(x[j] cos(pi k (2 j + 1) / (2 n))) for each k.

    With norm="ortho" it is an orthogonal map.

    >>> import numpy as np, trellis
    >>> trellis.signal.dct(np.array([1.0, 1.0, 1.0, 1.0]), norm="ortho").round(6)
    array([2., 0., 0., 0.])
    """
    try:
        xp, x, place, n = _checked("dct", x, axis, norm)
        moved = xp.moveaxis(x, place, -1)
        order = [*range(0, n, 2), *reversed(range(1, n, 2))]
        sorted_ = xp.take(moved, _index(xp, order, x), axis=-1)
        turned = xp.fft.fft(sorted_, axis=-1) * _turns(xp, n, -1, x)
        found = 2.0 * xp.real(turned)
        if norm == "ortho":
            found = found * _orthogonal(xp, n, x)
        return xp.moveaxis(found, -1, place)
    except Exception as error:
        return explain(error, dct)


def idct(x: A, /, *, axis: int = -1, norm: _Norm = None) -> A:
    """The inverse of `dct` with the same `norm`.

    >>> import numpy as np, trellis
    >>> trellis.signal.idct(trellis.signal.dct(np.array([1.0, 2.0, 4.0]))).round(6)
    array([1., 2., 4.])
    """
    try:
        xp, x, place, n = _checked("idct", x, axis, norm)
        moved = xp.moveaxis(x, place, -1)
        if norm == "ortho":
            moved = moved / _orthogonal(xp, n, x)
        kind = COMPLEX_OF[xp.dtype_name(x.dtype)]
        # The spectrum at k has the coefficient at k, and that at n - k, as its parts; 0 at n.
        mirrored = xp.concat([xp.zeros_like(moved[..., :1]), xp.flip(moved, axis=-1)], axis=-1)
        pairs = xp.astype(moved, kind) - 1j * xp.astype(mirrored[..., :n], kind)
        values = xp.real(xp.fft.ifft(0.5 * pairs * _turns(xp, n, 1, x), axis=-1))
        order = [j // 2 if j % 2 == 0 else n - 1 - j // 2 for j in range(n)]
        found = xp.take(values, _index(xp, order, x), axis=-1)
        return xp.moveaxis(found, -1, place)
    except Exception as error:
        return explain(error, idct)


def _checked(function: str, x: Any, axis: int, norm: object) -> tuple[Backend, Any, int, int]:
    one_of(function, "norm", norm, ("ortho", None))
    xp, x, place = samples(function, x, axis)
    if is_complex(xp, x):
        raise DtypeError(f"{function}() expects real numbers: transform the parts of others.")
    return xp, x, place, known_length(function, x, place)


def _index(xp: Backend, order: list[int], x: Any) -> Any:
    return xp.asarray(order, dtype="int32", device=xp.device(x))


def _turns(xp: Backend, n: int, sign: int, x: Any) -> Any:
    """exp(sign i pi k / (2 n))."""
    parts = []
    for function in (math.cos, math.sin):
        values = [function(math.pi * k / (2 * n)) for k in range(n)]
        parts.append(xp.asarray(values, dtype=x.dtype, device=xp.device(x)))
    kind = COMPLEX_OF[xp.dtype_name(x.dtype)]
    return xp.astype(parts[0], kind) + sign * 1j * xp.astype(parts[1], kind)


def _orthogonal(xp: Backend, n: int, x: Any) -> Any:
    factors = [math.sqrt(1 / (4 * n))] + [math.sqrt(1 / (2 * n))] * (n - 1)
    return xp.asarray(factors, dtype=x.dtype, device=xp.device(x))
