"""Optimizers against torch.optim and optax, schedules and parts against their formulas, on four backends.

The oracles run on the CPU in the precision under test. Tolerances over 20 steps: 1e-9 of the largest value in
float64, 2e-5 in float32 (two programs that round in another order drift apart by some rounding errors a step,
and Adam's first steps divide numbers that are rounded themselves).
"""

import math

import numpy as np
import pytest

import trellis
from conftest import compile_with
from trellis import Container, errors, optim, tree
from trellis.optim import schedules
from trellis.testing import assert_close

STEPS = 20
TOLERANCE = {"float32": 2e-5, "float64": 1e-9}


def initial(seed=0):
    """A small nest: a matrix that Adafactor factors, a bias of zeros, a 3-D leaf, a scalar, a list."""
    draw = np.random.default_rng(seed)
    return {
        "linear": {"w": draw.normal(size=(4, 3)), "b": np.zeros(3)},
        "more": [draw.normal(size=(2, 3, 4)), np.array(0.7)],
    }


def gradients(step):
    """Gradients that depend on the step only, so that both programs see the same ones."""
    draw = np.random.default_rng(100 + step)
    return tree.map(lambda x: np.asarray(draw.normal(size=x.shape)) * 0.5 + 0.1, initial())


def cast(nest, dtype, make=np.asarray):
    return tree.map(lambda x: make(np.asarray(x, dtype)), nest)


def torch_trajectory(make, dtype):
    """The parameters after each step of a torch optimizer."""
    import torch

    params = [torch.tensor(x.astype(dtype)) for x in map(np.asarray, tree.leaves(initial()))]
    params = [p.requires_grad_() for p in params]
    optimizer = make(torch.optim, params)
    trajectory = []
    for i in range(STEPS):
        for p, g in zip(params, tree.leaves(gradients(i)), strict=True):
            p.grad = torch.tensor(np.asarray(g, dtype))
        optimizer.step()
        trajectory.append([p.detach().numpy().copy() for p in params])
    return trajectory


def optax_trajectory(make, dtype):
    """The same of an optax optimizer."""
    import jax
    import optax

    with jax.enable_x64(dtype == "float64"):
        params = [jax.numpy.asarray(x, dtype) for x in tree.leaves(initial())]
        optimizer = make(optax)
        state = optimizer.init(params)
        update = jax.jit(optimizer.update)
        trajectory = []
        for i in range(STEPS):
            grads = [jax.numpy.asarray(g, dtype) for g in tree.leaves(gradients(i))]
            updates, state = update(grads, state, params)
            params = optax.apply_updates(params, updates)
            trajectory.append([np.asarray(p) for p in params])
    return trajectory


def our_trajectory(opt, dtype, make):
    v = Container(cast(initial(), dtype, make))
    trajectory = []
    for i in range(STEPS):
        before = [np.array(trellis.to_numpy(x)) for x in tree.leaves(v)]
        new_v = opt.step(v, cast(gradients(i), dtype, make))
        for x, y in zip(tree.leaves(v), before, strict=True):
            np.testing.assert_array_equal(trellis.to_numpy(x), y)
        v = new_v
        trajectory.append([trellis.to_numpy(x) for x in tree.leaves(v)])
    return v, trajectory


def assert_same(ours, theirs, tolerance):
    for i, (xs, ys) in enumerate(zip(ours, theirs, strict=True)):
        for x, y in zip(xs, ys, strict=True):
            np.testing.assert_allclose(
                x, y, rtol=tolerance, atol=tolerance * float(np.max(np.abs(y))), err_msg=f"step {i}"
            )


