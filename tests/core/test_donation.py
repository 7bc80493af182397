"""Donated arrays: where they are among all leaves, and what takes their place."""

import numpy as np
import pytest

import trellis
from trellis import tree
from trellis._core.donation import GivenAway, give_away, places
from trellis.errors import ArgumentError

X = np.ones(2)


@pytest.mark.parametrize(
    "argnums, found",
    [((), []), ((0,), [0, 1]), ((1,), [2]), ((2,), [3, 4, 5]), ((0, 2), [0, 1, 3, 4, 5])],
)
def test_places_of_arguments(argnums, found):
    arguments = ({"a": 1, "b": 2}, 3, [4, (5, 6)]), {"more": 7}
    assert places(tree.structure(arguments), argnums) == found


def test_arrays_in_dicts_and_lists_are_dropped():
    nest = {"a": X, "n": 3, "in": {"b": X, "list": [X, 4, (X, [X])]}}
    give_away(nest)
    assert type(nest["a"]) is GivenAway and type(nest["in"]["b"]) is GivenAway
    first, number, (kept, last) = nest["in"]["list"]
    assert type(first) is GivenAway and type(last[0]) is GivenAway
    assert kept is X and nest["n"] == 3 and number == 4  # a tuple cannot be changed


def test_an_array_alone_stays():
    give_away(X)
    pair = (X, {"a": X})
    give_away(pair)
    assert pair[0] is X and type(pair[1]["a"]) is GivenAway


def test_the_use_of_a_donated_array_is_explained():
    nest = {"a": X}
    give_away(nest)
    for use in (lambda: nest["a"].shape, lambda: trellis.sum(nest["a"])):
        with pytest.raises(ArgumentError, match="This array was donated"):
            use()
