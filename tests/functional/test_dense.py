"""The rows `linear` and `dropout`, and grouped products, on all four backends: the kit's tests."""

from trellis.conformance.test_dense import *  # noqa: F403
