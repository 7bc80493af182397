"""What the ranks of the tests run: `rank_program.py TASK BACKEND FOLDER [options as JSON]`."""

import atexit
import hashlib
import json
import os
import signal
import sys
from pathlib import Path

import numpy as np

BATCH, ROWS = 12, 45  # batches of 12, 12, 12 and 9: the last divides by neither 2 nor 4


def data():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(ROWS, 4)).astype("float32")
    return x, np.sin(x @ rng.normal(size=(4, 1))).astype("float32")


def model_of(options):
    import trellis

    nn = trellis.nn
    layers = [nn.Linear(4, 8, with_bias=False), nn.Tanh(), nn.Linear(8, 1)]
    if options.get("norm"):
        layers.insert(1, nn.BatchNorm1D(8))
    return nn.Sequential(*layers)


def metrics():
    """One of each kind: a mean, statistics that are no sums, and a function of all outputs."""
    import trellis

    class Largest(trellis.train.Metric):
        def measure(self, output, target):
            return {"error": trellis.max(trellis.abs(output - target))}

        def merge(self, first, second):
            return {"error": np.maximum(first["error"], second["error"])}

        def compute(self, statistics):
            return float(statistics["error"])

    def spread(output, target):
        return trellis.std(output - target) / trellis.std(target)

    return ["mean_absolute_error", Largest(), spread]


def fit(backend, options, **more):
    """The run that all tests make, in one process or in many; its history and the model."""
    import trellis

    with trellis.using_backend(backend):
        # Other weights on every rank: those of rank 0 must win.
        trellis.seed(11 + trellis.distributed.rank())
        model = model_of(options)
        # A loader has another seed on every rank too.
        given, size = data(), BATCH
        if options.get("loader"):
            given, size = trellis.data.Loader(data(), BATCH, shuffle=True), None
        history = trellis.train.fit(
            model,
            trellis.functional.mse_loss,
            given,
            optimizer=trellis.optim.SGD(lr=0.1, momentum=0.9),
            epochs=options.get("epochs", 3),
            batch_size=size,
            seed=5,
            metrics=metrics(),
            validation_data=trellis.data.Loader(data(), BATCH) if size is None else data(),
            compile=options.get("compile", False),
            progress=False,
            synchronize_batch_norm=bool(options.get("norm")),
            **more,
        )
    return history, model


def digest(model):
    import trellis

    leaves = trellis.tree.leaves((model.v, model.buffers))
    arrays = [np.ascontiguousarray(trellis.to_numpy(x)) for x in leaves]
    return hashlib.sha256(b"".join([x.tobytes() for x in arrays])).hexdigest()


def curve(backend, folder, options):
    import trellis

    rank = trellis.distributed.rank()
    history, model = fit(backend, options, distributed=True)
    record = {**history.as_dict(), "digest": digest(model)}
    (folder / f"curve-{rank}.json").write_text(json.dumps(record))


class Killed:
    """A callback that kills one rank after one step, the first time the program runs."""

    def __init__(self, folder, options):
        import trellis

        class Kill(trellis.train.Callback):
            def on_step(self, run):
                mark = folder / "killed"
                is_victim = trellis.distributed.rank() == options["victim"]
                if is_victim and run.step == options["at"] and not mark.exists():
                    mark.write_text("")
                    os.kill(os.getpid(), signal.SIGKILL)

        self.callback = Kill()


def killed(backend, folder, options):
    import trellis

    rank = trellis.distributed.rank()
    history, model = fit(
        backend,
        options,
        distributed=True,
        callbacks=[Killed(folder, options).callback],
        checkpoint=folder / "run.safetensors",
        checkpoint_every=2,
        resume=True,
    )
    record = {**history.as_dict(), "digest": digest(model)}
    (folder / f"curve-{rank}.json").write_text(json.dumps(record))


