"""Models from ONNX on every framework: values by onnxruntime, gradients by torch."""

import numpy as np
import pytest

import trellis
from oracles import torch
from trellis import convert
from trellis.convert.module import native
from trellis.errors import (
    ArgumentError,
    ConversionError,
    NotSupportedError,
    ShapeError,
    TracingError,
)

onnx = pytest.importorskip("onnx", reason="the extra 'convert' is not installed")

from onnx import helper, numpy_helper, parser  # noqa: E402

HEAD = '<ir_version: 8, opset_import: ["": 17]> g '
rng = np.random.default_rng(0)


def floats(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype("float32")


def parsed(text, head=HEAD, **arrays):
    """A model from ONNX's own notation, and initializers."""
    model = parser.parse_model(head + text)
    model.graph.initializer.extend(
        [numpy_helper.from_array(x, name.replace("__", ".")) for name, x in arrays.items()]
    )
    return model


def a_network():
    """Convolution, batch normalization, pool, linear layer: the parameters have torch's names."""
    arrays = {
        "conv__weight": floats(4, 3, 3, 3) / 3,
        "conv__bias": floats(4),
        "norm__weight": floats(4),
        "norm__bias": floats(4),
        "norm__mean": floats(4),
        "norm__var": np.abs(floats(4)) + 0.5,
        "head__weight": floats(5, 36) / 6,
        "head__bias": floats(5),
    }
    nodes = [
        helper.make_node("Conv", ["x", "conv.weight", "conv.bias"], ["a"], pads=[1] * 4),
        helper.make_node(
            "BatchNormalization",
            ["a", "norm.weight", "norm.bias", "norm.mean", "norm.var"],
            ["b"],
        ),
        helper.make_node("Relu", ["b"], ["c"]),
        helper.make_node("MaxPool", ["c"], ["d"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Shape", ["d"], ["e"]),
        helper.make_node("Gather", ["e", "zero"], ["f"]),
        helper.make_node("Unsqueeze", ["f", "axes"], ["h"]),
        helper.make_node("Concat", ["h", "rest"], ["shape"], axis=0),
        helper.make_node("Reshape", ["d", "shape"], ["i"]),
        helper.make_node("Dropout", ["i"], ["j"]),
        helper.make_node("Gemm", ["j", "head.weight", "head.bias"], ["y"], transB=1),
    ]
    integers = {"zero": np.array(0), "axes": np.array([0]), "rest": np.array([-1])}
    return helper.make_model(
        helper.make_graph(
            nodes,
            "network",
            [helper.make_tensor_value_info("x", 1, ["batch", 3, 6, 6])],
            [helper.make_tensor_value_info("y", 1, ["batch", 5])],
            [
                numpy_helper.from_array(x, name.replace("__", "."))
                for name, x in {**arrays, **integers}.items()
            ],
        ),
        opset_imports=[helper.make_opsetid("", 13)],
        ir_version=8,
    ), arrays


def torch_loss(arrays, x):
    """The same in torch: the loss, and its gradients by the names of the variables."""
    p = {name: torch.tensor(value, requires_grad=True) for name, value in arrays.items()}
    nn = torch.nn.functional
    y = nn.conv2d(torch.tensor(x), p["conv__weight"], p["conv__bias"], padding=1)
    y = nn.batch_norm(
        y, p["norm__mean"].detach(), p["norm__var"].detach(), p["norm__weight"], p["norm__bias"]
    )
    y = nn.max_pool2d(nn.relu(y), 2).flatten(1)
    y = nn.linear(y, p["head__weight"], p["head__bias"])
    loss = (y**2).mean()
    loss.backward()
    return loss.item(), {
        name.replace("__", "/"): value.grad.numpy()
        for name, value in p.items()
        if value.grad is not None
    }


@pytest.mark.needs("torch")
def test_a_network_runs_and_differentiates(backend):
    model, arrays = a_network()
    x = floats(2, 3, 6, 6)
    converted = convert.from_onnx(model, args=[x], to=backend)
    assert "verified, largest" in converted.report()
    assert set(converted.buffers.key_chains()) == {"norm/mean", "norm/var"}
    loss, gradients = torch_loss(arrays, x)

    def mean_square(v):
        return trellis.mean(trellis.square(converted(native(x, backend, None), v=v)))

    found, grads = trellis.value_and_grad(mean_square)(converted.v)
    # float32, sums over some hundred products in another order
    np.testing.assert_allclose(trellis.to_numpy(found), loss, rtol=1e-5)
    assert set(grads.key_chains()) == set(gradients)
    for chain, expected in gradients.items():
        scale = np.abs(expected).max()
        np.testing.assert_allclose(
            trellis.to_numpy(grads[chain]) / scale, expected / scale, atol=1e-5
        )


def test_an_open_batch(backend, compiled):
    model, _ = a_network()
    converted = convert.from_onnx(model, to=backend)
    run = compiled(lambda x: converted(x))
    for n in (1, 3):
        x = floats(n, 3, 6, 6)
        expected = converted(native(x, backend, None))
        assert expected.shape == (n, 5)
        np.testing.assert_allclose(
            trellis.to_numpy(run(native(x, backend, None))),
            trellis.to_numpy(expected),
            rtol=1e-4,  # compilers fuse and reorder sums
            atol=1e-5,
        )


def test_a_fixed_batch_is_folded_and_kept():
    model, _ = a_network()
    converted = convert.from_onnx(model, args=[floats(2, 3, 6, 6)], dynamic={}, to="numpy")
    assert "size(" not in converted.to_source()
    with pytest.raises(ShapeError, match=r"dynamic=\{"):
        converted(floats(3, 3, 6, 6))


def test_an_axis_that_the_file_fixes_can_be_opened(backend):
    model = parsed("(float[2, 3] x) => (float[2, 3] y) { a = Exp(x) s = Shape(a) "
                   "b = Reshape(a, s) y = Neg(b) }")  # fmt: skip
    x = floats(2, 3)
    opened = convert.from_onnx(model, args=[x], dynamic={"x": {0: "batch"}}, to=backend)
    more = floats(5, 3)
    np.testing.assert_allclose(
        trellis.to_numpy(opened(native(more, backend, None))), -np.exp(more), rtol=1e-6
    )


def test_training_draws_and_updates_statistics(backend):
    model, arrays = a_network()
    converted = convert.from_onnx(model, to=backend, train=True)
    x = native(floats(8, 3, 6, 6), backend, None)
    first = trellis.to_numpy(converted(x))
    converted.train()
    trellis.seed(0)
    outputs = [trellis.to_numpy(converted(x)) for _ in range(2)]
    assert np.abs(outputs[0] - outputs[1]).max() > 0.1  # dropout of a half
    converted.eval()
    assert np.abs(trellis.to_numpy(converted(x)) - first).max() > 1e-3  # other statistics
    assert set(converted.buffers.key_chains()) == {"norm/mean", "norm/var"}


def test_the_source_reads_like_a_program():
    model, _ = a_network()
    text = convert.from_onnx(model, to="numpy").to_source("Network")
    assert 'trellis.linear(reshape, v["head/weight"], bias=v["head/bias"])' in text
    assert "semantics.size(" in text


def test_names_and_positions(backend):
    model = parsed("(float[2] a, float[2] b) => (float[2] s, float[2] d) "
                   "{ s = Add(a, b) d = Sub(a, b) }")  # fmt: skip
    converted = convert.from_onnx(model, to=backend)
    a, b = [native(floats(2) + i, backend, None) for i in (0, 5)]
    total, difference = converted(a, b=b)
    np.testing.assert_allclose(trellis.to_numpy(total), floats(2) * 2 + 5, rtol=1e-6)
    np.testing.assert_allclose(trellis.to_numpy(difference), -5, rtol=1e-6)


# Branches and loops: what runs is decided by a value.
CHOICE = """(bool c, float[3] x) => (float[3] y)
{ y = If (c) <then_branch = a () => (float[3] p) { p = Exp(x) },
              else_branch = b () => (float[3] q) { q = Neg(x) }> }"""
POWERS = """(int64 n, float[3] x) => (float[3] y, float[k, 3] ys)
{ on = Constant <value = bool {1}> ()
  y, ys = Loop (n, on, x) <body = step (int64 i, bool c, float[3] s)
                           => (bool d, float[3] t, float[3] u)
                           { d = Identity(c) t = Add(s, s) u = Identity(t) }> }"""
SUMS = """(float[3] x, float[k, 3] xs) => (float[3] y, float[k, 3] ys)
{ y, ys = Scan <num_scan_inputs = 1, body = step (float[3] s, float[3] a)
                => (float[3] t, float[3] u) { t = Add(s, a) u = Mul(t, t) }> (x, xs) }"""


@pytest.mark.parametrize("holds", [True, False])
def test_if(backend, compiled, holds):
    converted = convert.from_onnx(parsed(CHOICE), to=backend)
    x = floats(3)
    expected = np.exp(x) if holds else -x
    given = native(np.array(holds), backend, None), native(x, backend, None)
    for run in (converted, compiled(lambda c, x: converted(c, x))):
        np.testing.assert_allclose(trellis.to_numpy(run(*given)), expected, rtol=1e-6)


def test_loop(backend):
    x = floats(3)
    converted = convert.from_onnx(parsed(POWERS), args=[np.array(4), x], to=backend)
    for n in (1, 5):
        y, ys = converted(native(np.array(n), backend, None), native(x, backend, None))
        np.testing.assert_allclose(trellis.to_numpy(y), x * 2**n, rtol=1e-6)
        expected = np.stack([x * 2 ** (i + 1) for i in range(n)])
        np.testing.assert_allclose(trellis.to_numpy(ys), expected, rtol=1e-6)


def test_a_loop_of_known_length_is_written_out():
    model = parsed(POWERS.replace("int64 n, ", ""), n=np.array(3))
    converted = convert.from_onnx(model, to="numpy")
    assert "loop" not in converted.to_source()
    np.testing.assert_allclose(converted(np.ones(3, "float32"))[0], 8.0)


def test_scan(backend, compiled):
    x, xs = floats(3), floats(4, 3)
    converted = convert.from_onnx(parsed(SUMS), args=[x, xs], to=backend)
    states = x + np.cumsum(xs, axis=0)
    given = native(x, backend, None), native(xs, backend, None)
    for run in (converted, compiled(lambda x, xs: converted(x, xs))):
        y, ys = run(*given)
        np.testing.assert_allclose(trellis.to_numpy(y), states[-1], rtol=1e-5)
        np.testing.assert_allclose(trellis.to_numpy(ys), states**2, rtol=1e-5)


def test_a_shape_from_an_input_runs_uncompiled(backend, compiled):
    model = parsed("(float[6] x, int64[2] s) => (float[a, b] y) { y = Reshape(x, s) }")
    converted = convert.from_onnx(model, args=[floats(6), np.array([2, -1])], to=backend)
    given = native(floats(6), backend, None), native(np.array([2, 3]), backend, None)
    assert converted(*given).shape == (2, 3)
    if backend not in ("numpy", "torch"):  # torch.compile reports errors of its own kind
        with pytest.raises(TracingError, match="takes a shape"):
            compiled(lambda x, s: converted(x, s))(*given)


def test_functions_of_the_model_are_expanded(backend):
    text = """<ir_version: 8, opset_import: ["": 17, "mine": 1]>
    g (float[3] x) => (float[3] y) { y = mine.twice(x) }
    <opset_import: ["": 17], domain: "mine"> twice (a) => (b) { b = Add(a, a) }"""
    converted = convert.from_onnx(parser.parse_model(text), to=backend)
    x = native(floats(3), backend, None)
    np.testing.assert_allclose(trellis.to_numpy(converted(x)), floats(3) * 2)


FOREIGN = """<ir_version: 8, opset_import: ["": 17, "mine": 1]>
g (float[3] x) => (float[3] y) { h = mine.Missing(x) z = mine.Missing(h) y = Neg(z) }"""


def test_missing_operations_are_listed_at_once():
    with pytest.raises(NotSupportedError, match=r"mine::Missing \(2 times"):
        convert.from_onnx(parser.parse_model(FOREIGN), to="numpy")


def test_a_rule_of_a_user(backend, monkeypatch):
    monkeypatch.setattr("trellis.convert.rules._own", {})
    convert.rule("mine::Missing")(lambda g, x: g.t.add(x, 1.0))
    converted = convert.from_onnx(parser.parse_model(FOREIGN), to=backend)
    assert "not verified" in converted.report()
    x = native(floats(3), backend, None)
    np.testing.assert_allclose(trellis.to_numpy(converted(x)), -(floats(3) + 2), rtol=1e-6)


def test_a_wrong_rule_is_found_and_named(monkeypatch):
    monkeypatch.setattr("trellis.convert.rules._own", {})
    convert.rule("Tanh")(lambda g, x: g.t.sin(x))
    model = parsed("(float[4] x) => (float[4] y) { a = Exp(x) b = Tanh(a) y = Neg(b) }")
    with pytest.raises(ConversionError, match="first call that differs is sin, from Tanh"):
        convert.from_onnx(model, to="numpy")


def test_a_constant_output_is_not_verified():
    model = parsed("(float[4] x) => (float[4] y) { y = Sub(x, x) }")
    assert "not verified: every output" in convert.from_onnx(model, to="numpy").report()


def test_strings_and_sequences_are_refused():
    for text in (
        "(string[2] x) => (string[2] y) { y = Identity(x) }",
        "(seq(float[2]) x) => (float[2] y) { y = ConcatFromSequence<axis = 0>(x) }",
    ):
        with pytest.raises(NotSupportedError):
            convert.from_onnx(parsed(text), to="numpy")


def test_args_that_do_not_fit():
    model = parsed("(float[2] x) => (float[2] y) { y = Neg(x) }")
    with pytest.raises(ArgumentError, match="missing"):
        convert.from_onnx(model, args={"z": floats(2)}, to="numpy")
    with pytest.raises(ShapeError, match="of shape"):
        convert.from_onnx(model, args=[floats(2, 2)], to="numpy")
    with pytest.raises(ArgumentError, match="no input 'z'"):
        convert.from_onnx(model, dynamic={"z": {0: "n"}}, to="numpy")


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_recurrent_layers(backend, kind, direction):
    count = 2 if direction == "bidirectional" else 1
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[kind]
    arrays = {
        "w": floats(count, gates * 4, 3),
        "r": floats(count, gates * 4, 4) / 2,
        "b": floats(count, 2 * gates * 4),
        "n": np.array([5, 3], "int32"),
    }
    outs = "y, h, c" if kind == "LSTM" else "y, h"
    shown = ", ".join([f"float[?] {name}" for name in outs.split(", ")]).replace("[?]", "")
    after = "" if kind != "GRU" else ", linear_before_reset = 1"
    text = (
        f"(float[5, 2, 3] x) => ({shown}) {{ {outs} = {kind}"
        f'<hidden_size = 4, direction = "{direction}"{after}>(x, w, r, b, n) }}'
    )
    converted = convert.from_onnx(parsed(text, **arrays), to=backend)
    assert "verified, largest" in converted.report()
