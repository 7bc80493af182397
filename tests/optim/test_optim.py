"""What optimizers, transformations and schedules promise beside their formulas."""

import copy
import gc
import tracemalloc
import weakref

import numpy as np
import pytest

import trellis
from conftest import fresh
from optim_cases import gradients
from optim_cases import variables as initial
from oracles import tf, torch
from trellis import Container, errors, optim, tree
from trellis.optim import schedules
from trellis.optim.engine import Rule
from trellis.testing import assert_close


def cast(nest, dtype, make=np.asarray):
    return tree.map(lambda x: make(np.asarray(x, dtype)), nest)


def test_compiled_once(backend, array):
    """The step counter is an array: the second step runs the program of the first."""
    if backend == "numpy":
        pytest.skip("trellis.compile runs the function itself on NumPy, each time")
    traces = []

    def train(v, grads, state):
        traces.append(1)
        return opt.update(v, grads, state)

    opt = optim.AdamW(schedules.warmup_cosine(0.1, 2, 10), mask=optim.matrices_only)
    v = Container(cast(initial(), "float32", array))
    state, compiled = opt.init(v), fresh(backend, train)
    counts = []
    for i in range(4):
        v, state = compiled(v, Container(cast(gradients(i), "float32", array)), state)
        counts.append(len(traces))
    if backend != "torch":  # Dynamo replays the append
        assert counts[-1] == counts[1]
    assert int(state["step"]) == 4


def assert_nests(x, y, tolerance=1e-6):
    xs, ys = tree.leaves(x), tree.leaves(y)
    assert tree.key_chains(Container(x)) == tree.key_chains(Container(y))
    for a, b in zip(xs, ys, strict=True):
        a, b = trellis.to_numpy(a), trellis.to_numpy(b)
        assert a.shape == b.shape
        np.testing.assert_allclose(
            a, b, rtol=tolerance, atol=tolerance * max(float(np.max(np.abs(b))), 1e-3)
        )


# Classes ------------------------------------------------------------------------------------------


def test_update_is_pure_and_equals_step(array):
    opt = optim.Adam(0.1)
    v = Container(cast(initial(), "float32", array))
    grads = Container(cast(gradients(0), "float32", array))
    first = opt.init(v)
    one, state = opt.update(v, grads, first)
    again, _ = opt.update(v, grads, first)
    assert len(opt.state) == 0
    assert_nests(one, again, 0)
    assert_nests(opt.step(v, grads), one, 0)
    assert_nests(opt.state, state, 0)
    assert sorted(opt.state) == ["m", "step", "v"]


def test_state_can_be_put_back(array):
    grads = [Container(cast(gradients(i), "float32", array)) for i in range(3)]
    opt, other = optim.NAdam(0.1), optim.NAdam(0.1)
    v = opt.step(Container(cast(initial(), "float32", array)), grads[0])
    other.state = opt.state
    assert_nests(other.step(v, grads[1]), opt.step(v, grads[1]), 0)


def test_nests_of_every_kind(array):
    x, g = array([1.0, 2.0]), array([1.0, -1.0])
    expected = np.array([0.5, 2.5])
    for wrap in (
        lambda a: a,
        lambda a: {"a": a},
        lambda a: [a],
        lambda a: (a, {"b": a}),
        lambda a: Container(a=a),
    ):
        v, opt = wrap(x), optim.SGD(0.5, momentum=0.5)
        result = opt.step(v, wrap(g))
        assert type(result) is type(v) or not tree.is_nest(v)
        for leaf in tree.leaves(result):
            np.testing.assert_allclose(trellis.to_numpy(leaf), expected)
        result = opt.step(result, g)  # an array beside a pytree serves every leaf
        for leaf in tree.leaves(result):
            np.testing.assert_allclose(trellis.to_numpy(leaf), expected - 0.75 * np.array([1, -1]))


def test_nothing_to_optimize(backend):
    with trellis.using_backend(backend):
        opt = optim.Adam()
        assert len(opt.step(Container(), Container())) == 0
        assert int(opt.state.step) == 1


