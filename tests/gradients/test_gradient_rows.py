"""The gradient rows of the contract, each on all four backends: the kit's tests."""

from trellis.conformance.test_gradients import *  # noqa: F403
