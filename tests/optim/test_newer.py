"""What later optimizers have beside their steps: averages, curvature, sharpness, roots."""

import numpy as np
import pytest

import trellis
from conftest import fresh
from oracles import torch
from trellis import Container, errors, optim, tree
from trellis.conformance.strangers import other_of
from trellis.testing import assert_close


def loss_of(v):
    """Not quadratic, and not separable."""
    return trellis.sum(trellis.sin(v["w"]) * v["b"] ** 2) + trellis.sum(v["w"] ** 4)


def small(array):
    return Container(
        w=array(np.array([[0.3, -1.2], [0.8, 2.0]], "float32")),
        b=array(np.array([0.5, -0.7], "float32")),
    )


@pytest.mark.needs("torch")
def test_uphill_like_torch():
    """The sign changes before the weight decay and the momentum."""
    w = torch.nn.Parameter(torch.tensor([1.0, -2.0]))
    theirs = torch.optim.SGD([w], 0.1, momentum=0.9, weight_decay=0.1, maximize=True)
    ours, v = optim.SGD(0.1, 0.9, weight_decay=0.1).maximizing(), torch.tensor([1.0, -2.0])
    for step in range(4):
        w.grad = torch.tensor([0.5, step - 1.0])
        theirs.step()
        v = ours.step(v, w.grad)
    np.testing.assert_allclose(v.numpy(), w.detach().numpy(), rtol=1e-6)


def test_lookahead_of_an_optimizer(array, backend):
    """The method is the transformation behind the learning rate, which may be a schedule."""
    for lr in (0.1, optim.schedules.linear(0.1, 0.0, 10)):
        by_hand = optim.Optimizer(
            optim.lookahead(
                optim.chain(
                    optim.scale_by_adam(), optim.scale_by_learning_rate(lr, flip_sign=False)
                ),
                2,
                0.4,
            ),
            None,
        )
        opt, v = optim.Adam(lr).with_lookahead(2, 0.4), small(array)
        w = v
        for _ in range(4):
            v, w = opt.step(v, v), by_hand.step(w, w)
        # The same steps in another order of roundings.
        assert_close(v["w"], trellis.to_numpy(w["w"]), rtol=1e-6, backend=backend)


def test_stochastic_weight_averaging(array, backend):
    """The plain mean, as torch.optim.swa_utils computes it."""
    average = optim.ParameterAverage(None)
    draws = np.random.default_rng(0).normal(size=(6, 3)).astype("float32")
    for i, x in enumerate(draws):
        found = average.step({"w": array(x)})
        # float32 adds six numbers of about 1: three roundings of 6e-8.
        assert_close(found["w"], draws[: i + 1].mean(axis=0), rtol=3e-7, backend=backend)


@pytest.mark.needs("torch")
def test_stochastic_weight_averaging_of_torch():
    model = torch.nn.Linear(2, 1)
    theirs, ours = torch.optim.swa_utils.AveragedModel(model), optim.ParameterAverage(None)
    with torch.no_grad():
        for i in range(4):
            model.weight.copy_(torch.tensor([[float(i), i * i / 3]]))
            theirs.update_parameters(model)
            mean = ours.step(model.weight.detach().clone())
    np.testing.assert_allclose(mean.numpy(), theirs.module.weight.detach().numpy(), rtol=1e-6)


def test_the_average_of_a_schedule_free_optimizer(array, backend):
    """x of the paper, kept beside y and z."""
    opt, w = optim.ScheduleFreeSGD(0.1, 0.75, warmup_steps=4), array(np.ones(2, "float32"))
    assert opt.average(w) is w
    x = z = y = np.ones(2)
    total = 0.0
    for t in range(1, 7):
        lr = 0.1 * min(t / 4, 1)
        total += lr**2
        z = z - lr * 2 * y
        x = x + lr**2 / total * (z - x)
        y = 0.75 * x + 0.25 * z
        w = opt.step(w, 2 * w)
        # Six steps in float32.
        assert_close(w, y.astype("float32"), rtol=2e-6, backend=backend)
        assert_close(opt.average(w), x.astype("float32"), rtol=2e-6, backend=backend)
    flat = optim.ScheduleFreeSGD(0.1, 0.0)
    w = flat.step(w, w)
    with pytest.raises(errors.ArgumentError, match="beta=0"):
        flat.average(w)


