"""Pytrees and Containers: keys, chains, structure, arithmetic, and their way through the
compilers."""

import copy
import pickle

import numpy as np
import pytest

import trellis
from trellis import Container, errors, tree
from trellis.testing import assert_close


def sample():
    return Container({"b": {"y": 2, "x": 1}, "a": 3})


def test_optree_knows_containers_in_our_namespace():
    """Not in its global one, where other libraries look too (docs/learn/how_it_works.md)."""
    import optree

    found = optree.tree_map(lambda x: 10 * x, sample(), namespace="trellis")
    assert type(found) is Container
    assert found == Container({"b": {"y": 20, "x": 10}, "a": 30})
    assert optree.tree_leaves(sample()) == [sample()]


# Container
# -----------------------------------------------------------------------------------------


def test_nested_dicts_become_containers():
    c = sample()
    assert type(c.b) is Container and isinstance(c, dict)
    assert list(c) == ["a", "b"] and list(c.b) == ["x", "y"]


def test_order_can_be_kept():
    c = Container({"b": {"y": 2, "x": 1}, "a": 3}, alphabetical_keys=False)
    assert list(c) == ["b", "a"] and list(c.b) == ["y", "x"]
    c["0"] = 1
    assert list(c) == ["b", "a", "0"]


def test_new_keys_are_sorted_in():
    c = Container(b=1, d=2)
    c.c = 3
    c["a"] = 4
    assert list(c) == ["a", "b", "c", "d"]


def test_key_chains():
    c = sample()
    assert c["b/x"] == 1 and c.b.x == 1
    assert "b/x" in c and "b" in c and "b/z" not in c and "a/x" not in c
    c["b/x"] = 10
    c["n/e/w"] = 20
    c.b.z = 30
    assert c.b.x == 10 and c.n.e.w == 20 and c["b/z"] == 30
    assert c.key_chains() == ["a", "b/x", "b/y", "b/z", "n/e/w"]
    del c["b/x"]
    del c.n
    assert c.key_chains() == ["a", "b/y", "b/z"]


def test_missing_keys():
    c = sample()
    with pytest.raises(KeyError, match="b/q") as caught:
        c["b/q"]
    assert isinstance(caught.value, errors.TrellisError) and "b/x" in str(caught.value)
    with pytest.raises(AttributeError, match="q"):
        _ = c.q
    with pytest.raises(KeyError):
        del c["a/b"]
    assert c.get("b/q") is None and c.get("b/x") == 1 and c.get("q", 7) == 7


def test_dict_methods():
    c = sample()
    assert c.pop("b/x") == 1 and "b/x" not in c
    assert c.pop("nothing", 5) == 5
    assert c.setdefault("b/y", 9) == 2 and c.setdefault("b/w", 9) == 9
    c.update({"a": 4}, z=5)
    assert (c.a, c.z) == (4, 5)
    assert dict(Container(a=1) | {"b": 2}) == {"a": 1, "b": 2}
    assert isinstance(Container(a=1) | {"b": 2}, Container)


def test_sub_container_in_container():
    w, b = np.ones(2), np.zeros(2)
    c = Container(layer={"w": w, "b": b}, other={"w": w})
    assert Container(w=w, b=b) in c
    assert Container(w=w) in c
    assert c in c
    assert Container(w=np.ones(2), b=b) not in c  # equal values, another array
    assert Container(v=w) not in c


def test_copies():
    c = sample()
    for other in (c.copy(), copy.copy(c), copy.deepcopy(c), pickle.loads(pickle.dumps(c))):
        assert type(other) is Container and type(other.b) is Container
        other.b.x = 99
        assert c.b.x == 1


def test_flat_and_back():
    c = sample()
    assert dict(c.flat("__")) == {"a": 3, "b__x": 1, "b__y": 2}
    assert tree.from_key_chains(dict(c.flat())).key_chains() == c.key_chains()


