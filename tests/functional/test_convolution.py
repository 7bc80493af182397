"""The convolution rows of the contract, each on all four backends: the kit's tests."""

from trellis.conformance.test_convolution import *  # noqa: F403
from trellis.conformance.test_convolution import _one_thread as _one_thread
