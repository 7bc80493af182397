"""One of two ranks is killed at a random step; the run goes on from its checkpoint as if nothing
had been."""

import random
import time
from pathlib import Path

import launching
import numpy as np
import pytest
import rank_program


def check_killed(backend, folder, seed, **more):
    chosen = random.Random(seed)
    steps = 4 * 3
    before = memory_of_mpi()
    victim, at = chosen.randrange(2), chosen.randrange(1, steps)
    done = launching.run_task(
        "killed", backend, 2, folder, options=["--restarts", "1"], victim=victim, at=at, **more
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"trellis run: rank {victim} of 2 was killed by SIGKILL" in done.stderr
    assert (folder / "killed").exists()
    first, second = launching.records(folder, 2)
    expected = rank_program.fit(backend, more)[0]
    assert len(first["losses"]) == steps
    # Sums in another order: a few units in the last place of float32.
    np.testing.assert_allclose(first["losses"], expected.losses, rtol=0, atol=1e-5)
    assert first["losses"] == second["losses"] and first["digest"] == second["digest"]
    assert launching.processes_with(str(folder)) == []
    # Another test may be starting its ranks: what they name stays a moment only.
    end = time.monotonic() + 20
    while not memory_of_mpi() <= before and time.monotonic() < end:
        time.sleep(0.2)
    assert memory_of_mpi() <= before, "shared memory is left behind"


def memory_of_mpi():
    return set(Path("/dev/shm").glob("mpich_shm_*"))


def test_a_rank_is_killed_and_nothing_is_lost(tmp_path):
    check_killed("numpy", tmp_path, 0)


def test_a_rank_with_a_loader_is_killed(tmp_path):
    """Ranks draw other seeds for their loaders: that of rank 0 holds, also after a restart."""
    check_killed("numpy", tmp_path, 0, loader=True)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1, 20))
def test_twenty_times(seed, tmp_path):
    check_killed("numpy", tmp_path, seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2])
def test_on_all_engines(backend, seed, tmp_path):
    check_killed(backend, tmp_path, seed)


@pytest.mark.long
@pytest.mark.parametrize("sizes", [(1, 2), (4, 2), (2, 1)])
def test_another_number_of_processes_goes_on(sizes, tmp_path):
    """Half of the run with some processes, the rest with others."""
    never = {"victim": -1, "at": 0}
    for size, epochs in zip(sizes, (2, 4)):
        done = launching.run_task("killed", "numpy", size, tmp_path, epochs=epochs, **never)
        assert done.returncode == 0, done.stdout + done.stderr
    found = launching.records(tmp_path, 1)[0]
    expected = rank_program.fit("numpy", {"epochs": 4})[0]
    np.testing.assert_allclose(found["losses"], expected.losses, rtol=0, atol=1e-5)
