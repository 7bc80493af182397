"""Names from files and models of strangers are text. For every reader, each of them is put wherever
a model has a name: the converted source and the ejected program compile, run, compute the same."""

import re
import sys

import numpy as np
import pytest

import trellis
from oracles import keras, tf, torch
from trellis import convert

RUNS = "raise SystemExit(1)"
HOSTILE = {
    "docstring": f'""";{RUNS}#',
    "quotes": f"'''\"\"\"';{RUNS}#",
    "backslash": "\\",
    "escaped quote": f'\\";{RUNS}#',
    "newline": f"a\n{RUNS}\n",
    "carriage return": f"a\r{RUNS}\r",
    "line separator": f"a\u2028{RUNS}",
    "braces": "{x}{0}{__import__}",
    "keyword": "class",
    "soft keyword": "self",
    "dunder": "__class__",
    "name of a module": "trellis",
    "builtin": "print",
    "percent": "%s%d",
    "digits": "0",
    "comment": f"# type: ignore\n{RUNS}",
    "nothing but blanks": " \t ",
}
X = np.array([[0.5, -1.0], [2.0, 0.25]], np.float32)
W = np.array([[1.0, 2.0], [3.0, -1.0]], np.float32)
EXPECTED = np.tanh(X @ W)


def check(model):
    """The model, its source and the program for its framework compute tanh(x @ w)."""

    def same(found):
        # tanh of numbers below 10: a few units in the last place of float32.
        np.testing.assert_allclose(np.asarray(trellis.to_numpy(found)), EXPECTED, rtol=0, atol=1e-6)

    same(model(X))
    space = {"__name__": "printed"}
    exec(compile(model.to_source(), "<printed>", "exec"), space)
    (made,) = [
        each
        for each in space.values()
        if isinstance(each, type)
        and issubclass(each, trellis.nn.Module)
        and each.__module__ == "printed"
    ]
    printed = made(backend="numpy")
    chains = list(model.v.key_chains())
    assert list(printed.v.key_chains()) == chains
    for chain in chains:
        printed.v[chain] = model.v[chain]
    same(printed(X))
    space = {}
    exec(compile(model.graph.to_source("numpy"), "<ejected>", "exec"), space)
    variables = {chain: np.asarray(model.v[chain]) for chain in chains}
    constants = [variables] if variables else []
    same(space["forward"](*constants, X))
    assert model.report() and repr(model)


@pytest.mark.parametrize("kind", HOSTILE)
def test_onnx(kind):
    pytest.importorskip("onnx", reason="the extra 'convert' is not installed")
    from onnx import TensorProto, helper

    text = HOSTILE[kind]

    def named(word):
        return f"{text}{word}"

    x = helper.make_tensor_value_info(named("x"), TensorProto.FLOAT, [text, 2])
    y = helper.make_tensor_value_info(text, TensorProto.FLOAT, [text, named("n")])
    w = helper.make_tensor(named("w"), TensorProto.FLOAT, [2, 2], W.reshape(-1).tolist())
    inner = helper.make_function(
        text, text, [text], [named("out")],
        [helper.make_node("Tanh", [text], [named("out")], name=text, doc_string=text)],
        [helper.make_opsetid("", 17)], doc_string=text,
    )  # fmt: skip
    nodes = [
        helper.make_node("MatMul", [named("x"), named("w")], [named("m")], name=text),
        helper.make_node(text, [named("m")], [text], domain=text, name=named("call")),
    ]
    graph = helper.make_graph(nodes, text, [x], [y], [w], doc_string=text)
    graph.value_info.append(
        helper.make_tensor_value_info(named("m"), TensorProto.FLOAT, [text, 2])
    )  # fmt: skip
    versions = [helper.make_opsetid("", 17), helper.make_opsetid(text, 1)]
    made = helper.make_model(graph, functions=[inner], opset_imports=versions, ir_version=8)
    made.producer_name = made.doc_string = text
    helper.set_model_props(made, {text: text})
    check(convert.from_onnx(made, to="numpy"))


@pytest.mark.needs("jax")
@pytest.mark.parametrize("kind", HOSTILE)
def test_jax(kind):
    import jax.numpy as jnp

    text = HOSTILE[kind]

    def program(v, x):
        return jnp.tanh(x @ v[text][f"{text}w"])

    program.__name__ = program.__qualname__ = text
    v = {text: {f"{text}w": jnp.asarray(W)}}
    check(convert.from_jax(program, (v, jnp.asarray(X)), to="numpy"))


@pytest.mark.needs("torch")
@pytest.mark.parametrize("kind", HOSTILE)
def test_torch(kind):
    text = HOSTILE[kind]

    class Inner(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_parameter(f"{text}w", torch.nn.Parameter(torch.from_numpy(W.copy())))

        def forward(self, x):
            return torch.tanh(x @ getattr(self, f"{text}w"))

    class Outer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.add_module(f"{text}inner", Inner())

        def forward(self, x):
            return getattr(self, f"{text}inner")(x)

    Inner.__name__ = Inner.__qualname__ = Outer.__name__ = Outer.__qualname__ = text
    model = Outer()
    check(convert.from_torch(model, (torch.from_numpy(X.copy()),), to="numpy"))


@pytest.mark.needs("tensorflow")
@pytest.mark.parametrize("kind", HOSTILE)
def test_tensorflow(kind):
    text = HOSTILE[kind]
    w = tf.Variable(W, name=text)

    def program(x):
        return tf.tanh(x @ w)

    program.__name__ = program.__qualname__ = text
    spec = tf.TensorSpec([None, 2], tf.float32, name="x")
    concrete = tf.function(program).get_concrete_function(spec)
    check(convert.from_tensorflow(concrete, args=(X,), to="numpy"))


# TensorFlow's own pattern for scopes, which Keras makes of its names.
SCOPES = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*")


@pytest.mark.needs("tensorflow")
@pytest.mark.parametrize("kind", HOSTILE)
def test_keras(kind):
    text = HOSTILE[kind]
    layers = keras.layers
    inputs = keras.Input((2,), name=f"{text}in")
    out = layers.Dense(2, use_bias=False, activation="tanh", name=f"{text}dense")(inputs)
    model = keras.Model(inputs, out, name=text)
    model.set_weights([W])
    if SCOPES.fullmatch(text):
        check(convert.from_keras(model, to="numpy"))
        return
    with pytest.raises(trellis.errors.ArgumentError, match="scope name"):
        convert.from_keras(model, to="numpy")
    # What is made afterwards does not carry the name.
    layer = layers.Dense(2)
    layer.build((None, 2))
    assert layer.kernel.path == f"{layer.name}/kernel"


def test_no_reader_is_left_out():
    here = {name.removeprefix("test_") for name in vars(sys.modules[__name__])}
    readers = [name for name in dir(convert) if name.startswith("from_")]
    assert {name.removeprefix("from_") for name in readers} <= here
