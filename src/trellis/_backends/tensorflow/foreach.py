"""Arithmetic over lists of leaves on TensorFlow."""

import math
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from ..exports import hand_on
from ..shared.foreach import foreach_add as foreach_add
from ..shared.foreach import foreach_addcdiv as foreach_addcdiv
from ..shared.foreach import foreach_addcmul as foreach_addcmul
from ..shared.foreach import foreach_div as foreach_div
from ..shared.foreach import foreach_lerp as foreach_lerp
from ..shared.foreach import foreach_mul as foreach_mul
from ..shared.foreach import spread
from .compilation import compile_function

# The rules, in operations over all leaves, are as fast here.
STEP_KERNELS: dict[str, Callable[..., Any]] = {}


def foreach_sqrt(xs: list[Any], *, reuse: bool = False) -> list[Any]:
    return [tf.sqrt(x) for x in xs]


def foreach_maximum(xs: list[Any], ys: Any, *, reuse: bool = False) -> list[Any]:
    return [tf.maximum(x, y) for x, y in zip(xs, spread(ys, xs), strict=True)]


def foreach_norm(xs: list[Any]) -> list[Any]:
    return [tf.sqrt(tf.reduce_sum(x * x)) for x in xs]


def foreach_cast(xs: list[Any], dtype: Any) -> list[Any]:
    return [tf.cast(x, dtype) for x in xs]


def foreach_detach(xs: list[Any]) -> list[Any]:
    """Only an open GradientTape records, and it may be meant to."""
    return xs


def fused_adam(
    ws: list[Any],
    gs: list[Any],
    ms: list[Any],
    vs: list[Any],
    step: Any,
    lr: Any,
    beta1: float,
    beta2: float,
    epsilon: float,
    weight_decay: float,
    *,
    reuse: bool = False,
) -> tuple[list[Any], list[Any], list[Any]] | None:
    """Adam (with decoupled decay) as one graph, called again and again; None until it pays.

    Operation by operation TensorFlow takes ten times as long as the arithmetic. Making the graph
    takes as long as some steps do, so it is made when the same shapes come up for the third time.
    Inside a graph, small leaves go through it together.
    """
    first = ws[0].dtype
    if first not in (tf.float32, tf.float64):
        return None
    if any([x.dtype != first for x in (*ws, *gs, *ms, *vs)]):
        return None
    if tf.inside_function():
        return _packed_adam(ws, gs, ms, vs, step, lr, beta1, beta2, epsilon, weight_decay)
    key = (first, *[w.shape for w in ws])
    _steps_seen[key] = _steps_seen.get(key, 0) + 1
    if _steps_seen[key] < 3:
        return None
    # tf.cast would make a number float32 on its way.
    rate = tf.cast(lr, first) if hasattr(lr, "dtype") else tf.constant(lr, first)
    t = tf.cast(step, first)
    return _adam(ws, gs, ms, vs, t, rate, beta1, beta2, epsilon, weight_decay)


def _adam_formula(
    ws: list[Any],
    gs: list[Any],
    ms: list[Any],
    vs: list[Any],
    t: Any,
    lr: Any,
    beta1: float,
    beta2: float,
    epsilon: float,
    weight_decay: float,
) -> tuple[list[Any], list[Any], list[Any]]:
    c1, c2 = [
        tf.zeros_like(t) + 1 if b == 0 else -tf.math.expm1(t * math.log(b)) for b in (beta1, beta2)
    ]
    # A usual rate goes into the denominator, by one operation on a number for one on every leaf.
    is_inside = type(lr) is float and 1e-9 < lr < 1e9 and weight_decay == 0
    c1 = c1 / lr if is_inside else c1
    ratio, shift = c1 / tf.sqrt(c2), epsilon * c1
    ms = foreach_lerp(ms, gs, 1 - beta1)
    # As a product, TensorFlow's graph optimizer would make (c * g) * g of c * (g * g), and the last
    # bit would differ from that of the steps before the graph was made.
    squares = [tf.square(g) for g in gs]
    vs = foreach_add(foreach_mul(vs, beta2), squares, 1 - beta2)
    directions = [m / (tf.sqrt(v) * ratio + shift) for m, v in zip(ms, vs, strict=True)]
    if weight_decay != 0:
        directions = [d + weight_decay * w for d, w in zip(directions, ws, strict=True)]
    if is_inside:
        return [w - d for w, d in zip(ws, directions, strict=True)], ms, vs
    return [w - lr * d for w, d in zip(ws, directions, strict=True)], ms, vs


# Up to here an operation takes longer to start than to run.
_SMALL = 4096


def _packed_adam(
    ws: list[Any], gs: list[Any], ms: list[Any], vs: list[Any], step: Any, lr: Any, *numbers: float
) -> tuple[list[Any], list[Any], list[Any]]:
    """Adam inside a graph: 13 operations for all small leaves together, not for each of them."""
    dtype = ws[0].dtype
    rate = tf.cast(lr, dtype) if hasattr(lr, "dtype") else float(lr)
    t = tf.cast(step, dtype)
    sizes = [w.shape.num_elements() for w in ws]
    small = [
        i
        for i, n in enumerate(sizes)
        if n is not None and n <= _SMALL and ws[i].shape == gs[i].shape == ms[i].shape
    ]
    if len(small) < 3:
        return _adam_formula(ws, gs, ms, vs, t, rate, *numbers)
    large = [i for i in range(len(ws)) if i not in small]
    ws_, gs_, ms_, vs_ = [_packed(xs, small, large) for xs in (ws, gs, ms, vs)]
    new = _adam_formula(ws_, gs_, ms_, vs_, t, rate, *numbers)
    unpacked = [_unpacked(xs, ws, sizes, small, large) for xs in new]
    return unpacked[0], unpacked[1], unpacked[2]


def _packed(xs: list[Any], small: list[int], large: list[int]) -> list[Any]:
    """The small ones in one array behind the large ones."""
    flat = [x if x.shape.rank == 1 else tf.reshape(x, [-1]) for x in [xs[i] for i in small]]
    return [*[xs[i] for i in large], tf.concat(flat, 0)]


def _unpacked(
    xs: list[Any], like: list[Any], sizes: list[int], small: list[int], large: list[int]
) -> list[Any]:
    """The inverse of `_packed`; `like` has the shapes."""
    found = dict(zip(large, xs[:-1], strict=True))
    for i, part in zip(small, tf.split(xs[-1], [sizes[i] for i in small]), strict=True):
        found[i] = part if like[i].shape.rank == 1 else tf.reshape(part, like[i].shape)
    return [found[i] for i in range(len(like))]


_adam = compile_function(_adam_formula, static_argnums=(), static_argnames=())
_steps_seen: dict[Any, int] = {}


hand_on(globals())
