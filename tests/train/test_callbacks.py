"""Callbacks of `fit`: checkpoints, plateaus, averages, non-finite losses, timer, finder."""

import itertools
import json
import threading

import numpy as np
import pytest

import trellis
from trellis import nn, train
from trellis.errors import ArgumentError, NonFiniteError
from trellis.testing import assert_close
from trellis.train import fit

QUIET = {"progress": False, "compile": False, "seed": 3}


def line(n=16):
    x = np.linspace(-1, 1, n, dtype="float32").reshape(-1, 1)
    return x, 3 * x + 1


def linear(backend="numpy"):
    trellis.seed(1)
    return nn.Linear(1, 1, backend=backend)


def run(model, callbacks, **options):
    given = {"optimizer": trellis.optim.SGD(0.1), "epochs": 3, "batch_size": 8, **QUIET, **options}
    return fit(model, "mse_loss", line(), callbacks=callbacks, **given)


class StopAt(train.Callback):
    def __init__(self, step):
        self.step = step

    def on_step(self, run):
        if run.step == self.step:
            run.stop()


# Checkpoints


@pytest.mark.parametrize("background", [False, True])
def test_checkpoints_last_and_best(background, backend, tmp_path):
    """Resumed from any of the files, the run is the whole one."""
    whole = linear(backend)
    history = run(whole, train.Checkpoints(tmp_path, keep_last=2, background=background), epochs=4)
    names = sorted([path.name for path in tmp_path.iterdir()])
    assert names == ["best.safetensors", "step-00000006.safetensors", "step-00000008.safetensors"]
    assert history.metrics["loss"] == sorted(history.metrics["loss"], reverse=True)
    best = train.read_checkpoint(tmp_path / "best.safetensors")
    assert best.step == 8
    model = linear(backend)
    resumed = run(
        model, (), epochs=4, checkpoint=tmp_path / "step-00000006.safetensors", resume=True
    )
    assert resumed.losses == history.losses
    assert_close(model.v, whole.v, rtol=0, atol=0)


@pytest.mark.parametrize("keep_last", [0, 2])
def test_checkpoints_of_another_run_are_not_removed(keep_last, tmp_path):
    """Nor do they push out those of this run, whose steps are smaller."""
    run(linear(), train.Checkpoints(tmp_path, keep_last=1), epochs=4)
    (tmp_path / "step-of-mine.safetensors").touch()
    run(linear(), train.Checkpoints(tmp_path, keep_last=keep_last), epochs=3)
    steps = sorted([path.stem for path in tmp_path.glob("step-0*")])
    own = ["step-00000004", "step-00000006"] if keep_last else []
    assert steps == [*own, "step-00000008"]
    # A run that is resumed counts those that it left before, but for the file that `fit` writes.
    resumed = tmp_path / "step-00000008.safetensors"
    (tmp_path / "step-00000002.safetensors").write_bytes(resumed.read_bytes())
    run(linear(), train.Checkpoints(tmp_path, keep_last=1), epochs=5,
        checkpoint=resumed, resume=True)  # fmt: skip
    steps = sorted([path.stem for path in tmp_path.glob("step-0*")])
    assert steps == ["step-00000008", "step-00000010"]
    assert train.read_checkpoint(resumed).step == 10
    assert (tmp_path / "step-of-mine.safetensors").exists()


def test_checkpoints_by_steps_and_of_the_best_epoch(tmp_path):
    losses = iter([3.0, 1.0, 2.0])

    class Judge(train.Callback):
        def on_epoch(self, run):
            run.history.add({"score": next(losses)})

    keeper = train.Checkpoints(tmp_path, every=3, keep_last=1, monitor="score")
    run(linear(), [Judge(), keeper])
    assert sorted([p.name for p in tmp_path.iterdir()]) == [
        "best.safetensors", "step-00000006.safetensors",
    ]  # fmt: skip
    assert train.read_checkpoint(tmp_path / "best.safetensors").step == 4


def test_an_error_in_the_background_is_seen(tmp_path):
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(OSError, match="file"):
        run(linear(), train.Checkpoints(tmp_path / "file" / "below"), epochs=1)


