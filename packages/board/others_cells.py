"""A pytest plugin for `others.py`: writes the cell of every test into pytest's JUnit XML.

The XML then has what pytest says of a test beside the place where the board must have put it.
"""

from __future__ import annotations

import json

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> None:
    """Add the cell to the properties of a test, which the XML repeats: also of a skipped one."""
    watcher = item.config.pluginmanager.get_plugin("board-watcher")
    if watcher is not None:
        item.user_properties.append(("board-cell", json.dumps(watcher.cell_of(item))))
