"""Metrics are exact over an epoch: for uneven batches, in the middle of one, and for functions that
are no means over examples."""

import functools

import numpy as np
import pytest

import trellis
from trellis import functional as F
from trellis import nn
from trellis.train import Accuracy, Callback, F1Score, Mean, Metric, WholeEpoch, evaluate, fit

ROWS, BATCH = 23, 5  # batches of 5, 5, 5, 5 and 3
CLASSES = 3


def examples():
    rng = np.random.default_rng(4)
    scores = rng.normal(size=(ROWS, CLASSES)).astype("float32")
    # Rare classes: the batches see different ones.
    return scores, rng.choice(CLASSES, size=ROWS, p=[0.7, 0.2, 0.1])


def f1_by_hand(scores, labels):
    """The macro average, counted example by example."""
    found = []
    for each in range(CLASSES):
        pairs = [(int(s.argmax()) == each, y == each) for s, y in zip(scores, labels)]
        hits, wrong = pairs.count((True, True)), len([1 for p, q in pairs if p != q])
        found.append(2 * hits / (2 * hits + wrong) if hits + wrong else 0.0)
    return float(np.mean(found))


def f1_as_function(output, target):
    return F.f1_score(output, target, CLASSES)


def constant_model(backend):
    """A model that returns its inputs, with a variable so that there is something to train."""

    class Shift(trellis.Module):
        def _create_variables(self, **options):
            return {"b": trellis.zeros(CLASSES)}

        def _forward(self, x):
            return x + self.v.b

    return Shift(backend=backend)


def compile_fast(backend, monkeypatch):
    """On torch, Dynamo without the C++ compiler behind it: the same tracing, in seconds."""
    if backend == "torch":
        import torch

        fast = functools.partial(torch.compile, backend="eager")
        monkeypatch.setattr(torch, "compile", fast)


def options(**more):
    return {"batch_size": BATCH, "compile": False, **more}


def train(model, data, **more):
    given = {"optimizer": trellis.optim.SGD(0.0), "progress": False, **options(), **more}
    return fit(model, F.cross_entropy, data, **given)


def test_the_data_can_show_the_fault():
    """The mean of the batches' values is another number."""
    scores, labels = examples()
    parts = [(scores[i : i + BATCH], labels[i : i + BATCH]) for i in range(0, ROWS, BATCH)]
    mean = sum([len(y) * f1_by_hand(x, y) for x, y in parts]) / ROWS
    assert abs(mean - f1_by_hand(scores, labels)) > 0.02


@pytest.mark.parametrize("is_compiled", [False, True])
def test_f1_and_accuracy_are_those_of_all_examples(backend, is_compiled, monkeypatch):
    scores, labels = examples()
    metrics = {
        "accuracy": "accuracy",
        "f1": F1Score(),
        "of_classes": F1Score(CLASSES),
        "function": f1_as_function,
    }
    expected = {
        "accuracy": float(np.mean(scores.argmax(-1) == labels)),
        "f1": f1_by_hand(scores, labels),
        "of_classes": f1_by_hand(scores, labels),
        "function": f1_by_hand(scores, labels),
    }
    compile_fast(backend, monkeypatch)
    found = evaluate(
        constant_model(backend),
        F.cross_entropy,
        (scores, labels),
        metrics=metrics,
        **options(compile=is_compiled),
    )
    for name, value in expected.items():
        # The function computes in float32, the objects in float64 from counts.
        assert found[name] == pytest.approx(value, abs=1e-6 if name == "function" else 1e-12), name
    history = train(
        constant_model(backend),
        (scores, labels),
        metrics=metrics,
        validation_data=(scores, labels),
        compile=is_compiled,
    )
    for name, value in expected.items():
        for key in (name, f"validation_{name}"):
            tolerance = 1e-6 if name == "function" else 1e-12
            assert history.metrics[key] == [pytest.approx(value, abs=tolerance)], key


def test_means_of_sequences_count_positions(backend, array):
    """Two batches whose examples have 2 and 4 positions: each position counts once."""
    short = array(np.zeros((3, 2, CLASSES), "float32")), array(np.ones((3, 2), "int32"))
    long = array(np.zeros((1, 4, CLASSES), "float32")), array(np.zeros((1, 4), "int32"))
    metric = Accuracy()
    found = metric.update(metric.update(None, *short), *long)
    assert metric.compute(found) == pytest.approx(4 / 10, abs=1e-12)


