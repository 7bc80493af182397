"""Threads and processes: the same batches, errors that name the example, and no process left."""

import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from functools import partial
from multiprocessing.process import BaseProcess

import numpy as np
import pytest

from loader_program import (
    Squares,
    all_digests,
    digest,
    doubled,
    failing_at_seven,
    joined,
    made,
    noisy,
    stream,
)
from trellis.data import Loader
from trellis.data.making import Task
from trellis.errors import ArgumentTypeError, DataError

PROCESSES = {"worker_kind": "process"}


@pytest.mark.parametrize("workers, prefetch", [(1, 1), (3, 2), (9, 5)])
def test_threads_give_the_same_batches(workers, prefetch):
    for kind in ("plain", "stream", "packed"):
        assert all_digests(kind, workers=workers, prefetch=prefetch) == all_digests(kind)
    assert [t for t in threading.enumerate() if t.name.startswith("trellis-data")] == []


def test_threads_end_with_a_loop_that_is_left():
    for batch in made(workers=3):
        assert batch["id"].shape == (5,)
        break
    gc.collect()
    assert [t for t in threading.enumerate() if t.name.startswith("trellis-data")] == []


def test_draws_belong_to_the_example():
    """The same noise for an example, in whichever batch, place or worker it is mapped."""
    noise = {}
    for options in ({"batch_size": 5}, {"batch_size": 7, "workers": 2}):
        batches = Loader(Squares(), shuffle=True, seed=1, map=noisy, **options)
        found = {int(i): tuple(n) for b in batches for i, n in zip(b["id"], b["noise"])}
        noise.setdefault("first", found)
        assert found == noise["first"]
    assert len(set(found.values())) == 37
    again = Loader(Squares(), 37, shuffle=True, seed=1, map=noisy)
    again.go_to(1)
    later = next(iter(again))
    assert {tuple(n) for n in later["noise"]}.isdisjoint(found.values())
    # Drawn twice in an epoch, an example has other noise.
    twice = next(iter(Loader(Squares(), 20, weights=[1] + [0] * 36, map=noisy, seed=0)))
    assert len({tuple(n) for n in twice["noise"]}) == 20


def test_error_in_a_thread():
    with pytest.raises(DataError, match=r"Example 7 .*ValueError: no sevens") as info:
        list(Loader(Squares(), 3, map=failing_at_seven, workers=2))
    assert isinstance(info.value.__cause__, ValueError)


# Processes ----------------------------------------------------------------------------------------


def workers_of_this_process():
    return [p for p in multiprocessing.active_children() if p.name == "trellis-data"]


def test_processes():
    """One start of processes for: equal batches, loops that are left, large arrays, errors."""
    with Loader(Squares(), 5, shuffle=True, seed=5, map=noisy, workers=2, **PROCESSES) as loader:
        expected = all_digests()
        found = []
        while loader.epoch < 2:
            found += [digest(joined([batch])) for batch in loader]
        assert found == expected[:16]
        assert len(workers_of_this_process()) == 2, "they stay from epoch to epoch"
        for batch in loader:  # left in the middle, with batches on the way
            assert digest(joined([batch])) == expected[16]
            break
        # A second iteration while a first one is under way: neither loses a batch.
        first, second = loader.host_batches(0), loader.host_batches(1)
        for i in range(8):
            assert digest(next(first)[1]) == expected[i]
            assert digest(next(second)[1]) == expected[8 + i]
        assert [digest(joined([batch])) for batch in loader] == expected[17:]
        make = loader._make
        assert digest(make(Task((0, 5), 0, 0, 0, 5))) == expected[0]
    assert workers_of_this_process() == []


