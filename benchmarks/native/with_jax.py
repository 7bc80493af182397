"""Plain JAX and optax."""

import jax
import jax.numpy as jnp
import numpy as np
import optax

from . import formulas


def cnn(p, x):
    for name, stride in (("c0", 1), ("c1", 2), ("c2", 2)):
        x = jax.lax.conv_general_dilated(
            x, p[name]["w"], (stride, stride), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        x = jax.nn.relu(x + p[name]["b"])
    return jnp.mean(x, axis=(1, 2)) @ p["head"]["w"].T + p["head"]["b"]


@jax.jit
def lstm(p, x):
    """Compiled also in the eager step: a bare lax.scan under value_and_grad compiles anew at every
    call."""
    part = p["lstm"]["layer0"]
    inputs = jnp.swapaxes(x @ part["w"] + part["b"], 0, 1)
    h = jnp.zeros((x.shape[0], part["r"].shape[0]), x.dtype)

    def body(state, inputs):
        return formulas.lstm_cell(jnp, part["r"], *state, inputs), None

    (h, _), _ = jax.lax.scan(body, (h, h), inputs)
    return h @ p["head"]["w"].T + p["head"]["b"]


FORWARD = {
    "mlp": lambda p, x: formulas.mlp(jnp, p, x),
    "cnn": cnn,
    "lstm": lstm,
    "transformer": lambda p, x: formulas.transformer(jnp, p, x, 4),
}
FORWARD["deep_transformer"] = FORWARD["transformer"]


def steps(name, weights, x, y):
    forward, optimizer = FORWARD[name], optax.adam(1e-3)
    x, y = jnp.asarray(x), jnp.asarray(y.astype(np.int32))

    def loss(p, x, y):
        return jnp.mean(optax.softmax_cross_entropy_with_integer_labels(forward(p, x), y))

    def update(p, state, x, y):
        value, grads = jax.value_and_grad(loss)(p, x, y)
        updates, state = optimizer.update(grads, state)
        return optax.apply_updates(p, updates), state, value

    def stepper(update):
        p = jax.tree.map(jnp.asarray, weights)
        held = [p, optimizer.init(p)]

        def step():
            held[0], held[1], value = update(held[0], held[1], x, y)
            return value

        return step

    compiled = stepper(jax.jit(update))
    return {"eager": stepper(update), "compiled": compiled, "compiled whole": compiled}