def test_mean_takes_values_of_examples_or_their_mean(backend, array):
    x, y = np.array([[1.0], [2.0], [6.0]], "float32"), np.zeros((3, 1), "float32")
    for fn in (F.mae_loss, lambda output, target: trellis.abs(output - target)[:, 0]):
        metric = Mean(fn)
        found = None
        for rows in (slice(0, 2), slice(2, 3)):
            found = metric.update(found, array(x[rows]), array(y[rows]))
        assert metric.compute(found) == 3.0
        assert int(found["count"]) == 3


def test_large_counts_stay_exact():
    """float32 counts to 2**24; a long epoch has more examples."""
    metric, many = Accuracy(), 2**25
    start = {"right": np.asarray(many, np.int32), "count": np.asarray(2**31 - 1, np.int32)}
    found = metric.update(start, np.array([[0.0, 1.0]]), np.array([1]))
    assert int(found["right"]) == many + 1
    assert int(found["count"]) == 2**31
    total = Mean(F.mae_loss).merge(
        {"mean": np.float32(1.0), "count": np.asarray(2**24)},
        {"mean": np.float32(2.0), "count": np.asarray(1)},
    )
    assert float(total["mean"]) == (2**24 + 2) / (2**24 + 1)


class Errors(Metric):
    """Statistics that are sums, without a merge of its own."""

    def measure(self, output, target):
        wrong = trellis.not_equal(trellis.argmax(output, axis=-1), target)
        return {"wrong": trellis.sum(trellis.astype(wrong, "int32"))}

    def compute(self, statistics):
        return int(statistics["wrong"])


def test_a_metric_of_your_own(backend):
    scores, labels = examples()
    found = evaluate(
        constant_model(backend),
        F.cross_entropy,
        (scores, labels.astype("int32")),
        metrics=[Errors()],
        **options(),
    )
    assert found["errors"] == int((scores.argmax(-1) != labels).sum())


def test_functions_keep_the_framework_of_the_model(backend):
    """A function may use the framework itself; outputs can be pytrees."""
    seen = []

    def function(output, target):
        seen.append((trellis.backend_of(output["a"]), tuple(output["a"].shape), len(target)))
        return trellis.mean(output["a"])

    class Two(trellis.Module):
        def _forward(self, x):
            return {"a": x, "b": 2 * x}

    x = trellis.asarray(np.arange(ROWS, dtype="float32"), backend=backend)
    loss = lambda output, y: trellis.mean(output["b"] - y)  # noqa: E731
    found = evaluate(Two(), loss, (x, x), metrics=[function], **options())
    assert seen == [(backend, (ROWS,), ROWS)]
    assert found == {"loss": pytest.approx(11.0), "function": pytest.approx(11.0)}


def test_outputs_beyond_the_limit_raise(backend):
    scores, labels = examples()
    metric = WholeEpoch(f1_as_function, limit=200)
    with pytest.raises(trellis.errors.ArgumentError, match=r"more than 200 bytes.*Mean\(fn\)"):
        evaluate(
            constant_model(backend), F.cross_entropy, (scores, labels), metrics=metric, **options()
        )


@pytest.mark.parametrize(
    ("metric", "error", "text"),
    [
        (F1Score, TypeError, r"pass an instance, F1Score\(\)"),
        (3, TypeError, "A metric is a name, a function"),
        (F1Score(average="none"), ValueError, r"shape \(3,\).*one number"),
        (lambda output, target: output[:, 0], ValueError, r"shape \(23,\).*Mean\(fn\)"),
    ],
)
def test_metrics_that_cannot_be_used(metric, error, text):
    scores, labels = examples()
    with pytest.raises(error, match=text):
        evaluate(
            constant_model("numpy"), F.cross_entropy, (scores, labels), metrics=metric, **options()
        )


def test_f1_needs_the_number_of_classes_where_it_is_not_seen(array):
    with pytest.raises(TypeError, match=r"F1Score\(num_classes\)"):
        F1Score().measure(array(np.array([0, 1], "int32")), array(np.array([0, 1], "int32")))
    with pytest.raises(ValueError, match="average"):
        F1Score(average="mean")


# In the middle of an epoch ------------------------------------------------------------------------


class Stop(Callback):
    def on_step(self, run):
        if run.step == 3:
            raise KeyboardInterrupt