def test_curvature_by_random_signs(array, backend):
    """Of a diagonal Hessian every estimate is exact; of another one their mean is."""

    def key(seed):
        return trellis.random.key(seed, backend=backend)

    v = small(array)
    exact = optim.hutchinson_diagonal(
        lambda v: trellis.sum(v["w"] ** 4) + trellis.sum(v["b"] ** 2), v, key(0)
    )
    assert_close(exact["w"], 12 * trellis.to_numpy(v["w"]) ** 2, rtol=1e-6, backend=backend)
    assert_close(exact["b"], np.full(2, 2.0, "float32"), rtol=1e-6, backend=backend)
    w, b = (trellis.to_numpy(v[name]).astype("float64") for name in ("w", "b"))
    estimates = [
        trellis.to_numpy(optim.hutchinson_diagonal(loss_of, v, each)["w"])
        for each in trellis.random.split(key(1), 64)
    ]
    diagonal = -np.sin(w) * b**2 + 12 * w**2
    # What is not on the diagonal, 2 * cos(w) * b at most, averages out: 1.4 / 8 is one deviation.
    assert np.max(np.abs(np.mean(estimates, axis=0) - diagonal)) < 4 * 1.4 / 8
    assert np.std([x[0, 0] for x in estimates]) > 0.1
    numpy_v = tree.map(trellis.to_numpy, v)
    same = optim.hutchinson_diagonal(loss_of, numpy_v, trellis.random.key(5, backend="numpy"))
    here = optim.hutchinson_diagonal(loss_of, v, key(5))
    assert_close(here["w"], same["w"], rtol=1e-5, backend=backend)
    foreign = trellis.random.key(5, backend=other_of(backend))
    with pytest.raises(errors.MixedBackendsError):
        optim.hutchinson_diagonal(loss_of, v, foreign)


def test_sophia_takes_estimates(array, backend):
    opt, v = optim.Sophia(0.1, 0.0, beta2=0.5, gamma=1.0), small(array)
    with pytest.raises(errors.ArgumentError, match="init"):
        opt.measure(v)
    g = tree.map(lambda x: x * 0 + 2, v)
    v = opt.step(v, g)
    estimate = tree.map(lambda x: x * 0 + 16, v)
    opt.measure(estimate)
    state = opt.measured(opt.init(v), estimate)
    assert_close(state.curvature.b, np.full(2, 8.0, "float32"), backend=backend)
    before = trellis.to_numpy(v["b"])
    expected = before - np.float32(0.1) * np.float32(2 / 8)
    assert_close(opt.step(v, g)["b"], expected, rtol=1e-6, backend=backend)
    compiled, state = fresh(backend, opt.update)(v, g, state)
    assert_close(compiled["b"], expected, rtol=1e-6, backend=backend)


def test_sharpness_aware_gradients(array, backend):
    """By their formula, and compiled; at a minimum there is no direction uphill."""
    v, rho = small(array), 0.3
    gradients = optim.sharpness_aware(loss_of, rho)
    value, found = gradients(v)
    g = tree.map(trellis.to_numpy, trellis.grad(loss_of)(v))
    length = np.sqrt(sum([float((x**2).sum()) for x in tree.leaves(g)]))
    plain = tree.map(trellis.to_numpy, v)
    uphill = tree.map(lambda w, g: w + np.float32(rho / length) * g, plain, g)
    expected = trellis.grad(loss_of)(uphill)
    assert_close(value, np.asarray(loss_of(plain)), rtol=1e-6, backend=backend)
    for name in ("w", "b"):
        assert_close(found[name], expected[name], rtol=1e-5, backend=backend)
    compiled = fresh(backend, gradients)(v)[1]
    assert_close(compiled["w"], expected["w"], rtol=1e-5, backend=backend)
    still = optim.sharpness_aware(lambda x: trellis.sum(x * x))(array(np.zeros(2, "float32")))[1]
    assert_close(still, np.zeros(2, "float32"), backend=backend)
    (value, aux), _ = optim.sharpness_aware(lambda v: (loss_of(v), 7), has_aux=True)(v)
    assert aux == 7


