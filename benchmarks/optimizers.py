"""What does an optimizer update over 200 leaves cost beside torch.optim, optax, TensorFlow's
kernels and Keras?

Contestants do the same formula on the same arrays, and the first result is compared. The limit is
the memory: an update reads and writes each of its arrays at least once, and a copy of as many bytes
is timed beside it.
"""

from harness import QUICK, Report, duration, one_core

one_core()

import numpy as np

import trellis
from trellis import optim

LEAVES, SHAPE, RATE = 200, (64, 64), 1e-3
OURS = {
    "sgd": lambda: optim.SGD(RATE, momentum=0.9),
    "adam": lambda: optim.Adam(RATE),
    "adamw": lambda: optim.AdamW(RATE, weight_decay=1e-2),
    "rmsprop": lambda: optim.RMSprop(RATE),
}
# Arrays that an update must read or write: parameter, gradient, and state, read and written.
ARRAYS = {"sgd": 5, "adam": 7, "adamw": 7, "rmsprop": 5}


def arrays():
    rng = np.random.default_rng(0)
    w = {f"w{i}": rng.standard_normal(SHAPE).astype("float32") for i in range(LEAVES)}
    return w, {name: rng.standard_normal(SHAPE).astype("float32") for name in w}


def first(nest):
    return trellis.to_numpy(trellis.tree.leaves(nest)[0])


def with_torch(name, w, g):
    import torch

    make = {
        "sgd": lambda p: torch.optim.SGD(p, RATE, momentum=0.9, foreach=True),
        "adam": lambda p: torch.optim.Adam(p, RATE, foreach=True),
        "adamw": lambda p: torch.optim.AdamW(p, RATE, weight_decay=1e-2, foreach=True),
        "rmsprop": lambda p: torch.optim.RMSprop(p, RATE, foreach=True),
    }[name]

    def stepper(make):
        params = [torch.nn.Parameter(torch.tensor(x)) for x in w.values()]
        for p, x in zip(params, g.values()):
            p.grad = torch.tensor(x)
        optimizer = make(params)
        optimizer.step()
        return params[0].detach().numpy().copy(), optimizer.step

    found, step = stepper(make)
    contestants = {"native": step}
    fused = {
        "sgd": lambda p: torch.optim.SGD(p, RATE, momentum=0.9, fused=True),
        "adam": lambda p: torch.optim.Adam(p, RATE, fused=True),
        "adamw": lambda p: torch.optim.AdamW(p, RATE, weight_decay=1e-2, fused=True),
    }
    if name in fused:
        # In place, where ours returns new arrays; shown beside the foreach form, to which the limit
        # belongs.
        contestants["native, fused"] = stepper(fused[name])[1]
    return found, contestants


def with_jax(name, w, g):
    import jax
    import optax

    optimizer = {
        "sgd": lambda: optax.sgd(RATE, momentum=0.9),
        "adam": lambda: optax.adam(RATE),
        "adamw": lambda: optax.adamw(RATE, weight_decay=1e-2),
        "rmsprop": lambda: optax.rmsprop(RATE, decay=0.99, eps=1e-8, eps_in_sqrt=False),
    }[name]()
    w, g = jax.tree.map(jax.numpy.asarray, (w, g))
    held = [w, optimizer.init(w)]

    @jax.jit
    def update(w, g, state):
        updates, state = optimizer.update(g, state, w)
        return optax.apply_updates(w, updates), state

    def step():
        held[:] = update(held[0], g, held[1])
        jax.block_until_ready(held)

    step()
    return np.array(held[0]["w0"]), {"native": step}


