"""`fit` and what belongs to it: data, metrics, callbacks, early stopping, precision, pictures."""

import builtins
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import trellis
from trellis import nn
from trellis.testing import assert_close
from trellis.train import Callback, EarlyStopping, History, draw_curves, evaluate, fit, predict

QUIET = {"progress": False, "compile": False}


def mean_squared(output, y):
    return trellis.mean((output - y) ** 2)


def line(n=32):
    """Points of y = 3 x + 1."""
    x = np.linspace(-1, 1, n, dtype="float32").reshape(-1, 1)
    return x, 3 * x + 1


def linear(backend, seed=0):
    trellis.seed(seed)
    return nn.Linear(1, 1, backend=backend)


class Net(trellis.Module):
    """Everything that a step has to carry: buffers, draws, two inputs."""

    def __init__(self, **options):
        # No bias: before a batch norm its gradient is zero but for rounding, which Adam would blow
        # up.
        self._first = nn.Linear(3, 8, with_bias=False)
        self._norm = nn.BatchNorm1D(8)
        self._dropout = nn.Dropout(0.5)
        self._second = nn.Linear(8, 2)
        super().__init__(**options)

    def _forward(self, x, shift=0.0):
        return self._second(self._dropout(trellis.tanh(self._norm(self._first(x))))) + shift


def cross_entropy(output, y):
    scores = output - trellis.logsumexp(output, axis=-1, keepdims=True)
    return -trellis.mean(trellis.sum(scores * trellis.one_hot(y, 2), axis=-1))


def classes(n=24):
    random = np.random.default_rng(0)
    x = random.normal(size=(n, 3)).astype("float32")
    return x, (x.sum(axis=1) > 0).astype("int64")


# The loop
# --------------------------------------------------------------------------------------------


def test_fit_learns(backend):
    model = linear(backend)
    optimizer = trellis.optim.Adam(lr=0.1)
    history = fit(
        model, mean_squared, line(), optimizer=optimizer, epochs=80, batch_size=16, seed=0, **QUIET
    )
    assert len(history.losses) == 160
    assert len(history.metrics["loss"]) == 80
    assert history.final_loss < 1e-2 < history.losses[0]
    assert_close(model.v, {"b": [1.0], "w": [[3.0]]}, rtol=0.1, atol=0.1, backend=backend)
    assert int(optimizer.state.step) == 160


def test_compiled_equals_eager(backend, monkeypatch):
    if backend == "torch":
        _fast_compile(monkeypatch)
    x, y = classes()
    found = {}
    for is_compiled in (False, True):
        trellis.seed(0)
        model = Net(backend=backend)
        history = fit(
            model,
            cross_entropy,
            (x, y),
            optimizer=trellis.optim.Adam(lr=0.05),
            epochs=3,
            batch_size=8,
            seed=1,
            compile=is_compiled,
            progress=False,
            metrics="accuracy",
            validation_data=(x, y),
        )
        found[is_compiled] = history, model
    (eager, first), (quick, second) = found[False], found[True]
    np.testing.assert_allclose(quick.losses, eager.losses, rtol=1e-4)
    for name in ("loss", "accuracy", "validation_loss", "validation_accuracy"):
        np.testing.assert_allclose(quick.metrics[name], eager.metrics[name], rtol=1e-4)
    assert_close(second.v, first.v, rtol=1e-3, atol=1e-4)
    assert_close(second.buffers, first.buffers, rtol=1e-3, atol=1e-4)
    assert float(abs(trellis.to_numpy(second.buffers["norm/mean"])).max()) > 0


def _fast_compile(monkeypatch):
    """Dynamo without the C++ compiler behind it: the same tracing, in seconds."""
    import functools

    import torch

    monkeypatch.setattr(torch, "compile", functools.partial(torch.compile, backend="eager"))


