"""What a source leaves open excuses a difference there, and nowhere else: a rule that is wrong
beside it is found."""

import functools

import numpy as np
import pytest

from trellis import convert
from trellis.convert import rules
from trellis.convert.left_open import Call, equal_numbers, rounding, rows_with_nan, vectors
from trellis.errors import ConversionError

# As many as it takes for each of the hard numbers to be among them.
NUMBERS = np.random.default_rng(0).permutation(np.linspace(-2, 2, 120)).reshape(20, 6)
NUMBERS = NUMBERS.astype("float32")
POSITIVE = np.abs(NUMBERS) + 0.1
MATRIX = np.array([[2.0, 1.0, 0.5], [0.0, 3.0, 1.0], [1.0, 0.5, 4.0]], "float32")


def planted(monkeypatch, tables, name, wrong):
    """Change the rule of an operation: `wrong(g, y, x)`, of what the right one gives for `x`."""
    right = next(x for x in [table.find(name) for table in tables] if x is not None)

    @functools.wraps(right)
    def rule(g, *args, **attributes):
        return wrong(g, right(g, *args, **attributes), args[0])

    monkeypatch.setitem(rules._own, name, rule)


def large_are_wrong(g, y, x):
    """At 3e4, which is tried among the hard numbers, and finite."""
    return g.t.where(g.t.greater(x, 1e4), g.t.zeros_like(y), y)


def check(monkeypatch, tables, name, wrong, report):
    assert ": verified" in report()
    planted(monkeypatch, tables, name, wrong)
    with pytest.raises(ConversionError, match=f"call that differs .*{name}"):
        report()


# torch --------------------------------------------------------------------------------------------

TORCH = {
    "aten.gelu": (lambda torch, x: torch.nn.functional.gelu(x), NUMBERS, large_are_wrong),
    "aten.to.dtype": (lambda torch, x: x.to(torch.int32), NUMBERS, large_are_wrong),
    "aten.layer_norm": (
        lambda torch, x: torch.nn.functional.layer_norm(x, (6,)),
        NUMBERS,
        large_are_wrong,
    ),
    "aten.prod": (
        lambda torch, x: x.prod(1),
        NUMBERS,
        lambda g, y, x: g.t.where(g.t.greater(g.t.abs(y), 1e3), g.t.multiply(y, 2.0), y),
    ),
    "aten.linalg_det": (lambda torch, x: torch.linalg.det(x), MATRIX, lambda g, y, x: g.t.abs(y)),
    "aten.topk": (
        lambda torch, x: torch.topk(x, 3)[1],
        NUMBERS,
        # Ties of other numbers excuse no place of a smaller one.
        lambda g, y, x: (y[0], g.t.where(g.t.equal(y[0], -1.0), 0, y[1])),
    ),
    "aten.searchsorted": (
        lambda torch, x: torch.searchsorted(torch.linspace(-2, 2, 9), x),
        NUMBERS,
        lambda g, y, x: g.t.where(g.t.equal(y, 9), 8, y),
    ),
}


@pytest.mark.needs("torch")
@pytest.mark.parametrize("name", TORCH)
def test_wrong_rules_for_torch(name, monkeypatch):
    import torch

    from trellis.convert.torch.table import rule

    fn, example, wrong = TORCH[name]

    class Model(torch.nn.Module):
        def forward(self, x):
            return fn(torch, x)

    def report():
        return convert.from_torch(Model(), (torch.tensor(example),), to="numpy").report()

    check(monkeypatch, [rule], name, wrong, report)


# JAX ----------------------------------------------------------------------------------------------

JAX = {
    "erf": (lambda jax, x: jax.lax.erf(x), NUMBERS, large_are_wrong),
    "convert_element_type": (lambda jax, x: x.astype("int32"), NUMBERS, large_are_wrong),
    "lgamma": (lambda jax, x: jax.lax.lgamma(x), POSITIVE, large_are_wrong),
    "cholesky": (
        lambda jax, x: jax.lax.linalg.cholesky(x @ x.T + jax.numpy.eye(3)),
        MATRIX,
        # Wrong for factors with negative numbers, which that of the example has not.
        lambda g, y, x: g.t.where(g.t.any(g.t.less(y, 0.0)), g.t.multiply(y, 2.0), y),
    ),
}