def test_errors(backend, array):
    v = Container(a=array([1.0]), b=array([2.0]))
    with pytest.raises(errors.ShapeError):
        optim.Adam().step(v, Container(a=array([1.0])))
    with pytest.raises(errors.ShapeError):
        optim.SGD(0.1).step(Container(a={"b": v.a}, c=v.b), Container(a=v.a, c={"b": v.b}))
    other = trellis.namespace("torch" if backend != "torch" else "numpy").asarray([1.0])
    with pytest.raises(errors.MixedBackendsError):
        optim.Adam().step(v, Container(a=other, b=other))
    with pytest.raises(errors.ArgumentError, match="lr"):
        optim.Adam(-1.0)
    with pytest.raises(errors.ArgumentError, match="None"):
        optim.SGD(0.1).step({"a": array([1.0])}, {"a": None})
    decay = optim.add_decayed_weights(0.1)
    with pytest.raises(errors.ArgumentError, match="params"):
        decay.update(v, decay.init(v))


def test_zero_leaves_move(array):
    """The papers' trust ratio of a leaf of zeros is 1, and no gradient of zeros gives nan."""
    w, g = array(np.zeros(2, "float32")), array(np.array([1.0, -2.0], "float32"))
    lamb = trellis.to_numpy(optim.LAMB(0.1).step(w, g))
    np.testing.assert_allclose(lamb, [-0.1, 0.1], rtol=1e-4)
    lars = trellis.to_numpy(optim.LARS(0.1).step(w, g))
    np.testing.assert_allclose(lars, [-0.1, 0.2], rtol=1e-6)
    still = array(np.zeros(2, "float32"))
    for opt in (
        optim.LARS(0.1),
        optim.LAMB(0.1),
        optim.SGD(0.1).after(optim.clip_by_global_norm(1)),
    ):
        np.testing.assert_array_equal(trellis.to_numpy(opt.step(g, still)), trellis.to_numpy(g))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision(dtype, backend, xp, array):
    w = xp.astype(array(np.array([1.0, -2.0, 3.0], "float32")), dtype)
    g = xp.astype(array(np.array([0.5, 0.25, -1.0], "float32")), dtype)
    v = {"half": w, "single": array(np.array([1.0, -2.0, 3.0], "float32"))}
    for opt in (
        optim.Adam(0.125, epsilon=1e-4),
        optim.LAMB(0.125),
        optim.NAdam(schedules.cosine(0.125, 10)),
        optim.SGD(0.125).after(optim.clip_by_global_norm(0.5)),
        optim.Adafactor(0.125),
    ):
        new = opt.step(v, {"half": g, "single": xp.astype(g, "float32")})
        assert trellis.dtype(new["half"]) == dtype
        assert trellis.dtype(new["single"]) == "float32"
        half = trellis.to_numpy(xp.astype(new["half"], "float32"))
        np.testing.assert_allclose(half, trellis.to_numpy(new["single"]), rtol=2e-2)


def test_float32_bias_corrections(array):
    """At t = 1 Adam moves by lr exactly, whatever beta2: 1 - 0.99999**1 keeps its digits."""
    for beta2 in (0.999, 0.99999):
        opt = optim.Adam(0.1, beta2=beta2, epsilon=0)
        w = opt.step(array(np.zeros(3, "float32")), array(np.array([1.0, 1e-3, 30.0], "float32")))
        np.testing.assert_allclose(trellis.to_numpy(w), [-0.1] * 3, rtol=2e-6)


def test_many_leaves_equal_few(array):
    """The lists of the backends' multi-tensor operations give what single leaves give."""
    values = [np.random.default_rng(i).normal(size=(3,)).astype("float32") for i in range(40)]
    v = {f"p{i:02}": array(x) for i, x in enumerate(values)}
    opt = optim.AdamW(0.1)
    for _ in range(2):
        v = opt.step(v, {key: array(x * 0.3) for key, x in zip(v, values, strict=True)})
    for i in (0, 17, 39):
        single, w = optim.AdamW(0.1), array(values[i])
        for _ in range(2):
            w = single.step(w, array(values[i] * 0.3))
        np.testing.assert_allclose(trellis.to_numpy(v[f"p{i:02}"]), trellis.to_numpy(w), rtol=1e-6)