TORCH = {
    "SGD": (lambda: optim.SGD(0.1), lambda t, p: t.SGD(p, 0.1)),
    "SGD-momentum": (lambda: optim.SGD(0.1, 0.9), lambda t, p: t.SGD(p, 0.1, momentum=0.9)),
    "SGD-nesterov-decay": (
        lambda: optim.SGD(0.1, momentum=0.8, nesterov=True, weight_decay=0.1),
        lambda t, p: t.SGD(p, 0.1, momentum=0.8, nesterov=True, weight_decay=0.1),
    ),
    "Adam": (lambda: optim.Adam(0.05), lambda t, p: t.Adam(p, 0.05)),
    "Adam-betas": (
        lambda: optim.Adam(0.05, 0.7, 0.95, 1e-4),
        lambda t, p: t.Adam(p, 0.05, (0.7, 0.95), 1e-4),
    ),
    "AdamW": (lambda: optim.AdamW(0.05), lambda t, p: t.AdamW(p, 0.05, weight_decay=0.01)),
    "AdamW-decay": (
        lambda: optim.AdamW(0.05, weight_decay=0.3),
        lambda t, p: t.AdamW(p, 0.05, weight_decay=0.3),
    ),
    "Adamax": (lambda: optim.Adamax(0.05), lambda t, p: t.Adamax(p, 0.05)),
    "NAdam": (lambda: optim.NAdam(0.05), lambda t, p: t.NAdam(p, 0.05)),
    "RMSprop": (lambda: optim.RMSprop(0.02), lambda t, p: t.RMSprop(p, 0.02)),
    "RMSprop-centered-momentum": (
        lambda: optim.RMSprop(0.02, decay=0.8, momentum=0.5, centered=True),
        lambda t, p: t.RMSprop(p, 0.02, alpha=0.8, momentum=0.5, centered=True),
    ),
    "Adagrad": (lambda: optim.Adagrad(0.1), lambda t, p: t.Adagrad(p, 0.1)),
    "Adagrad-decay": (
        lambda: optim.Adagrad(0.1, lr_decay=0.1, initial_accumulator=0.5),
        lambda t, p: t.Adagrad(p, 0.1, lr_decay=0.1, initial_accumulator_value=0.5),
    ),
    "Adadelta": (lambda: optim.Adadelta(), lambda t, p: t.Adadelta(p)),
}
OPTAX = {
    "LARS": (lambda: optim.LARS(0.5), lambda o: o.lars(0.5)),
    "LARS-decay-nesterov": (
        lambda: optim.LARS(0.5, 0.8, True, weight_decay=0.1, trust_coefficient=0.02),
        lambda o: o.lars(
            0.5, weight_decay=0.1, trust_coefficient=0.02, momentum=0.8, nesterov=True
        ),
    ),
    "LARS-schedule": (
        lambda: optim.LARS(schedules.exponential(0.5, 5, 0.5)),
        lambda o: o.lars(o.exponential_decay(0.5, 5, 0.5)),
    ),
    "LAMB": (lambda: optim.LAMB(0.05), lambda o: o.lamb(0.05)),
    "LAMB-decay": (
        lambda: optim.LAMB(0.05, weight_decay=0.1),
        lambda o: o.lamb(0.05, weight_decay=0.1),
    ),
    "Lion": (lambda: optim.Lion(0.05, weight_decay=0.1), lambda o: o.lion(0.05, weight_decay=0.1)),
    "Adafactor": (
        lambda: optim.Adafactor(0.1, min_size_to_factor=2),
        lambda o: o.adafactor(0.1, min_dim_size_to_factor=2),
    ),
    "Adafactor-full-momentum-decay": (
        lambda: optim.Adafactor(
            0.1, momentum=0.9, weight_decay=0.01, clipping=None, factored=False
        ),
        lambda o: o.adafactor(
            0.1,
            momentum=0.9,
            weight_decay_rate=0.01,
            clipping_threshold=None,
            factored=False,
            dtype_momentum=None,
        ),
    ),
    "Adam-cosine": (
        lambda: optim.Adam(schedules.cosine(0.05, 15)),
        lambda o: o.adam(o.cosine_decay_schedule(0.05, 15)),
    ),
}
# The oracles compute these factors in float32 always: optax its rate of decay and its schedules, torch the
# product of NAdam's momenta.
ROUNDED = {"Adafactor", "Adafactor-full-momentum-decay", "LARS-schedule", "Adam-cosine", "NAdam"}
_oracles = {}


def oracle(name, dtype):
    if (name, dtype) not in _oracles:
        compute, rows = (torch_trajectory, TORCH) if name in TORCH else (optax_trajectory, OPTAX)
        _oracles[name, dtype] = compute(rows[name][1], dtype)
    return _oracles[name, dtype]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", [*TORCH, *OPTAX])
def test_trajectory(name, dtype, backend, array, x64):
    expected = oracle(name, dtype)
    opt = {**TORCH, **OPTAX}[name][0]()
    with x64():
        v, ours = our_trajectory(opt, dtype, array)
    is_rounded = name in ROUNDED and dtype == "float64"
    assert_same(ours, expected, 1e-6 if is_rounded else TOLERANCE[dtype])
    assert isinstance(opt.state, Container)
    assert int(opt.state.step) == STEPS
    for leaf in tree.leaves(v):
        assert trellis.dtype(leaf) == dtype
        assert trellis.backend_of(leaf) == backend
    for leaf in tree.leaves(opt.state):
        assert trellis.backend_of(leaf) == backend


@pytest.mark.parametrize("name", [*TORCH, *OPTAX])
def test_compiled_step_equals_eager(name, backend, array):
    opt = {**TORCH, **OPTAX}[name][0]()
    v = Container(cast(initial(), "float32", array))
    compiled = fresh(backend, opt.update)
    state = opt.init(v)
    for i in range(3):
        grads = Container(cast(gradients(i), "float32", array))
        v, state = compiled(v, grads, state)
    expected = {**TORCH, **OPTAX}[name][0]()
    w = Container(cast(initial(), "float32", array))
    for i in range(3):
        w = expected.step(w, Container(cast(gradients(i), "float32", array)))
    assert_nests(v, w, 1e-5)
    assert_nests(state, expected.state, 1e-5)


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


def fresh(backend, fn):
    """Compiled anew: Dynamo counts the compilations of one function over all tests."""
    if backend == "torch":
        import torch

        torch._dynamo.reset()
    return compile_with(backend, fn)