@pytest.mark.needs("jax")
@pytest.mark.parametrize("name", JAX)
def test_wrong_rules_for_jax(name, monkeypatch):
    import jax

    from trellis.convert.jax import equations

    fn, example, wrong = JAX[name]
    tables = (equations.elementwise, *equations._WHOLE, *equations._RAW)

    def report():
        return convert.from_jax(
            lambda x: fn(jax, x), (jax.numpy.asarray(example),), variables=(), to="numpy"
        ).report()

    check(monkeypatch, tables, name, wrong, report)


# TensorFlow ---------------------------------------------------------------------------------------

TENSORFLOW = {
    "Erf": (lambda tf, x: tf.math.erf(x), NUMBERS, large_are_wrong),
    "Cast": (lambda tf, x: tf.cast(x, tf.int32), NUMBERS, large_are_wrong),
    "Relu": (lambda tf, x: tf.nn.relu(x), NUMBERS, large_are_wrong),
    "ArgMax": (
        lambda tf, x: tf.argmax(x, 1),
        NUMBERS,
        # nan in one row excuses no other one.
        lambda g, y, x: g.t.where(g.t.any(g.t.isnan(x)), g.t.zeros_like(y), y),
    ),
    "Softmax": (
        lambda tf, x: tf.nn.softmax(x),
        NUMBERS,
        lambda g, y, x: g.t.where(g.t.any(g.t.isnan(x)), g.t.multiply(y, 0.5), y),
    ),
}


@pytest.mark.needs("tensorflow")
@pytest.mark.parametrize("name", TENSORFLOW)
def test_wrong_rules_for_tensorflow(name, monkeypatch):
    import tensorflow as tf

    from trellis.convert.tensorflow import operations

    fn, example, wrong = TENSORFLOW[name]

    def report():
        x = (tf.constant(example),)
        return convert.from_tensorflow(lambda x: fn(tf, x), x, to="numpy").report()

    check(monkeypatch, operations._RULES, name, wrong, report)


@pytest.mark.needs("tensorflow")
def test_calls_of_functions_with_variables_are_looked_at(monkeypatch):
    import tensorflow as tf

    from trellis.convert.tensorflow import operations

    w = tf.Variable(np.eye(6, dtype="float32"), name="w")
    planted(monkeypatch, operations._RULES, "Relu", large_are_wrong)
    with pytest.raises(ConversionError, match=r"call that differs is .*, from Relu"):
        convert.from_tensorflow(lambda x: tf.nn.relu(x) @ w, (tf.constant(NUMBERS),), to="numpy")


# Elements -----------------------------------------------------------------------------------------


def call(operands, found, wanted, fn=None):
    operands = [np.asarray(x) for x in operands]
    return Call(operands, np.asarray(found), np.asarray(wanted), lambda c: fn(c(operands[0])))


def test_places_of_equal_numbers():
    x = np.array([[1.0, 2.0, 2.0, np.nan, np.nan]])
    assert np.all(equal_numbers(call([x], [[1, 3]], [[2, 4]])))
    assert not np.any(equal_numbers(call([x], [[0, 3]], [[2, 4]])))
    assert np.all(equal_numbers(call([x], [1], [2])))  # without the axis
    assert not np.any(equal_numbers(call([x], [[1.0]], [[2.0]])))  # numbers, not places


def test_signs_are_those_of_whole_vectors():
    q = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]

    def excused(found):
        return np.all(vectors(call([q], found, q, lambda x: found)))

    assert excused(q * [1, -1, 1])
    assert excused(q * np.array([[1], [-1], [1]]))
    assert not excused(np.abs(q))


def test_rounding_of_operands():
    x = np.array([1.0, 1e-3, 3.0 + 1e-6], "float32")
    near_pole = 1 / (x - np.float32(3.0))
    mask = rounding(call([x], near_pole, near_pole * [1.01, 1.01, 1.2], lambda x: 1 / (x - 3)))
    assert list(mask) == [False, False, True]


def test_rows_with_nan():
    x = np.array([[1.0, np.nan, 4.0], [2.0, 3.0, 4.0]])
    assert np.asarray(rows_with_nan(call([x], [0, 0], [1, 1]))).tolist() == [True, False]