@pytest.mark.needs("tensorflow", "torch")
@pytest.mark.parametrize("decay", [0.0, 0.01])
def test_small_leaves_together_equal_single_ones(decay):
    """In a graph of TensorFlow small leaves go through Adam as one array; torch's as they are."""
    shapes = [(3,), (70, 70), (2, 2), (), (5,), (1, 4, 2)]
    values = [np.random.default_rng(i).normal(size=shape) for i, shape in enumerate(shapes)]
    opt = optim.AdamW(0.1, weight_decay=decay) if decay else optim.Adam(0.1)
    compiled = trellis.compile(opt.update)
    v = [tf.constant(x) for x in values]
    state = opt.init(v)
    leaves = [torch.tensor(x, requires_grad=True) for x in values]
    theirs = torch.optim.AdamW(leaves, 0.1, weight_decay=decay)
    for k in range(3):
        v, state = compiled(v, [tf.constant(x * (k + 1)) for x in values], state)
        for w, x in zip(leaves, values, strict=True):
            w.grad = torch.tensor(x * (k + 1))
        theirs.step()
    for w, found, x in zip(leaves, v, values, strict=True):
        assert found.shape == x.shape
        # float64: the two differ in the order of their roundings only.
        np.testing.assert_allclose(found.numpy(), w.detach().numpy(), rtol=1e-12, atol=1e-14)


def by_its_two_functions(transformation):
    """The same without its rules, so that no kernel takes the place of any."""
    return optim.Transformation(transformation.init, transformation.update)


def test_kernels_equal_their_rules(xp, array):
    """A kernel of the framework for a whole step, where there is one, gives what the rules give."""
    adam, decay = optim.scale_by_adam(), optim.add_decayed_weights(0.01)
    clip, fall = optim.clip_by_global_norm(0.5), schedules.linear(0.1, 0.0, 9)
    by_rate = optim.scale_by_learning_rate(fall, flip_sign=False)
    nesterov = optim.chain(clip, optim.trace(0.9, nesterov=True), by_rate)
    pairs = [
        (optim.Adam(0.1), adam, 0.1),
        (optim.AdamW(fall).after(clip), optim.chain(clip, adam, decay, by_rate), 1.0),
        (optim.Optimizer(optim.chain(adam, by_rate), 0.5), optim.chain(adam, by_rate), 0.5),
        (optim.SGD(0.1, momentum=0.9), optim.trace(0.9), 0.1),
        (optim.SGD(fall, momentum=0.9, nesterov=True).after(clip), nesterov, 1.0),
        (optim.RMSprop(0.1), optim.scale_by_rms(), 0.1),
        (optim.Adagrad(0.1), optim.scale_by_adagrad(), 0.1),
        (optim.Adamax(0.1), optim.scale_by_adamax(), 0.1),
        (optim.Adamax(fall), optim.chain(optim.scale_by_adamax(), by_rate), 1.0),
        (optim.RMSprop(fall), optim.chain(optim.scale_by_rms(), by_rate), 1.0),
    ]
    for opt, transformation, lr in pairs:
        assert opt.transformation.rules.kernel is not None
        parts = optim.Optimizer(by_its_two_functions(transformation), lr)
        v = w = Container(cast(initial(), "float32", array))
        # TensorFlow makes a graph of a step that comes for the third time.
        for i in range(4):
            grads = Container(cast(gradients(i), "float32", array))
            # As transposing leaves them: on torch not in the order of memory.
            grads.linear["w"] = xp.permute_dims(
                xp.permute_dims(grads.linear["w"], (1, 0)) * 1, (1, 0)
            )
            v, w = opt.step(v, grads), parts.step(w, grads)
        assert_nests(v, w, 2e-6)
        assert_nests(opt.state, parts.state, 2e-6)
    contiguous = {"w": array(np.ones((2, 3), "float32"))}
    v = optim.AdamW(0.1).step(contiguous, contiguous)["w"]
    np.testing.assert_allclose(trellis.to_numpy(v), np.full((2, 3), 1 - 0.1 - 0.001), rtol=1e-6)
    np.testing.assert_array_equal(trellis.to_numpy(contiguous["w"]), np.ones((2, 3)))