def assert_nests(x, y, tolerance=1e-6):
    xs, ys = tree.leaves(x), tree.leaves(y)
    assert tree.key_chains(Container(x)) == tree.key_chains(Container(y))
    for a, b in zip(xs, ys, strict=True):
        a, b = trellis.to_numpy(a), trellis.to_numpy(b)
        assert a.shape == b.shape
        np.testing.assert_allclose(
            a, b, rtol=tolerance, atol=tolerance * max(float(np.max(np.abs(b))), 1e-3)
        )


# Classes -----------------------------------------------------------------------------------------------


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
        result = opt.step(result, g)  # an array beside a nest serves every leaf
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
    """At t = 1 Adam moves by lr exactly, whatever beta2: 1 - 0.99999**1 must not lose its digits."""
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


def test_classes_equal_their_parts(xp, array):
    """A kernel of the framework for a whole step, where there is one, gives what the parts give."""
    pairs = [
        (optim.Adam(0.1), optim.Optimizer(optim.scale_by_adam(), 0.1)),
        (
            optim.AdamW(schedules.linear(0.1, 0.0, 9)).after(optim.clip_by_global_norm(0.5)),
            optim.Optimizer(
                optim.chain(
                    optim.clip_by_global_norm(0.5),
                    optim.scale_by_adam(),
                    optim.add_decayed_weights(0.01),
                ),
                schedules.linear(0.1, 0.0, 9),
            ),
        ),
    ]
    for opt, parts in pairs:
        v = w = Container(cast(initial(), "float32", array))
        for i in range(3):
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


# Parts -------------------------------------------------------------------------------------------------


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


# Schedules ---------------------------------------------------------------------------------------------

SCHEDULES = {
    "constant": (schedules.constant(0.3), lambda t: 0.3),
    "step": (schedules.step(0.5, 4, 0.1), lambda t: 0.5 * 0.1 ** (t // 4)),
    "piecewise": (
        schedules.piecewise(0.5, {3: 0.1, 7: 0.5}),
        lambda t: 0.5 * (0.1 if t >= 3 else 1) * (0.5 if t >= 7 else 1),
    ),
    "exponential": (schedules.exponential(0.5, 4, 0.3), lambda t: 0.5 * 0.3 ** (t / 4)),
    "polynomial": (
        schedules.polynomial(0.5, 0.1, 8, power=2.0),
        lambda t: 0.4 * (1 - min(t, 8) / 8) ** 2 + 0.1,
    ),
    "linear": (schedules.linear(0.0, 0.5, 8), lambda t: 0.5 * min(t, 8) / 8),
    "cosine": (
        schedules.cosine(0.5, 8, end=0.1),
        lambda t: 0.1 + 0.4 * (1 + math.cos(math.pi * min(t, 8) / 8)) / 2,
    ),
    "warmup_cosine": (
        schedules.warmup_cosine(0.5, 3, 9, end=0.05),
        lambda t: (
            0.5 * t / 3 if t < 3 else 0.05 + 0.45 * (1 + math.cos(math.pi * min(t - 3, 6) / 6)) / 2
        ),
    ),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedule(name, backend, array, x64):
    schedule, formula = SCHEDULES[name]
    for t in range(12):
        assert schedule(t) == pytest.approx(formula(t), rel=1e-12, abs=1e-15)
        assert isinstance(schedule(t), float)
        result = schedule(array(np.array(t, "int32")))
        assert trellis.backend_of(result) == backend
        assert trellis.dtype(result) == "float32"
        assert float(result) == pytest.approx(formula(t), rel=1e-5, abs=1e-7)
        with x64():
            result = schedule(array(np.array(t, "float64")))
            assert trellis.dtype(result) == "float64"
            assert float(result) == pytest.approx(formula(t), rel=1e-12, abs=1e-15)
    if backend != "numpy":
        result = fresh(backend, schedule)(array(np.array(5, "int32")))
        assert float(result) == pytest.approx(formula(5), rel=1e-5)


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


# What a step may overwrite ---------------------------------------------------------------------------


def snapshot(nest):
    return [np.array(trellis.to_numpy(x)) for x in tree.leaves(nest)]


def unchanged(nest, before):
    return all(map(np.array_equal, snapshot(nest), before))


@pytest.mark.parametrize("make", [optim.Adam, optim.AdamW, lambda: optim.SGD(0.1, momentum=0.9)])
def test_a_step_changes_nothing_that_was_given_out(make, array):
    import copy

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


def test_a_state_for_other_variables_is_taken_apart(array):
    optimizer = optim.Adam()
    v = Container(a=array(np.ones(3, "float32")))
    v = optimizer.step(v, v)
    with pytest.raises(errors.ShapeError):
        optimizer.step(Container(b=v.a), Container(b=v.a))
    plain = optimizer.step({"a": v.a}, {"a": v.a})
    assert type(plain) is dict and int(optimizer.state.step) == 2
