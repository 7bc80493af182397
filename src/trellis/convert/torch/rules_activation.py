"""Activations."""

import math
from typing import Any

from ..._core.errors import NotSupportedError
from .builder import Tensor, TorchBuilder
from .table import rule


@rule("aten.gelu")
def gelu(g: TorchBuilder, x: Tensor, approximate: str = "none") -> Any:
    return g.F.gelu(x, approximate=True) if approximate == "tanh" else g.F.gelu(x)


@rule("aten.log_sigmoid_forward")
def log_sigmoid_forward(g: TorchBuilder, x: Tensor) -> Any:
    return g.F.log_sigmoid(x), None


@rule("aten.relu6")
def relu6(g: TorchBuilder, x: Tensor) -> Any:
    return hardtanh(g, x, 0, 6)


@rule("aten.hardtanh")
def hardtanh(g: TorchBuilder, x: Tensor, min_val: float = -1, max_val: float = 1) -> Any:
    if "float" not in (x.dtype or ""):
        return g.t.clip(x, int(min_val), int(max_val))
    if (min_val, max_val) == (0, 6):
        return g.F.relu6(x)
    return g.F.hard_tanh(x, low=float(min_val), high=float(max_val))


@rule("aten.elu")
def elu(
    g: TorchBuilder, x: Tensor, alpha: float = 1, scale: float = 1, input_scale: float = 1
) -> Any:
    scaled = x if input_scale == 1 else g.t.multiply(x, input_scale)
    y = g.F.elu(scaled, alpha=float(alpha))
    return y if scale == 1 else g.t.multiply(y, scale)


@rule("aten.celu")
def celu(g: TorchBuilder, x: Tensor, alpha: float = 1.0) -> Any:
    return g.t.multiply(g.F.elu(g.t.divide(x, alpha)), alpha)


@rule("aten.leaky_relu")
def leaky_relu(g: TorchBuilder, x: Tensor, negative_slope: float = 0.01) -> Any:
    return g.F.leaky_relu(x, negative_slope=float(negative_slope))


@rule("aten.prelu", "aten._prelu_kernel")
def prelu(g: TorchBuilder, x: Tensor, weight: Tensor) -> Any:
    if "_prelu_kernel" in g.source:
        return g.t.where(g.t.greater(x, 0), x, g.t.multiply(weight, x))
    return g.F.prelu(x, weight, axis=1 if len(x.shape) > 1 else -1)


@rule("aten.softplus")
def softplus(g: TorchBuilder, x: Tensor, beta: float = 1, threshold: float = 20) -> Any:
    # Above the threshold torch takes x itself: there the two differ by less than rounding does,
    # unless the threshold is a small one.
    y = g.F.softplus(x) if beta == 1 else g.F.softplus(x, beta=float(beta))
    if threshold >= 15:
        return y
    return g.t.where(g.t.greater(g.t.multiply(x, beta), threshold), x, y)


@rule("aten.glu")
def glu(g: TorchBuilder, x: Tensor, dim: int = -1) -> Any:
    return g.F.glu(x, axis=dim)


# Of the softmaxes, `dtype` (in private ones `half_to_float`) is the type of the recorded result.


@rule("aten.softmax", "aten._softmax", "aten.special_softmax")
def softmax(g: TorchBuilder, x: Tensor, dim: int, dtype: object = None) -> Any:
    return g.F.softmax(g.cast(x, g.out.dtype), axis=dim)


@rule("aten._safe_softmax")
def safe_softmax(g: TorchBuilder, x: Tensor, dim: int, dtype: object = None) -> Any:
    """Zeros where everything is masked."""
    x = g.cast(x, g.out.dtype)
    masked = g.t.all(g.t.equal(x, float("-inf")), axis=dim, keepdims=True)
    kept = g.t.where(masked, 0.0, x)  # whose derivative is finite
    return g.t.where(masked, 0.0, g.F.softmax(kept, axis=dim))


@rule("aten.log_softmax", "aten._log_softmax", "aten.special_log_softmax")
def log_softmax(g: TorchBuilder, x: Tensor, dim: int, dtype: object = None) -> Any:
    return g.F.log_softmax(g.cast(x, g.out.dtype), axis=dim)


@rule("aten.hardshrink", "aten.softshrink")
def shrink(g: TorchBuilder, x: Tensor, lambd: float = 0.5) -> Any:
    if "hard" in g.source:
        # nan is not within the limits, and stays.
        return g.t.where(g.t.less_equal(g.t.abs(x), lambd), 0.0, x)
    return g.t.multiply(g.t.sign(x), g.F.relu(g.t.subtract(g.t.abs(x), lambd)))


@rule("aten.tanhshrink")
def tanhshrink(g: TorchBuilder, x: Tensor) -> Any:
    return g.t.subtract(x, g.t.tanh(x))


@rule("aten.threshold")
def threshold(g: TorchBuilder, x: Tensor, threshold: float, value: float) -> Any:
    # nan is not below the threshold, and stays.
    if "int" in (x.dtype or ""):
        threshold, value = math.floor(threshold), int(value)
    return g.t.where(g.t.less_equal(x, threshold), value, x)


@rule("aten.logit", "aten.special_logit")
def logit(g: TorchBuilder, x: Tensor, eps: float | None = None) -> Any:
    x = g.cast(x, g.out.dtype)
    inner = x if eps is None else g.t.clip(x, eps, 1 - eps)
    return g.t.subtract(g.t.log(inner), g.t.log1p(g.t.negative(inner)))


@rule("aten.dropout", "aten.feature_dropout")
def dropout(g: TorchBuilder, x: Tensor, p: float, train: bool) -> Any:
    if not train or p == 0 or x.dtype is None:
        return x
    # In evaluation too where the program itself says so: `F.dropout(x, training=True)`.
    training: Any = g.training if g.train else True
    options = {}
    if "feature" in g.source:
        options["noise_shape"] = (None, None) + (1,) * (len(x.shape) - 2)
    return g.F.dropout(x, p, training=training, **options)


@rule("aten.native_dropout")
def native_dropout(g: TorchBuilder, x: Tensor, p: float, train: bool | None) -> Any:
    return dropout(g, x, p, bool(train)), None


@rule("aten.alpha_dropout", "aten.feature_alpha_dropout")
def alpha_dropout(g: TorchBuilder, x: Tensor, p: float, train: bool) -> Any:
    if train and p > 0:
        raise NotSupportedError(
            f"{g.source}: from_torch() knows AlphaDropout in evaluation mode only. Convert with "
            "train=False, or put Dropout in its place."
        )
    return x
