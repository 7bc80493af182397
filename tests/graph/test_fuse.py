"""Calls that are put together: the value stays, and the report counts them.

Each graph is written as a source takes it apart; the formula in NumPy says what comes out.
"""

import math

import numpy as np
import pytest

import trellis
from trellis.convert import semantics
from trellis.graph import Builder, drop_unused, fuse, inline_numbers, program_of

X = np.random.default_rng(0).normal(size=(2, 3, 4)).astype("float32") + 0.5
WEIGHT = np.linspace(0.5, 1.5, 4, dtype="float32")
BIAS = np.linspace(-1, 1, 4, dtype="float32")
MEAN = np.linspace(-0.5, 0.8, 4, dtype="float32")
VARIANCE = np.linspace(0.5, 2.0, 4, dtype="float32")


def shifted(g, x, axis=2):
    largest = g.described(g.t.max(x, axis=axis), (2, 3), "float32")
    return g.t.subtract(x, g.t.stop_gradient(g.t.expand_dims(largest, axis=axis)))


def total(g, x, axis=2):
    return g.t.expand_dims(g.t.sum(x, axis=axis), axis=axis)


def softmax(g, x):
    powers = g.described(g.t.exp(shifted(g, x)), x.shape, x.dtype)
    return g.t.divide(powers, total(g, powers))


def log_softmax(g, x):
    moved = g.described(shifted(g, x), x.shape, x.dtype)
    return g.t.subtract(moved, g.t.log(total(g, g.described(g.t.exp(moved), x.shape, x.dtype))))


def logsumexp(g, x):
    largest = g.t.max(x, axis=2, keepdims=True)
    powers = g.described(g.t.exp(g.t.subtract(x, largest)), x.shape, x.dtype)
    return g.t.add(g.t.log(g.t.sum(powers, axis=2, keepdims=True)), largest)


def mean(g, x):
    return g.t.divide(g.t.sum(x, axis=(0, 2)), 8.0)


def variance(g, x):
    """The form that subtracts large numbers; none may come out below zero."""
    squares = g.described(g.t.square(x), x.shape, x.dtype)
    below = g.t.square(g.t.divide(g.t.sum(x, axis=2), 4.0))
    return g.t.maximum(0.0, g.t.subtract(g.t.divide(g.t.sum(squares, axis=2), 4.0), below))


def variance_of_distances(g, x):
    middle = g.t.stop_gradient(g.t.mean(x, axis=(2,), keepdims=True))
    return g.t.mean(g.t.square(g.t.subtract(x, middle)), axis=(2,), keepdims=True)


def layer_norm(g, x):
    """As flax writes it."""
    middle = g.t.expand_dims(g.t.divide(g.t.sum(x, axis=2), 4.0), axis=2)
    spread = g.t.expand_dims(g.described(variance(g, x), (2, 3), "float32"), axis=2)
    factor = g.t.multiply(g.t.rsqrt(g.t.add(spread, 1e-3)), g.variable("w", (4,), "float32"))
    return g.t.add(g.t.multiply(g.t.subtract(x, middle), factor), g.variable("b", (4,), "float32"))


def batch_norm(g, x):
    """As Keras writes it, with axes of size 1 before the vectors."""

    def vector(value):
        return g.described(g.t.reshape(value, (1, 1, 4)), (1, 1, 4), "float32")

    mean, var = g.buffer("mean", (4,), "float32"), g.buffer("var", (4,), "float32")
    weight, bias = g.variable("w", (4,), "float32"), g.variable("b", (4,), "float32")
    factor = g.t.multiply(g.t.rsqrt(g.t.add(vector(var), 1e-3)), vector(weight))
    rest = g.t.subtract(vector(bias), g.t.multiply(vector(mean), factor))
    return g.t.add(g.t.multiply(x, factor), rest)


def gelu(g, x):
    inner = g.t.add(g.t.erf(g.t.divide(x, math.sqrt(2))), 1.0)
    return g.t.multiply(g.t.multiply(x, 0.5), inner)


def gelu_by_erfc(g, x):
    half = g.t.multiply(0.5, g.t.multiply(x, g.t.erfc(g.t.negative(g.t.multiply(x, 0.70710677)))))
    return half


def gelu_by_tanh(g, x):
    inner = g.t.multiply(0.7978846, g.t.add(x, g.t.multiply(0.044715, g.t.pow(x, 3))))
    return g.t.multiply(x, g.t.multiply(0.5, g.t.add(1.0, g.t.tanh(inner))))


def silu(g, x):
    return g.t.multiply(g.F.sigmoid(x), x)


def matmul(g, x):
    y = g.constant(np.arange(8, dtype="float32").reshape(4, 2), "y")
    return g.t.reshape(g.t.matmul(g.t.reshape(x, (-1, 4)), y), (-1, 3, 2))


def attention(g, x):
    """Heads in the third axis, as flax and Keras have them."""
    x = g.described(g.t.reshape(x, (2, 3, 2, 2)), (2, 3, 2, 2), "float32")
    scores = g.t.einsum("abcd,aecd->acbe", g.t.divide(x, 2.0), x)
    weights = g.F.softmax(g.described(scores, (2, 2, 3, 3), "float32"))
    return g.t.einsum("abcd,adbe->acbe", weights, x)


def erf(x):
    return np.vectorize(math.erf)(x).astype("float32")