def test_by_hand_is_the_same(backend):
    """The lines of the docstring of `fit`."""
    x, y = classes()
    trellis.seed(0)
    model = Net(backend=backend)
    optimizer = trellis.optim.SGD(0.1, momentum=0.9)
    history = fit(
        model, cross_entropy, (x, y), optimizer=optimizer, epochs=4, shuffle=False, seed=7, **QUIET
    )

    trellis.seed(0)
    other = Net(backend=backend)
    bx, by = (
        trellis.asarray(x, backend=backend),
        trellis.asarray(y.astype("int32"), backend=backend),
    )
    key = trellis.random.fold_in(trellis.random.key(7, backend=backend), 1)
    v, buffers, state = other.v, other.buffers, optimizer.init(other.v)
    losses = []
    for i in range(4):

        def loss_of(v, buffers=buffers, i=i):
            with trellis.random.stream(trellis.random.fold_in(key, i)):
                output, new_buffers = other.apply(v, buffers, bx)
            return cross_entropy(output, by), new_buffers

        (value, buffers), grads = trellis.value_and_grad(loss_of, has_aux=True)(v)
        v, state = optimizer.update(v, grads, state)
        losses.append(float(value))
    np.testing.assert_allclose(history.losses, losses, rtol=1e-6)
    assert_close(model.v, v, rtol=1e-6, atol=1e-6)


def test_the_seed_decides(backend):
    def losses(seed):
        trellis.seed(0)
        model = Net(backend=backend)
        options = {"optimizer": trellis.optim.SGD(0.1), "batch_size": 8, "epochs": 2, "seed": seed}
        return fit(model, cross_entropy, classes(), **options, **QUIET).losses

    assert losses(3) == losses(3)
    assert losses(3) != losses(4)
    assert losses(None) == losses(None)  # the global stream, seeded the same way


def test_a_second_fit_goes_on(backend):
    model, optimizer = linear(backend), trellis.optim.Adam(lr=0.05)
    options = {"optimizer": optimizer, "shuffle": False, **QUIET}
    first = fit(model, mean_squared, line(), epochs=5, **options)
    second = fit(model, mean_squared, line(), epochs=5, **options)
    model, optimizer = linear(backend), trellis.optim.Adam(lr=0.05)
    whole = fit(model, mean_squared, line(), epochs=10, optimizer=optimizer, shuffle=False, **QUIET)
    assert first.losses + second.losses == whole.losses


def test_other_variables_need_another_optimizer():
    optimizer = trellis.optim.Adam(lr=0.1)
    fit(linear("numpy"), mean_squared, line(), optimizer=optimizer, **QUIET)
    with pytest.raises(ValueError, match="Make a new optimizer"):
        fit(Net(), cross_entropy, classes(), optimizer=optimizer, **QUIET)


def test_builds_a_model_that_waits_for_its_first_call(backend):
    class Late(trellis.Module):
        def _build(self, *args, **kwargs):
            self._linear = nn.Linear(1, 1)

        def _forward(self, x):
            return self._linear(x)

    trellis.seed(0)
    model = Late(build_mode="on_call")
    data = trellis.to_backend(line(), backend)
    history = fit(model, mean_squared, data, optimizer=trellis.optim.SGD(0.1), epochs=3, **QUIET)
    assert history.losses[2] < history.losses[0]
    assert trellis.backend_of(trellis.tree.leaves(model.v)[0]) == backend


def test_models_without_variables(backend):
    """Where there is nothing to learn, the data say which framework it is."""
    x = trellis.asarray(np.ones((4, 2), "float32"), backend=backend)
    loss = lambda output: trellis.mean(output)  # noqa: E731
    for data in (x, [x[:2], x[2:]], lambda: iter([x])):
        assert evaluate(nn.Identity(), loss, data, compile=False) == {"loss": 1.0}
    with pytest.raises(ValueError, match="only once"):
        evaluate(nn.Identity(), loss, iter([x]), compile=False)


