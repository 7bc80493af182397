"""Every row on every backend: the kit's tests."""

from trellis.conformance.test_rows import *  # noqa: F403
