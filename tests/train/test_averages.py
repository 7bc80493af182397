"""Optimizers whose average is evaluated: validation, checkpoints, what is left, and resuming."""

import numpy as np
import pytest

import trellis
from trellis import errors, nn, optim, train
from trellis.train import fit

RNG = np.random.default_rng(0)
X = RNG.normal(size=(24, 3)).astype("float32")
Y = (X @ np.array([[1.0], [-2.0], [0.5]]) + 0.1).astype("float32")
OPTIONS = {"batch_size": 8, "progress": False, "seed": 0}
# float32; the average divides a difference by 0.9, and compiled steps round otherwise.
CLOSE = {"rtol": 1e-4, "atol": 1e-5}


def made(kind):
    return {
        "sgd": lambda: optim.ScheduleFreeSGD(0.1, weight_decay=0.01),
        "adamw": lambda: optim.ScheduleFreeAdamW(0.05, warmup_steps=2),
        "clipped": lambda: optim.ScheduleFreeSGD(0.1).after(optim.clip_by_global_norm(1.0)),
        "accumulated": lambda: optim.ScheduleFreeSGD(0.1).accumulated(2),
        "groups": lambda: optim.groups(
            {"w": optim.ScheduleFreeSGD(0.1), "b": optim.Adam(0.05)}
        ),
    }[kind]()  # fmt: skip


KINDS = ("sgd", "adamw", "clipped", "accumulated", "groups")


def model_of(backend):
    trellis.seed(1)
    return nn.Linear(3, 1, backend=backend)


def as_numpy(nest):
    return [trellis.to_numpy(x) for x in trellis.tree.leaves(nest)]


def compare(one, other, **limits):
    for x, y in zip(as_numpy(one), as_numpy(other), strict=True):
        np.testing.assert_allclose(x, y, **limits)


def by_formula(steps, batches, lr=0.1, beta=0.9, decay=0.01):
    """Schedule-free SGD as the paper writes it (Defazio et al., 2024), in float64: x, y."""
    first = model_of("numpy").v
    x = {"w": np.float64(first.w), "b": np.float64(first.b)}
    y, z, total = dict(x), dict(x), 0.0
    for step in range(steps):
        inputs, targets = batches[step]
        error = inputs @ y["w"].T + y["b"] - targets
        grads = {"w": 2 * (error.T @ inputs) / len(error), "b": 2 * error.mean(0)}
        total += lr**2
        c = lr**2 / total
        for name in x:
            z[name] = z[name] - lr * (grads[name] + decay * y[name])
            x[name] = (1 - c) * x[name] + c * z[name]
            y[name] = beta * x[name] + (1 - beta) * z[name]
    return x, y


def loss_of(v):
    return float(np.mean((X @ v["w"].T + v["b"] - Y) ** 2))


def test_the_average_is_validated_and_left(backend, array):
    """Against the formula of the paper, which keeps the average itself."""
    batches = [(X[i : i + 8], Y[i : i + 8]) for i in (0, 8, 16)] * 2
    model, optimizer = model_of(backend), made("sgd")
    seen = []
    history = fit(
        model, "mse", batches[:3], optimizer=optimizer, epochs=2, progress=False,
        validation_data=[(X, Y)], callbacks=lambda run: seen.append(as_numpy(run.model.v)),
    )  # fmt: skip
    for epoch, steps in enumerate((3, 6)):
        x, y = by_formula(steps, batches)
        expected = loss_of(x)
        assert history.metrics["validation_loss"][epoch] == pytest.approx(expected, rel=1e-4)
        assert abs(loss_of(y) - expected) > 1e-2 * expected  # another number, which would be seen
        compare(seen[epoch], [x["b"], x["w"]], **CLOSE)
    compare(model.v, [x["b"], x["w"]], **CLOSE)
    compare(optimizer.average(model.v), model.v, rtol=0)  # it is one already


