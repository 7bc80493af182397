"""Whose comparison it is: that of a test, or one of the library that it tests.

A library may check its own work with `numpy.testing`. That says nothing about the test that called
it, which may compare nothing at all. So a call counts when a test module, its ``conftest.py`` or a
helper module makes it: `rewriting` leaves a mark in those.
"""

from __future__ import annotations

from types import FrameType

__all__ = ["DATA", "EACH", "ITSELF", "MARK", "TESTING", "is_of_a_test", "let_all_count"]

MARK = "@board_asserted"
"""The name in the globals of a module whose asserts are a test's."""
EACH = "@board_each"
"""The name of the function that each element of an ``assert all(...)`` goes through."""
ITSELF = "@board_itself"
"""The lines in which something is compared with itself, and what."""
DATA = "@board_data"
"""The first lines of the functions of a ``conftest.py`` that make data, and check nothing."""
TESTING = frozenset({"testing", "_testing", "test_util", "test_utils", "testing_utils", "chex"})
"""Modules for tests: those that they help call them, whoever wrote them."""

_PASSED_THROUGH = ("trellis_board.", "contextlib", "functools", "unittest.")
_MOST_FRAMES = 60
_all_count = False


def let_all_count() -> None:
    """Without rewritten asserts no module has a mark; then every call counts, as best we know."""
    global _all_count
    _all_count = True


def is_of_a_test(frame: FrameType | None, name: str) -> bool:
    """Whether the call of a comparison called `name`, made in `frame`, is that of a test.

    A function may be handed to others: in ``tree_map(assert_allclose, a, b)`` the caller does not
    know what it calls. Code that names the comparison itself, and is no test, is a library's.
    """
    if _all_count:
        return True
    for _ in range(_MOST_FRAMES):
        if frame is None:
            return True
        module = str(frame.f_globals.get("__name__", ""))
        if MARK in frame.f_globals:
            return frame.f_code.co_firstlineno not in frame.f_globals.get(DATA, ())
        if frame.f_code.co_filename.startswith("<doctest") or module.startswith("_pytest."):
            return True
        if not TESTING.isdisjoint(module.split(".")):
            name = frame.f_code.co_name
        elif not module.startswith(_PASSED_THROUGH) and _names(frame, name):
            return False
        frame = frame.f_back
    return True


def _names(frame: FrameType, name: str) -> bool:
    """Whether the code of a frame names a function, also by another name."""
    used = frame.f_code.co_names
    if name in used:
        return True
    values = (frame.f_globals.get(word) for word in used)
    return any(
        hasattr(value, "_board_notes") and getattr(value, "__name__", "") == name
        for value in values
    )
