"""The graph: what the builder records is what program, interpreter and source compute."""

import ast
import operator

import numpy as np
import pytest

import trellis
from trellis.convert import semantics
from trellis.graph import Builder, Printer, Value, drop_unused, fold_constants, program_of, run


@pytest.fixture
def g():
    return Builder(semantics)


def loop_of(g, y):
    """y plus twice each of two rows, by a function inside the graph that uses a value outside."""
    rows = g.t.stack([y, y])
    factor = g.t.multiply(y, 0.0)
    with g.function() as body:
        carry, row = g.input("carry"), g.input("row")
        total = g.t.add(carry, g.t.multiply(g.t.add(row, factor), 2.0))
        body.outputs = (total, row)
    return g.call(operator.getitem, g.t.scan(body, y, rows), 0)


def test_a_program_computes_what_was_recorded(g, backend, array):
    x = g.input("x", (3, 4), "float32")
    y = g.F.linear(x, g.variable("layer/w"), bias=g.buffer("layer/mean"))
    g.graph.outputs = {"sum": loop_of(g, g.t.add(y, g.constant(np.float32(1.5)))), "n": [None, 3]}
    x0, w0 = np.arange(12.0, dtype="float32").reshape(3, 4), np.ones((5, 4), "float32")
    m0 = np.full(5, 0.25, "float32")
    expected = 5 * (x0 @ w0.T + m0 + 1.5)
    v, kept = (
        trellis.Container(layer={"w": array(w0)}),
        trellis.Container(layer={"mean": array(m0)}),
    )
    constants = {name: array(x) for name, x in g.graph.constants.items()}
    out = program_of(g.graph)(v, kept, constants, False, array(x0))
    np.testing.assert_array_equal(trellis.to_numpy(out["sum"]), expected)  # small integers: exact
    assert out["n"] == [None, 3]
    names = {"x": array(x0), "layer_w": array(w0), "layer_mean": array(m0), **constants}
    np.testing.assert_array_equal(trellis.to_numpy(run(g.graph, names)["sum"]), expected)


def test_values_are_let_go_after_their_last_use(g):
    x = g.input("x")
    y = g.t.exp(x)
    z = g.t.tanh(y)
    g.graph.outputs = g.t.add(z, y)
    lines = [line.strip() for line in Printer(g.graph, with_del=True).body(g.graph)]
    assert lines == [
        "exp = trellis.exp(x)",
        "del x",
        "tanh = trellis.tanh(exp)",
        "add = trellis.add(tanh, exp)",
        "del exp, tanh",
        "return add",
    ]


def test_constants_fold_and_unused_calls_go(g):
    x = g.input("x", (2, 3), "float32")
    rows = g.t.arange(3, dtype="float32", backend="jax")  # folded on NumPy, whatever it names
    shape = g.call(operator.mul, 2, 3)
    g.t.exp(x)
    g.graph.outputs = g.t.reshape(g.t.add(x, g.t.square(rows)), (shape,))
    assert fold_constants(g.graph) == 3
    assert drop_unused(g.graph) == 1
    assert [node.op.__name__ for node in g.graph.nodes] == ["add", "reshape"]
    assert g.graph.nodes[1].args[1] == (6,)
    [constant] = g.graph.constants.values()
    np.testing.assert_array_equal(constant, np.array([0, 1, 4], "float32"))


def test_what_would_grow_is_not_folded(g):
    g.graph.outputs = g.t.zeros((1000, 1000), backend="numpy")
    assert fold_constants(g.graph) == 0
    assert len(g.graph.nodes) == 1


def test_random_calls_are_not_folded(g):
    g.graph.outputs = g.F.dropout(g.constant(np.ones(4, "float32")), 0.5)
    assert fold_constants(g.graph) == 0


def test_names_cannot_become_code(g):
    """Names and strings of a foreign file, with all that could end a line or a literal."""
    evil = "x\"]; import os #\n'\\"
    x = g.input(evil)
    g.where = evil
    g.graph.outputs = {evil: g.t.add(x, g.variable(evil))}
    text = "\n".join(["def forward():", *Printer(g.graph).body(g.graph)])
    assert [type(line) for line in ast.parse(text).body[0].body] == [ast.Assign, ast.Return]
    out = program_of(g.graph)({evil: np.float32(2)}, {}, {}, False, np.float32(1))
    assert out == {evil: np.float32(3)}


def test_what_is_no_literal_is_refused(g):
    g.graph.outputs = g.t.add(g.input("x"), object())
    with pytest.raises(TypeError, match="cannot hold"):
        program_of(g.graph)


def test_names_are_python_names_and_unique(g):
    names = [g.new_name(hint) for hint in ("a.b", "a/b", "1", "for", "v", "", "\u03b1", "a_b_1")]
    assert len(set(names)) == len(names)
    assert all(name.isidentifier() and name != "v" for name in names)
    assert Value("a", (1,), "int32") == Value("a")
