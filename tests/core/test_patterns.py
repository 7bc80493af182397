"""Patterns on key paths."""

import pytest

from trellis._core.patterns import matches


@pytest.mark.parametrize(
    "pattern, chain, expected",
    [
        ("head/w", "head/w", True),
        ("head/w", "head/w2", False),
        ("head/*", "head/w", True),
        ("head/*", "overhead/w", False),
        ("*/w", "head/w", True),
        ("*/w", "head/w/x", False),
        ("*/attention/*", "layers/v0/attention/w", True),
        ("*/attention/*", "layers/v0/mlp/w", False),
        # Each part is looked for behind the one before, and before the last one.
        ("*/a/*/b/*", "x/a/y/b/z", True),
        ("*/a/*/b/*", "x/b/y/a/z", False),
        ("*a*b", "ab", True),
        ("*ab*b", "ab", False),
        ("a*a", "a", False),
        ("a*a", "aa", True),
        ("*", "anything/at/all", True),
        ("!head/*", "body/w", True),
        ("!head/*", "head/w", False),
    ],
)
def test_what_a_pattern_matches(pattern, chain, expected):
    assert matches(pattern, chain) is expected
