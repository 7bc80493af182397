"""Tests that take their process with them."""

import os

import pytest


@pytest.mark.parametrize("backend", ["numpy", "torch"])
def test_crash(backend):
    if backend == "torch":
        os._exit(3)
    assert backend


@pytest.fixture
def deadly():
    os._exit(4)


@pytest.mark.parametrize("backend", ["torch"])
def test_crash_in_setup(backend, deadly):
    assert backend


@pytest.mark.parametrize("backend", ["numpy", "torch"])
def test_neighbour(backend):
    assert backend
