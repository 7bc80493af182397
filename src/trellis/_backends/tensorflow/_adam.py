"""Adam's step: large leaves one by one, each in one pass through memory; small ones together."""

import math
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from ..shared.foreach import Step
from ._types import Tensor
from .compilation import compile_function, owns_arguments


def adam(
    ws: list[Any],
    gs: list[Any],
    slots: tuple[list[Any], ...],
    step: Any,
    rate: Any,
    numbers: tuple[float, ...],
    reuse: bool,
) -> Step:
    """Adam (with decoupled decay) as one graph, called again and again; None until it pays.

    Operation by operation TensorFlow takes ten times as long as the arithmetic. Making the graph
    takes as long as some steps do, so it is made when the same shapes come up for the third time.
    """
    (ms, vs), first = slots, ws[0].dtype
    if first not in (tf.float32, tf.float64):
        return None
    if any([x.dtype != first for x in (*ws, *gs, *ms, *vs)]):
        return None
    if tf.inside_function():
        rate = tf.cast(rate, first) if hasattr(rate, "dtype") else float(rate)
        # What a step makes is as large as what it reads, so it waits for all gradients: by then
        # the values that the backward pass needed are gone.
        with tf.control_dependencies([tf.group(*gs)]):
            new, *moments = _all_leaves(ws, gs, ms, vs, tf.cast(step, first), rate, *numbers)
        return new, tuple(moments)
    key = (first, *[w.shape for w in ws])
    seen = _seen.get(key)
    if seen is None:
        seen = _seen[key] = _Seen([i for i, w in enumerate(ws) if _is_large(w, w, w)])
    seen.steps += 1
    if seen.steps < 3 and not seen.large:
        return None
    # tf.cast would make a number float32 on its way.
    rate = tf.cast(rate, first) if hasattr(rate, "dtype") else tf.constant(rate, first)
    t = tf.cast(step, first)
    if not reuse or not seen.large:
        new, *moments = _in_graph(ws, gs, ms, vs, t, rate, *numbers)
        return new, tuple(moments)
    # Leaf by leaf, so that the old moments of one are gone when those of the next are made.
    small = [i for i in range(len(ws)) if i not in seen.large]
    new = list(ws)
    parts = [[i] for i in seen.large]
    for part in [small, *parts] if small else parts:
        columns = [[xs[i] for i in part] for xs in (ws, gs, ms, vs)]
        done = _in_graph(*columns, t, rate, *numbers)
        for i, w, m, v in zip(part, *done, strict=True):
            new[i], ms[i], vs[i] = w, m, v
    return new, (ms, vs)


class _Seen:
    """What is known of leaves of some shapes: how many steps they have had, which are large."""

    def __init__(self, large: list[int]):
        self.steps, self.large = 0, large


# Up to here an operation takes longer to start than to run.
_SMALL = 4096
# From here on one pass through memory is worth the second that its compilation takes.
_LARGE = 1 << 18


def _all_leaves(
    ws: list[Any], gs: list[Any], ms: list[Any], vs: list[Any], t: Any, lr: Any, *numbers: float
) -> tuple[list[Any], list[Any], list[Any]]:
    """The step inside a graph: 13 operations for all small leaves together, one for a large one."""
    sizes = [w.shape.num_elements() for w in ws]
    is_even = [w.shape == g.shape == m.shape for w, g, m in zip(ws, gs, ms, strict=True)]
    small = [i for i, n in enumerate(sizes) if n is not None and n <= _SMALL and is_even[i]]
    if len(small) < 3:
        return _each_leaf(ws, gs, ms, vs, t, lr, *numbers)
    large = [i for i in range(len(ws)) if i not in small]
    ws_, gs_, ms_, vs_ = [_packed(xs, small, large) for xs in (ws, gs, ms, vs)]
    new = _each_leaf(ws_, gs_, ms_, vs_, t, lr, *numbers)
    unpacked = [_unpacked(xs, ws, sizes, small, large) for xs in new]
    return unpacked[0], unpacked[1], unpacked[2]


def _each_leaf(
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
    if is_inside:
        c1, lr = c1 / lr, None
    scalars = (c1 / tf.sqrt(c2), epsilon * c1, lr)
    new = []
    for w, g, m, v in zip(ws, gs, ms, vs, strict=True):
        is_one_pass = _is_large(w, g, m) and not owns_arguments() and _has_one_pass()
        one = _one_pass if is_one_pass else _one_leaf
        new.append(one(w, g, m, v, *scalars, beta1, beta2, weight_decay))
    return [w for w, _, _ in new], [m for _, m, _ in new], [v for _, _, v in new]


def _one_leaf(
    w: Any, g: Tensor, m: Any, v: Any, ratio: Any, shift: Any, lr: Any,
    beta1: float, beta2: float, weight_decay: float,
) -> tuple[Any, Any, Any]:  # fmt: skip
    m = m + (1 - beta1) * (g - m)
    # As a product, TensorFlow's graph optimizer would make (c * g) * g of c * (g * g), and the last
    # bit would differ from that of the steps before the graph was made.
    v = v * beta2 + (1 - beta2) * tf.square(g)
    direction = m / (tf.sqrt(v) * ratio + shift)
    if weight_decay != 0:
        direction = direction + weight_decay * w
    return w - (direction if lr is None else lr * direction), m, v


# XLA makes one loop of it: a third of the way through memory that the operations take one by one,
# and nothing between them. It is compiled once for each shape. Where the graph owns what it reads,
# the operations one by one write over that, which XLA does not.
_one_pass: Callable[..., Any] = tf.function(_one_leaf, autograph=False, jit_compile=True)
_found: list[bool] = []


def _has_one_pass() -> bool:
    """Whether this TensorFlow has XLA for its only kind of device, the CPU."""
    if not _found:
        with tf.init_scope():
            _found.append(not tf.config.list_physical_devices("GPU") and _compiles())
    return _found[0]


def _compiles() -> bool:
    try:
        tf.function(tf.square, autograph=False, jit_compile=True)(tf.constant(1.0))
    except (tf.errors.OpError, ValueError, NotImplementedError):
        return False
    return True


def _is_large(w: Any, g: Tensor, m: Any) -> bool:
    count = w.shape.num_elements()
    return count is not None and count >= _LARGE and w.shape == g.shape == m.shape


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


_in_graph = compile_function(_all_leaves, static_argnums=(), static_argnames=())
_seen: dict[Any, _Seen] = {}