def test_a_resumed_epoch_has_the_metrics_of_the_whole(backend, tmp_path):
    scores, labels = examples()
    path = tmp_path / "run.safetensors"
    given = {
        "metrics": {"accuracy": "accuracy", "f1": F1Score(), "all/at once": f1_as_function},
        "checkpoint": path,
        "checkpoint_every": 1,
        "resume": True,
        "seed": 0,
    }
    with pytest.raises(KeyboardInterrupt):
        train(constant_model(backend), (scores, labels), callbacks=[Stop()], **given)
    with pytest.raises(trellis.errors.ArgumentError, match="in the middle of an epoch"):
        train(constant_model(backend), (scores, labels), **{**given, "metrics": "accuracy"})
    history = train(constant_model(backend), (scores, labels), **given)
    assert len(history.losses) == 5
    assert history.metrics["f1"] == [pytest.approx(f1_by_hand(scores, labels), abs=1e-12)]
    assert history.metrics["all/at once"] == [pytest.approx(f1_by_hand(scores, labels), abs=1e-6)]
    right = float(np.mean(scores.argmax(-1) == labels))
    assert history.metrics["accuracy"] == [pytest.approx(right, abs=1e-12)]
    # A new epoch starts without the old one's statistics.
    history = train(constant_model(backend), (scores, labels), **given, epochs=2)
    assert history.metrics["accuracy"] == [pytest.approx(right, abs=1e-12)] * 2


def as_written_by_0_2(path, metrics):
    """Rewrite a checkpoint in the form of Trellis 0.2: sums of the batches, and no statistics."""
    state, extra = trellis.train.read_checkpoint(path), trellis.train.read_extra(path)
    loss = state.metrics[0]
    del state["metrics"]
    del extra["metrics"]
    count = int(loss["count"])
    extra["sums"] = {name: count * float(loss["mean"]) for name in ("loss", *metrics)}
    extra["count"] = count
    trellis.train.save_checkpoint(path, state, extra=extra)


def test_checkpoints_of_0_2_in_the_middle_of_an_epoch(backend, tmp_path):
    path = tmp_path / "run.safetensors"
    given = {"checkpoint": path, "checkpoint_every": 1, "resume": True, "seed": 0}
    whole = train(constant_model(backend), examples(), seed=0)
    with pytest.raises(KeyboardInterrupt):
        train(constant_model(backend), examples(), callbacks=[Stop()], **given)
    as_written_by_0_2(path, ["accuracy"])
    with pytest.raises(trellis.errors.ArgumentError, match=r"0\.2, which kept sums"):
        train(constant_model(backend), examples(), metrics="accuracy", **given)
    extra = trellis.train.read_extra(path)
    del extra["sums"]["accuracy"]
    trellis.train.save_checkpoint(path, trellis.train.read_checkpoint(path), extra=extra)
    history = train(constant_model(backend), examples(), **given)
    assert history.losses == whole.losses
    # The sum of 0.2 was rounded once more.
    assert history.metrics["loss"] == [pytest.approx(whole.metrics["loss"][0], rel=1e-12)]


# Modes --------------------------------------------------------------------------------------------


class Norms(trellis.Module):
    def __init__(self, **given):
        self._frozen = nn.BatchNorm1D(CLASSES)
        self._free = nn.BatchNorm1D(CLASSES)
        super().__init__(**given)

    def _forward(self, x):
        return self._free(self._frozen(x))


def means_of(model):
    return {
        name: np.array(trellis.to_numpy(model.buffers[f"{name}/mean"]))
        for name in ("frozen", "free")
    }


@pytest.mark.parametrize("is_compiled", [False, True])
def test_modules_in_evaluation_mode_stay_so(backend, is_compiled, monkeypatch):
    compile_fast(backend, monkeypatch)
    scores, labels = examples()
    model = Norms(backend=backend)
    model._frozen.eval()
    train(
        model,
        (scores + 3, labels),
        validation_data=(scores, labels),
        compile=is_compiled,
        epochs=2,
    )
    found = means_of(model)
    assert (found["frozen"] == 0).all()
    assert (abs(found["free"]) > 0.1).all()
    assert (model.training, model._frozen.training, model._free.training) == (True, False, True)
    evaluate(model, F.cross_entropy, (scores, labels), **options())
    trellis.train.predict(model, scores, compile=False)
    assert (model.training, model._frozen.training, model._free.training) == (True, False, True)


def test_a_model_in_evaluation_mode_is_trained_all_the_same(backend):
    scores, labels = examples()
    model = Norms(backend=backend).eval()
    train(model, (scores + 3, labels))
    found = means_of(model)
    assert (abs(found["frozen"]) > 0.1).all()
    assert (found["free"] != 0).all()
    assert (model.training, model._frozen.training, model._free.training) == (False, False, False)
