"""Functions over arrays that are called with dicts and Containers."""

from collections import namedtuple

import numpy as np
import pytest

import trellis
from trellis import Container, tree
from trellis._core.leafwise import has_nest, is_of_one_type
from trellis.errors import ArgumentTypeError, MixedBackendsError, ShapeError

Pair = namedtuple("Pair", "low high")


def test_pytrees_among_arguments():
    assert has_nest(1, {}) and has_nest(Container()) and not has_nest(1, [{}])


def test_other_arguments_are_used_for_every_leaf():
    found = tree.call_leafwise(lambda x, y, *, z: (x, y, z), ({"a": 1, "b": [2]}, 5), {"z": 7})
    assert found == ({"a": 1, "b": [2]}, {"a": 5, "b": [5]}, {"a": 7, "b": [7]})


def test_pytrees_by_keyword_and_in_lists():
    c = {"a": 1, "b": 2}
    assert tree.call_leafwise(lambda x, *, y: x + y, (10,), {"y": c}) == {"a": 11, "b": 12}
    assert tree.call_leafwise(sum, ([c, 100, c],), {}) == {"a": 102, "b": 104}
    found = tree.call_leafwise(lambda pair: pair.high - pair.low, (Pair(c, {"a": 5, "b": 9}),), {})
    assert found == {"a": 4, "b": 7}
    assert tree.call_leafwise(lambda t: type(t).__name__, ((c, 1),), {}) == {
        "a": "tuple",
        "b": "tuple",
    }


def test_results_with_several_parts():
    c = {"a": 7, "b": 9}
    low, high = tree.call_leafwise(lambda x: Pair(x - 1, x + 1), (c,), {})
    assert low == {"a": 6, "b": 8} and high == {"a": 8, "b": 10}
    named = tree.call_leafwise(lambda x: Pair(x - 1, x + 1), (c,), {})
    assert type(named) is Pair
    assert tree.call_leafwise(lambda x: [x, [x]], (c,), {}) == [c, [c]]
    with pytest.raises(ShapeError, match=r"results of different lengths: \[7, 9\]"):
        tree.call_leafwise(lambda x: [0] * x, (c,), {})


def test_no_pytree_at_all():
    with pytest.raises(ArgumentTypeError, match="needs a dict or Container"):
        tree.call_leafwise(abs, (1,), {})


def test_columns_of_one_type():
    assert is_of_one_type([1, 2]) and is_of_one_type(["a"])
    assert not is_of_one_type([1, 2.0]) and not is_of_one_type([1, True])


def test_functions_with_options_and_groups():
    m = np.array([[2.0, 0.0], [0.0, 4.0]])
    nest = Container(a=m, b={"c": 2 * m})
    assert trellis.sum(nest, axis=1).b.c.tolist() == [4.0, 8.0]
    assert trellis.linalg.trace(nest).a == 6.0
    assert trellis.fft.fft(nest).a.shape == (2, 2)
    assert trellis.clip(nest, 1.0, 3.0).a.tolist() == [[2.0, 1.0], [1.0, 3.0]]
    assert trellis.where(Container(a=m > 1), Container(a=m), 0.5).a.tolist() == [
        [2.0, 0.5],
        [0.5, 4.0],
    ]
    assert type(trellis.sqrt(Container())) is Container and type(trellis.sqrt({})) is dict
    assert len(trellis.sqrt(Container())) == 0 and len(trellis.sqrt({})) == 0


def test_leaves_of_several_types():
    """The backend is looked for again where the types of leaves differ."""
    nest = {"a": np.array([4.0]), "b": np.float32(9.0)}
    assert trellis.sqrt(nest)["b"] == 3.0 and trellis.sqrt(nest)["a"].tolist() == [2.0]
    assert trellis.add(nest, {"a": 1, "b": 2.0})["b"] == 11.0
    assert trellis.sum({**nest, "a": np.ones((2, 2))}, keepdims=True)["a"].shape == (1, 1)


def test_arrays_of_two_frameworks_in_one_call():
    torch = pytest.importorskip("torch")
    nest = {"a": np.ones(2), "b": torch.ones(2)}
    found = trellis.exp(nest)
    assert type(found["a"]) is np.ndarray and type(found["b"]) is torch.Tensor
    with pytest.raises(MixedBackendsError):
        trellis.add(nest, {"a": np.ones(2), "b": np.ones(2)})


def test_names_with_an_underscore_are_no_functions():
    from trellis._core.dispatch import xp_of

    with pytest.raises(AttributeError, match="_anything"):
        _ = xp_of({})._anything


@pytest.mark.parametrize("invert", [False, True])
def test_membership(backend, array, invert):
    """Written once in `_core/membership.py`; numbers, no others, and those without an order."""

    def found(x1, x2):
        return trellis.to_numpy(trellis.isin(x1, x2, invert=invert)).tolist()

    def expected(answer):
        return (np.array(answer) != invert).tolist()

    x = array([[1.0, 2.0], [3.0, 9.0]])
    assert found(x, array([3.0, 1.0, 5.0])) == expected([[True, False], [True, False]])
    assert found(x, array([])) == expected([[False, False], [False, False]])
    assert found(x, 2.0) == expected([[False, True], [False, False]])
    assert found(3.0, x) == expected(True)
    flags = (
        array([True, False])
        if backend == "numpy"
        else trellis.asarray([True, False], backend=backend)
    )
    assert found(flags, flags[:1]) == expected([True, False])
    z = trellis.asarray([1 + 1j, 2.0], backend=backend)
    assert found(z, z[:1]) == expected([True, False])
