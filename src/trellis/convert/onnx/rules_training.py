"""Steps of optimizers (ai.onnx.preview.training)."""

from typing import Any

from ...graph import Value
from .builder import OnnxBuilder
from .table import rules

_DOMAIN = "ai.onnx.preview.training"


def _states(xs: tuple[Value, ...], count: int) -> list[tuple[Value, ...]]:
    """Variables, gradients and states, each as a tuple over the variables."""
    n = len(xs) // count
    return [xs[i * n : (i + 1) * n] for i in range(count)]


def _regularized(g: OnnxBuilder, x: Value, gradient: Value, norm: float) -> Value:
    return gradient if norm == 0 else g.t.add(gradient, g.t.multiply(x, norm))


@rules(f"{_DOMAIN}::Adagrad")
def adagrad(
    g: OnnxBuilder, rate: Value, step: Value, *xs: Value, decay_factor: float = 0.0,
    epsilon: float = 0.0, norm_coefficient: float = 0.0,
) -> Any:  # fmt: skip
    slowed = g.t.divide(rate, g.t.add(g.t.multiply(g.t.astype(step, "float32"), decay_factor), 1.0))
    new, sums = [], []
    for x, gradient, total in zip(*_states(xs, 3)):
        gradient = _regularized(g, x, gradient, norm_coefficient)
        total = g.t.add(total, g.t.square(gradient))
        change = g.t.divide(gradient, g.t.add(g.t.sqrt(total), epsilon))
        new.append(g.t.subtract(x, g.t.multiply(change, slowed)))
        sums.append(total)
    return (*new, *sums)


@rules(f"{_DOMAIN}::Momentum")
def momentum(
    g: OnnxBuilder, rate: Value, step: Value, *xs: Value, alpha: float = 0.0, beta: float = 1.0,
    mode: str = "standard", norm_coefficient: float = 0.0,
) -> Any:  # fmt: skip
    # In the first step the gradient counts whole.
    factor = g.t.where(g.t.greater(step, 0), beta, 1.0)
    new, kept = [], []
    for x, gradient, v in zip(*_states(xs, 3)):
        gradient = _regularized(g, x, gradient, norm_coefficient)
        v = g.t.add(g.t.multiply(v, alpha), g.t.multiply(gradient, factor))
        change = g.t.add(gradient, g.t.multiply(v, alpha)) if mode == "nesterov" else v
        new.append(g.t.subtract(x, g.t.multiply(change, rate)))
        kept.append(v)
    return (*new, *kept)


@rules(f"{_DOMAIN}::Adam")
def adam(
    g: OnnxBuilder, rate: Value, step: Value, *xs: Value, alpha: float = 0.9, beta: float = 0.999,
    epsilon: float = 0.0, norm_coefficient: float = 0.0, norm_coefficient_post: float = 0.0,
) -> Any:  # fmt: skip
    count = g.t.astype(step, "float32")
    rest = [g.t.subtract(1.0, g.t.exp(g.t.multiply(count, _log(base)))) for base in (alpha, beta)]
    fixed = g.t.divide(g.t.multiply(rate, g.t.sqrt(rest[1])), rest[0])
    scale = g.t.where(g.t.greater(step, 0), fixed, rate)
    new, first, second = [], [], []
    for x, gradient, v, h in zip(*_states(xs, 4)):
        gradient = _regularized(g, x, gradient, norm_coefficient)
        v = g.t.add(g.t.multiply(v, alpha), g.t.multiply(gradient, 1 - alpha))
        h = g.t.add(g.t.multiply(h, beta), g.t.multiply(g.t.square(gradient), 1 - beta))
        change = g.t.divide(g.t.multiply(v, scale), g.t.add(g.t.sqrt(h), epsilon))
        y = g.t.subtract(x, change)
        new.append(g.t.multiply(y, 1 - norm_coefficient_post) if norm_coefficient_post else y)
        first.append(v)
        second.append(h)
    return (*new, *first, *second)


def _log(x: float) -> float:
    import math

    return math.log(x) if x > 0 else -math.inf
