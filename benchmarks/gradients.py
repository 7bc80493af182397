"""What do gradients and optimizer updates cost, compared with hand-written native code?"""

from harness import Report, one_core

one_core()

import itertools

import numpy as np

import trellis

SIZES = (784, 256, 256, 10)
BATCH = 64


def weights():
    rng = np.random.default_rng(0)
    pairs = itertools.pairwise(SIZES)
    arrays = [(rng.standard_normal((a, b)) / a**0.5, np.zeros(b)) for a, b in pairs]
    flat = [part.astype("float32") for pair in arrays for part in pair]
    return flat, rng.standard_normal((BATCH, SIZES[0])).astype("float32")


def loss(xp, params, x):
    h = x
    for i in range(0, len(params), 2):
        h = xp.tanh(xp.matmul(h, params[i]) + params[i + 1])
    return xp.mean(h * h)


def native(backend, params, x):
    """value_and_grad written by hand in the framework, eager and compiled."""
    if backend == "torch":
        import torch

        def eager():
            leaves = [p.detach().requires_grad_() for p in params]
            h = x
            for i in range(0, len(leaves), 2):
                h = torch.tanh(torch.matmul(h, leaves[i]) + leaves[i + 1])
            value = torch.mean(h * h)
            return value.detach(), torch.autograd.grad(value, leaves)

        def plain(params, x):
            h = x
            for i in range(0, len(params), 2):
                h = torch.tanh(torch.matmul(h, params[i]) + params[i + 1])
            return torch.mean(h * h)

        compiled_loss = torch.compile(plain, fullgraph=True)

        def compiled():
            leaves = [p.detach().requires_grad_() for p in params]
            value = compiled_loss(leaves, x)
            return value.detach(), torch.autograd.grad(value, leaves)

        return eager, compiled
    if backend == "jax":
        import jax
        import jax.numpy as jnp

        def plain(params, x):
            h = x
            for i in range(0, len(params), 2):
                h = jnp.tanh(jnp.matmul(h, params[i]) + params[i + 1])
            return jnp.mean(h * h)

        step = jax.value_and_grad(plain)
        jitted = jax.jit(step)
        return (
            lambda: jax.block_until_ready(step(params, x)),
            lambda: jax.block_until_ready(jitted(params, x)),
        )
    if backend == "tensorflow":
        import tensorflow as tf

        def step(params, x):
            with tf.GradientTape() as tape:
                tape.watch(params)
                h = x
                for i in range(0, len(params), 2):
                    h = tf.tanh(tf.matmul(h, params[i]) + params[i + 1])
                value = tf.reduce_mean(h * h)
            return value, tape.gradient(value, params)

        traced = tf.function(step, autograph=False)
        return (lambda: step(params, x)), (lambda: traced(params, x))
    import autograd
    import autograd.numpy as anp

    def plain(params, x):
        h = x
        for i in range(0, len(params), 2):
            h = anp.tanh(anp.matmul(h, params[i]) + params[i + 1])
        return anp.mean(h * h)

    step = autograd.value_and_grad(plain)
    return (lambda: step(params, x)), None


def wait(backend, result):
    if backend == "jax":
        import jax

        jax.block_until_ready(result)
    return result


def value_and_grad(report):
    flat, x0 = weights()
    for backend in ("torch", "jax", "tensorflow", "numpy"):
        xp = trellis.namespace(backend)
        params, x = [xp.asarray(p) for p in flat], xp.asarray(x0)
        ours = trellis.value_and_grad(lambda p, x, xp=xp: loss(xp, p, x))
        eager, compiled = native(backend, params, x)
        np.testing.assert_allclose(
            trellis.to_numpy(eager()[1][0]),
            trellis.to_numpy(ours(params, x)[1][0]),
            rtol=1e-3,
            atol=1e-6,
        )
        report.add(
            f"{backend} value_and_grad, eager",
            {"native": eager, "trellis": lambda b=backend, f=ours, p=params, x=x: wait(b, f(p, x))},
            limit=1.15,
        )
        if compiled is not None:
            fast = trellis.compile(ours)
            report.add(
                f"{backend} value_and_grad, compiled",
                {
                    "native": compiled,
                    "trellis": lambda b=backend, f=fast, p=params, x=x: wait(b, f(p, x)),
                },
                limit=1.05,
            )


def adam(report):
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal((64, 64)).astype("float32") for _ in range(200)]
    import torch

    params = [torch.nn.Parameter(torch.tensor(a)) for a in arrays]
    for p in params:
        p.grad = torch.ones_like(p)
    theirs = torch.optim.Adam(params, foreach=True)
    w = {f"w{i}": torch.tensor(a) for i, a in enumerate(arrays)}
    g = trellis.tree.map(torch.ones_like, w)
    m = trellis.tree.map(torch.zeros_like, w)
    with torch.no_grad():
        report.add(
            "torch adam_update, 200 leaves",
            {
                "torch.optim.Adam(foreach)": theirs.step,
                "trellis": lambda: trellis.adam_update(w, g, 1e-3, m, m, 3),
            },
            limit=1.1,
        )
    import jax
    import jax.numpy as jnp
    import optax

    wj = {f"w{i}": jnp.asarray(a) for i, a in enumerate(arrays)}
    gj = jax.tree.map(jnp.ones_like, wj)
    mj = jax.tree.map(jnp.zeros_like, wj)
    optimizer = optax.adam(1e-3)
    state = optimizer.init(wj)

    @jax.jit
    def optax_step(w, g, state):
        updates, state = optimizer.update(g, state, w)
        return optax.apply_updates(w, updates), state

    ours = jax.jit(lambda w, g, m, v, t: trellis.adam_update(w, g, 1e-3, m, v, t))
    step = jnp.asarray(3)
    report.add(
        "jax adam_update, 200 leaves, jit",
        {
            "optax": lambda: jax.block_until_ready(optax_step(wj, gj, state)),
            "trellis": lambda: jax.block_until_ready(ours(wj, gj, mj, mj, step)),
        },
        limit=1.1,
    )


def main():
    report = Report(
        "gradients", "value_and_grad of an MLP (64 x 784-256-256-10) and Adam over 200 leaves"
    )
    value_and_grad(report)
    adam(report)
    report.save()


if __name__ == "__main__":
    main()