@pytest.mark.parametrize("kind", KINDS)
def test_two_runs_are_one_long_run(kind, backend):
    models, optimizers = [model_of(backend) for _ in range(2)], [made(kind) for _ in range(2)]
    loader = [trellis.data.Loader((X, Y), batch_size=8, seed=0) for _ in range(2)]
    fit(models[0], "mse", loader[0], optimizer=optimizers[0], epochs=3, progress=False, seed=0)
    for epochs in (1, 1, 1):
        fit(models[1], "mse", loader[1], optimizer=optimizers[1], epochs=epochs, progress=False,
            seed=0)  # fmt: skip
    compare(models[0].v, models[1].v, rtol=0)
    compare(optimizers[0].state, optimizers[1].state, rtol=0)


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_resumes_exactly(kind, backend, tmp_path):
    whole, part = model_of(backend), model_of(backend)
    fit(whole, "mse", (X, Y), optimizer=made(kind), epochs=3, **OPTIONS)
    path = tmp_path / "run.safetensors"

    def stop(run):
        run.stop()

    class Stop(train.Callback):
        def on_step(self, run):
            if run.step == 4:
                run.stop()

    fit(part, "mse", (X, Y), optimizer=made(kind), epochs=3, checkpoint=path, callbacks=Stop(),
        **OPTIONS)  # fmt: skip
    written = train.read_checkpoint(path)
    compare(written.averaged, part.v, rtol=0)
    again = model_of(backend)
    fit(again, "mse", (X, Y), optimizer=made(kind), epochs=3, checkpoint=path, resume=True,
        **OPTIONS)  # fmt: skip
    compare(again.v, whole.v, rtol=0)


def test_the_best_checkpoint_has_the_average_that_was_validated(tmp_path):
    model = model_of("numpy")
    history = fit(model, "mse", (X, Y), optimizer=made("sgd"), epochs=4, validation_data=(X, Y),
                  callbacks=train.Checkpoints(tmp_path), **OPTIONS)  # fmt: skip
    best = train.read_checkpoint(tmp_path / "best.safetensors")
    expected = min(history.metrics["validation_loss"])
    assert loss_of(best.averaged) == pytest.approx(expected, rel=1e-5)  # sums of float32


def test_early_stopping_leaves_the_best_average_from_which_training_goes_on():
    model, optimizer = model_of("numpy"), made("sgd")
    best = train.EarlyStopping(patience=9, mode="max")  # the first epoch is the worst
    history = fit(model, "mse", (X, Y), optimizer=optimizer, epochs=3, validation_data=(X, Y),
                  callbacks=best, **OPTIONS)  # fmt: skip
    assert loss_of(model.v) == pytest.approx(history.metrics["validation_loss"][0], rel=1e-5)
    y, state = optimizer.resumed(model.v, optimizer.state)
    for name in ("w", "b"):
        expected = 0.9 * model.v[name] + 0.1 * state.z[name]
        np.testing.assert_allclose(y[name], expected, rtol=1e-6)  # float32
    assert "trained" not in state


def test_trained_variables_alone_are_averaged():
    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1), backend="numpy")
    first = as_numpy(model[0].v)
    optimizer = made("sgd")
    fit(model, "mse", (X, Y), optimizer=optimizer, trainable="layers/v1/*", epochs=2, **OPTIONS)
    compare(model[0].v, first, rtol=0)
    assert optimizer.state.z.key_chains() == ["layers/v1/b", "layers/v1/w"]


def test_steps_by_hand_after_fit_say_what_to_do():
    model, optimizer = model_of("numpy"), made("sgd")
    fit(model, "mse", (X, Y), optimizer=optimizer, **OPTIONS)
    for call in (lambda: optimizer.step(model.v, model.v),
                 lambda: optimizer.update(model.v, model.v, optimizer.state)):  # fmt: skip
        with pytest.raises(errors.ArgumentError, match=r"optimizer\.resumed\(model\.v, opt"):
            call()
    v, optimizer.state = optimizer.resumed(model.v, optimizer.state)
    optimizer.step(v, v)


@pytest.mark.parametrize("optimizer", [
    optim.ScheduleFreeSGD(0.1, beta=0.0), optim.ScheduleFreeSGD(0.1).with_lookahead(),
])  # fmt: skip
def test_where_no_average_is_kept_fit_says_so_before_it_trains(optimizer):
    with pytest.raises(errors.ArgumentError, match="average"):
        fit(model_of("numpy"), "mse", (X, Y), optimizer=optimizer, **OPTIONS)


def test_rates_that_a_callback_changes_would_spoil_the_average():
    with pytest.raises(errors.ArgumentError, match="keeps an average by its own learning rate"):
        fit(model_of("numpy"), "mse", (X, Y), optimizer=made("sgd"),
            callbacks=train.ReduceOnPlateau(), **OPTIONS)  # fmt: skip
