"""The workers of this suite: each keeps to one framework, and helps when its own work is done."""

from types import SimpleNamespace

import pytest
from xdist.remote import Producer

from scheduling import ORDER, ByBackend, backend_of, group_of


class Node:
    """A worker that only notes what it was given."""

    def __init__(self, name):
        self.gateway = SimpleNamespace(id=name)
        self.shutting_down = False
        self.given = []

    def send_runtest_some(self, indices):
        self.given += indices

    def shutdown(self):
        self.shutting_down = True


@pytest.fixture
def run():
    """What each of two workers runs, when each test takes as long as any other."""

    def finish(groups):
        options = SimpleNamespace(loadscopereorder=True)
        config = SimpleNamespace(option=options, getvalue=lambda name: ["popen", "popen"])
        scheduler = ByBackend(config, Producer("scheduling", enabled=False))
        nodes = [Node("a"), Node("b")]
        for node in nodes:
            scheduler.add_node(node)
        tests = [f"{file}::test_{i}[{b}]" for file, b in groups for i in range(3)]
        for node in nodes:
            scheduler.add_node_collection(node, tests)
        scheduler.schedule()
        done = [0, 0]
        while not scheduler.tests_finished or any(
            done[k] < len(node.given) for k, node in enumerate(nodes)
        ):
            for k, node in enumerate(nodes):
                if done[k] < len(node.given):
                    scheduler.mark_test_complete(node, node.given[done[k]])
                    done[k] += 1
        found = [[backend_of(group_of(tests[i])) for i in node.given] for node in nodes]
        assert sum(map(len, found)) == len(tests)
        return found

    return finish


def test_each_worker_keeps_to_its_framework(run):
    groups = [(file, b) for file in "abcd" for b in ("numpy", "jax", "tensorflow")]
    first, second = run(groups)
    assert first[:12] == ["jax"] * 12 and second[:12] == ["tensorflow"] * 12
    assert set(first[12:]) | set(second[12:]) == {"numpy"}


def test_a_free_worker_helps_the_other(run):
    first, second = run([(file, "jax") for file in "abcdefgh"])
    assert abs(len(first) - len(second)) <= 3


def test_every_group_has_a_place():
    """By file and backend; a name that only looks like one is none."""
    assert group_of("tests/test_cases.py::test_value[numpy-abs]") == "tests/test_cases.py@numpy"
    assert group_of("tests/test_cases.py::test_value[row-torch]") == "tests/test_cases.py@torch"
    assert group_of("tests/test_jax.py::test_jax") == "tests/test_jax.py@all"
    assert {"numpy", "jax", "torch", "tensorflow", "all"} == set(ORDER)