def test_an_error_leaves_the_model_where_it_was(backend):
    class Trip(Callback):
        def on_step(self, run):
            if run.step == 3:
                raise KeyboardInterrupt

    model, optimizer = linear(backend), trellis.optim.Adam(lr=0.1)
    start = trellis.to_numpy(model.v.w).copy()
    model.eval()
    with pytest.raises(KeyboardInterrupt):
        fit(model, mean_squared, line(), optimizer=optimizer, epochs=9, callbacks=[Trip()], **QUIET)
    assert int(optimizer.state.step) == 3
    assert trellis.to_numpy(model.v.w) != start
    assert not model.training


@pytest.mark.parametrize("is_compiled", [False, True])
def test_a_loss_that_depends_on_no_variable_raises(backend, is_compiled):
    model, (x, y) = linear(backend), line()
    before = np.array(trellis.to_numpy(model.v.w))

    def forgetful(output, y):
        return trellis.mean((y - 1.0) ** 2)

    options = {"optimizer": trellis.optim.SGD(0.1), "compile": is_compiled, "progress": False}
    with pytest.raises(trellis.errors.ArgumentError, match=r"variable of the model.*: b, w"):
        fit(model, forgetful, (x, y), **options)
    assert_close(model.v.w, before, backend=backend)
    history = fit(model, forgetful, (x, y), **options, allow_unused=True)
    assert_close(model.v.w, before, backend=backend)
    assert len(history.losses) == 1


@pytest.mark.parametrize("is_compiled", [False, True])
def test_a_loss_that_is_not_finite_ends_the_run(backend, is_compiled, tmp_path):
    x, y = line(8)
    y[5] = np.nan
    path = tmp_path / "run.safetensors"
    options = {
        "batch_size": 2,
        "shuffle": False,
        "checkpoint": path,
        "checkpoint_every": 1,
        "compile": is_compiled,
        "progress": False,
    }
    with pytest.raises(trellis.errors.NonFiniteError, match=r"step 3 is nan. The one before was"):
        fit(linear(backend), mean_squared, (x, y), optimizer=trellis.optim.SGD(0.1), **options)
    # The file is that of the last good step.
    model = linear(backend)
    with pytest.raises(trellis.errors.NonFiniteError, match="step 3 is nan"):
        fit(
            model,
            mean_squared,
            (x, y),
            optimizer=trellis.optim.SGD(0.1),
            resume=True,
            **options,
        )
    history = fit(
        linear(backend),
        mean_squared,
        (x, y),
        optimizer=trellis.optim.SGD(0.1),
        resume=True,
        allow_nan=True,
        **options,
    )
    assert [np.isfinite(loss) for loss in history.losses] == [True, True, False, False]


def test_long_epochs_are_looked_at_too():
    x = np.full((300, 1), np.nan, "float32")
    seen = []

    def batches():
        for i in range(300):
            seen.append(i)
            yield x[i : i + 1], x[i : i + 1]

    with pytest.raises(trellis.errors.NonFiniteError, match=r"step 1 is nan. Look for nan"):
        fit(linear("numpy"), mean_squared, batches, optimizer=trellis.optim.SGD(0.1), **QUIET)
    assert len(seen) == 128


def test_modes_are_put_back(backend):
    model = Net(backend=backend).eval()
    fit(model, cross_entropy, classes(), optimizer=trellis.optim.SGD(0.1), **QUIET)
    assert not model.training


# Data
# ------------------------------------------------------------------------------------------------


def test_arrays_lists_and_functions_give_the_same_batches(backend):
    x, y = line()
    batches = [(x[i : i + 8], y[i : i + 8]) for i in range(0, 32, 8)]
    found = []
    for data, options in (
        ((x, y), {"batch_size": 8, "shuffle": False}),
        (trellis.to_backend((x, y), backend), {"batch_size": 8, "shuffle": False}),
        (batches, {}),
        (lambda: iter(batches), {}),
    ):
        optimizer = trellis.optim.SGD(0.1)
        found.append(
            fit(
                linear(backend),
                mean_squared,
                data,
                optimizer=optimizer,
                epochs=2,
                **options,
                **QUIET,
            ).losses
        )
    for losses in found[1:]:
        assert losses == found[0]