def test_rules_behind_adam_that_no_kernel_has():
    """Only plain decay and a rate may follow; anything else must not be left out in silence."""
    adam, rate = optim.scale_by_adam(), optim.scale_by_schedule(schedules.constant(0.1))
    decay, masked = optim.add_decayed_weights(0.1), optim.add_decayed_weights(0.1, {"w": True})
    for behind in (
        [optim.clip(1.0)],
        [masked],
        [rate, decay],
        [rate, rate],
        [adam],
        [optim.trace()],
    ):
        whole = optim.chain(adam, *behind).rules
        left = whole.rules[whole.fused :]
        assert whole.kernel is None or left in (adam.rules.rules, optim.trace().rules.rules)
    for first in (optim.trace(), optim.scale_by_rms()):
        for behind in ([optim.clip(1.0)], [decay], [rate, rate], [rate, decay]):
            assert optim.chain(first, *behind).rules.kernel is None


def test_step_leaves_the_graph_behind_and_update_keeps_it(backend, array):
    """One step of SGD with momentum, differentiated with respect to its gradient."""
    opt = optim.SGD(0.5, momentum=0.9, nesterov=True)
    w = array([1.0, 2.0])
    slope = trellis.grad(lambda g: trellis.sum(opt.update(w, g, opt.init(w))[0]))(array([0.3, 0.4]))
    np.testing.assert_allclose(trellis.to_numpy(slope), [-0.95, -0.95], rtol=1e-6)
    if backend == "torch":
        import torch

        leaf = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
        assert not opt.step(leaf, torch.ones(2)).requires_grad
        assert not opt.state.momentum.requires_grad


def test_differentiated_adam(array, x64):
    """Temporaries are overwritten only where nothing is recorded."""

    def last(g):
        opt = optim.Adam(0.5, epsilon=0.1)
        w, state = array(np.array([1.0, 2.0])), opt.init(g)
        for factor in (1.0, 2.0):
            w, state = opt.update(w, g * factor, state)
        return trellis.sum(w)

    with x64():
        at = np.array([0.3, -0.4])
        slope = trellis.grad(last)(array(at))
        h = 1e-6
        expected = np.zeros(2)
        for i in range(2):
            shift = np.eye(2)[i] * h
            high, low = float(last(array(at + shift))), float(last(array(at - shift)))
            expected[i] = (high - low) / (2 * h)
        assert_close(slope, expected, rtol=1e-5)


# Parts --------------------------------------------------------------------------------------------


def updated(transformation, grads, params=None):
    state = transformation.init(grads if params is None else params)
    return tree.map(trellis.to_numpy, transformation.update(grads, state, params)[0])


def test_clipping(array):
    grads = {"a": array([3.0, -4.0]), "b": array([0.0, 12.0])}
    by_value = updated(optim.clip(2.0), grads)
    np.testing.assert_allclose(by_value["a"], [2, -2])
    by_norm = updated(optim.clip_by_norm(10.0), grads)
    np.testing.assert_allclose(by_norm["a"], [3, -4])
    np.testing.assert_allclose(by_norm["b"], [0, 10], rtol=1e-6)
    everywhere = updated(optim.clip_by_global_norm(1.0), grads)
    np.testing.assert_allclose(everywhere["a"], np.array([3, -4]) / 13, rtol=1e-6)
    np.testing.assert_allclose(everywhere["b"], np.array([0, 12]) / 13, rtol=1e-6)
    np.testing.assert_allclose(updated(optim.clip_by_global_norm(20.0), grads)["b"], [0, 12])
    np.testing.assert_allclose(float(optim.global_norm(grads)), 13, rtol=1e-6)