def of_attention(x):
    x = x.reshape(2, 3, 2, 2)
    scores = np.einsum("bqhd,bkhd->bhqk", x, x) / 2
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return np.einsum("bhqk,bkhd->bqhd", powers / powers.sum(-1, keepdims=True), x)


EXP = np.exp(X - X.max(2, keepdims=True))
NORMED = (X - X.mean(2, keepdims=True)) / np.sqrt(X.var(2, keepdims=True) + 1e-3)
BY_TANH = 0.5 * X * (1 + np.tanh(math.sqrt(2 / math.pi) * (X + 0.044715 * X**3)))
ROWS = {
    "softmax": (softmax, EXP / EXP.sum(2, keepdims=True)),
    "log_softmax": (log_softmax, np.log(EXP / EXP.sum(2, keepdims=True))),
    "logsumexp": (logsumexp, np.log(np.exp(X).sum(2, keepdims=True))),
    "mean": (mean, X.mean((0, 2))),
    "variance": (variance, X.var(2)),
    "variance ": (variance_of_distances, X.var(2, keepdims=True)),
    "layer_norm": (layer_norm, NORMED * WEIGHT + BIAS),
    "batch_norm": (batch_norm, (X - MEAN) / np.sqrt(VARIANCE + 1e-3) * WEIGHT + BIAS),
    "gelu": (gelu, X * 0.5 * (1 + erf(X / math.sqrt(2)))),
    "gelu ": (gelu_by_erfc, X * 0.5 * (1 + erf(X / math.sqrt(2)))),
    "gelu  ": (gelu_by_tanh, BY_TANH),
    "silu": (silu, X / (1 + np.exp(-X))),
    "matmul": (matmul, X @ np.arange(8, dtype="float32").reshape(4, 2)),
    "attention": (attention, of_attention(X)),
}


def filled(build):
    g = Builder(semantics)
    x = g.input("x", X.shape, "float32")
    g.graph.outputs = build(g, x)
    return g.graph


def value_of(graph, backend="numpy"):
    make = trellis.namespace(backend).from_numpy
    v = {"w": make(WEIGHT.copy()), "b": make(BIAS.copy())}
    buffers = {"mean": make(MEAN.copy()), "var": make(VARIANCE.copy())}
    constants = {name: make(np.array(x)) for name, x in graph.constants.items()}
    return trellis.to_numpy(program_of(graph)(v, buffers, constants, False, make(X.copy())))


@pytest.mark.parametrize("name", ROWS)
def test_values_stay(backend, name):
    build, expected = ROWS[name]
    graph = filled(build)
    before = len(graph.nodes)
    counts = fuse(graph)
    drop_unused(graph)
    assert counts[name.strip()] == 1
    if name != "attention":  # which is worth its transposes
        assert len(graph.nodes) < before
    # float32: a few roundings of numbers of size 1
    np.testing.assert_allclose(value_of(graph, backend), expected, rtol=0, atol=2e-6)
    np.testing.assert_allclose(value_of(filled(build)), expected, rtol=0, atol=2e-6)


def test_what_only_looks_alike_stays():
    def other_count(g, x):
        return g.t.divide(g.t.sum(x, axis=2), 5.0)

    def other_axis(g, x):
        powers = g.described(g.t.exp(shifted(g, x)), x.shape, x.dtype)
        return g.t.divide(powers, g.t.sum(powers, axis=1, keepdims=True))

    def above_zero(g, x):
        return g.t.maximum(0.0, x)

    def trained_statistics(g, x):
        mean, var = g.variable("mean", (4,), "float32"), g.variable("var", (4,), "float32")
        factor = g.t.rsqrt(g.t.add(var, 1e-3))
        moved = g.t.multiply(g.t.subtract(x, mean), factor)
        return g.t.add(moved, g.variable("b", (4,), "float32"))

    for build in (other_count, other_axis, above_zero, trained_statistics):
        counts = fuse(filled(build))
        assert set(counts) <= {"keepdims"}, build


def test_inside_functions():
    def build(g, x):
        with g.function("step") as step:
            carry, row = g.input("carry"), g.input("row", (3, 4), "float32")
            step.outputs = (carry, g.t.multiply(row, g.F.sigmoid(row)))
        return g.t.scan(step, x, x)

    graph = filled(build)
    assert fuse(graph)["silu"] == 1
    make = program_of(graph)
    _, found = make({}, {}, {}, False, X)
    np.testing.assert_allclose(found, X / (1 + np.exp(-X)), rtol=0, atol=1e-6)


def test_shared_results_stay():
    def build(g, x):
        powers = g.described(g.t.exp(shifted(g, x)), x.shape, x.dtype)
        return (g.t.divide(powers, total(g, powers)), powers)

    graph = filled(build)
    assert fuse(graph)["softmax"] == 1
    drop_unused(graph)
    found = program_of(graph)({}, {}, {}, False, X)
    np.testing.assert_allclose(found[0], EXP / EXP.sum(2, keepdims=True), rtol=0, atol=1e-6)
    np.testing.assert_allclose(found[1], EXP, rtol=1e-6)


def test_numbers_are_written_into_calls():
    def build(g, x):
        same = g.t.multiply(x, g.constant(np.float32(0.1), "tenth"))
        return g.t.multiply(same, g.constant(np.float64(0.1), "wide"))

    graph = filled(build)
    assert inline_numbers(graph) == 1  # the other one would change the data type
    assert graph.nodes[0].args[1] == 0.1
