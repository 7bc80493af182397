"""What TensorFlow keeps and does for a backward pass, counted: arrays on the tape, operations."""

import gc
from collections import Counter

import numpy as np
import pytest

import trellis
from trellis import functional as F
from trellis import optim

pytestmark = pytest.mark.needs("tensorflow")

ROWS, WIDTH = 37, 41  # a shape that no other test leaves in memory


def drawn(*shape):
    import tensorflow as tf

    return tf.constant(np.random.default_rng(3).standard_normal(shape).astype("float32"))


def arrays_kept(fn, *xs):
    """How many arrays of the shape of the first are in memory while a tape remembers `fn`, besides
    the arguments and the result."""
    import tensorflow as tf

    with tf.GradientTape() as tape:
        tape.watch(xs)
        y = fn(*xs)
    gc.collect()
    # By the exact type: some objects in memory answer questions about their class with a warning.
    kept = [t for t in gc.get_objects() if type(t) is type(y) and t.shape == xs[0].shape]
    mine = {id(t) for t in (*xs, y)}
    found = len({id(t) for t in kept} - mine)
    assert tape.gradient(y, xs[0]) is not None
    return found


def test_arrays_that_a_tape_keeps():
    x, weight, bias = drawn(ROWS, WIDTH), drawn(WIDTH), drawn(WIDTH)
    assert arrays_kept(lambda x: x * trellis.tanh(x), x) == 1  # the count counts
    # GELU keeps its slope, for both forms.
    assert arrays_kept(F.gelu, x) == 1
    assert arrays_kept(lambda x: F.gelu(x, approximate="tanh"), x) == 1
    # The normal values; the factor is one number a row.
    assert arrays_kept(lambda x: F.layer_norm(x, weight=weight, bias=bias), x) == 1
    # The values near zero, in place of the input.
    x = drawn(ROWS, 3, 5, WIDTH)
    zeros, ones = np.zeros(WIDTH, "float32"), np.ones(WIDTH, "float32")
    mean, variance = trellis.to_backend((zeros, ones), "tensorflow", copy=True)
    assert arrays_kept(lambda x: F.batch_norm(x, mean, variance, training=True)[0], x) == 1


@pytest.mark.parametrize("is_causal", [False, True])
def test_attention_keeps_its_weights(is_causal):
    """Queries as many as features, so that the weights have the shape of the query."""
    q, k, v = [drawn(2, WIDTH, WIDTH) for _ in range(3)]
    kept = arrays_kept(
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=is_causal), q, k, v
    )
    assert kept == 1


def test_lstm_multiplies_once_for_each_weight():
    """Two products a step, and one for the gradient of each weight over all steps together."""
    time, width = 5, 3
    x, h, c = drawn(time, 2, 4), drawn(2, width), drawn(2, width)
    kernel, recurrent = drawn(4, 4 * width), drawn(width, 4 * width)

    def loss(weights):
        return trellis.sum(trellis.lstm_update(x, h, c, *weights, time_major=True)[0])

    found = operations(trellis.grad(loss), (kernel, recurrent))
    assert found["MatMul"] == 2 * time + 1 + 3  # forward and back; inputs; x and both weights


def operations(fn, *xs):
    """The operations of the graph of a function, by their types."""
    import tensorflow as tf

    graph = tf.function(fn, autograph=False).get_concrete_function(*xs).graph
    return Counter([op.type for op in graph.get_operations()])


def test_operations_of_causal_attention():
    q = drawn(2, 5, 3)
    loss = trellis.grad(
        lambda q: trellis.sum(F.scaled_dot_product_attention(q, q, q, is_causal=True))
    )
    found = operations(loss, q)
    assert found["SelectV2"] == 1  # every query has a key, and no gradient asks
    assert found["Equal"] == found["All"] == 0
    assert found["BatchMatMulV2"] == 6


def test_operations_of_gelu():
    found = operations(trellis.grad(lambda x: trellis.sum(F.gelu(x))), drawn(5))
    assert found["Erf"] == found["Exp"] == 1
    assert found["Mul"] <= 9


@pytest.mark.parametrize("size, calls", [(1 << 18, 1), (1 << 16, 0)])
def test_adam_passes_once_over_a_large_leaf(size, calls):
    """One call of a compiled function for each large leaf, after all gradients are there."""
    w = drawn(size)
    optimizer = optim.Adam(1e-2)
    state = optimizer.init(w)

    def update(w, step, m, v):
        new, kept = optimizer.update(w, w * w, trellis.Container(step=step, m=m, v=v))
        return new, kept.m, kept.v

    found = operations(update, w, state.step, state.m, state.v)
    assert found["PartitionedCall"] + found["StatefulPartitionedCall"] == calls
    assert found["Sqrt"] == 1 + (not calls)  # of the correction, and of the leaf