def test_arithmetic(backend, array):
    c = Container(a=array([1.0, 2.0]), b={"c": array([4.0])})
    assert_close(c + 1, {"a": [2.0, 3.0], "b": {"c": [5.0]}}, backend=backend)
    assert_close(1 - c, {"a": [0.0, -1.0], "b": {"c": [-3.0]}}, backend=backend)
    assert_close(c * c, {"a": [1.0, 4.0], "b": {"c": [16.0]}}, backend=backend)
    assert_close(c / {"a": 2, "b": 4}, {"a": [0.5, 1.0], "b": {"c": [1.0]}}, backend=backend)
    assert_close(2**c, {"a": [2.0, 4.0], "b": {"c": [16.0]}}, backend=backend)
    assert_close(-c, {"a": [-1.0, -2.0], "b": {"c": [-4.0]}}, backend=backend)
    assert_close(c > 1.5, {"a": [False, True], "b": {"c": [True]}}, backend=backend)
    assert_close(c == 4, {"a": [False, False], "b": {"c": [True]}}, backend=backend)
    assert type(c + 1) is Container and type((c + 1).b) is Container


def test_functions_map_over_leaves(backend, array):
    c = Container(a=array([1.0, 4.0]), b={"c": array([9.0])})
    assert_close(trellis.sqrt(c), {"a": [1.0, 2.0], "b": {"c": [3.0]}}, backend=backend)
    plain = trellis.sqrt({"b": c.b, "a": c.a})
    assert type(plain) is dict
    assert_close(plain, {"a": [1.0, 2.0], "b": {"c": [3.0]}}, backend=backend)
    assert_close(trellis.maximum(2, c), {"a": [2.0, 4.0], "b": {"c": [9.0]}}, backend=backend)
    assert_close(
        trellis.multiply(c, Container(a=array([2.0, 3.0]), b=array([10.0]))),
        {"a": [2.0, 12.0], "b": {"c": [90.0]}},
        backend=backend,
    )
    joined = trellis.concat([c, c])
    assert_close(joined, {"a": [1.0, 4.0, 1.0, 4.0], "b": {"c": [9.0, 9.0]}}, backend=backend)
    values, indices = trellis.topk(c, 1)
    assert type(values) is Container and type(indices) is Container
    assert_close(values, {"a": [4.0], "b": {"c": [9.0]}}, backend=backend)
    assert_close(indices, {"a": [1], "b": {"c": [0]}}, backend=backend)


def test_different_keys_are_refused(backend, array):
    x = array([1.0])
    with pytest.raises(ValueError, match="keys") as caught:
        trellis.add(Container(a=x), Container(b=x))
    assert isinstance(caught.value, errors.TrellisError)
    with pytest.raises(ValueError, match="keys"):
        _ = Container(a=x, b=x) + {"a": x}


# Pytrees
# ---------------------------------------------------------------------------------------------


def test_map_keeps_the_structure_of_the_first_nest():
    result = tree.map(
        lambda x, y, z: x + y + z, 10, Container(a=1, b=[2, (3,)]), {"a": 1, "b": 100}
    )
    assert type(result) is Container
    assert dict(result) == {"a": 12, "b": [112, (113,)]}


def test_a_leaf_serves_a_sub_nest():
    assert tree.map(lambda x, y: x * y, {"a": [1, 2], "b": 3}, {"a": 10, "b": 100}) == {
        "a": [10, 20],
        "b": 300,
    }
    with pytest.raises(ValueError, match="differ"):
        tree.map(lambda x, y: x, {"a": 1}, {"a": [1, 2]})
    with pytest.raises(ValueError, match="length"):
        tree.map(lambda x, y: x, [1, 2], [1, 2, 3])


def test_flatten_and_unflatten():
    nest = {"b": [1, (2, 3)], "a": Container(z=4, y=5)}
    leaves, structure = tree.flatten(nest)
    assert leaves == [5, 4, 1, 2, 3] == tree.leaves(nest)
    back = tree.unflatten(structure, leaves)
    assert back["b"] == [1, (2, 3)] and type(back["a"]) is Container
    assert tree.key_chains(nest) == ["a/y", "a/z", "b/0", "b/1/0", "b/1/1"]
    assert tree.structure(nest) == tree.structure(back)


def test_none_is_an_empty_nest():
    assert tree.leaves({"a": None, "b": 1}) == [1]


def test_get():
    nest = [{"w": 1}, Container(v={"u": 2})]
    assert tree.get(nest, [1, "v", "u"]) == 2 and tree.get(nest, []) is nest
    assert tree.get(nest, "1/v/u") == 2 and tree.get({"1": {2: "two"}}, "1/2") == "two"
    for chain in ([2], [0, "x"], [0, "w", "deeper"], "2", "0/x", "0/w/deeper", ""):
        with pytest.raises(KeyError, match="There is no"):
            tree.get(nest, chain)
    with pytest.raises(trellis.errors.ArgumentTypeError, match="A path is a list"):
        tree.get(nest, 0)


