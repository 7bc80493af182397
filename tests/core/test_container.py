"""What Containers add to a dict: every operator, key paths, copies, and what holds variables."""

import operator

import numpy as np
import pytest

import trellis
from trellis import Container
from trellis._core.container import flatten_container, unflatten_container
from trellis.errors import ArgumentTypeError, KeyChainError, TracingError

NUMBERS = Container(a=7, b=Container(c=-2))

# name of an operator, the other operand, and the two leaves of the answer
WITH_ANOTHER = [
    ("add", 3, 10, 1),
    ("sub", 3, 4, -5),
    ("mul", 3, 21, -6),
    ("truediv", 4, 1.75, -0.5),
    ("floordiv", 4, 1, -1),
    ("mod", 4, 3, 2),
    ("pow", 2, 49, 4),
    ("lt", 7, False, True),
    ("le", 7, True, True),
    ("gt", -2, True, False),
    ("ge", -2, True, True),
    ("eq", 7, True, False),
    ("ne", 7, False, True),
]
FROM_THE_RIGHT = [
    ("add", 3, 10, 1),
    ("sub", 3, -4, 5),
    ("mul", 3, 21, -6),
    ("truediv", 14, 2.0, -7.0),
    ("pow", 2, 128, 0.25),
]


def leaves_of(found):
    assert type(found) is Container and list(found) == ["a", "b"]
    assert type(found.b) is Container and list(found.b) == ["c"]
    return found.a, found.b.c


@pytest.mark.parametrize("name, other, a, c", WITH_ANOTHER)
def test_operators(name, other, a, c):
    assert leaves_of(getattr(operator, name)(NUMBERS, other)) == (a, c)
    assert leaves_of(getattr(operator, name)(NUMBERS, {"a": other, "b": {"c": other}})) == (a, c)


@pytest.mark.parametrize("name, other, a, c", FROM_THE_RIGHT)
def test_operators_from_the_right(name, other, a, c):
    assert leaves_of(getattr(operator, name)(other, NUMBERS)) == (a, c)


def test_operators_keep_the_order_of_text():
    """Where the order of operands can be seen: `y + x` of texts is not `x + y`."""
    words = Container(a="x", b={"c": "y"})
    assert leaves_of(words + "!") == ("x!", "y!")
    assert leaves_of("!" + words) == ("!x", "!y")


def test_operators_of_one_operand():
    assert leaves_of(-NUMBERS) == (-7, 2)
    assert leaves_of(+NUMBERS) == (7, -2)
    assert leaves_of(abs(NUMBERS)) == (7, 2)
    assert leaves_of(+Container(a=True, b={"c": False})) == (1, 0)


def test_matrix_products():
    m = np.array([[1.0, 2.0], [3.0, 4.0]])
    a, c = leaves_of(Container(a=m, b={"c": 2 * m}) @ np.array([1.0, 10.0]))
    assert a.tolist() == [21.0, 43.0] and c.tolist() == [42.0, 86.0]


def test_containers_cannot_be_keys():
    with pytest.raises(TypeError, match="unhashable"):
        hash(Container(a=1))


def test_only_dicts_and_pairs_become_containers():
    with pytest.raises(ArgumentTypeError, match=r"expects a dict or .* got 3"):
        Container(3)
    with pytest.raises(ArgumentTypeError, match="pairs"):
        Container(["abc"])
    assert list(Container()) == [] and list(Container(None, b=1, a=2)) == ["a", "b"]


def test_unions():
    left = Container({"b": 1, "a": 2}, alphabetical_keys=False)
    assert list((left | {"0": 3, "b": 4}).items()) == [("b", 4), ("a", 2), ("0", 3)]
    assert list((Container(b=1) | {"a": 2}).items()) == [("a", 2), ("b", 1)]
    assert dict(left) == {"b": 1, "a": 2}
    same = left
    same |= {"c/d": 5}
    assert same is left and left.c.d == 5


def test_what_is_inside():
    x = np.ones(2)
    c = Container(a={"w": x, "v": 1}, b=2)
    assert "a/w" in c and "a" in c and "w" not in c and "b/w" not in c and 3 not in c
    assert {"w": x, "v": 1} in c and {"w": x} not in c and {"w": x, "v": 2} not in c
    assert {"a": {"w": x, "v": 1}, "b": 2} in c and {"a": {"w": x, "v": 0}, "b": 2} not in c
    assert {"a": 1, "b": 2} not in c and {"a": {"w": x, "v": 1}, "b": {"c": 2}} not in c