def test_weight_decay_masks(array):
    params = {"layer": {"w": array([[1.0, 2.0]]), "b": array([3.0])}, "scale": array([4.0])}
    zeros = tree.map(lambda x: x * 0, params)
    masks = {
        "nest": {"layer": {"w": True, "b": False}, "scale": False},
        "prefix": {"layer": True, "scale": False},
        "function": optim.matrices_only,
        "none": None,
    }
    decays = {"nest": (1, 0, 0), "prefix": (1, 1, 0), "function": (1, 0, 0), "none": (1, 1, 1)}
    for name, mask in masks.items():
        result = updated(optim.add_decayed_weights(0.5, mask), zeros, params)
        w, b, scale = decays[name]
        np.testing.assert_allclose(result["layer"]["w"], [[0.5 * w, 1.0 * w]])
        np.testing.assert_allclose(result["layer"]["b"], [1.5 * b])
        np.testing.assert_allclose(result["scale"], [2.0 * scale])
    opt = optim.AdamW(0.1, weight_decay=0.5, mask=optim.matrices_only)
    v = tree.map(trellis.to_numpy, opt.step(params, zeros))
    np.testing.assert_allclose(v["layer"]["w"], [[0.95, 1.9]], rtol=1e-6)
    np.testing.assert_allclose(v["scale"], [4.0])


def test_masked(array):
    grads = {"a": array([1.0, 2.0]), "b": array([3.0])}
    inner = optim.masked(optim.chain(optim.trace(0.5), optim.scale(-1.0)), {"a": True, "b": False})
    state = inner.init(grads)
    for _ in range(2):
        result, state = inner.update(grads, state, grads)
    np.testing.assert_allclose(trellis.to_numpy(result["a"]), [-1.5, -3.0])
    np.testing.assert_allclose(trellis.to_numpy(result["b"]), [3.0])
    opt = optim.Optimizer(optim.chain(inner, optim.scale(2.0)), lr=0.1)
    v = opt.step({"a": array([1.0, 1.0]), "b": array([1.0])}, grads)
    np.testing.assert_allclose(trellis.to_numpy(v["a"]), [1.2, 1.4], rtol=1e-6)
    np.testing.assert_allclose(trellis.to_numpy(v["b"]), [0.4], rtol=1e-6)


def test_masks_of_all_and_of_one_array(array):
    x = array([1.0, 2.0])
    np.testing.assert_allclose(updated(optim.masked(optim.scale(3.0), None), {"a": x})["a"], [3, 6])
    for mask, expected in ((True, [3, 6]), (False, [1, 2]), (None, [3, 6])):
        np.testing.assert_allclose(updated(optim.masked(optim.scale(3.0), mask), x), expected)


def test_the_type_of_a_learning_rate_is_not_that_of_prodigy(array):
    w, g = array([1.0, 2.0]), array([0.5, -1.0])
    rate = array(np.array(0.5, "float16"))
    found = optim.Prodigy(rate, first=1e-2).step(w, g)
    assert "float32" in str(found.dtype)
    expected = trellis.to_numpy(optim.Prodigy(0.5, first=1e-2).step(w, g))
    np.testing.assert_allclose(trellis.to_numpy(found), expected, rtol=1e-7)  # one rounding


def test_chain_of_ones_own_and_twice_the_same(array):
    own = optim.Transformation(
        lambda p: Container(), lambda g, s, p=None: (tree.map(lambda x: x * 2, g), s)
    )
    x = array([1.0])
    np.testing.assert_allclose(updated(optim.chain(optim.scale(3.0), own), x), [6.0])
    twice = optim.chain(optim.trace(0.5), optim.trace(0.5))
    state = twice.init(x)
    assert sorted(state) == ["momentum", "momentum_2", "step"]
    for _ in range(2):
        updates, state = twice.update(x, state)
    np.testing.assert_allclose(trellis.to_numpy(updates), [2.0])
    new = optim.apply_updates({"x": x}, {"x": x})
    np.testing.assert_allclose(trellis.to_numpy(new["x"]), [2.0])


