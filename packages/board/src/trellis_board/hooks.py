"""The hook that a project's ``conftest.py`` can implement for the board."""

from __future__ import annotations

import pytest


@pytest.hookspec(firstresult=True)
def pytest_board_backend(item: pytest.Item) -> str | None:
    """The backend that a test runs on, or None if this implementation does not know.

    It comes before the backend argument of the test and before ``--board-backend``::

        def pytest_board_backend(item):
            device = item.get_closest_marker("device")
            return device.args[0] if device else None
    """
