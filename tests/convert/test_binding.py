"""Arguments of foreign operations are bound to rules in one place; none is dropped in silence."""

import ast
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from trellis import convert
from trellis.convert.binding import ANY, call
from trellis.errors import NotSupportedError

G = SimpleNamespace(source="aten.sort", where="layers.0")


def rule(g, x, dim=-1, *, stable=False):
    return x, dim, stable


def test_arguments_that_a_rule_names_reach_it():
    assert call(rule, G, ["x", 0], {"stable": True}, defaults={}) == ("x", 0, True)


def test_unnamed_arguments_are_left_out_at_their_default_only():
    defaults = {"descending": False, "sorter": None, "sizes": [1, 2], "sharding": ANY}
    given = {"descending": False, "sorter": None, "sizes": (1, 2), "sharding": "anywhere"}
    assert call(rule, G, ["x"], given, defaults=defaults) == ("x", -1, False)
    # 0 equals False, and means something else.
    for name, value in {"descending": 0, "sorter": np.arange(2), "sizes": (2, 1)}.items():
        with pytest.raises(NotSupportedError, match=f"aten.sort at layers.0: .* {name}="):
            call(rule, G, ["x"], {**given, name: value}, defaults=defaults)


def test_positional_arguments_have_the_names_of_the_source():
    names = ["self", "dim", "descending"]
    defaults = {"descending": False}
    assert call(rule, G, ["x", 1, False], {}, names=names, defaults=defaults) == ("x", 1, False)
    with pytest.raises(NotSupportedError, match="descending=True"):
        call(rule, G, ["x", 1, True], {}, names=names, defaults=defaults)
    with pytest.raises(NotSupportedError, match="argument 2=False"):
        call(rule, G, ["x", 1, False], {}, defaults=defaults)


def test_a_rule_that_takes_everything_gets_everything():
    def own(g, *args, **attributes):
        return args, attributes

    assert call(own, G, ["x", 1], {"k": 2}, defaults={}) == (("x", 1), {"k": 2})


def test_arguments_of_overloads_in_another_order_go_by_name():
    names = ["self", "stable", "dim"]
    assert call(rule, G, ["x", True, 1], {}, names=names, defaults={}) == ("x", 1, True)
    names = ["self", "device", "dim"]
    assert call(rule, G, ["x", "cpu", 1], {}, names=names, defaults={"device": ANY}) == (
        "x", 1, False,
    )  # fmt: skip


def test_an_argument_with_the_name_of_the_graph_goes_by_position():
    names = ["v", "g", "dim"]  # as torch's weight norm has it
    assert call(lambda g, x, y: (x, y), G, ["v", "g"], {}, names=names, defaults={}) == ("v", "g")


def test_whole_numbers_equal_floats_and_no_bools():
    assert call(rule, G, ["x"], {"alpha": 1.0}, defaults={"alpha": 1}) == ("x", -1, False)
    with pytest.raises(NotSupportedError, match="alpha=True"):
        call(rule, G, ["x"], {"alpha": True}, defaults={"alpha": 1})


@pytest.mark.parametrize("reader", ["torch", "onnx"])
def test_no_rule_swallows_arguments(reader):
    """A parameter whose name says that it is not used takes what would change the result."""
    folder = Path(convert.__file__).parent / reader
    found = []
    for path in sorted(folder.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, (ast.FunctionDef, ast.Lambda)):
                rest = [x for x in (node.args.vararg, node.args.kwarg) if x is not None]
                found += [f"{path.name}:{x.lineno}" for x in rest if not x.arg.strip("_")]
    assert found == []
