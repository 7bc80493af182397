"""The pieces of growth.py as one writes them in JAX, compiled. Each gives the call and its
arrays."""

import jax
import jax.numpy as jnp
import numpy as np
import optax


def arrays(*shape, count):
    rng = np.random.default_rng(0)
    return [jnp.asarray(rng.standard_normal(shape).astype("float32")) for _ in range(count)]


def mlp(batch, width, depth):
    def loss(ws, x):
        for w in ws:
            x = jnp.tanh(x @ w)
        return jnp.mean(x * x)

    ws = [w / width**0.5 for w in arrays(width, width, count=depth)]
    return jax.jit(jax.value_and_grad(loss)), (ws, *arrays(batch, width, count=1))


def attention(length):
    def loss(qkv):
        q, k, v = qkv
        scores = q @ k.swapaxes(2, 3) * q.shape[-1] ** -0.5
        is_past = jnp.tril(jnp.ones((length, length), bool))
        y = jax.nn.softmax(jnp.where(is_past, scores, -jnp.inf)) @ v
        return jnp.mean(y * y)

    return jax.jit(jax.value_and_grad(loss)), (arrays(2, 4, length, 32, count=3),)


def adam(leaves):
    ws, gs = arrays(32, 32, count=leaves), arrays(32, 32, count=leaves)
    optimizer = optax.adam(1e-3)
    state = optimizer.init(ws)

    @jax.jit
    def update(ws, gs, state):
        updates, state = optimizer.update(gs, state)
        return optax.apply_updates(ws, updates), state

    return lambda ws, gs: update(ws, gs, state), (ws, gs)
