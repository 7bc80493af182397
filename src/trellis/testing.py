"""Comparing arrays in tests, on every framework, and saying what differs."""

from ._testing import listeners as listeners
from ._testing import report as report
from ._testing.closeness import TOLERANCES as TOLERANCES
from ._testing.closeness import assert_close as assert_close
from ._testing.gradients import check_gradients as check_gradients
