"""Real processes: collectives against NumPy, and training equal to that of one process."""

import importlib.util
import json
import sys
from pathlib import Path

import launching
import numpy as np
import pytest
import rank_program

import trellis


def expected_curve(backend, **options):
    """The same run in this process alone."""
    return rank_program.fit(backend, options)[0]


def check_curve(backend, size, folder, **options):
    record, *others = launching.records(folder, size)
    expected = expected_curve(backend, **options)
    assert len(record["losses"]) == len(expected.losses)
    # Sums in another order: a few units in the last place of float32, which 50 steps make larger.
    np.testing.assert_allclose(record["losses"], expected.losses, rtol=0, atol=1e-5)
    for name, values in expected.metrics.items():
        np.testing.assert_allclose(record["metrics"][name], values, rtol=0, atol=1e-5)
    for other in others:
        assert other["digest"] == record["digest"], "weights differ between ranks"
        assert other["losses"] == record["losses"]


def test_two_processes_are_one(backend, tmp_path):
    done = launching.run_task("both", backend, 2, tmp_path, compile=backend != "torch", epochs=3)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "done-0").exists() and (tmp_path / "done-1").exists()
    refusal = (tmp_path / "refused-0").read_text()
    assert "rank 1 has 'w float64(4,)' where rank 0 has 'w float64(3,)'" in refusal
    if backend == "torch":
        # A group that outlives Python can abort the process (gloo's threads hold tensors).
        assert [(tmp_path / f"group-{rank}").read_text() for rank in range(2)] == ["closed"] * 2
    check_curve(backend, 2, tmp_path, epochs=3)
    # A step moves its gradients and its loss, once, and nothing else.
    parameters = 4 * 8 + 8 * 1 + 1
    for rank in range(2):
        assert json.loads((tmp_path / f"moved-{rank}.json").read_text()) == [4 * (parameters + 1)]


@pytest.mark.long
@pytest.mark.parametrize("norm", [False, True])
@pytest.mark.parametrize("size", [1, 2, 4])
def test_fifty_steps(backend, size, norm, tmp_path):
    given = {"epochs": 13, "norm": norm, "compile": True}
    done = launching.run_task("curve", backend, size, tmp_path, **given)
    assert done.returncode == 0, done.stdout + done.stderr
    check_curve(backend, size, tmp_path, epochs=13, norm=norm)


@pytest.mark.long
def test_collectives_of_four(backend, tmp_path):
    done = launching.run_task("collectives", backend, 4, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert all([(tmp_path / f"done-{rank}").exists() for rank in range(4)])


def test_ranks_with_another_model_are_refused(tmp_path):
    done = launching.run_task("unlike", "numpy", 2, tmp_path)
    assert done.returncode == 1
    assert "Rank 0 cannot train with rank 1" in done.stderr
    assert "rank 1 has '0/b float32(9,)' where rank 0 has '0/b float32(8,)'" in done.stderr


@pytest.mark.parametrize(
    "backend_name",
    ["numpy", pytest.param("torch", marks=[pytest.mark.long, pytest.mark.needs("torch")])],
)
def test_a_peer_that_hangs_is_noticed(backend_name, tmp_path):
    done = launching.run_task("hang", backend_name, 2, tmp_path, timeout=2)
    assert done.returncode == 1
    assert "DistributedError: all_reduce() failed on rank 0 of 2" in done.stderr
    assert "trellis run: rank 0 of 2 failed" in done.stderr
    assert launching.processes_with(str(tmp_path)) == []


@pytest.mark.long
@pytest.mark.parametrize("starter", ["torchrun", "mpiexec"])
def test_other_launchers(backend, starter, tmp_path):
    """torchrun knows torch's and JAX's meeting point; mpiexec serves all four."""
    import shutil
    import subprocess

    if starter == "torchrun":
        if backend not in ("torch", "jax"):
            pytest.skip("torchrun tells neither MPI nor TensorFlow where the processes are")
        import torch  # noqa: F401, which brings torchrun

        start = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2",
                 "--master-port=29431"]  # fmt: skip
    else:
        found = shutil.which("mpiexec", path=str(Path(sys.executable).parent))
        start = [found, "-n", "2", sys.executable]
    arguments = [launching.PROGRAM, "curve", backend, tmp_path, json.dumps({"epochs": 2})]
    done = subprocess.run(
        [*start, *[str(a) for a in arguments]],
        env=launching.environment(),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    check_curve(backend, 2, tmp_path, epochs=2)


# One process, in this one -------------------------------------------------------------------------


@pytest.fixture
def alone(monkeypatch):
    monkeypatch.delenv("RANK", raising=False)
    trellis.distributed.init()
    yield trellis.distributed
    trellis.distributed.shutdown()


def test_a_group_of_one(alone, backend, array):
    x = {"a": array([1.0, 2.0], "float32"), "b": [array([[1, 2]], "int32")]}
    for found in (alone.all_reduce(x), alone.broadcast(x), alone.all_reduce(x, "max")):
        columns, _ = trellis.tree.align((found, x))
        assert all([(trellis.to_numpy(p) == trellis.to_numpy(q)).all() for p, q in zip(*columns)])
    assert trellis.to_numpy(alone.all_gather(x)["b"][0]).shape == (1, 1, 2)
    assert trellis.to_numpy(alone.reduce_scatter(x["b"][0])).tolist() == [1, 2]
    alone.barrier()
    alone.check_same(x)


def test_wrong_arguments_are_explained(alone):
    errors = trellis.errors
    with pytest.raises(errors.ArgumentError, match="sum, mean, max, min"):
        alone.all_reduce(np.ones(2), "median")
    with pytest.raises(errors.ArgumentError, match="floating-point"):
        alone.all_reduce(np.ones(2, int), "mean")
    with pytest.raises(errors.ArgumentTypeError, match="pytrees of arrays"):
        alone.broadcast({"a": 3})
    with pytest.raises(errors.ArgumentError, match="root is a rank"):
        alone.broadcast(np.ones(2), root=1)
    with pytest.raises(errors.ShapeError, match="first axis of 1"):
        alone.reduce_scatter(np.ones(2))
    with pytest.raises(errors.DtypeError, match="complex"):
        alone.all_reduce(np.ones(2, complex))


def test_without_a_group():
    errors = trellis.errors
    with pytest.raises(errors.DistributedError, match="init"):
        trellis.distributed.all_reduce(np.ones(2))
    with pytest.raises(errors.DistributedError, match="trellis run"):
        trellis.train.fit(
            trellis.nn.Identity(), np.mean, np.ones(2), optimizer=trellis.optim.SGD(lr=0.1),
            distributed=True,
        )  # fmt: skip
    assert (trellis.distributed.rank(), trellis.distributed.size()) == (0, 1)


def test_mpi_is_named_where_it_is_missing(monkeypatch):
    from trellis._backends.numpy.distributed import connect_ranks
    from trellis._backends.shared.distributed import Place

    monkeypatch.setitem(sys.modules, "mpi4py", None)
    with pytest.raises(trellis.errors.BackendNotInstalledError, match=r"trellis-ml\[mpi\]"):
        connect_ranks(Place(0, 2))


def test_importing_joins_nothing():
    assert importlib.util.find_spec("trellis.distributed") is not None
    assert not trellis.distributed.is_initialized()
