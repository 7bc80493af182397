"""Comparing arrays in tests, on every framework, and saying what differs."""

from ._core.comparisons import listeners as listeners
from ._core.comparisons import report as report
from ._gradients.checking import check_gradients as check_gradients
from ._testing.closeness import TOLERANCES as TOLERANCES
from ._testing.closeness import assert_close as assert_close