def test_parameter_average(array):
    values = [np.array([1.0, 2.0]), np.array([3.0, -1.0]), np.array([0.0, 5.0])]
    decay, total = 0.9, np.zeros(2)
    averages = {
        True: optim.ParameterAverage(decay),
        False: optim.ParameterAverage(decay, debias=False),
    }
    plain = values[0]
    for i, value in enumerate(values):
        total = decay * total + (1 - decay) * value
        plain = decay * plain + (1 - decay) * value
        result = averages[True].step({"w": array(value, "float32")})["w"]
        np.testing.assert_allclose(
            trellis.to_numpy(result), total / (1 - decay ** (i + 1)), rtol=1e-5
        )
        result = averages[False].step({"w": array(value, "float32")})["w"]
        np.testing.assert_allclose(trellis.to_numpy(result), plain, rtol=1e-5)
    assert sorted(averages[True].state) == ["average", "step"]


@pytest.mark.parametrize("is_compiled", [False, True])
def test_accumulation(is_compiled, backend, array):
    """Every third step equals one step on the mean; the others change nothing."""
    opt, plain = optim.Adam(0.1).accumulated(3), optim.Adam(0.1)
    v = w = Container(cast(initial(), "float32", array))
    state = opt.init(v)
    update = fresh(backend, opt.update) if is_compiled else opt.update
    for i in range(6):
        new_v, state = update(v, Container(cast(gradients(i), "float32", array)), state)
        if i % 3 < 2:
            assert_nests(new_v, v, 0)
        else:
            mean = tree.map(lambda *gs: sum(gs) / 3, *[gradients(j) for j in range(i - 2, i + 1)])
            w = plain.step(w, Container(cast(mean, "float32", array)))
            assert_nests(new_v, w, 1e-5)
        v = new_v
    assert int(state["count"]) == 0
    assert int(state["inner"]["step"]) == 2
    with pytest.raises(errors.ArgumentError):
        optim.SGD(0.1).accumulated(0)


# Schedules ----------------------------------------------------------------------------------------


def test_schedules_of_optax():
    import optax

    pairs = [
        (schedules.one_cycle(0.5, 20), optax.cosine_onecycle_schedule(20, 0.5)),
        (schedules.warmup_cosine(0.5, 4, 20), optax.warmup_cosine_decay_schedule(0.0, 0.5, 4, 20)),
        (
            schedules.polynomial(0.5, 0.1, 8, power=3, begin=2),
            optax.polynomial_schedule(0.5, 0.1, 3, 8, 2),
        ),
        (schedules.step(0.5, 4, 0.1), optax.exponential_decay(0.5, 4, 0.1, staircase=True)),
        (schedules.piecewise(0.5, {3: 0.1}), optax.piecewise_constant_schedule(0.5, {3: 0.1})),
    ]
    for ours, theirs in pairs:
        for t in range(24):
            # optax computes in float32.
            assert ours(t) == pytest.approx(float(theirs(t)), rel=1e-5, abs=1e-6)


def test_schedule_errors():
    for make in (
        lambda: schedules.cosine(1.0, 0),
        lambda: schedules.warmup_cosine(1.0, 10, 5),
        lambda: schedules.one_cycle(1.0, 2),
        lambda: schedules.join([schedules.constant(1.0)], [3]),
    ):
        with pytest.raises(errors.ArgumentError):
            make()


# What a step may overwrite ------------------------------------------------------------------------


def snapshot(nest):
    return [np.array(trellis.to_numpy(x)) for x in tree.leaves(nest)]


def unchanged(nest, before):
    return all(map(np.array_equal, snapshot(nest), before))


