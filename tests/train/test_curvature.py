"""Optimizers that use the curvature: `fit` measures it."""

import numpy as np
import pytest

import trellis
from trellis import errors, nn, optim
from trellis.train import fit

X = np.array([[0.5], [2.0], [-1.0], [1.5]], "float32")
Y = 3 * X
OPTIONS = {"batch_size": 2, "shuffle": False, "progress": False, "seed": 0}
STEPS = 6  # three epochs of two batches


def made(**options):
    return optim.Sophia(0.05, beta1=0.5, beta2=0.9, gamma=1.0, **options)


def line(backend):
    ones = nn.init.Ones()
    return nn.Linear(1, 1, with_bias=False, weight_initializer=ones, backend=backend)


def by_formula(every):
    """One weight: its second derivative is 2 * mean(x**2), whatever signs are drawn."""
    w, m, h, path = 1.0, 0.0, 0.0, []
    for step in range(STEPS):
        x = np.float64(X[2 * (step % 2) : 2 * (step % 2) + 2])
        if step % every == 0:
            h = 0.9 * h + 0.1 * 2 * np.mean(x**2)
        g = 2 * np.mean((w - 3) * x**2)
        m = 0.5 * m + 0.5 * g
        w -= 0.05 * np.clip(m / max(h, 1e-12), -1, 1)
        path.append(w)
    return path, h


@pytest.mark.parametrize(("every", "is_compiled"), [(1, True), (3, False)])
def test_fit_measures_the_curvature(every, is_compiled, backend):
    model, optimizer = line(backend), made(measure_every=every)
    fit(model, "mse", (X, Y), optimizer=optimizer, epochs=3, compile=is_compiled, **OPTIONS)
    path, h = by_formula(every)
    assert float(model.v.w[0, 0]) == pytest.approx(path[-1], rel=1e-5)  # float32
    assert float(optimizer.state.curvature.w[0, 0]) == pytest.approx(h, rel=1e-5)


@pytest.mark.parametrize("kind", ["groups", "trainable", "accumulate", "name"])
def test_however_the_optimizer_is_given(kind):
    model = nn.Sequential(line("numpy"), line("numpy"), backend="numpy")
    optimizer, options = made(measure_every=2), {}
    if kind == "groups":
        optimizer = optim.groups({"layers/v0/*": optim.SGD(0.0), "layers/v1/*": optimizer})
    elif kind == "trainable":
        options = {"trainable": "layers/v1/*"}
    elif kind == "accumulate":
        options = {"accumulate": 2}
    else:
        optimizer = "sophia"
    seen = []
    fit(model, "mse", (X, Y), optimizer=optimizer, epochs=3, **OPTIONS, **options,
        callbacks=lambda run: seen.append(run.optimizer.state))  # fmt: skip
    state = seen[-1].group1 if kind == "groups" else seen[-1]
    assert all(float(trellis.sum(h)) > 0 for h in trellis.tree.leaves(state.curvature))


def test_a_run_resumes_exactly(tmp_path):
    path = tmp_path / "run.safetensors"
    whole, part = line("numpy"), line("numpy")
    fit(whole, "mse", (X, Y), optimizer=made(measure_every=2), epochs=3, **OPTIONS)
    for epochs in (1, 3):
        fit(part, "mse", (X, Y), optimizer=made(measure_every=2), epochs=epochs, checkpoint=path,
            resume=True, **OPTIONS)  # fmt: skip
    np.testing.assert_array_equal(part.v.w, whole.v.w)


def test_where_it_cannot_be_measured_fit_raises():
    with pytest.raises(errors.ArgumentError, match="needs the state of a Sophia"):
        fit(line("numpy"), "mse", (X, Y), optimizer=made().accumulated(2), **OPTIONS)
    two = optim.groups({"layers/v0/*": made(), "layers/v1/*": made(measure_every=2)})
    model = nn.Sequential(line("numpy"), line("numpy"), backend="numpy")
    with pytest.raises(errors.ArgumentError, match="choose one measure_every"):
        fit(model, "mse", (X, Y), optimizer=two, **OPTIONS)