def collectives(backend, folder, options):
    """Every collective against NumPy's sums over what the ranks are known to hold."""
    import trellis

    group = trellis.distributed
    rank, size = group.rank(), group.size()

    def held(r):
        return {
            "a": np.arange(4, dtype=np.float32) * (r + 1),
            "b": (np.full((2, 2), r, np.float32), np.array([r, 5], np.int32)),
            "c": np.array([True, r == 0]),
        }

    def native(nest):
        return trellis.tree.map(lambda x: trellis.asarray(x, backend=backend), nest)

    def same(found, expected):
        columns, _ = trellis.tree.align((found, expected))
        for x, y in zip(*columns, strict=True):
            assert trellis.backend_of(x) == backend
            x = np.asarray(trellis.to_numpy(x))
            assert x.dtype == y.dtype and x.shape == y.shape, (x, y)
            # Small whole numbers: their sums are exact.
            assert (x == y).all(), (x, y)

    def over_ranks(fn, nests):
        return trellis.tree.map(lambda *xs: fn(np.stack(xs)).astype(xs[0].dtype), *nests)

    everyone = [held(r) for r in range(size)]
    mine = native(held(rank))
    for op in ("sum", "max", "min"):
        numbers = {"a": mine["a"], "b": mine["b"]}
        expected = [{"a": each["a"], "b": each["b"]} for each in everyone]
        reduce = getattr(np, op)
        same(group.all_reduce(numbers, op), over_ranks(lambda x: reduce(x, axis=0), expected))
    same(group.all_reduce(mine["a"], "mean"), np.mean([e["a"] for e in everyone], axis=0))
    same(group.broadcast(mine, root=size - 1), everyone[-1])
    same(group.all_gather(mine), over_ranks(lambda x: x, everyone))
    rows = [np.arange(size * 3, dtype=np.float32).reshape(size, 3) * (r + 1) for r in range(size)]
    scattered = group.reduce_scatter({"x": native(rows[rank])})
    same(scattered, {"x": sum(rows)[rank]})
    same(group.reduce_scatter(native(rows[rank]), "max"), np.max(rows, axis=0)[rank])
    group.barrier()
    gradient = trellis.grad(lambda x: trellis.sum(group.all_reduce(x * x)) * (rank + 1))
    weights = sum(range(1, size + 1))
    same(gradient(mine["a"]), 2 * held(rank)["a"] * weights)
    double = group.compile(lambda x: group.all_reduce({"x": x * 2})["x"] + 1)
    if options.get("compile", True):
        same(double(mine["a"]), 2 * sum([e["a"] for e in everyone]) + 1)
    group.check_same(mine, backend=backend)
    try:
        group.check_same({"w": np.zeros(3 + (rank == 1))}, backend=backend)
    except trellis.errors.DistributedError as error:
        (folder / f"refused-{rank}").write_text(str(error))
    (folder / f"done-{rank}").write_text("")


def moved(backend, options):
    """The bytes of every all-reduce in one step of `fit`."""
    import re

    import trellis
    from trellis.distributed._group import group
    from trellis.train._distributed_step import DistributedStep
    from trellis.train._step import Parts, no_scale

    with trellis.using_backend(backend):
        model, optimizer = model_of({}), trellis.optim.SGD(lr=0.1)
    parts = Parts(model, trellis.functional.mse_loss, optimizer, {}, backend)
    step = DistributedStep(parts, is_compiled=backend == "jax", is_synchronized=False)
    x, y = [trellis.asarray(each[:4], backend=backend) for each in data()]
    kept = (model.v, model.buffers, optimizer.init(model.v), no_scale())
    weight = trellis.asarray(np.array([0.5], np.float32), backend=backend)
    given = (trellis.random.key(0, backend=backend), weight, (x,), (y,))
    if backend == "jax":
        text = step._whole.program.lower(kept, given).compile().as_text()
        found = re.findall(r"f32\[(\d+)\]\S* all-reduce(?:-start)?\(", text)
        assert len(re.findall(r" all-reduce(?:-start)?\(", text)) == len(found)
        assert not re.search(r" (all-gather|reduce-scatter|all-to-all|collective-permute)\(", text)
        return [4 * int(length) for length in found]
    engine, sizes = group().engine(backend), []
    before = engine.all_reduce

    def counted(buffer, op):
        assert str(trellis.dtype(buffer)) == "float32"
        sizes.append(4 * int(buffer.shape[0]))
        return before(buffer, op)

    engine.all_reduce = counted
    step(kept, given, is_even=True)
    engine.all_reduce = before
    return sizes


