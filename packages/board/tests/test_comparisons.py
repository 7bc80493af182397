"""What counts as a comparison, and which backend it was about."""

from __future__ import annotations

import numpy as np
import pytest

from trellis_board import comparisons
from trellis_board.arrays import backend_of, holds
from trellis_board.comparisons import Tally, recording

from .sample.arrays import Tensor


def test_a_pass_without_comparison_is_hollow():
    assert "without making any comparison" in (Tally("numpy").why_hollow() or "")


def test_a_comparison_of_unknown_things_is_trusted():
    tally = Tally("torch")
    with recording(tally):
        comparisons.note(1.0, [2.0], "three")
    assert tally.count == 1
    assert tally.why_hollow() is None


@pytest.mark.parametrize(
    ("backend", "operands", "trusted"),
    [
        ("torch", (Tensor([1.0]), np.ones(1)), True),
        ("torch", ({"deep": [Tensor([1.0])]},), True),
        ("torch-cpu", (Tensor([1.0]),), True),
        ("torch", (np.ones(1), np.float32(1)), False),
        ("jax", (Tensor([1.0]), np.ones(1)), False),
        ("numpy", (np.ones(1),), True),
        ("sqlite", (np.ones(1),), True),
    ],
)
def test_arrays_must_belong_to_the_backend(backend, operands, trusted):
    tally = Tally(backend)
    tally.add(operands, frame=None)
    assert (tally.why_hollow() is None) == trusted


def test_the_accusation_says_what_was_compared_and_what_to_do():
    tally = Tally("torch")
    tally.add((np.ones(1),), frame=None)
    assert "arrays of numpy; no array of torch" in tally.why_hollow()
    assert "converted(result)" in tally.why_hollow()


def test_a_view_of_a_tensors_memory_is_about_the_tensor():
    class Memory(np.ndarray):
        """Stands for the object that owns the memory behind `tensor.numpy()`."""

    Memory.__module__ = "torch"
    view = np.asarray(np.ones(3).view(Memory)[:2])
    assert type(view) is np.ndarray
    tally = Tally("torch")
    tally.add((view,), frame=None)
    assert tally.why_hollow() is None


def test_a_local_variable_shows_that_the_backend_was_used():
    tally = Tally("torch")
    result = Tensor([1.0])
    with recording(tally):
        comparisons.note(np.asarray(result))
    assert tally.why_hollow() is None


def test_an_origin_or_a_conversion_can_be_declared():
    declared, announced = Tally("torch"), Tally("torch")
    with recording(declared):
        comparisons.note(np.ones(1), origin=Tensor([1.0]))
    with recording(announced):
        comparisons.converted(Tensor([1.0]))
        comparisons.note(np.ones(1))
    assert declared.why_hollow() is None
    assert announced.why_hollow() is None


def test_recordings_nest_and_end():
    outer, inner = Tally("numpy"), Tally("numpy")
    with recording(outer):
        with recording(inner):
            comparisons.note()
        comparisons.note()
        comparisons.note()
    comparisons.note()
    assert (outer.count, inner.count) == (2, 1)


def test_types_that_are_no_arrays():
    assert backend_of(np.ones(1)) == "numpy"
    assert backend_of(np.dtype("float32")) is None
    assert backend_of(np.float32(1)) is None
    assert backend_of(np.ndarray) is None
    assert backend_of([]) is None


def test_arrays_in_slots_are_found():
    class Lazy:
        __slots__ = ("data", "empty")

    class Derived(Lazy):
        __slots__ = ("name",)

    lazy = Derived()
    lazy.name = "x"
    assert not holds({"lazy": lazy}, "numpy")
    lazy.data = np.ones(2)
    assert holds({"lazy": lazy}, "numpy")