def test_map_with_key_chains():
    nest = tree.map_with_key_chains(lambda chain, x: f"{chain}={x}", sample())
    assert nest["b/x"] == "b/x=1"


def test_what_is_no_pytree_is_named():
    for fn in (tree.from_key_chains, lambda x: tree.map_with_key_chains(x, {"a": 1})):
        with pytest.raises(trellis.errors.ArgumentTypeError, match=r"_chains\(\) expects .* got 3"):
            fn(3)


# Compilers
# -----------------------------------------------------------------------------------------


def step(c, lr):
    """What an optimizer does to a Container, by operators, functions and attributes."""
    moved = c - lr * trellis.tanh(c)
    moved.b["d"] = moved.b.c * 2
    return moved


def test_containers_pass_through_compilers(backend, array, compiled):
    c = Container(a=array([1.0, 2.0]), b={"c": array([4.0])})
    eager, result = step(c, 0.1), compiled(step)(c, 0.1)
    assert list(result) == ["a", "b"] and list(result["b"]) == ["c", "d"]
    assert_close(dict(result), dict(eager), backend=backend)
    if backend != "tensorflow":  # works as a dict there
        assert type(result) is Container and type(result.b) is Container


def test_containers_are_pytrees_of_the_framework(backend, array):
    c = Container(a=array([1.0, 2.0]), b={"c": array([4.0])})
    if backend == "jax":
        import jax

        doubled = jax.tree.map(lambda x: x * 2, c)
        gradient = jax.grad(lambda c: trellis.sum(c.a * c.a))(c)
        assert_close(gradient, {"a": [2.0, 4.0], "b": {"c": [0.0]}}, backend="jax")
    elif backend == "torch":
        import torch

        doubled = torch.utils._pytree.tree_map(lambda x: x * 2, c)
    elif backend == "tensorflow":
        import tensorflow as tf

        doubled = tf.nest.map_structure(lambda x: x * 2, c)
    else:
        doubled = tree.map(lambda x: x * 2, c)
    assert_close(dict(doubled), {"a": [2.0, 4.0], "b": {"c": [8.0]}}, backend=backend)


def test_tree_map_compiles(backend, array, compiled):
    nest = {"a": [array([1.0]), array([2.0])], "b": Container(c=array([3.0]))}
    fn = compiled(lambda nest: tree.map(lambda x, y: x * y, nest, 2.0))
    result = fn(nest)
    assert_close(result["a"][1], [4.0], backend=backend)
    assert_close(result["b"]["c"], [6.0], backend=backend)


def test_key_chains_in_the_constructor():
    a, b = np.ones(1), np.zeros(1)
    made = Container({"layers/v0/w": a, "layers/v1": {"w": b}, "z": 1})
    assigned = Container()
    assigned["layers/v0/w"], assigned["layers/v1"], assigned["z"] = a, {"w": b}, 1
    assert made.key_chains() == assigned.key_chains() == ["layers/v0/w", "layers/v1/w", "z"]
    assert made.layers.v0.w is a
    assert Container({"a": {"b/c": 1}}).a.b.c == 1
    assert Container([("b/x", 1), ("a/y", 2)]).key_chains() == ["a/y", "b/x"]
    in_order = Container({"b/x": 1, "a/y": 2}, alphabetical_keys=False)
    assert in_order.key_chains() == ["b/x", "a/y"]
    joined = Container({"a": 1})
    joined |= {"b/c": 2}
    assert joined.b.c == 2
    # A Container that the caller has is not written into.
    inner = Container(w=1)
    outer = Container({"a": inner, "a/b": 2})
    assert outer.key_chains() == ["a/b", "a/w"]
    assert inner.key_chains() == ["w"]
    for wrong in (lambda: Container({"a": 1, "a/b": 2}), lambda: Container(a=1).update({"a/b": 2})):
        with pytest.raises(trellis.errors.KeyChainError, match="leaf"):
            wrong()


def test_missing_keys_of_any_kind():
    c = Container({"a": {"b": 1}})
    for key in ("x", "a/x", "a/b/c", 3, ("a", "b")):
        with pytest.raises(trellis.errors.KeyChainError, match="There is no"):
            c[key]
    flat = c.flat("/")
    assert flat["a/b"] == 1
    for twin in (copy.deepcopy(flat), pickle.loads(pickle.dumps(flat))):
        assert list(twin) == ["a/b"]