@pytest.mark.parametrize(
    "make",
    [
        optim.Adam,
        optim.AdamW,
        lambda: optim.SGD(0.1, momentum=0.9),
        lambda: optim.SGD(0.1, momentum=0.9, nesterov=True),
        lambda: optim.RMSprop(0.1),
        lambda: optim.Adagrad(0.1),
        lambda: optim.Adamax(0.1),
    ],
)
def test_a_step_changes_nothing_that_was_given_out(make, array):
    optimizer = make()
    v = Container(a={"w": array(np.ones(3, "float32"))}, b=array(np.ones((2, 2), "float32")))
    g = Container(a={"w": array(np.full(3, 0.5, "float32"))}, b=array(np.eye(2, dtype="float32")))
    kept, seen = [], []
    for i in range(6):
        seen += [(nest, snapshot(nest)) for nest in (v, g)]
        if i in (1, 3, 4):
            kept.append((optimizer.state, snapshot(optimizer.state)))
        if i == 2:
            twin = copy.copy(optimizer)
            theirs = [snapshot(twin.step(v, g)) for _ in range(2)]
        v = optimizer.step(v, g)
        if i == 2:
            assert unchanged(v, theirs[0])
    assert all([unchanged(*pair) for pair in seen + kept])
    assert int(optimizer.state.step) == 6 and int(twin.state.step) == 4
    other = make()
    other.state = kept[0][0]
    other.step(seen[2][0], g)
    other.step(seen[2][0], g)
    assert all([unchanged(*pair) for pair in kept])


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adamax"])
def test_memory_of_a_step_on_numpy(name):
    """A step allocates the new variables and one block: it overwrites its own state."""
    options = {"momentum": 0.9} if name == "SGD" else {}
    optimizer = getattr(optim, name)(0.1, **options)
    v = Container({f"w{i}": np.ones((256, 256), "float32") for i in range(8)})
    g = Container({f"w{i}": np.full((256, 256), 0.5, "float32") for i in range(8)})
    for _ in range(2):
        v = optimizer.step(v, g)
    tracemalloc.start()
    try:
        new = optimizer.step(v, g)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    size = sum([w.nbytes for w in trellis.tree.leaves(new)])
    assert size < peak < 1.1 * size


@pytest.mark.parametrize("make", [optim.Adam, lambda: optim.SGD(0.1, momentum=0.9)])
def test_a_step_lets_go_of_the_old_variables(make, array):
    """Between two steps an optimizer keeps its own arrays, and none of the last variables."""
    optimizer = make()
    v = Container(a={"w": array(np.ones(3, "float32"))}, b=array(np.ones((2, 2), "float32")))
    g = tree.map(lambda x: x * 0.5, v)
    for _ in range(3):
        v = optimizer.step(v, g)
    old = [weakref.ref(leaf) for leaf in tree.leaves(v)]
    v = optimizer.step(v, g)
    gc.collect()
    assert [ref() for ref in old] == [None, None]
    nested = Container({"z": 1.0, "a": {}, "b": {"c": {}, "d": 2.0}, "e": {"f": {"g": 3.0}}})
    flat = Container({"z": 1.0, "a": 2.0}, alphabetical_keys=False)
    for nest in (nested, flat):
        nest = tree.map(lambda x: array(np.full(2, x, "float32")), nest)
        optimizer = make()
        nest = optimizer.step(optimizer.step(nest, nest), nest)
        state = optimizer.state
        moments = state.m if "m" in state else state.momentum
        assert list(moments) == list(nest)
        assert moments.key_chains() == nest.key_chains()
        assert tree.structure(moments) == tree.structure(nest)


def test_a_state_for_other_variables_is_taken_apart(array):
    optimizer = optim.Adam()
    v = Container(a=array(np.ones(3, "float32")))
    v = optimizer.step(v, v)
    with pytest.raises(errors.ShapeError):
        optimizer.step(Container(b=v.a), Container(b=v.a))
    plain = optimizer.step({"a": v.a}, {"a": v.a})
    assert type(plain) is dict and int(optimizer.state.step) == 2


