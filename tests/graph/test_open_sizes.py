"""Source with open sizes: the same program, at sizes that were never traced."""

import numpy as np
import pytest

import trellis
from trellis import functional as F
from trellis import nn
from trellis.errors import ArgumentError, NotSupportedError

FRAMEWORKS = ("numpy", "jax", "torch", "tensorflow")
BATCH = {"x": {0: "batch"}}


def numbers(*shape):
    return np.random.default_rng(0).normal(size=shape).astype("float32")


def convolutional(x):
    return MODEL(x)


with trellis.using_backend("numpy"), trellis.random.stream(0):
    MODEL = nn.Sequential(
        nn.Conv2D(3, 4, 3, 2, "SAME"), nn.BatchNorm2D(4), nn.ReLU(), nn.Flatten(), nn.Linear(64, 2)
    ).eval()


def sizes_in_numbers(x):
    n, t = x.shape[0], x.shape[1]
    flat = trellis.reshape(x, (n * t, -1))
    mean = trellis.sum(flat, axis=0) / (n * t)
    scaled = flat * (1 / n) + flat * t**-0.5 + mean
    halves = trellis.reshape(scaled, (n, t, 2, -1))[:, : t // 2, :, :]
    joined = trellis.concat([halves, halves[:, -2:]], axis=1)
    return joined, trellis.mean(x, axis=(0, 1)) + trellis.max(
        trellis.arange(3 * t + 1, dtype="float32")
    )


def attention(x, mask):
    scores = F.scaled_dot_product_attention(x, x, x, mask=mask)
    return trellis.permute_dims(scores, (1, 0, 2)), trellis.pad(x, ((0, 0), (1, 0), (0, 0)))[:, :-1]


CASES = {
    "layers": (convolutional, [(2, 8, 8, 3)], [(5, 8, 8, 3)], BATCH),
    "numbers": (sizes_in_numbers, [(2, 4, 6)], [(3, 9, 6)], {"x": {0: "batch", 1: "time"}}),
    "two inputs": (
        attention, [(2, 3, 4), (3, 3)], [(4, 6, 4), (6, 6)],
        {"x": {0: "n", -2: "time"}, "mask": {0: "time", 1: "time"}},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(
    "framework", [pytest.param(f, marks=pytest.mark.needs(f)) for f in FRAMEWORKS]
)
def test_source_at_other_sizes(name, framework):
    fn, traced, other, dynamic = CASES[name]
    arrays, more = ([_array(i, shape) for i, shape in enumerate(each)] for each in (traced, other))
    graph = trellis.trace(fn, *arrays, dynamic=dynamic)
    space = {}
    exec(graph.to_source(framework, "run"), space)
    given = [trellis.to_backend(x, framework) for x in more]
    if name == "layers":
        state = MODEL.state_dict()
        given.insert(0, {k: trellis.to_backend(state[k], framework) for k in state.key_chains()})
    for found, expected in zip(
        trellis.tree.leaves(space["run"](*given)), trellis.tree.leaves(fn(*more)), strict=True
    ):
        # Sums of up to 64 products in float32, in other orders.
        np.testing.assert_allclose(trellis.to_numpy(found), expected, rtol=1e-5, atol=1e-5)


def _array(i, shape):
    return numbers(*shape) if i == 0 else np.tril(np.ones(shape, bool))


@pytest.mark.needs("tensorflow")
def test_a_batch_that_tensorflow_does_not_know():
    import tensorflow as tf

    graph = trellis.trace(lambda x: trellis.reshape(x, (-1, 2 * x.shape[0])), numbers(2, 6),
                          dynamic=BATCH)  # fmt: skip
    space = {}
    exec(graph.to_source("tensorflow", "run"), space)
    compiled = tf.function(space["run"], input_signature=[tf.TensorSpec((None, 6), "float32")])
    assert compiled(numbers(5, 6)).shape == (3, 10)


@pytest.mark.parametrize(
    "fn, text",
    [
        (lambda x: trellis.scan(lambda c, r: (c + r, c), x[0], x)[0], "a scan is unrolled"),
        (lambda x: x + trellis.asarray(np.ones((x.shape[0], 1), "float32")), "a constant"),
        (lambda x: x if x.shape[0] % 4 == 1 else x * 2, "other calls"),
        (lambda x: x * x.shape[0] ** 0.25, "no formula"),
    ],
)
def test_what_depends_on_sizes_otherwise_raises(fn, text):
    graph = trellis.trace(fn, numbers(3, 2), dynamic=BATCH)
    with pytest.raises(NotSupportedError, match=f"(?i){text}"):
        graph.to_source("numpy")


@pytest.mark.parametrize(
    "dynamic, text",
    [
        ({"y": {0: "n"}}, "dynamic axes for 'y'"),
        ({"x": {2: "n"}}, "axis 2 of 'x'"),
        ({"x": {0: "not a name"}}, "name of a size"),
        ({"x": {0: "n", 1: "n"}}, "one name, 'n'"),
    ],
)
def test_mistakes(dynamic, text):
    with pytest.raises(ArgumentError, match=text):
        trellis.trace(lambda x: x * 2, numbers(3, 2), dynamic=dynamic)


def test_names_that_are_taken():
    graph = trellis.trace(lambda x: trellis.reshape(x, (x.shape[0] * 2, -1)), numbers(3, 2),
                          dynamic={"x": {0: "np"}})  # fmt: skip
    space = {}
    exec(graph.to_source("numpy", "run"), space)
    assert space["run"](numbers(7, 2)).shape == (14, 1)