def with_tensorflow(name, w, g):
    import tensorflow as tf

    raw = tf.raw_ops
    w, g = [tf.Variable(x) for x in w.values()], [tf.constant(x) for x in g.values()]
    m, v = [[tf.Variable(tf.zeros_like(x)) for x in w] for _ in range(2)]
    powers = [tf.Variable(0.9), tf.Variable(0.999)]

    def update():
        for w_i, g_i, m_i, v_i in zip(w, g, m, v):
            if name == "sgd":
                raw.ResourceApplyKerasMomentum(
                    var=w_i.handle, accum=m_i.handle, lr=RATE, grad=g_i, momentum=0.9
                )
            elif name == "rmsprop":
                # This kernel adds epsilon under the root: its square is the same to us.
                raw.ResourceApplyRMSProp(
                    var=w_i.handle, ms=v_i.handle, mom=m_i.handle, lr=RATE, rho=0.99, momentum=0.0,
                    epsilon=1e-16, grad=g_i,
                )  # fmt: skip
            else:
                if name == "adamw":
                    w_i.assign_sub(RATE * 1e-2 * w_i)
                raw.ResourceApplyAdam(
                    var=w_i.handle, m=m_i.handle, v=v_i.handle, beta1_power=powers[0],
                    beta2_power=powers[1], lr=RATE, beta1=0.9, beta2=0.999, epsilon=1e-8, grad=g_i,
                )  # fmt: skip
        powers[0].assign(powers[0] * 0.9)
        powers[1].assign(powers[1] * 0.999)

    compiled = tf.function(update)
    compiled()
    return w[0].numpy(), {"native": compiled}


def with_numpy(name, w, g):
    """Written by hand, in place."""
    w, g = [x.copy() for x in w.values()], list(g.values())
    m, v = [[np.zeros_like(x) for x in w] for _ in range(2)]
    count = [0]

    def step():
        count[0] += 1
        rate = RATE * (1 - 0.999 ** count[0]) ** 0.5 / (1 - 0.9 ** count[0])
        for w_i, g_i, m_i, v_i in zip(w, g, m, v):
            if name == "sgd":
                m_i *= 0.9
                m_i += g_i
                w_i -= RATE * m_i
            elif name == "rmsprop":
                v_i += 0.01 * (g_i * g_i - v_i)
                w_i -= RATE * g_i / (np.sqrt(v_i) + 1e-8)
            else:
                if name == "adamw":
                    w_i -= RATE * 1e-2 * w_i
                m_i += 0.1 * (g_i - m_i)
                v_i += 0.001 * (g_i * g_i - v_i)
                w_i -= rate * m_i / (np.sqrt(v_i) + 1e-8)

    step()
    return w[0].copy(), {"native": step}


NATIVE = {
    "numpy": with_numpy,
    "torch": with_torch,
    "jax": with_jax,
    "tensorflow": with_tensorflow,
}


def ours(name, backend, w, g):
    """The update as it is used: on torch and NumPy eager, on JAX and TensorFlow compiled."""
    optimizer = OURS[name]()
    w, g = trellis.to_backend((w, g), backend, copy=True)
    w, g = trellis.Container(w), trellis.Container(g)
    held = [w, optimizer.init(w)]
    update = (
        optimizer.update if backend in ("numpy", "torch") else trellis.compile(optimizer.update)
    )

    def step():
        held[:] = update(held[0], g, held[1])
        if backend == "jax":
            import jax

            jax.block_until_ready(trellis.tree.leaves(held[0]))

    step()
    return first(held[0]).copy(), step


def main():
    report = Report(
        "optimizers", f"An optimizer update over {LEAVES} leaves of {SHAPE[0]} x {SHAPE[1]}"
    )
    for backend, native in NATIVE.items():
        for name in ("adam",) if QUICK else OURS:
            w, g = arrays()
            expected, contestants = native(name, w, g)
            found, step = ours(name, backend, w, g)
            np.testing.assert_allclose(
                found, expected, rtol=1e-4, atol=2e-6, err_msg=f"{backend} {name}"
            )
            size = LEAVES * SHAPE[0] * SHAPE[1] * ARRAYS[name]
            source, target = np.ones(size // 2, "float32"), np.ones(size // 2, "float32")
            copy = {"copy of as many bytes": lambda t=target, s=source: np.copyto(t, s)}
            limit = 1.1 if backend in ("torch", "jax") else None
            row = report.add(
                f"{backend} {name}", {**contestants, "trellis": step, **copy}, limit=limit
            )
            speed = 4 * size / row.seconds["copy of as many bytes"]
    report.notes.append(
        f"A copy moves {speed / 1e9:.1f} GB/s here: "
        f"{duration(row.seconds['copy of as many bytes'])} is the "
        "least that an update of this size can take when its arrays are not in the cache."
    )
    report.save()


if __name__ == "__main__":
    main()
