"""The examples in the docstrings of all public modules run and show what they say."""

import doctest
import importlib
import pkgutil

import pytest

import trellis


def modules():
    """All modules outside of the backends; the private ones hold the public functions."""
    names = ["trellis"]
    for info in pkgutil.walk_packages(trellis.__path__, "trellis."):
        if not info.name.startswith(("trellis._backends", "trellis.cli")):
            names.append(info.name)
    return names


@pytest.mark.parametrize("name", modules())
def test_examples(name):
    module = importlib.import_module(name)
    results = doctest.testmod(module, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert results.failed == 0
