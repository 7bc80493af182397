"""One of two ranks of `distributed.py`: steps of both contestants, in turns.

Rank 0 takes the times. The steps of one process are made by rank 0 while the other one waits.
"""

import json
import os
import sys
import time
from itertools import pairwise
from pathlib import Path
from statistics import median, quantiles

RANK = int(os.environ["RANK"])
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"
if hasattr(os, "sched_setaffinity"):
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[RANK % len(cores)]})

import numpy as np

SIZES = (784, 512, 512, 10)
BATCH, RATE, STEPS = 256, 0.01, 5


def weights():
    rng = np.random.default_rng(0)
    return [
        (rng.normal(0, n**-0.5, (n, m)).astype("float32"), np.zeros(m, np.float32))
        for n, m in pairwise(SIZES)
    ]


def data():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(BATCH, SIZES[0])).astype("float32")
    return x, rng.integers(0, SIZES[-1], BATCH).astype("int32")


def share(x):
    return x[: BATCH // 2] if RANK == 0 else x[BATCH // 2 :]


# Trellis ------------------------------------------------------------------------------------------


def trellis_steps(backend, is_compiled):
    """The steps of `fit`, with two processes and with one; and what the first one moves."""
    import trellis
    from trellis.distributed._group import group
    from trellis.train._distributed_step import DistributedStep
    from trellis.train._step import Parts, no_scale, training_step

    nn, F = trellis.nn, trellis.functional

    def native(x):
        return trellis.asarray(x, backend=backend)

    def model_of():
        with trellis.using_backend(backend):
            layers = [nn.Linear(n, m) for n, m in pairwise(SIZES)]
            model = nn.Sequential(layers[0], nn.ReLU(), layers[1], nn.ReLU(), layers[2])
        flat = dict(zip(trellis.tree.key_chains(model.v), trellis.tree.leaves(model.v)))
        for i, (w, b) in enumerate(weights()):
            chain = f"layers/v{2 * i}"
            is_turned = tuple(flat[f"{chain}/w"].shape) == w.T.shape and w.shape != w.T.shape
            flat[f"{chain}/w"] = native(w.T.copy() if is_turned or i == 1 else w)
            flat[f"{chain}/b"] = native(b)
        model.v = trellis.tree.from_key_chains(flat)
        return model

    def loss(out, y):
        return F.cross_entropy(out, y)

    optimizer = trellis.optim.SGD(lr=RATE)
    model = model_of()
    key = trellis.random.key(0, backend=backend)
    parts = Parts(model, loss, optimizer, {}, backend)
    two = DistributedStep(parts, is_compiled=is_compiled, is_synchronized=False)
    one = training_step(parts, is_compiled=is_compiled)
    state = {2: (model.v, model.buffers, optimizer.init(model.v), no_scale())}
    state[1] = state[2]
    x, y = data()
    batch = native(share(x)), native(share(y))
    whole = native(x), native(y)
    weight = native(np.array([0.5], np.float32))

    def step_of_two():
        *kept, values = two(state[2], (key, weight, batch[:1], batch[1:]), is_even=True)
        state[2] = tuple(kept)
        return values["loss"]

    def step_of_one():
        *kept, values = one(*state[1], key, whole[:1], whole[1:])
        state[1] = tuple(kept)
        return values["loss"]

    engine = group().engine(backend)
    moved = []
    before = engine.all_reduce
    engine.all_reduce = lambda buffer, op: moved.append(buffer) or before(buffer, op)
    step_of_two()
    engine.all_reduce = before
    if backend == "jax":
        import re

        given = (key, weight, batch[:1], batch[1:])
        text = two._whole.program.lower(state[2], given).compile().as_text()
        found = re.findall(r"f32\[(\d+)\]\S* all-reduce(?:-start)?\(", text)
        sizes = [4 * int(n) for n in found]
    else:
        sizes = [4 * int(buffer.shape[0]) for buffer in moved]
    state[2] = state[1]
    return step_of_two, step_of_one, sizes


# Native -------------------------------------------------------------------------------------------


def numpy_steps():
    from mpi4py import MPI

    def gradients(v, x, y):
        hidden, before = [x], []
        for i, (w, b) in enumerate(v):
            before.append(hidden[-1] @ w + b)
            hidden.append(np.maximum(before[-1], 0) if i < 2 else before[-1])
        shifted = hidden[-1] - hidden[-1].max(1, keepdims=True)
        logs = shifted - np.log(np.exp(shifted).sum(1, keepdims=True))
        rows = np.arange(len(y))
        g = np.exp(logs)
        g[rows, y] -= 1
        g /= len(y)
        found = []
        for i in (2, 1, 0):
            found.insert(0, (hidden[i].T @ g, g.sum(0)))
            if i:
                g = (g @ v[i][0].T) * (before[i - 1] > 0)
        return -logs[rows, y].mean(), found

    def stepper(x, y, is_shared):
        v = weights()

        def step():
            value, found = gradients(v, x, y)
            if is_shared:
                flat = np.concatenate([each.ravel() for pair in found for each in pair])
                joined = np.empty_like(flat)
                MPI.COMM_WORLD.Allreduce(flat, joined)
                joined /= 2
                begin, parts = 0, []
                for each in [each for pair in found for each in pair]:
                    parts.append(joined[begin : begin + each.size].reshape(each.shape))
                    begin += each.size
                found = list(zip(parts[::2], parts[1::2]))
            for i, (w, b) in enumerate(found):
                v[i] = (v[i][0] - RATE * w, v[i][1] - RATE * b)
            return value

        return step

    x, y = data()
    return stepper(share(x), share(y), True), stepper(x, y, False)


def torch_steps():
    import torch
    from torch.nn.parallel import DistributedDataParallel

    def stepper(x, y, is_shared):
        layers = []
        for w, b in weights():
            layer = torch.nn.Linear(*w.shape)
            layer.weight.data, layer.bias.data = torch.tensor(w.T.copy()), torch.tensor(b)
            layers += [layer, torch.nn.ReLU()]
        model = torch.nn.Sequential(*layers[:-1])
        model = DistributedDataParallel(model) if is_shared else model
        optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
        x, y = torch.tensor(x), torch.tensor(y).long()

        def step():
            optimizer.zero_grad()
            value = torch.nn.functional.cross_entropy(model(x), y)
            value.backward()
            optimizer.step()
            return value.detach()

        return step

    x, y = data()
    return stepper(share(x), share(y), True), stepper(x, y, False)


def jax_steps():
    import jax
    import jax.numpy as jnp
    from jax.sharding import Mesh, NamedSharding
    from jax.sharding import PartitionSpec as P

    def loss(v, x, y):
        for w, b in v[:-1]:
            x = jax.nn.relu(x @ w + b)
        logs = jax.nn.log_softmax(x @ v[-1][0] + v[-1][1])
        return -jnp.take_along_axis(logs, y[:, None], 1).mean()

    def update(v, x, y):
        value, g = jax.value_and_grad(loss)(v, x, y)
        return jax.tree.map(lambda v, g: v - RATE * g, v, g), value

    devices = sorted(jax.devices(), key=lambda d: d.process_index)
    mesh = Mesh(np.array(devices), ("ranks",))
    rows, everywhere = NamedSharding(mesh, P("ranks")), NamedSharding(mesh, P())

    def stepper(x, y, is_shared):
        v = weights()
        if is_shared:
            x, y = [jax.make_array_from_process_local_data(rows, each) for each in (x, y)]
            v = jax.tree.map(
                lambda w: jax.make_array_from_process_local_data(everywhere, w, w.shape), v
            )
        else:
            v, x, y = jax.tree.map(jnp.asarray, (v, x, y))
        # The compiler sees how the data are spread, and adds the all-reduce.
        program = jax.jit(update)
        kept = [v]

        def step():
            kept[0], value = program(kept[0], x, y)
            return value.addressable_data(0)

        return step

    x, y = data()
    return stepper(share(x), share(y), True), stepper(x, y, False)


def tensorflow_steps(strategy):
    import tensorflow as tf

    def loss(v, x, y):
        for w, b in v[:-1]:
            x = tf.nn.relu(x @ w + b)
        logits = x @ v[-1][0] + v[-1][1]
        return tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
        )

    def stepper(x, y, is_shared):
        x, y = tf.constant(x), tf.constant(y)
        with strategy.scope() if is_shared else tf.device("cpu:0"):
            v = [(tf.Variable(w), tf.Variable(b)) for w, b in weights()]
        flat = [each for pair in v for each in pair]

        def update():
            with tf.GradientTape() as tape:
                value = loss(v, x, y)
            g = tape.gradient(value, flat)
            if is_shared:
                g = tf.distribute.get_replica_context().all_reduce("MEAN", g)
            for each, d in zip(flat, g):
                each.assign_sub(RATE * d)
            return value

        if is_shared:
            return tf.function(lambda: strategy.run(update))
        return tf.function(update)

    x, y = data()
    return stepper(share(x), share(y), True), stepper(x, y, False)