def test_reading_and_taking_out():
    c = Container(a={"w": 1}, b=2)
    assert c.get("a/w") == 1 and c.get("a/x") is None and c.get("x", 5) == 5
    assert c.setdefault("a/w", 9) == 1 and c.setdefault("a/x") is None and "a/x" in c
    assert c.pop("a/w", 7) == 1 and c.pop("a/w", 7) == 7 and list(c.a) == ["x"]
    for wrong in (lambda: c.pop("a/w"), lambda: operator.delitem(c, "a/w")):
        with pytest.raises(KeyChainError, match="There is no 'a/w'"):
            wrong()
    with pytest.raises(KeyChainError, match="There is no 'b/x'"):
        del c["b/x"]
    del c["a/x"]
    assert list(c.a) == []


def test_missing_keys_are_told_with_those_there_are():
    nine = Container(dict.fromkeys("abcdefghi", 0))
    with pytest.raises(KeyChainError, match=r"it has: a, b, c, d, e, f, g, h, \.\.\.\.$"):
        nine["x"]
    del nine["i"]
    with pytest.raises(KeyChainError, match=r"it has: a, b, c, d, e, f, g, h\.$"):
        nine["x"]
    with pytest.raises(KeyChainError, match=r"it has: nothing\.$"):
        Container()["x"]


def test_attributes():
    c = Container(a={"w": 1})
    c.b = {"v": 2}
    assert type(c.b) is Container and c.b.v == 2
    assert {"a", "b", "key_chains"} <= set(dir(c))
    with pytest.raises(AttributeError, match=r"'x'.*Attributes of a Container are its keys"):
        _ = c.x
    with pytest.raises(AttributeError, match="There is no 'x'"):
        del c.x
    del c.a
    assert list(c) == ["b"]


def test_copies_are_new_to_any_depth_and_share_leaves():
    x = np.ones(2)
    c = Container({"b": {"w": x}, "a": 1}, alphabetical_keys=False)
    d = c.copy()
    assert list(d) == ["b", "a"] and d.b is not c.b and d.b.w is x
    d["0"] = 1
    assert list(d) == ["b", "a", "0"]  # the order is kept in the copy too


def test_flat_has_other_separators():
    flat = Container(b={"w": {"x": 1}}, a=2).flat(".")
    assert dict(flat) == {"a": 2, "b.w.x": 1}
    flat["0"] = 3
    assert list(flat) == ["a", "b.w.x", "0"]  # and keeps the order


def test_flattening_and_back():
    c = Container({"b": 1, "a": {"w": 2}}, alphabetical_keys=False)
    children, static = flatten_container(c)
    assert children == [1, {"w": 2}] and static == (("b", "a"), False)
    back = unflatten_container(static, [10, None])
    assert type(back) is Container and dict(back) == {"b": 10, "a": None}
    back["0"] = 1
    assert list(back) == ["b", "a", "0"]
    assert flatten_container(Container(a=1)) == ([1], (("a",), True))


def test_values_of_a_running_function_are_not_kept():
    """A module holds its variables in a Container; what the tape traces would not last."""
    held = Container(a=np.ones(2), b={"c": np.ones(2)})
    held.hold()

    def loss(x):
        for keep in (
            lambda: operator.setitem(held, "a", x),
            lambda: operator.setitem(held.b, "c", x),
            lambda: operator.setitem(held, "new", {"d": x}),
        ):
            with pytest.raises(TracingError, match="would become a value of the function"):
                keep()
        return trellis.sum(x * x)

    assert trellis.grad(loss)(np.ones(2)).tolist() == [2.0, 2.0]
    held["new"] = {"d": 1.0}
    assert type(held.new) is Container and held.new._is_held
    held.plain = 3
    assert not Container(a=1)._is_held


def test_another_container_takes_any_value():
    free = Container()

    def loss(x):
        free["x"] = x
        return trellis.sum(x)

    trellis.grad(loss)(np.ones(2))
    assert list(free) == ["x"]