def both(backend, folder, options):
    """Three tests for the price of one start."""
    import trellis

    collectives(backend, folder, options)
    curve(backend, folder, options)
    sizes = moved(backend, options)
    (folder / f"moved-{trellis.distributed.rank()}.json").write_text(json.dumps(sizes))


def sockets(backend, folder, options):
    """Where this rank and its launcher listen, while all engines are connected."""
    import socket_table

    import trellis

    x = trellis.ones(3, backend=backend)
    trellis.distributed.all_reduce(x)
    pids = sorted([os.getpid(), os.getppid()])
    found = {str(pid): socket_table.listening(pid) for pid in pids}
    record = {"pids": [str(pid) for pid in pids], "sockets": found}
    path = folder / f"sockets-{trellis.distributed.rank()}.json"
    path.write_text(json.dumps(record))
    trellis.distributed.barrier(backend=backend)


def both_exposed(backend, folder, options):
    """The framework's own engine, where the launcher's is used otherwise."""
    collectives(backend, folder, options)
    sockets(backend, folder, options)


def unlike(backend, folder, options):
    """Ranks with different models."""
    import trellis

    width = 8 + (trellis.distributed.rank() == 1)
    with trellis.using_backend(backend):
        model = trellis.nn.Linear(4, width)
        y = np.zeros((ROWS, width), np.float32)
        trellis.train.fit(
            model,
            trellis.functional.mse_loss,
            (data()[0], y),
            optimizer=trellis.optim.SGD(lr=0.1),
            distributed=True,
            progress=False,
        )


def hang(backend, folder, options):
    """One rank never comes to the collective."""
    import time

    import trellis

    if trellis.distributed.rank() == 1:
        time.sleep(600)
    x = trellis.ones(3, backend=backend)
    trellis.distributed.all_reduce(x)


def torch_wrapped(backend, folder, options):
    """`as_torch_module` under DDP and FSDP: three steps, beside the same steps in one process."""
    import torch
    from torch.distributed.fsdp import fully_shard
    from torch.nn.parallel import DistributedDataParallel

    import trellis

    rank, size = trellis.distributed.rank(), trellis.distributed.size()
    trellis.distributed.broadcast(torch.zeros(1))  # connects torch's engine

    def made():
        trellis.seed(3)
        with trellis.using_backend("torch"):
            return trellis.convert.as_torch_module(model_of({}))

    def trained(module, x, y):
        optimizer = torch.optim.SGD(module.parameters(), lr=0.1, momentum=0.9)
        for _ in range(3):
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(module(x), y).backward()
            optimizer.step()

    x, y = (torch.from_numpy(each[:40]) for each in data())
    rows = slice(rank * 40 // size, (rank + 1) * 40 // size)
    single, whole, sharded = made(), made(), made()
    trained(single, x, y)
    trained(DistributedDataParallel(whole), x[rows], y[rows])
    fully_shard(sharded, mesh=torch.distributed.init_device_mesh("cpu", (size,)))
    trained(sharded, x[rows], y[rows])
    kept = sum([p.to_local().numel() for p in sharded.parameters()])
    assert kept < sum([p.numel() for p in single.parameters()]), "each rank keeps a part"
    gathered = [p.full_tensor() for p in sharded.parameters()]
    for found in (list(whole.parameters()), gathered):
        for p, q in zip(found, single.parameters(), strict=True):
            # The mean of two means of 20 rows, instead of one of 40: the last places differ.
            torch.testing.assert_close(p, q, rtol=0, atol=1e-6)
    (folder / f"done-{rank}").write_text("")


def note_group(folder):
    """Whether torch's process group is still there when everything else has ended."""
    import torch

    is_there = torch.distributed.is_initialized()
    (folder / f"group-{os.environ['RANK']}").write_text("open" if is_there else "closed")


def main():
    task, backend, folder, *rest = sys.argv[1:]
    options = json.loads(rest[0]) if rest else {}
    if backend != "numpy":
        __import__(backend)
    import trellis

    if backend == "torch":
        # What is registered first is called last: after the engine has left.
        atexit.register(note_group, Path(folder))
    trellis.distributed.init(backend=backend, timeout=options.get("timeout", 60))
    globals()[task](backend, Path(folder), options)


if __name__ == "__main__":
    main()
