"""Every row compiled by torch for any size: what its compiler does from the second size on.

All dimensions above 1, and Python's numbers among the arguments, are symbols there, on which many a
Python function cannot be traced. JAX compiles for each shape anew, and TensorFlow's open sizes are
tried where layers are (`tests/functional/test_open_batch.py`).
"""

import pytest

from trellis.conformance.rows import ROWS
from trellis.conformance.test_rows import check_compiled


@pytest.mark.parametrize(
    "name", [name for name, row in ROWS.items() if not isinstance(row.compiled, str)]
)
@pytest.mark.parametrize("backend", ["torch"])
def test_compiled_for_any_size(name, backend, array):
    check_compiled(name, backend, array, open_sizes=True)