def test_the_background_sees_the_numbers_of_its_step(tmp_path, monkeypatch):
    """The writer waits until the run has gone on."""
    from trellis.train._callbacks import checkpoints

    gone_on, save = threading.Event(), checkpoints.save_checkpoint

    def slow(*args, **options):
        assert gone_on.wait(10)
        save(*args, **options)

    monkeypatch.setattr(checkpoints, "save_checkpoint", slow)
    seen = {}

    class Noting(train.Callback):
        def on_step(self, run):
            seen[run.step] = trellis.to_numpy(run.model.v["w"]).copy()
            if run.step == 4:
                gone_on.set()

    run(linear(), [train.Checkpoints(tmp_path, every=3, keep_best=False), Noting()], epochs=2)
    found = train.read_checkpoint(tmp_path / "step-00000003.safetensors")
    np.testing.assert_array_equal(found.v["w"], seen[3])
    assert len(train.read_extra(tmp_path / "step-00000003.safetensors")["history"]["losses"]) == 3


# The learning rate


def plateau_of_torch(values, **options):
    import torch

    optimizer = torch.optim.SGD([torch.zeros(1)], lr=1.0)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(
        optimizer, threshold=0.05, threshold_mode="abs", **options
    )
    found = []
    for value in values:
        plateau.step(value)
        found.append(optimizer.param_groups[0]["lr"])
    return found


@pytest.mark.needs("torch")
@pytest.mark.parametrize(
    ("patience", "cooldown", "mode"), [(1, 0, "min"), (2, 2, "min"), (1, 1, "max")]
)
def test_plateaus_are_those_of_torch(patience, cooldown, mode):
    """torch waits for one epoch more than its patience says."""
    values = [1.0, 0.97, 0.98, 0.5, 0.49, 0.48, 0.5, 0.5, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4]
    numbers = iter(values)
    rates = []

    class Judge(train.Callback):
        def on_epoch(self, run):
            run.history.add({"score": next(numbers)})

    plateau = train.ReduceOnPlateau(
        factor=0.5, patience=patience, cooldown=cooldown, mode=mode, monitor="score", min_delta=0.05
    )
    run(
        linear(),
        [Judge(), plateau, lambda run: rates.append(run.learning_rate / 0.1)],
        epochs=len(values),
    )
    expected = plateau_of_torch(
        values, factor=0.5, patience=patience - 1, cooldown=cooldown, mode=mode
    )
    assert rates == pytest.approx(expected, rel=1e-6)  # the factor is a float32
    by_hand = train.Plateau(
        factor=0.5, patience=patience, cooldown=cooldown, mode=mode, min_delta=0.05
    )
    assert [by_hand.update(value) for value in values] == expected
    if patience == 1:
        by_hand = train.Plateau(
            factor=0.5, patience=0, cooldown=cooldown, mode=mode, min_delta=0.05
        )
        assert [by_hand.update(value) for value in values] == expected


@pytest.mark.parametrize("is_compiled", [False, True])
def test_the_factor_changes_the_steps(backend, is_compiled, monkeypatch, tmp_path):
    """Half the rate after two epochs, as two runs with two rates; and resumed in between."""
    if backend == "torch" and is_compiled:
        import functools

        import torch

        monkeypatch.setattr(torch, "compile", functools.partial(torch.compile, backend="eager"))

    class Halve(train.Callback):
        changes_rate = True

        def on_epoch(self, run):
            if run.epoch == 2:
                run.rate_factor = 0.5

    options = {"batch_size": 16, "shuffle": False, "compile": is_compiled}
    model, other = linear(backend), linear(backend)
    history = run(model, Halve(), epochs=4, **options)
    first = run(other, (), epochs=2, **options)
    second = run(other, (), epochs=2, optimizer=trellis.optim.SGD(0.05), **options)
    assert history.losses[:2] == first.losses
    # The step is v + 0.5 * (new - v): a rounding more.
    np.testing.assert_allclose(history.losses, first.losses + second.losses, rtol=2e-6)
    assert_close(model.v, other.v, rtol=1e-6, atol=1e-7)
    path = tmp_path / "run.safetensors"
    again = linear(backend)
    run(again, [Halve(), StopAt(3)], epochs=4, checkpoint=path, **options)
    resumed = run(again, Halve(), epochs=4, checkpoint=path, resume=True, **options)
    assert resumed.losses == history.losses


def test_a_rate_that_is_built_in_says_so():
    class Wrong(train.Callback):
        def on_epoch(self, run):
            run.rate_factor = 0.5

    with pytest.raises(ArgumentError, match="changes_rate"):
        run(linear(), Wrong())