def test_shuffling_is_the_same_on_every_framework(backend):
    """Batches of native arrays and of NumPy arrays, in the order of NumPy."""
    seen = []

    def spy(output, y):
        seen.append(trellis.to_numpy(trellis.stop_gradient(y)).ravel().tolist())
        return mean_squared(output, y)

    x = np.arange(10, dtype="float32").reshape(-1, 1)
    for data in ((x, x), trellis.to_backend((x, x), backend)):
        fit(
            linear(backend),
            spy,
            data,
            optimizer=trellis.optim.SGD(0.0),
            batch_size=4,
            epochs=2,
            seed=5,
            **QUIET,
        )
    key = trellis.random.fold_in(trellis.random.key(5), 0)
    orders = [
        trellis.random.permutation(trellis.random.fold_in(key, epoch), 10) for epoch in (0, 1)
    ]
    expected = [order[i : i + 4].astype("float32").tolist() for order in orders for i in (0, 4, 8)]
    assert seen == expected * 2
    assert sorted([i for batch in expected[:3] for i in batch]) == list(range(10))


def test_several_inputs_and_no_target(backend):
    model = Net(backend=backend)
    x, y = classes()
    shift = np.zeros((24, 2), "float32")
    seen = []

    def loss(output, *targets):
        seen.append(tuple(targets[0].shape) if targets else "no target")
        return cross_entropy(output, *targets) if targets else trellis.mean(output**2)

    options = {"optimizer": trellis.optim.SGD(0.1), "batch_size": 24, "compile": False, **QUIET}
    before = trellis.tree.map(lambda x: x + 0, model.v)
    fit(model, loss, (x, shift, y), **options)
    fit(model, loss, x, **options)
    assert seen == [y.shape, "no target"]
    for chain in before.key_chains():
        moved = trellis.max(trellis.abs(model.v[chain] - before[chain]))
        assert moved > 0, f"{chain} was not trained"


@pytest.mark.parametrize("model_backend", ["torch", "numpy"])
def test_torch_data_loader(model_backend):
    import torch

    x, y = line()
    dataset = torch.utils.data.TensorDataset(torch.tensor(x), torch.tensor(y))
    loader = torch.utils.data.DataLoader(dataset, batch_size=8)
    found = fit(
        linear(model_backend),
        mean_squared,
        loader,
        optimizer=trellis.optim.SGD(0.1),
        epochs=2,
        **QUIET,
    )
    options = {"batch_size": 8, "shuffle": False, "epochs": 2, **QUIET}
    expected = fit(
        linear(model_backend), mean_squared, (x, y), optimizer=trellis.optim.SGD(0.1), **options
    )
    assert found.losses == expected.losses
    with pytest.raises(TypeError, match="DataLoader"):
        fit(linear(model_backend), mean_squared, dataset, optimizer=trellis.optim.SGD(0.1), **QUIET)


@pytest.mark.parametrize("model_backend", ["tensorflow", "numpy"])
def test_tf_data(model_backend):
    import tensorflow as tf

    x, y = line()
    dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(8)
    found = fit(
        linear(model_backend),
        mean_squared,
        dataset,
        optimizer=trellis.optim.SGD(0.1),
        epochs=2,
        **QUIET,
    )
    options = {"batch_size": 8, "shuffle": False, "epochs": 2, **QUIET}
    expected = fit(
        linear(model_backend), mean_squared, (x, y), optimizer=trellis.optim.SGD(0.1), **options
    )
    assert found.losses == expected.losses


