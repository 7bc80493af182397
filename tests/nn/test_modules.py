"""The module rows of the contract, each on all four backends: the kit's tests."""

from trellis.conformance.test_modules import *  # noqa: F403
from trellis.conformance.test_modules import _default_backend as _default_backend