def test_the_finder_leaves_everything_as_it_was(backend, tmp_path):
    model, optimizer = linear(backend), trellis.optim.SGD(0.3)
    before = trellis.to_numpy(model.v["w"]).copy()
    found = train.find_learning_rate(
        model, "mse_loss", line(), optimizer=optimizer, steps=40, highest=30.0, compile=False
    )
    np.testing.assert_array_equal(trellis.to_numpy(model.v["w"]), before)
    assert len(optimizer.state) == 0
    # The loss of y = 3 x + 1 has the curvatures 2 and about 0.75: from a rate of 1 on it grows.
    assert 0.01 < found.suggestion < 1
    assert len(found.rates) < 40
    assert found.rates[1] / found.rates[0] == pytest.approx((30 / 1e-7) ** (1 / 39), rel=1e-9)
    assert found.plot(tmp_path / "rates.svg").svg == (tmp_path / "rates.svg").read_text()
    assert found._repr_html_() == found.plot().svg
    with pytest.raises(ArgumentError, match="no schedule"):
        train.find_learning_rate(
            model, "mse_loss", line(), optimizer=trellis.optim.SGD(lambda step: 0.0 * step)
        )


@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
def test_the_finder_does_not_take_noise_for_a_fall(optimizer):
    """Batches differ, and the mean of the first losses most of all."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(512, 8)).astype("float32")
    y = (x @ rng.normal(size=(8, 3))).argmax(1)
    for seed in range(4):
        trellis.seed(0)
        model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 3))
        found = train.find_learning_rate(
            model, "cross_entropy", (x, y), optimizer=optimizer, batch_size=16, seed=seed,
            compile=False,
        )  # fmt: skip
        # At rates below 1e-3 a hundred steps change these losses by less than the batches do.
        assert found.suggestion > 1e-3


# The average


def test_the_average_is_evaluated_and_resumes_exactly(backend, tmp_path):
    def averaged():
        return [train.AverageVariables(0.9)]

    options = {"validation_data": line(), "metrics": "mean_absolute_error"}
    whole = linear(backend)
    history = run(whole, averaged(), **options)
    # By hand: the average of the variables after every step, without the bias of its beginning.
    seen, other = [], linear(backend)

    class Noting(train.Callback):
        def on_step(self, run):
            seen.append(trellis.to_numpy(run.model.v["w"]).astype("float64"))

    plain = run(other, Noting(), **options)
    weights = 0.9 ** np.arange(len(seen))[::-1]
    expected = sum([w * x for w, x in zip(weights, seen)]) / weights.sum()
    assert_close(whole.v["w"], expected, rtol=1e-5, atol=1e-6, dtype="float32")
    assert plain.metrics["validation_loss"] == history.metrics["validation_loss"]
    assert history.metrics["average_loss"][-1] > history.metrics["validation_loss"][-1]
    assert len(history.metrics["average_mean_absolute_error"]) == 3
    path, model = tmp_path / "run.safetensors", linear(backend)
    run(model, [*averaged(), StopAt(3)], checkpoint=path, **options)
    resumed = run(model, averaged(), checkpoint=path, resume=True, **options)
    assert resumed.metrics == history.metrics
    assert_close(model.v, whole.v, rtol=0, atol=0)


def test_early_stopping_restores_the_average_that_it_watches():
    def result(*callbacks):
        model = linear()
        # The rate is too high: the average is better than the last variables, and then worse.
        options = {"optimizer": trellis.optim.SGD(1.05), "epochs": 6, "validation_data": line()}
        history = run(model, callbacks, **options)
        return history, train.evaluate(model, "mse_loss", line())["loss"]

    best = train.EarlyStopping(patience=9, monitor="average_loss")
    history, loss = result(train.AverageVariables(0.6), best)
    averages = history.metrics["average_loss"]
    assert loss == pytest.approx(min(averages), rel=1e-6)
    assert min(averages) < min(history.metrics["validation_loss"])
    # One that watches the run itself keeps its variables, in either order.
    for order in (1, -1):
        both = [train.AverageVariables(0.6), train.EarlyStopping(patience=9)][::order]
        history, loss = result(*both)
        assert loss == pytest.approx(min(history.metrics["validation_loss"]), rel=1e-6)
    with pytest.raises(ArgumentError, match="stands before"):
        result(best, train.AverageVariables(0.6))


# Numbers that are not finite


class Root(trellis.Module):
    def _forward(self, x):
        return x * trellis.log(trellis.abs(x) * 0)


def test_the_first_module_is_named(backend):
    trellis.seed(0)
    with trellis.using_backend(backend):
        model = nn.Sequential(nn.Linear(1, 2), Root(), nn.ReLU(), nn.Linear(2, 1))
    with np.errstate(all="ignore"):
        with pytest.raises(NonFiniteError, match=r"not finite is layers_v1 \(Root\)"):
            run(model, train.StopOnNonFinite())


@pytest.mark.parametrize(
    ("loss", "data", "text"),
    [
        (lambda out, y: trellis.mean(out) * float("inf"), line(), "loss function"),
        ("mse_loss", (line()[0] * float("nan"), line()[1]), "in the data: input 0"),
        (lambda out, y: trellis.mean(trellis.sqrt(out * 0 + y * 0)), line(), "variable '[bw]'"),
    ],
)
def test_other_culprits_are_named(loss, data, text):
    with np.errstate(all="ignore"):
        with pytest.raises(NonFiniteError, match=text):
            fit(
                linear(), loss, data, optimizer=trellis.optim.SGD(0.1), epochs=3,
                callbacks=train.StopOnNonFinite(), **QUIET,
            )  # fmt: skip


# The timer


def test_the_timer_measures_the_parts_of_a_step(backend, tmp_path):
    timer = train.StepTimer(tmp_path / "trace.json")
    timed, plain = linear(backend), linear(backend)
    history = run(timed, timer)
    # Three programs instead of one: the same numbers to rounding.
    np.testing.assert_allclose(history.losses, run(plain, ()).losses, rtol=1e-6)
    assert list(timer.summary) == ["data", "forward", "backward", "update", "callbacks"]
    assert all([value >= 0 for value in timer.summary.values()])
    assert timer.summary["update"] > 0
    names = [line.split()[0] for line in str(timer).splitlines()]
    assert names == list(timer.summary)
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    counts = {name: len([e for e in events if e["name"] == name]) for name in ("update", "compile")}
    assert counts == {"update": 6, "compile": 1}
    assert all([event["ph"] == "X" and event["dur"] >= 0 for event in events])


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: train.ReduceOnPlateau(factor=1.5), "between 0 and 1"),
        (lambda: train.ReduceOnPlateau(patience=-1), "at least 0"),
        (lambda: train.Checkpoints("x", keep_last=-1), "from 0"),
        (lambda: train.JSONLinesLogger("x", every=0), "at least 1"),
        (lambda: train.find_learning_rate(linear(), "mse_loss", line(), lowest=2.0), "lowest"),
        (lambda: run(linear(), train.Checkpoints("x", monitor="auc")), "not recorded"),
    ],
)
def test_mistakes(make, text):
    with pytest.raises(ArgumentError, match=text):
        make()


def test_the_spans_of_a_step_add_up():
    """By a clock that goes on by what each part takes: forward 2, forward and backward 5."""
    from trellis.train._timing import Clock

    now = iter([0.0, 10.0, 12.0, 12.0, 17.0, 20.0, 21.0])
    clock = Clock(lambda: next(now))
    for name in ("forward alone", "forward and backward"):
        with clock.measure(name):
            pass
    clock.split("forward", "backward", clock.spans[0][2])
    assert clock.spans == [
        ("forward alone", 10.0, 2.0), ("forward", 12.0, 2.0), ("backward", 14.0, 3.0)
    ]  # fmt: skip
    with clock.measure("short"):
        pass
    clock.split("forward", "backward", 9.0)  # the other run took longer
    assert clock.spans[-2:] == [("forward", 20.0, 1.0), ("backward", 21.0, 0.0)]


def test_a_step_runs_no_second_forward_pass_inside_its_spans(tmp_path):
    timer = train.StepTimer()
    run(linear(), timer, epochs=3)
    names = [name for name, _, _ in timer.clock.spans if name not in ("data", "compile")]
    steps = names.count("update")
    assert steps == names.count("forward") == names.count("backward")
    assert "forward and backward" not in names
    spans = timer.clock.spans
    for before, after in itertools.pairwise(spans):
        if before[0] == "forward":
            assert after[0] == "backward"
            assert after[1] == before[1] + before[2]  # one ends where the other begins