def test_roots_that_are_computed_now_and_then(array, backend):
    """Between two times Shampoo's matrices grow, and their roots stay; compiled too."""
    g = array(np.array([[1.0, 2.0], [0.5, -1.0]], "float32"))
    seldom, always = optim.Shampoo(0.1, 0, every=3), optim.Shampoo(0.1, 0)
    v = w = array(np.zeros((2, 2), "float32"))
    steps = []
    for _ in range(4):
        new_v, new_w = seldom.step(v, g), always.step(w, g)
        steps.append([trellis.to_numpy(new_v - v), trellis.to_numpy(new_w - w)])
        v, w = new_v, new_w
    # Differences of numbers of about 0.3 in float32.
    np.testing.assert_allclose(steps[1][0], steps[0][0], atol=1e-7)
    np.testing.assert_allclose(steps[2][0], steps[0][0], atol=1e-7)
    np.testing.assert_allclose(steps[3][0], steps[3][1], atol=1e-6)
    assert np.max(np.abs(steps[1][1] - steps[0][1])) > 0.01
    compiled, state = fresh(backend, seldom.update), seldom.init(v)
    x = array(np.zeros((2, 2), "float32"))
    for _ in range(4):
        x, state = compiled(x, g, state)
    assert_close(x, trellis.to_numpy(v), rtol=1e-4, atol=1e-6, backend=backend)


def test_axes_that_are_too_long_have_no_matrix(array, backend):
    g = array(np.ones((2, 3), "float32"))
    state = optim.scale_by_shampoo(largest=2).init({"w": g, "b": array(np.ones(5, "float32"))})
    assert [[tuple(x.shape) for x in own] for own in state.sums] == [[(1, 1)], [(2, 2)]]


def test_muon_where_it_is_asked_for(array, backend):
    v = {"embedding": array(np.ones((3, 2), "float32")), "w": array(np.ones((3, 2), "float32"))}
    g = tree.map(lambda x: x * 3, v)
    opt = optim.Muon(0.1, weight_decay=0, where={"embedding": False, "w": True}, adam_lr=0.5)
    new = opt.step(v, g)
    assert_close(new["embedding"], np.full((3, 2), 0.5, "float32"), rtol=1e-6, backend=backend)
    assert float(trellis.max(new["w"])) > 0.8
    muon, w = optim.scale_by_muon(), array(np.ones(2, "float32"))
    state = muon.init(w)
    with pytest.raises(errors.ArgumentError, match=r"shape \(2,\).*optim.Muon"):
        muon.update(w, state)


@pytest.mark.needs("torch")
def test_muon_is_that_of_torch():
    """Its iteration is in bfloat16, with eight binary digits: 1/256 of each of 20 steps of 0.02."""
    start = np.random.default_rng(0).normal(size=(6, 4)).astype("float32")
    w, v = torch.nn.Parameter(torch.tensor(start)), start
    theirs, ours = torch.optim.Muon([w], 0.02, 0.1, 0.95), optim.Muon(0.02, 0.95, 0.1)
    for i in range(20):
        g = np.random.default_rng(i).normal(size=(6, 4)).astype("float32")
        w.grad = torch.tensor(g)
        theirs.step()
        v = ours.step(v, g)
    assert np.abs(v - start).max() > 0.1
    np.testing.assert_allclose(v, w.detach().numpy(), atol=20 * 0.02 / 256 * 2)


def test_dir_shows_the_schedules():
    assert "schedules" in dir(optim)


def test_lbfgs_fits_a_module(backend):
    """A linear regression by gradients of all data at once: 25 steps to the normal equations."""
    draw = np.random.default_rng(0)
    x = draw.normal(size=(40, 3)).astype("float32")
    y = (x @ np.array([1.0, -2.0, 0.5]) + 0.3 + 0.1 * draw.normal(size=40)).astype("float32")
    trellis.seed(0)
    model = trellis.nn.Linear(3, 1, backend=backend)
    trellis.train.fit(
        model,
        lambda found, y: trellis.mean((found[:, 0] - y) ** 2),
        (x, y),
        optimizer=optim.LBFGS(),
        batch_size=40,
        epochs=25,
        progress=False,
        compile=False,
    )
    expected = np.linalg.lstsq(np.c_[x, np.ones(40)], y, rcond=None)[0]
    found = np.r_[trellis.to_numpy(model.v.w).ravel(), trellis.to_numpy(model.v.b)]
    # Rounding of float32; a gradient descent of 25 steps is off by more than 1e-2.
    np.testing.assert_allclose(found, expected, atol=2e-4)