def test_a_second_run_repeats_the_first_to_the_last_bit(array):
    """Whether a kernel takes over at once or, as on TensorFlow, at the third step of a process."""
    shape = (3, 5, 7, 2)  # of no other test: nothing has been made for it yet
    draw = np.random.default_rng(0)
    w = array(draw.normal(size=shape).astype("float32"))
    grads = [array(draw.normal(size=shape).astype("float32")) for _ in range(8)]

    def run(make):
        opt, v, found = make(), Container(w=w), []
        for g in grads:
            v = opt.step(v, Container(w=g))
            found.append(trellis.to_numpy(v.w))
        return found

    for make in (
        lambda: optim.Adam(0.01),
        lambda: optim.Adam(0.02, beta1=0.0),
        lambda: optim.AdamW(schedules.cosine(0.01, 10), weight_decay=0.1),
    ):
        first, second = run(make), run(make)
        for x, y in zip(first, second, strict=True):
            np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("flip_sign, sign", [(True, -1.0), (False, 1.0)])
def test_a_rate_is_a_transformation_of_its_own(flip_sign, sign, array):
    g = array([2.0, -4.0])
    for rate, by_step in (
        (lambda t: 0.5 / (t + 1), [0.5, 0.25, 0.5 / 3]),  # the first step is 0
        (array(0.5), [0.5, 0.5, 0.5]),
        (0.5, [0.5, 0.5, 0.5]),
    ):
        scaled = optim.scale_by_learning_rate(rate, flip_sign=flip_sign)
        state = scaled.init(g)
        for lr in by_step:
            updates, state = scaled.update(g, state)
            # One rounding of the rate and one of the product.
            assert_close(updates, array([sign * lr * 2.0, sign * lr * -4.0]), rtol=3e-7)


@pytest.mark.parametrize(
    "name", ["add_decayed_weights", "scale_by_param_rms", "scale_by_trust_ratio"]
)
def test_what_needs_the_parameters_says_so(name, array):
    g = {"w": array([1.0, 2.0])}
    needing = getattr(optim, name)(*([0.1] if name == "add_decayed_weights" else []))
    for whole in (needing, optim.masked(needing, {"w": True})):
        with pytest.raises(errors.ArgumentError, match=rf"^{name}\(\) needs the parameters"):
            whole.update(g, whole.init(g))


def test_a_class_keeps_what_it_defines_under_the_name_of_an_argument():
    class Named(optim.Optimizer):
        kind = "of the class"

        def __init__(self, kind="of the call", lr=0.5):
            super().__init__(optim.scale(1.0), lr)

    assert Named.kind == Named().kind == "of the class"
    assert Named("else", lr=0.25).lr == 0.25


def test_levels_of_every_shape_are_rebuilt(array):
    """Containers take a way of their own: leaves before, between and behind levels, or none."""
    shapes = [
        Container(a=1.0, b=Container(c=2.0), d=3.0),
        Container(a=Container(b=Container(c=1.0, d=2.0), e=3.0), f=Container(), g=4.0),
        Container(a=Container(), b=Container(c=Container())),
        Container(a=Container(b=1.0), c=Container(d=2.0), e=Container(f=3.0, g=Container(h=4.0))),
        Container(z=1.0, a=Container(y=2.0, b=3.0), alphabetical_keys=False),
    ]
    for numbers in shapes:
        v = tree.map(lambda x: array([x]), numbers)
        new = optim.SGD(1.0, momentum=0.5).step(v, v)
        assert tree.key_chains(new) == tree.key_chains(numbers)
        assert isinstance(new, Container)
        assert [float(x[0]) for x in tree.leaves(new)] == [0.0] * len(tree.leaves(numbers))
        moved = optim.SGD(0.5).step(v, v)
        assert_close(moved, tree.map(lambda x: array([x / 2]), numbers), rtol=0, atol=0)


def test_rules_are_values():
    """Frozen: copies of an optimizer share them, and a compiler may compare and hash them."""

    def below(cls):
        return [cls, *[each for sub in cls.__subclasses__() for each in below(sub)]]

    rules = [cls for cls in below(Rule)[1:] if cls.__module__.startswith("trellis.")]
    assert len(rules) > 10
    assert [cls for cls in rules if not cls.__dataclass_params__.frozen] == []