def test_data_are_cast_to_the_variables(backend):
    x, y = line()
    model = linear(backend)
    fit(
        model,
        mean_squared,
        (x.astype("float64"), y.astype("float64")),
        optimizer=trellis.optim.SGD(0.1),
        **QUIET,
    )
    assert str(trellis.dtype(model.v.w)) == "float32"


def test_integers_that_jax_cannot_hold_raise():
    x, _ = classes()
    model = Net(backend="jax")
    labels = np.full(24, 2**40)
    with pytest.raises(ValueError, match="jax_enable_x64"):
        fit(model, cross_entropy, (x, labels), optimizer=trellis.optim.SGD(0.1), **QUIET)


def test_drop_last():
    options = {"optimizer": trellis.optim.SGD(0.0), "batch_size": 5, **QUIET}
    assert len(fit(linear("numpy"), mean_squared, line(12), **options).losses) == 3
    assert len(fit(linear("numpy"), mean_squared, line(12), drop_last=True, **options).losses) == 2


def test_the_mean_of_an_epoch_weighs_examples():
    """Batches of 8 and 4: each example counts once."""
    x = np.zeros((12, 1), "float32")
    y = np.concatenate([np.ones((8, 1)), 4 * np.ones((4, 1))]).astype("float32")
    model = nn.Linear(1, 1, v={"b": np.zeros(1, "float32"), "w": np.zeros((1, 1), "float32")})
    options = {"optimizer": trellis.optim.SGD(0.0), "batch_size": 8, "shuffle": False, **QUIET}
    history = fit(model, mean_squared, (x, y), metrics="mean_absolute_error", **options)
    assert history.losses == [1.0, 16.0]
    assert history.metrics == {"loss": [6.0], "mean_absolute_error": [2.0]}


@pytest.mark.parametrize(
    ("data", "options", "error", "text"),
    [
        ((np.zeros((3, 1)), np.zeros((4, 1))), {}, ValueError, "same length"),
        ((np.zeros((0, 1)), np.zeros((0, 1))), {}, ValueError, "empty"),
        (line(), {"batch_size": 0}, ValueError, "at least 1"),
        (line(), {"batch_size": 50, "drop_last": True}, ValueError, "leaves nothing"),
        ([line()], {"batch_size": 4}, ValueError, "come in batches already"),
        (5, {}, TypeError, "Data are a tuple of arrays"),
        (iter([line()]), {"epochs": 2}, ValueError, "only once"),
        ([], {}, ValueError, "no batch"),
        (([[0.0], [1.0]], [[1.0], [4.0]]), {}, TypeError, "lists of numbers"),
        ([[0.0], [1.0]], {}, TypeError, "lists of numbers"),
        ((line()[0], [1.0] * 32), {}, TypeError, "lists of numbers"),
        (list(line()), {}, TypeError, "the loss needs a target"),
        (line()[0], {}, TypeError, "the loss needs a target"),
        (dict(zip("xy", line())), {}, TypeError, "A batch is a dict.*needs a target"),
    ],
)
def test_data_that_cannot_be_used(backend, data, options, error, text):
    with pytest.raises(error, match=text):
        fit(
            linear(backend),
            mean_squared,
            data,
            optimizer=trellis.optim.SGD(0.1),
            **options,
            **QUIET,
        )


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"optimizer": None}, TypeError, "optimizer is one of"),
        ({"optimizer": trellis.optim.Adam}, TypeError, r"instance, optimizer=optim.Adam\(1e-3"),
        (
            {"optimizer": trellis.optim.chain(trellis.optim.scale(-1.0))},
            TypeError,
            "trellis.optim.Optimizer",
        ),
        ({"metrics": "precission"}, ValueError, "Unknown metric"),
        ({"metrics": {"loss": mean_squared}}, ValueError, "cannot be called"),
        ({"metrics": [lambda p, y: 1.0, lambda p, y: 2.0]}, ValueError, "Two metrics are called"),
        (
            {"metrics": ["accuracy", trellis.functional.accuracy]},
            ValueError,
            "Two metrics are called",
        ),
        ({"callbacks": [3]}, TypeError, "A callback is"),
        ({"resume": True}, ValueError, "name of a file"),
        ({"mixed_precision": "float8"}, ValueError, "mixed_precision is"),
        ({"mixed_precision": "bfloat16"}, NotImplementedError, "nothing to gain"),
        ({"early_stopping": EarlyStopping(monitor="nothing")}, ValueError, "not recorded"),
    ],
)
def test_options_that_cannot_be_used(options, error, text):
    options = {"optimizer": trellis.optim.SGD(0.1), **options}
    with pytest.raises(error, match=text):
        fit(linear("numpy"), mean_squared, line(), **options, **QUIET)


