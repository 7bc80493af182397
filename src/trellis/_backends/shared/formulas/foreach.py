"""Arithmetic of optimizers over lists of arrays, one array after another."""

from typing import Any

from ...._core.typing import DTypeLike
from ...interface import Natives
from ..foreach import foreach_add as foreach_add
from ..foreach import foreach_addcdiv as foreach_addcdiv
from ..foreach import foreach_addcmul as foreach_addcmul
from ..foreach import foreach_div as foreach_div
from ..foreach import foreach_lerp as foreach_lerp
from ..foreach import foreach_mul as foreach_mul
from ..foreach import spread
from . import xp


def foreach_sqrt(xs: Natives, *, reuse: bool = False) -> Natives:
    return [xp.sqrt(x) for x in xs]


def foreach_maximum(xs: Natives, ys: Any, *, reuse: bool = False) -> Natives:
    return [xp.maximum(x, y) for x, y in zip(xs, spread(ys, xs), strict=True)]


def foreach_norm(xs: Natives) -> Natives:
    return [xp.sqrt(xp.sum(x * x)) for x in xs]


def foreach_cast(xs: Natives, dtype: DTypeLike) -> Natives:
    return [xp.astype(x, dtype, copy=False) for x in xs]


def foreach_detach(xs: Natives) -> Natives:
    return [xp.stop_gradient(x) for x in xs]
