"""A recurrence of 300 steps, as each framework's own users write it, and by `trellis.scan`."""

import numpy as np

STEPS, WIDTH = 300, 64


def numbers():
    rng = np.random.default_rng(0)
    w = rng.normal(size=(WIDTH, WIDTH)).astype("float32") / 16
    return w, rng.normal(size=(STEPS, 8, WIDTH)).astype("float32")


def trellis_step(backend, is_gradient):
    import trellis

    def loss(w, xs):
        def body(h, x):
            h = trellis.tanh(h @ w + x)
            return h, h

        return trellis.mean(trellis.scan(body, trellis.zeros_like(xs[0]), xs)[1])

    w, xs = [trellis.to_backend(x, backend) for x in numbers()]
    run = trellis.compile(trellis.value_and_grad(loss) if is_gradient else loss)
    return lambda: first(run(w, xs))


def native_step(backend, is_gradient):
    return {"torch": in_torch, "jax": in_jax, "tensorflow": in_tensorflow}[backend](is_gradient)


def first(result):
    return result[0] if isinstance(result, tuple) else result


def in_torch(is_gradient):
    """A Python loop: torch has no public scan."""
    import torch

    def loss(w, xs):
        h, hs = torch.zeros_like(xs[0]), []
        for x in xs:
            h = torch.tanh(h @ w + x)
            hs.append(h)
        return torch.stack(hs).mean()

    def gradient(w, xs):
        slope, value = torch.func.grad_and_value(loss)(w, xs)
        return value, slope

    w, xs = [torch.tensor(x) for x in numbers()]
    run = torch.compile(gradient if is_gradient else loss, fullgraph=True)
    return lambda: first(run(w, xs))


def in_jax(is_gradient):
    import jax
    import jax.numpy as jnp

    def loss(w, xs):
        def body(h, x):
            h = jnp.tanh(h @ w + x)
            return h, h

        return jnp.mean(jax.lax.scan(body, jnp.zeros_like(xs[0]), xs)[1])

    w, xs = [jnp.asarray(x) for x in numbers()]
    run = jax.jit(jax.value_and_grad(loss) if is_gradient else loss)
    return lambda: first(run(w, xs))


def in_tensorflow(is_gradient):
    import tensorflow as tf

    def loss(w, xs):
        start = tf.zeros_like(xs[0])
        return tf.reduce_mean(tf.scan(lambda h, x: tf.tanh(h @ w + x), xs, start))

    def gradient(w, xs):
        with tf.GradientTape() as tape:
            tape.watch(w)
            value = loss(w, xs)
        return value, tape.gradient(value, w)

    w, xs = [tf.constant(x) for x in numbers()]
    run = tf.function(gradient if is_gradient else loss)
    return lambda: first(run(w, xs))
