"""Forked workers draw numbers of their own, the same ones each time the program runs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import trellis

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no forks")

START = '''
import json, multiprocessing, os, sys
import numpy as np
import trellis

def draw(n=3):
    return trellis.random_uniform(shape=n).tolist()

def forked(fn):
    """What a forked process gets from `fn()`."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, json.dumps(fn()).encode())
        os._exit(0)
    os.waitpid(child, 0)
    found = json.loads(os.read(reading, 65536))
    os.close(reading), os.close(writing)
    return found
'''


def run(program):
    """What a new process prints, read as Python's literals are."""
    source = str(Path(trellis.__file__).parent.parent)
    found = subprocess.run(
        [sys.executable, "-c", START + program],
        env={**os.environ, "PYTHONPATH": source},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr[-3000:]
    return eval(found.stdout, {})


def all_differ(rows):
    numbers = [number for row in rows for number in row]
    return len(set(numbers)) == len(numbers)


def test_each_fork_has_its_stream():
    program = """
trellis.seed({seed})
first = draw()
children = [forked(draw) for _ in range(4)]
grandchildren = forked(lambda: [forked(draw), forked(draw), draw()])
print([first, draw(), *children, *grandchildren])
"""
    rows = run(program.format(seed=5))
    assert all_differ(rows)
    assert rows == run(program.format(seed=5))
    assert rows[2] != run(program.format(seed=6))[2]
    # The parent draws the same numbers whether it forks or not.
    assert rows[:2] == run("trellis.seed(5); print([draw(), draw()])")


def test_forks_are_counted_from_the_seed_on():
    again = run("""
rows = []
for _ in range(2):
    trellis.seed(5)
    rows.append([forked(draw), forked(draw)])
print(rows)
""")
    assert again[0] == again[1]
    assert all_differ(again[0])


def test_unseeded_processes_differ():
    program = "print([draw(), forked(draw), forked(draw)])"
    assert all_differ([*run(program), *run(program)])


def test_a_stream_that_is_open_at_the_fork():
    rows = run("""
rows = []
for _ in range(2):
    with trellis.random.stream(trellis.random.key(3)):
        with trellis.random.stream(trellis.random.key(4)):
            inner = [draw(), forked(draw), forked(draw), draw()]
        outer = [draw(), forked(draw)]

        def leave():
            return draw()

        rows.append([*inner, *outer, forked(leave)])
print(rows)
""")
    assert rows[0] == rows[1]
    assert all_differ(rows[0])


def test_workers_of_a_pool():
    program = """
trellis.seed(1)
context = multiprocessing.get_context("fork")
rows = []
for _ in range(4):
    queue = context.SimpleQueue()
    worker = context.Process(target=lambda: queue.put(draw()))
    worker.start()
    rows.append(queue.get())
    worker.join()
print(rows)
"""
    rows = run(program)
    assert all_differ(rows)
    assert rows == run(program)


@pytest.mark.parametrize("backend", ["torch"])
def test_workers_of_a_data_loader(backend):
    program = """
import torch
from torch.utils.data import DataLoader, Dataset

class Noise(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, i):
        return trellis.random_uniform(shape=2)

def epoch():
    # "fork" is what this is about; since Python 3.14 it is not the default any more.
    loader = DataLoader(Noise(), batch_size=None, num_workers=2, multiprocessing_context="fork")
    return [row.tolist() for row in loader]

trellis.seed(2)
print([*epoch(), *epoch()])
"""
    rows = run(program)
    assert len(rows) == 16
    assert all_differ(rows)
    assert rows == run(program)
