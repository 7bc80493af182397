"""Comparing arrays in tests, on every framework, and saying what differs; a plugin for pytest.

`pytest -p trellis.testing`, or `pytest_plugins = ["trellis.testing"]` in a `conftest.py`, gives the
tests of a library the option `--backend` and the fixtures `backend`, `make_array` and
`strict_arrays`; docs/learn/library.md has an example.
"""

from ._testing import listeners as listeners
from ._testing import report as report
from ._testing.closeness import TOLERANCES as TOLERANCES
from ._testing.closeness import assert_close as assert_close
from ._testing.gradients import check_gradients as check_gradients

pytest_plugins = ["trellis._testing.plugin"]

# A conftest.py may import this module before pytest loads it as a plugin; pytest would warn that it
# cannot rewrite its asserts. There are none.
__doc__ = f"{__doc__}\nPYTEST_DONT_REWRITE"
