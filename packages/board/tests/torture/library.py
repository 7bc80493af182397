"""A library that checks its own work, as POT does; its asserts are none of a test's."""

import numpy as np
from numpy.testing import assert_almost_equal as its_own_name


def solve(a):
    np.testing.assert_almost_equal(a.sum(), a.sum(), err_msg="marginals differ")
    its_own_name(a.sum(), a.sum())
    return a * 2


def tree_map(function, *trees):
    """Calls what it was given, and does not know what that is."""
    return [function(*leaves) for leaves in zip(*trees, strict=True)]