# Metrics, callbacks, early stopping
# ------------------------------------------------------------------


def test_metrics(backend, array):
    scores, labels = (
        array([[0.1, 0.9], [0.8, 0.2], [0.3, 0.7]]),
        array(np.array([1, 1, 1], "int32")),
    )
    assert float(trellis.train.accuracy(scores, labels)) == pytest.approx(2 / 3)
    one_hot = array([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    assert float(trellis.train.accuracy(scores, one_hot)) == pytest.approx(1 / 3)
    assert trellis.train.accuracy is trellis.functional.accuracy


def test_evaluate_and_predict(backend):
    x, y = line(10)
    v = {"b": np.array([1.0], "float32"), "w": np.array([[2.0]], "float32")}
    model = nn.Linear(1, 1, v=trellis.to_backend(v, backend))
    whole = evaluate(model, mean_squared, (x, y), metrics=["mean_absolute_error"], compile=False)
    parts = evaluate(
        model, mean_squared, (x, y), metrics=["mean_absolute_error"], batch_size=4, compile=False
    )
    assert whole == pytest.approx(
        {"mean_absolute_error": np.mean(abs(x)), "loss": np.mean(x**2)}, rel=1e-5
    )
    assert parts == pytest.approx(whole)
    assert_close(predict(model, x, batch_size=4, compile=False), 2 * x + 1, backend=backend)


def test_evaluation_leaves_out_dropout_and_keeps_buffers(backend):
    model = Net(backend=backend)
    x, y = classes()
    before = model.buffers["norm/mean"] + 0
    first, second = [evaluate(model, cross_entropy, (x, y), compile=False) for _ in range(2)]
    assert first == second
    assert_close(model.buffers["norm/mean"], before, rtol=0, atol=0)
    assert model.training


def test_callbacks_see_the_run(backend):
    seen = []

    class Spy(Callback):
        def on_begin(self, run):
            seen.append(("begin", run.step))

        def on_step(self, run):
            seen.append(("step", run.step, round(run.loss, 6) == round(run.history.losses[-1], 6)))

        def on_epoch(self, run):
            seen.append(("epoch", run.epoch, len(run.history.metrics["loss"])))

        def on_end(self, run):
            seen.append(("end", run.step))

    epochs = []
    options = {"optimizer": trellis.optim.SGD(0.1), "batch_size": 16, "epochs": 2, **QUIET}
    fit(
        linear(backend),
        mean_squared,
        line(),
        callbacks=[Spy(), lambda run: epochs.append(run.epoch)],
        **options,
    )
    assert seen == [
        ("begin", 0),
        ("step", 1, True),
        ("step", 2, True),
        ("epoch", 1, 1),
        ("step", 3, True),
        ("step", 4, True),
        ("epoch", 2, 2),
        ("end", 4),
    ]
    assert epochs == [1, 2]


def test_early_stopping_returns_to_the_best_epoch(backend):
    """The rate is far too large: the first epoch is the best one."""
    kept = []
    model = linear(backend)
    history = fit(
        model,
        mean_squared,
        line(),
        optimizer=trellis.optim.SGD(5.0),
        epochs=20,
        callbacks=[lambda run: kept.append(trellis.to_numpy(run.model.v.w).copy())],
        early_stopping=3,
        validation_data=line(8),
        **QUIET,
    )
    assert history.stopped_early
    assert len(history.metrics["loss"]) == 4
    assert_close(model.v.w, kept[0])


def test_early_stopping_options():
    upwards = EarlyStopping(patience=2, mode="max", monitor="accuracy", min_delta=0.1)
    values = [0.5, 0.55, 0.7, 0.7, 0.75]
    assert [upwards._note(value) for value in values] == [True, False, True, False, False]
    assert upwards.waited == 2
    for options in ({"mode": "up"}, {"patience": 0}):
        with pytest.raises(ValueError, match="must be"):
            EarlyStopping(**options)


def test_progress_shows_loss_and_rate(capsys):
    options = {"optimizer": trellis.optim.SGD(0.1), "epochs": 3, "batch_size": 8, "compile": False}
    fit(linear("numpy"), mean_squared, line(), metrics="mean_absolute_error", **options)
    shown = capsys.readouterr().err
    assert re.search(r"epoch 3/3: 100%.*12/12 .*step/s.*loss=", shown), shown
    fit(linear("numpy"), mean_squared, line(), progress=False, **options)
    assert capsys.readouterr().err == ""


# Precision
# -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_mixed_precision(backend, precision):
    if backend == "numpy":
        pytest.skip("NumPy has no fast 16-bit arithmetic; the refusal is tested above")
    found = []
    for name in (None, precision):
        trellis.seed(0)
        model = Net(backend=backend)
        options = {
            "optimizer": trellis.optim.Adam(0.02),
            "batch_size": 8,
            "epochs": 3,
            "seed": 0,
            **QUIET,
        }
        history = fit(model, cross_entropy, classes(), mixed_precision=name, **options)
        found.append((history.losses, model))
    (full, _), (mixed, model) = found
    assert full != mixed
    np.testing.assert_allclose(mixed, full, rtol=0.05)
    assert {str(trellis.dtype(x)) for x in trellis.tree.leaves((model.v, model.buffers))} == {
        "float32"
    }


def test_float16_leaves_out_steps_that_overflow(backend):
    """Gradients beyond float16's range change nothing but the scale."""
    if backend == "numpy":
        pytest.skip("NumPy has no fast 16-bit arithmetic; the refusal is tested above")
    model = linear(backend)
    before = trellis.to_numpy(model.v.w).copy()
    optimizer = trellis.optim.SGD(1e-9)
    loss = lambda output, y: trellis.mean(output) * 1e4  # noqa: E731
    options = {"optimizer": optimizer, "mixed_precision": "float16", **QUIET}
    history = fit(model, loss, line(), epochs=1, **options)
    assert_close(trellis.to_numpy(model.v.w), before, rtol=0, atol=0)
    assert np.isfinite(trellis.to_numpy(model.v.b)).all()
    steps = len(history.losses)
    assert history.metrics["skipped_steps"] == [steps]
    assert history.metrics["loss_scale"] == [2.0 ** (15 - steps)]


def test_float16_that_never_fits_ends_the_run(tmp_path, backend):
    """A scale of 1 is the smallest: after it no step would ever be taken."""
    if backend == "numpy":
        pytest.skip("NumPy has no fast 16-bit arithmetic; the refusal is tested above")
    loss = lambda output, y: trellis.mean(output) * 1e9  # noqa: E731
    options = {"optimizer": trellis.optim.SGD(1e-9), "mixed_precision": "float16", **QUIET}
    with pytest.raises(trellis.errors.NonFiniteError, match="cannot fall below 1"):
        fit(linear(backend), loss, line(), epochs=40, **options)
    path = tmp_path / "run"
    fit(linear(backend), loss, line(), epochs=2, checkpoint=path, **options)
    history = fit(linear(backend), loss, line(), epochs=3, checkpoint=path, resume=True, **options)
    assert history.metrics["skipped_steps"] == 3 * [len(history.losses) / 3]
    assert history.metrics["loss_scale"][-1] == 2.0 ** (15 - len(history.losses))
    # A checkpoint of 0.2 does not say how many were skipped: they count from there.
    state, extra = trellis.train.read_checkpoint(path), trellis.train.read_extra(path)
    del state.scale["skipped"], extra["history"]["metrics"]["skipped_steps"]
    trellis.train.save_checkpoint(path, state, extra=extra)
    later = fit(linear(backend), loss, line(), epochs=4, checkpoint=path, resume=True, **options)
    assert later.metrics["skipped_steps"] == [1.0]
    assert later.metrics["loss_scale"][-1] == 2.0 ** (15 - len(later.losses))


# Pictures
# --------------------------------------------------------------------------------------------


def test_svg(tmp_path):
    path = tmp_path / "new" / "loss.svg"
    draw_curves(
        path, {"a & b": [3.0, float("nan"), 2.0, 1.0], "<c>": [1.0, 2.0]}, title="Loss of <two>"
    )
    root = ElementTree.fromstring(path.read_text())
    lines = root.findall("{*}polyline")
    assert [len(line.attrib["points"].split()) for line in lines] == [1, 2, 2]
    texts = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"a & b", "<c>", "Loss of <two>", "step", "loss"} <= set(texts)


@pytest.mark.parametrize("ending", ["svg", "png"])
def test_points_and_bands(tmp_path, ending):
    path = tmp_path / f"fit.{ending}"
    draw_curves(
        path,
        {"fit": {-1.0: 0.0, 0.5: 1.0}},
        points={"data": {-1.0: 0.1, 0.0: 0.4, 0.5: float("nan")}},
        bands={"fit": {-1.0: (-0.5, 0.5), 0.5: (0.5, 2.0)}},
    )
    if ending == "png":
        assert path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
        return
    root = ElementTree.fromstring(path.read_text())
    assert len(root.findall("{*}circle")) == 2  # not nan
    [band] = root.findall("{*}polygon")
    [line] = root.findall("{*}polyline")
    assert band.attrib["fill"] == line.attrib["stroke"] != root.find("{*}circle").attrib["fill"]
    corners = [spot.split(",") for spot in band.attrib["points"].split()]
    assert [x for x, _ in corners[:2]] == [x for x, _ in corners[:1:-1]]
    assert float(corners[0][1]) > float(corners[3][1])  # y goes down
    texts = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"-1", "0.5", "fit", "data"} <= set(texts)
    assert texts.count("fit") == 1  # one line of the legend for curve and band


