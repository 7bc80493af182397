"""What the expressions of the ledger call: small experiments with layers and optimizers."""

from __future__ import annotations

import inspect
from typing import Any

import jax  # noqa: F401 (the expressions of the rows see all names of this file)
import jax.numpy as jnp
import keras
import numpy as np
import optax
import tensorflow as tf
import torch
from flax import nnx

import trellis as tr
from trellis import functional as F


def dtype(x: Any) -> str:
    return str(tr.dtype(tr.asarray(x) if isinstance(x, np.generic) else x))


def default(fn: Any, name: str) -> Any:
    """The default of an argument."""
    return _parameter(fn, name).default


def required(fn: Any, name: str) -> str:
    assert _parameter(fn, name).default is inspect.Parameter.empty
    return "must be given"


def _parameter(fn: Any, name: str) -> inspect.Parameter:
    target = fn.__init__ if inspect.isclass(fn) else fn
    return inspect.signature(target).parameters[name]


def slope(fn: Any, x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = fn(x)
    return tape.gradient(y, x)


def unused_torch() -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    y = torch.tensor(3.0, requires_grad=True) * 1.0
    return torch.autograd.grad(y, x)[0]


def spread(w: Any, inputs: int) -> float:
    return round(float(np.asarray(w).std() * np.sqrt(inputs)), 1)


def is_zero(x: Any) -> bool:
    return bool((np.asarray(x) == 0).all())


def has_one(variables: list[Any]) -> bool:
    return any(bool((np.asarray(x) == 1).any()) for x in variables)


def is_cut(x: Any) -> bool:
    """Whether 90,000 normal draws have none beyond 2.5 standard deviations; 1,100 would."""
    values = np.asarray(x)
    return bool(np.abs(values).max() < 2.5 * values.std())


def he_normal_of_trellis(backend: str) -> Any:
    layer = tr.nn.Linear(300, 300, weight_initializer=tr.nn.init.HeNormal(), backend=backend)
    return tr.to_numpy(layer.v.w)


def built(layer: Any, shape: tuple[int, ...]) -> Any:
    layer.build(shape)
    return layer


def dense(inputs: int, outputs: int) -> Any:
    return built(keras.layers.Dense(outputs), (1, inputs))


# One batch of 0 and 2 in one channel: mean 1, variance 1 (biased) or 2.
_BATCH = np.array([[0.0], [2.0]], "float32")


def batch_norm_torch() -> tuple[float, float]:
    layer = torch.nn.BatchNorm1d(1)
    layer(torch.tensor(_BATCH))
    return layer.running_mean.item(), layer.running_var.item()


def batch_norm_keras() -> tuple[float, float]:
    layer = keras.layers.BatchNormalization()
    layer(tf.constant(_BATCH), training=True)
    return float(layer.moving_mean[0]), float(layer.moving_variance[0])


def batch_norm_flax() -> tuple[float, float]:
    layer = nnx.BatchNorm(1, rngs=nnx.Rngs(0))
    layer(jnp.array(_BATCH))
    return float(layer.mean[...][0]), float(layer.var[...][0])


def batch_norm_trellis(backend: str) -> tuple[float, float]:
    layer = tr.nn.BatchNorm1D(1, backend=backend)
    layer(tr.to_backend(_BATCH, backend))
    return float(layer.buffers.mean[0]), float(layer.buffers.var[0])


# One query, two keys with the values 0 and 1; the mask says True to the second.
def _word(value: float) -> str:
    return {0: "hidden", 1: "seen"}[round(float(value))]


def mask_torch() -> str:
    q, k = torch.zeros(1, 1, 2), torch.zeros(1, 2, 2)
    v = torch.tensor([[[0.0, 0.0], [1.0, 1.0]]])
    mask = torch.tensor([[False, True]])
    function = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)[0, 0, 0]
    layer = torch.nn.MultiheadAttention(2, 1, bias=False, batch_first=True)
    with torch.no_grad():
        layer.in_proj_weight.copy_(torch.eye(2).repeat(3, 1))
        layer.out_proj.weight.copy_(torch.eye(2))
    module = layer(q, k, v, attn_mask=mask, need_weights=False)[0][0, 0, 0].item()
    return f"{_word(function)} (function), {_word(module)} (MultiheadAttention)"


