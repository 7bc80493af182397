"""The random rows of the contract, each on all four backends: the kit's tests."""

from trellis.conformance.test_random import *  # noqa: F403
