"""Eight devices of one process: the step of `fit` on all of them, beside one of them.

What the compiler made of it is counted: one all-reduce for all gradients where only the data are
spread, one more where the first layer is split.
"""

import re

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

import trellis
from trellis.train._step import Parts, no_scale, training_step

KINDS = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute")
mesh = Mesh(np.array(jax.devices()).reshape(4, 2), ("data", "model"))
everywhere = NamedSharding(mesh, P())
rng = np.random.default_rng(0)
x = rng.normal(size=(64, 8)).astype("float32")
y = np.sin(x @ rng.normal(size=(8, 1))).astype("float32")


def made():
    trellis.seed(0)
    with trellis.using_backend("jax"):
        nn = trellis.nn
        return nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))


def collectives(model, batch):
    """How many of each kind are in the compiled step."""
    optimizer = trellis.optim.Adam(lr=0.01)
    parts = Parts(model, trellis.functional.mse_loss, optimizer, {}, "jax")
    step = training_step(parts, is_compiled=False)
    key = trellis.random.key(0, backend="jax")
    inputs, targets = jax.device_put(((x[:32],), (y[:32],)), batch)
    text = (
        jax.jit(step)
        .lower(model.v, model.buffers, optimizer.init(model.v), no_scale(), key, inputs, targets)
        .compile()
        .as_text()
    )
    return [len(re.findall(rf"\b{kind}(?:-start)?\(", text)) for kind in KINDS]


def losses(model, **more):
    history = trellis.train.fit(
        model, trellis.functional.mse_loss, (x, y), optimizer=trellis.optim.Adam(lr=0.01),
        epochs=5, batch_size=32, seed=1, progress=False, **more,
    )  # fmt: skip
    return history.losses


def main():
    assert len(jax.devices()) == 8
    expected = losses(made())

    over_all = NamedSharding(mesh, P(("data", "model")))
    model = made()
    model.v = trellis.distributed.shard(model.v, everywhere)
    assert collectives(model, over_all) == [1, 0, 0, 0, 0]
    # Sums in another order: the last places of float32.
    np.testing.assert_allclose(losses(model, sharding=over_all), expected, rtol=0, atol=1e-5)

    split = NamedSharding(mesh, P("model"))
    by_rows = NamedSharding(mesh, P("data"))
    model = made()
    model.v = trellis.distributed.shard(model.v, {"layers/v0/*": split, "*": everywhere})
    assert collectives(model, by_rows) == [2, 0, 0, 0, 0]
    np.testing.assert_allclose(losses(model, sharding=by_rows), expected, rtol=0, atol=1e-5)
    assert model.v["layers/v0/w"].sharding.is_equivalent_to(split, 2)

    try:
        trellis.train.fit(
            model, trellis.functional.mse_loss, (x[:9], y[:9]), sharding=by_rows,
            optimizer=trellis.optim.Adam(lr=0.01), progress=False,
        )  # fmt: skip
    except trellis.errors.ShapeError as error:
        assert "drop_last=True" in str(error)
    else:
        raise AssertionError("9 rows on 4 devices")
    print("done")


main()