@pytest.mark.parametrize(
    "values", [[], [1.0], [2.0, 2.0], [0.0, 0.0], [float("inf")], [1e-9, 1e9], [-1.0, -2.0]]
)
@pytest.mark.parametrize("log_scale", [False, True])
def test_svg_of_odd_curves(tmp_path, values, log_scale):
    draw_curves(tmp_path / "loss.svg", {"a": values}, log_scale=log_scale)
    text = (tmp_path / "loss.svg").read_text()
    ElementTree.fromstring(text)
    assert "nan" not in text
    assert "inf" not in text


def test_png(tmp_path):
    History([3.0, 2.0, 1.0], {"loss": [2.0]}).plot(tmp_path / "loss.png", log_scale=True)
    assert (tmp_path / "loss.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_png_without_matplotlib(tmp_path, monkeypatch):
    original = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return original(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        draw_curves(tmp_path / "loss.png", {"a": [1.0]})


def test_other_pictures_raise(tmp_path):
    with pytest.raises(ValueError, match=r"\.svg or \.png"):
        draw_curves(tmp_path / "loss.jpg", {"a": [1.0]})


def test_importing_costs_no_bar_and_no_pictures():
    code = (
        "import sys, trellis.train; "
        "print(sorted({'tqdm', 'matplotlib', 'torch', 'jax', 'tensorflow'} & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
