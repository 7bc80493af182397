"""What does a leaf of a pytree cost, compared with a hand-written loop over the same calls?

`tanh` of a Container of 200 leaves; `value_and_grad`, Adam's `update` and `tree.map` over 1,000
leaves of 4 elements each, on four frameworks.

    python benchmarks/nests.py [--quick] [backend ...]
"""

import sys

from harness import Report, Row, duration, line, measure, one_core

one_core()

import numpy as np

import trellis

BACKENDS = ("numpy", "torch", "jax", "tensorflow")
FEW, MANY = 200, 1_000
OVER = 1e-6  # seconds a leaf, over the calls themselves


def leaves(backend, count):
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(4).astype("float32") for _ in range(count)]
    return trellis.to_backend(arrays, backend, copy=True)


def tanh_of(backend):
    if backend == "numpy":
        return np.tanh
    if backend == "torch":
        import torch

        return torch.tanh
    if backend == "jax":
        import jax.numpy as jnp

        return jnp.tanh
    import tensorflow as tf

    return tf.tanh


def nested_tanh(backend):
    """A Container of ten Containers, as the variables of a model are."""
    xs, tanh = leaves(backend, FEW), tanh_of(backend)
    width = FEW // 10
    nest = trellis.Container(
        {f"layer{i}": {f"w{j}": xs[i * width + j] for j in range(width)} for i in range(10)}
    )
    return {"loop": lambda: [tanh(x) for x in xs], "trellis": lambda: trellis.tanh(nest)}


def mapped(backend):
    """`tree.map` with a function that does nothing: what is left is the pytree."""
    import jax

    xs = leaves(backend, MANY)
    width = MANY // 10
    nest = {f"layer{i}": xs[i * width : (i + 1) * width] for i in range(10)}

    def same(x):
        return x

    made = {
        "loop": lambda: {key: [same(x) for x in part] for key, part in nest.items()},
        "trellis": lambda: trellis.tree.map(same, nest),
    }
    if backend == "jax":
        made["jax.tree.map"] = lambda: jax.tree.map(same, nest)
    if backend == "torch":
        from torch.utils import _pytree

        made["torch's tree_map"] = lambda: _pytree.tree_map(same, nest)
    if backend == "tensorflow":
        import tensorflow as tf

        made["tf.nest"] = lambda: tf.nest.map_structure(same, nest)
    return made


def total(xs):
    value = trellis.sum(xs[0] * xs[0])
    for x in xs[1:]:
        value = value + trellis.sum(x * x)
    return value


def gradients(backend):
    xs = leaves(backend, MANY)
    ours = trellis.value_and_grad(total)
    return {"loop": by_hand(backend, xs), "trellis": lambda: ours(xs)}


def by_hand(backend, xs):
    if backend == "torch":
        import torch

        def native():
            ws = [x.detach().requires_grad_() for x in xs]
            value = torch.sum(ws[0] * ws[0])
            for w in ws[1:]:
                value = value + torch.sum(w * w)
            return value, torch.autograd.grad(value, ws)

    elif backend == "jax":
        import jax
        import jax.numpy as jnp

        def loss(xs):
            value = jnp.sum(xs[0] * xs[0])
            for x in xs[1:]:
                value = value + jnp.sum(x * x)
            return value

        native_grad = jax.value_and_grad(loss)

        def native():
            return native_grad(xs)

    elif backend == "tensorflow":
        import tensorflow as tf

        def native():
            with tf.GradientTape() as tape:
                tape.watch(xs)
                value = tf.reduce_sum(xs[0] * xs[0])
                for x in xs[1:]:
                    value = value + tf.reduce_sum(x * x)
            return value, tape.gradient(value, xs)

    else:
        import autograd
        import autograd.numpy as anp

        def loss(xs):
            value = anp.sum(xs[0] * xs[0])
            for x in xs[1:]:
                value = value + anp.sum(x * x)
            return value

        native_grad = autograd.value_and_grad(loss)

        def native():
            return native_grad(xs)

    return native


def updates(backend):
    """Adam over the leaves; JAX compiled on both sides, as one would not use it otherwise."""
    xs, gs = leaves(backend, MANY), leaves(backend, MANY)
    optimizer = trellis.optim.Adam(1e-3)
    state = optimizer.init(xs)
    update = trellis.compile(optimizer.update) if backend == "jax" else optimizer.update
    return {"loop": native_adam(backend, xs, gs), "trellis": lambda: update(xs, gs, state)}


def native_adam(backend, xs, gs):
    if backend == "torch":
        import torch

        ws = [torch.nn.Parameter(x.clone()) for x in xs]
        for w, g in zip(ws, gs):
            w.grad = g
        return torch.optim.Adam(ws, foreach=True).step
    if backend == "jax":
        import jax
        import optax

        optimizer = optax.adam(1e-3)
        state = optimizer.init(xs)

        @jax.jit
        def update(xs, gs, state):
            new, state = optimizer.update(gs, state)
            return optax.apply_updates(xs, new), state

        return lambda: update(xs, gs, state)
    if backend == "tensorflow":
        import tensorflow as tf

        ws, m, v = [[tf.Variable(x) for x in xs] for _ in range(3)]

        def native():
            for w, a, b, g in zip(ws, m, v, gs):
                tf.raw_ops.ResourceApplyAdam(
                    var=w.handle, m=a.handle, v=b.handle, beta1_power=0.9, beta2_power=0.999,
                    lr=1e-3, beta1=0.9, beta2=0.999, epsilon=1e-8, grad=g,
                )  # fmt: skip

        return native
    from native.growth_in_numpy import adam_over

    return adam_over(xs, gs)


WORK = {
    f"tanh of a Container of {FEW}": (nested_tanh, FEW),
    f"tree.map over {MANY:,}": (mapped, MANY),
    f"value_and_grad over {MANY:,}": (gradients, MANY),
    f"Adam update over {MANY:,}": (updates, MANY),
}


def main():
    chosen = [b for b in BACKENDS if b in sys.argv[1:]] or BACKENDS
    report = Report("nests", "A leaf of a pytree, compared with a loop over the same calls")
    for what, (make, count) in WORK.items():
        for backend in chosen:
            seconds, spread = measure(make(backend), rounds=5, budget=1.0)
            seconds = {name: value / count for name, value in seconds.items()}
            limit = None
            if make is nested_tanh:
                limit = round(1 + OVER / seconds["loop"], 2)
            row = Row(f"{backend} {what}", seconds, spread, limit)
            report.rows.append(row)
            print(line(row), f"over: {duration(max(0, seconds['trellis'] - seconds['loop']))}",
                  flush=True)  # fmt: skip
    report.notes += [
        "All times are per leaf. The limit of `tanh` is 1 µs a leaf over the calls themselves.",
        'On JAX, Adam is compiled on both sides ("loop" is optax), the rest runs op by op. The '
        "loop of torch's Adam is torch.optim.Adam(foreach=True), that of NumPy's value_and_grad "
        "HIPS autograd; TensorFlow's Adam calls the fused kernel leaf by leaf and writes in place.",
    ]
    others = [b for b in BACKENDS if b not in chosen]
    report.save(keep=(lambda what: what.split()[0] in others) if others else None)


if __name__ == "__main__":
    main()