def mask_keras() -> str:
    q, k = tf.zeros((1, 1, 1, 2)), tf.zeros((1, 2, 1, 2))
    v = tf.constant([[[[0.0, 0.0]], [[1.0, 1.0]]]])
    mask = tf.constant([[[[False, True]]]])
    return _word(keras.ops.dot_product_attention(q, k, v, mask=mask)[0, 0, 0, 0])


def mask_flax() -> str:
    q, k = jnp.zeros((1, 1, 1, 2)), jnp.zeros((1, 2, 1, 2))
    v = jnp.array([[[[0.0, 0.0]], [[1.0, 1.0]]]])
    mask = jnp.array([[[[False, True]]]])
    return _word(nnx.dot_product_attention(q, k, v, mask=mask)[0, 0, 0, 0])


def mask_trellis(backend: str) -> str:
    q, k = np.zeros((1, 2), "float32"), np.zeros((2, 2), "float32")
    v, mask = np.array([[0.0, 0.0], [1.0, 1.0]], "float32"), np.array([[False, True]])
    q, k, v, mask = tr.to_backend((q, k, v, mask), backend)
    return _word(F.scaled_dot_product_attention(q, k, v, mask=mask)[0, 0])


def first_step_torch(cls: Any, gradient: float, **options: Any) -> float:
    x = torch.nn.Parameter(torch.zeros(()))
    x.grad = torch.tensor(gradient)
    cls([x], **options).step()
    return x.item()


def first_step_keras(optimizer: Any, gradient: float) -> float:
    x = keras.Variable(0.0)
    optimizer.apply([tf.constant(gradient)], [x])
    return float(x)


def first_step_optax(optimizer: Any, gradient: float) -> float:
    x = jnp.array(0.0)
    updates, _ = optimizer.update(jnp.array(gradient), optimizer.init(x), x)
    return float(optax.apply_updates(x, updates))


def first_step_trellis(optimizer: Any, gradient: float, backend: str) -> float:
    x = tr.zeros((), backend=backend)
    return float(optimizer.step(x, x + gradient))


# One image whose normalised pixels become rows: a loss of them, and how far its gradient is from
# differences of float64, which the formula of batch normalisation gives.
_IMAGE = np.sin(np.arange(16.0)).reshape(1, 2, 2, 4)
_ROWS = np.cos(np.arange(16.0)).reshape(1, 8, 2)


def _normalized_rows(x: np.ndarray) -> float:
    centred = x - x.mean((0, 2, 3), keepdims=True)
    y = centred / np.sqrt((centred**2).mean((0, 2, 3), keepdims=True) + 1e-5)
    return float((y.reshape(1, 2, 8).transpose(0, 2, 1) * _ROWS).sum())


def _off_by(gradient: Any) -> str:
    wanted = np.zeros(16)
    for i, step in enumerate(np.eye(16).reshape(16, 1, 2, 2, 4) * 1e-6):
        wanted[i] = (_normalized_rows(_IMAGE + step) - _normalized_rows(_IMAGE - step)) / 2e-6
    difference = np.abs(np.asarray(gradient).reshape(-1) - wanted).max()
    return "right" if difference < 1e-4 else f"off by {difference:.2g}"


def batch_norm_rows_torch() -> str:
    x = torch.tensor(_IMAGE, requires_grad=True)
    y = torch.nn.functional.batch_norm(x, None, None, training=True)
    (y.flatten(2).transpose(1, 2) * torch.tensor(_ROWS)).sum().backward()
    return _off_by(x.grad)


def batch_norm_rows_keras() -> str:
    x = tf.constant(np.moveaxis(_IMAGE, 1, -1))
    layer = keras.layers.BatchNormalization(epsilon=1e-5, dtype="float64")

    def loss(x: Any) -> Any:
        return tf.reduce_sum(tf.reshape(layer(x, training=True), (1, 8, 2)) * _ROWS)

    return _off_by(np.moveaxis(np.asarray(slope(loss, x)), -1, 1))


def batch_norm_rows_trellis(backend: str) -> str:
    x, rows = [tr.asarray(a.astype("float32"), backend=backend) for a in (_IMAGE, _ROWS)]
    zeros, ones = [tr.full((2,), n, dtype="float32", backend=backend) for n in (0.0, 1.0)]

    def loss(x: Any) -> Any:
        y, _, _ = F.batch_norm(x, zeros, ones, training=True, channel_axis=1, epsilon=1e-5)
        return tr.sum(tr.permute_dims(tr.reshape(y, (1, 2, 8)), (0, 2, 1)) * rows)

    return _off_by(tr.to_numpy(tr.grad(loss)(x)))
