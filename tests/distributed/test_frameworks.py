"""What is passed through to one framework: JAX's shardings, and torch's DDP and FSDP."""

import os
import subprocess
import sys
from pathlib import Path

import launching
import numpy as np
import pytest

import trellis


@pytest.mark.needs("torch")
def test_torch_module_under_ddp_and_fsdp(tmp_path):
    done = launching.run_task("torch_wrapped", "torch", 2, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "done-0").exists() and (tmp_path / "done-1").exists()


@pytest.mark.needs("jax")
def test_eight_devices_in_one_process():
    flags = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=8"
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("spmd_program.py")],
        env={**launching.environment(), "XLA_FLAGS": flags},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    # JAX 0.12 prints a line of its own before it raises about a batch that does not divide.
    assert done.stdout.splitlines()[-1] == "done"


@pytest.mark.needs("jax", "torch")
def test_shard_says_what_it_takes():
    import torch
    from jax.sharding import SingleDeviceSharding

    rule = SingleDeviceSharding(trellis.device(trellis.ones(1, backend="jax")))
    x = {"a": trellis.ones(2, backend="jax"), "b": trellis.zeros(2, backend="jax")}
    for given in (rule, {"a": rule}, lambda chain, x: rule if chain == "a" else None):
        found = trellis.distributed.shard(x, given)
        assert found["a"].sharding == rule and np.asarray(found["b"]).tolist() == [0, 0]
    errors = trellis.errors
    with pytest.raises(errors.NotSupportedError, match="FSDP"):
        trellis.distributed.shard({"w": torch.ones(2)}, rule)
    with pytest.raises(errors.ArgumentTypeError, match="rule must be"):
        trellis.distributed.shard(x, 3)
    optimizer = trellis.optim.SGD(lr=0.1)
    with trellis.using_backend("torch"):
        model = trellis.nn.Linear(2, 1)
    with pytest.raises(errors.ArgumentError, match="models on JAX"):
        trellis.train.fit(
            model, np.mean, np.ones((2, 2)), optimizer=optimizer, sharding=rule, progress=False
        )
    with pytest.raises(errors.ArgumentError, match="one of them"):
        trellis.train.fit(
            model, np.mean, np.ones((2, 2)), optimizer=optimizer, sharding=rule, distributed=True
        )