# Measuring ----------------------------------------------------------------------------------------


def main():
    backend, path, rounds = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    strategy = None
    if backend == "tensorflow":
        import tensorflow as tf

        # Before anything else: the strategy wants to be first, and Trellis uses its server.
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
    import trellis

    trellis.distributed.init(backend=backend)
    ours = trellis_steps(backend, is_compiled=backend != "torch")
    makers = {"numpy": numpy_steps, "torch": torch_steps, "jax": jax_steps}
    theirs = tensorflow_steps(strategy) if strategy else makers[backend]()
    contestants = {
        "native 2": theirs[0],
        "trellis 2": ours[0],
        "native 1": theirs[1],
        "trellis 1": ours[1],
    }
    first = {}
    for name, step in contestants.items():
        if name.endswith("2") or RANK == 0:
            first[name] = float(np.asarray(trellis.to_numpy(step())))
        trellis.distributed.barrier()
    if RANK == 0:
        # Native ways report the loss of their own share.
        assert abs(first["native 1"] - first["trellis 1"]) < 1e-4, first
        assert abs(first["trellis 2"] - first["trellis 1"]) < 1e-4, first
    times = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, step in contestants.items():
            trellis.distributed.barrier()
            if name.endswith("2") or RANK == 0:
                begin = time.perf_counter()
                for _ in range(STEPS):
                    value = step()
                np.asarray(trellis.to_numpy(value))
                times[name].append((time.perf_counter() - begin) / STEPS)
            trellis.distributed.barrier()
    if RANK == 0:
        gradients = 4 * sum([n * m + m for n, m in pairwise(SIZES)])
        spread = {}
        for name, values in times.items():
            low, _, high = quantiles(values, n=4)
            spread[name] = (high - low) / median(values)
        found = {
            "seconds": {name: median(values) for name, values in times.items()},
            "spread": spread,
            "bytes": sum(ours[2]),
            "calls": len(ours[2]),
            "gradients": gradients,
        }
        path.write_text(json.dumps(found))


if __name__ == "__main__":
    main()