def test_steps_that_go_leaf_by_leaf_are_those_of_update():
    """`step` makes the moments of a large leaf after those of the last one are gone."""
    v = trellis.Container(a=drawn(1 << 18), b=drawn(5), c=drawn(1 << 18) + 1)
    by_step, pure = optim.Adam(1e-2), optim.Adam(1e-2)
    w, state = v, pure.init(v)
    for _ in range(4):
        grads = trellis.tree.map(lambda x: x * x - 0.5, v)
        w, state = pure.update(w, grads, state)
        v = by_step.step(v, grads)
    # Asked at the end: a state that was shown is not written over any more.
    pairs = [(v, w), (by_step.state.m, state.m), (by_step.state.v, state.v)]
    for mine, theirs in pairs:
        for key in ("a", "b", "c"):
            np.testing.assert_array_equal(
                trellis.to_numpy(mine[key]), trellis.to_numpy(theirs[key])
            )


@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
@pytest.mark.parametrize("compiled", [False, True])
def test_adam_over_large_leaves(compiled, weight_decay):
    """Against the formula in float64; one of the leaves is large, three are small."""
    rng = np.random.default_rng(5)
    ws = [rng.standard_normal(n).astype("float32") for n in (70_000, 3, 4, 5)]
    gs = [rng.standard_normal(len(w)).astype("float32") for w in ws]
    v, g = trellis.to_backend((ws, gs), "tensorflow", copy=True)
    optimizer = optim.AdamW(1e-2, weight_decay=weight_decay)
    update = trellis.compile(optimizer.update) if compiled else optimizer.update
    state = optimizer.init(v)
    for _ in range(2):
        v, state = update(v, g, state)
    for w, g_i, found in zip(ws, gs, v, strict=True):
        expected, gradient = w.astype("float64"), g_i.astype("float64")
        m = s = np.zeros_like(expected)
        for t in (1, 2):
            m, s = 0.9 * m + 0.1 * gradient, 0.999 * s + 0.001 * gradient**2
            step = m / (1 - 0.9**t) / (np.sqrt(s / (1 - 0.999**t)) + 1e-8)
            expected = expected - 1e-2 * (step + weight_decay * expected)
        # float32 keeps seven digits, and a step is as long as 0.01 for any gradient
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-5, atol=1e-6)


def test_gradient_through_a_step_over_a_large_leaf():
    w = drawn(1 << 16)
    optimizer = optim.Adam(1e-2)
    state = optimizer.init(w)

    def after(w):
        new = w
        kept = state
        for _ in range(3):
            new, kept = optimizer.update(new, w, kept)
        return trellis.sum(new * new)

    found = trellis.grad(after)(w).numpy()
    # The direction of the first steps is the sign of the gradient, which does not change.
    steps = w.numpy() - 3 * 1e-2 * np.sign(w.numpy())
    is_plain = np.abs(w.numpy()) > 0.1
    np.testing.assert_allclose(found[is_plain], 2 * steps[is_plain], rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("special", [np.nan, -np.inf])
def test_max_pool_in_training_sees_what_the_kernel_passes_over(special):
    values = np.array([1.0, special, special, special, 5.0, 2.0], "float32").reshape(1, 6, 1)
    [x] = trellis.to_backend([values], "tensorflow", copy=True)

    def pooled(x):
        y = F.max_pool1d(x, 2, 2, 0)
        return trellis.sum(y[:, 2:]), y

    for evaluate in (pooled, trellis.compile(pooled)):
        (_, y), g = trellis.value_and_grad(evaluate, has_aux=True)(x)
        first = special if np.isnan(special) else 1.0
        np.testing.assert_array_equal(y.numpy().ravel(), [first, special, 5.0])
        np.testing.assert_array_equal(g.numpy().ravel(), [0, 0, 0, 0, 1, 0])


def test_max_pool_in_training_runs_the_kernel():
    import tensorflow as tf

    loss = trellis.grad(lambda x: trellis.sum(F.max_pool2d(x, 2, 2, 0)))
    graph = tf.function(loss, autograph=False).get_concrete_function(drawn(1, 4, 4, 2)).graph
    branches = graph.as_graph_def().library.function
    found = Counter([node.op for branch in branches for node in branch.node_def])
    assert found["MaxPoolGrad"] == 1


def test_folding_in_a_number_leaves_nothing_in_memory():
    """TensorFlow keeps a tensor of every Python number that it has seen, and none of arrays."""
    import tensorflow as tf

    with trellis.using_backend("tensorflow"):
        key = trellis.random.key(0)
    given = []
    constant = tf.constant

    def spy(value, *args, **kwargs):
        given.append(value)
        return constant(value, *args, **kwargs)

    tf.constant = spy
    try:
        trellis.random.fold_in(key, 123_456)
    finally:
        tf.constant = constant
    assert 123_456 in [int(x) for x in given if np.ndim(x) == 0]
    assert not any([type(x) is int and x == 123_456 for x in given])