def test_large_arrays_and_errors_in_processes():
    data = [np.full((100, n), i, "float32") for i, n in enumerate([60] * 12 + [200] * 8)]
    loader = Loader(data, 4, map=doubled, workers=1, prefetch=1, **PROCESSES)
    for _ in range(2):  # small ones are shared, those that turn out larger come by themselves
        kept = list(loader)
        for i, batch in enumerate(kept):
            assert batch.shape == (4, 100, 60 if i < 3 else 200)
            assert batch[:, 0, 0].tolist() == [8.0 * i, 8.0 * i + 2, 8.0 * i + 4, 8.0 * i + 6]
    assert loader._workers._workers[0]._memory is not None
    del loader
    gc.collect()
    assert workers_of_this_process() == [], "they end with the loader"


def test_error_in_a_process():
    loader = Loader(Squares(), 3, map=failing_at_seven, workers=1, **PROCESSES)
    with pytest.raises(DataError, match=r"Example 7 .*no sevens") as info:
        list(loader)
    assert "In the worker process" in str(info.value) and "failing_at_seven" in str(info.value)
    assert loader.position == 2
    # The worker goes on; and one that dies is named, and replaced.
    worker = workers_of_this_process()[0]
    loader.go_to(0, 3)
    assert [int(batch["id"][0]) for batch in loader] == list(range(9, 37, 3))
    os.kill(worker.pid, signal.SIGKILL)
    with pytest.raises(DataError, match=r"A worker process ended while it .*exit code -9"):
        list(loader)
    loader.go_to(0, 3)
    assert next(iter(loader))["id"].tolist() == [9, 10, 11]
    loader.close()
    assert workers_of_this_process() == []


def test_streams_in_processes():
    loader = Loader(stream, 5, shuffle=8, seed=5, map=noisy, workers=2, **PROCESSES)
    assert [digest(joined([batch])) for batch in loader] == all_digests("stream")[:8]
    loader.close()


@pytest.mark.parametrize("fn", [lambda x: x, partial(lambda x: x)])
def test_functions_that_cannot_be_sent(fn):
    loader = Loader(Squares(), 3, map=fn, workers=1, **PROCESSES)
    with pytest.raises(ArgumentTypeError, match='worker_kind="thread"'):
        next(iter(loader))
    assert workers_of_this_process() == []


PROGRAM = """
import sys
import loader_program
from trellis.data import Loader

data, fn = loader_program.Squares(), loader_program.stopping_at_seven
loader = Loader(data, 3, map=fn, workers=1, worker_kind="process")
{guard}
    batches = iter(loader)
    print(next(batches)["id"].tolist(), next(batches)["id"].tolist())
"""


def run_program(folder, guard):
    path = folder / "program.py"
    path.write_text(PROGRAM.format(guard=guard))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(
        [sys.executable, "-W", "error", path], capture_output=True, text=True, timeout=300,
        check=False, env=environment,
    )  # fmt: skip


def test_end_of_a_program(tmp_path):
    """A worker does not keep a program from ending, even one that hangs, and says nothing."""
    done = run_program(tmp_path, 'if __name__ == "__main__":')
    assert (done.returncode, done.stdout, done.stderr) == (0, "[0, 1, 2] [3, 4, 5]\n", "")


def test_program_without_a_guard(tmp_path):
    done = run_program(tmp_path, "if True:")
    assert done.returncode == 1
    assert 'below `if __name__ == "__main__":`' in done.stderr


@pytest.mark.parametrize(
    "error", [ConnectionResetError(104, "Connection reset by peer"), EOFError()]
)
def test_worker_that_does_not_start(monkeypatch, error):
    """As on Python 3.14 without a guard; the worker before it is ended."""
    start = BaseProcess.start

    def second_fails(process):
        if workers_of_this_process():
            raise error
        start(process)

    monkeypatch.setattr(BaseProcess, "start", second_fails)
    loader = Loader(Squares(), 3, workers=2, **PROCESSES)
    with pytest.raises(DataError, match=rf"was started \({type(error).__name__}.*__main__"):
        next(iter(loader))
    assert workers_of_this_process() == []
    monkeypatch.undo()
    with loader:
        assert next(iter(loader))["id"].tolist() == [0, 1, 2]
