"""What `fit` can be asked for beside data and optimizer: names, weights of classes and examples,
accumulated gradients, clipping, epochs of a given length, validation in between."""

import numpy as np
import pytest

import trellis
from trellis import functional as F
from trellis import nn, train
from trellis.errors import ArgumentError, ArgumentTypeError, ShapeError
from trellis.testing import assert_close
from trellis.train import fit

ROWS, CLASSES = 10, 3
QUIET = {"progress": False, "compile": False, "seed": 3}


def examples():
    rng = np.random.default_rng(6)
    return rng.normal(size=(ROWS, 4)).astype("float32"), rng.integers(0, CLASSES, ROWS)


def model_on(backend):
    trellis.seed(1)
    return nn.Linear(4, CLASSES, backend=backend)


def softmax_gradient(w, b, x, y, weights):
    """Of mean(weights * cross entropy), in float64, by its formula."""
    logits = x.astype("float64") @ w + b
    p = np.exp(logits - logits.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    losses = -np.log(p[np.arange(len(y)), y])
    change = (p - np.eye(CLASSES)[y]) * weights[:, None] / len(y)
    return (weights * losses).mean(), x.T.astype("float64") @ change, change.sum(0)


def by_hand(model, batches, lr, limit=None):
    """Plain descent over (x, y, weights), optionally with the global norm cut at a limit."""
    w, b = (trellis.to_numpy(model.v[n]).astype("float64") for n in ("w", "b"))
    w, losses = w.T if w.shape[0] == CLASSES else w, []
    for x, y, weights in batches:
        loss, gw, gb = softmax_gradient(w, b, x, y, weights)
        norm = np.sqrt((gw**2).sum() + (gb**2).sum())
        factor = 1.0 if limit is None else min(1.0, limit / norm)
        w, b = w - lr * factor * gw, b - lr * factor * gb
        losses.append(loss)
    return losses, b


def check(model, history, losses, b):
    # float32 against float64: a few roundings of numbers of size 1.
    np.testing.assert_allclose(history.losses, losses, rtol=2e-6)
    assert_close(model.v["b"], b, rtol=2e-5, atol=2e-6, dtype="float32")


def descent(model, data, **options):
    given = {**QUIET, "optimizer": trellis.optim.SGD(0.5), "shuffle": False, **options}
    return fit(model, options.pop("loss", F.cross_entropy), data, **given)


# Names


def test_names_are_what_they_stand_for(backend):
    histories = []
    for loss, optimizer, metric in (
        ("cross_entropy", "adam", "accuracy"),
        (F.cross_entropy, trellis.optim.Adam(), train.Accuracy()),
    ):
        model = model_on(backend)
        histories.append(
            fit(model, loss, examples(), optimizer=optimizer, metrics=metric, epochs=2, **QUIET)
        )
    assert histories[0].losses == histories[1].losses
    assert histories[0].metrics == histories[1].metrics
    found = train.evaluate(model, "cross_entropy", examples(), metrics=["auc", "f1_score"])
    assert set(found) == {"loss", "auc", "f1_score"}


def test_names_of_the_best_k(backend):
    found = train.evaluate(
        model_on(backend), "cross_entropy", examples(), metrics=["top_1_accuracy", "top_3_accuracy"]
    )
    accuracy = train.evaluate(model_on(backend), "cross_entropy", examples(), metrics="accuracy")[
        "accuracy"
    ]
    assert (found["top_1_accuracy"], found["top_3_accuracy"]) == (accuracy, 1.0)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"optimizer": "adams"}, "adamw"),
        ({"loss": "crossentropy"}, "cross_entropy"),
        ({"metrics": "acc"}, "accuracy"),
    ],
)
def test_unknown_names_list_the_known_ones(options, text):
    loss = options.pop("loss", "cross_entropy")
    with pytest.raises(ArgumentError, match=text):
        fit(model_on("numpy"), loss, examples(), **{**QUIET, "optimizer": "adam", **options})


# Weights


def test_class_and_sample_weights(backend):
    x, y = examples()
    weights = np.linspace(0, 2, ROWS)
    of_class = np.array([0.5, 3.0, 1.0])
    for options, data, expected in (
        ({"class_weight": {0: 0.5, 1: 3.0}}, (x, y), of_class[y]),
        ({"class_weight": [0.5, 3.0, 1.0]}, (x, np.eye(CLASSES, dtype="float32")[y]), of_class[y]),
        ({"sample_weight": weights}, (x, y), weights),
        ({"sample_weight": "last"}, [(x, y, weights)], weights),
        ({"sample_weight": weights, "class_weight": list(of_class)}, (x, y), weights * of_class[y]),
    ):
        model = model_on(backend)
        given = by_hand(model, 2 * [(x, y, expected)], 0.5)
        history = descent(model, data, epochs=2, metrics="accuracy", **options)
        check(model, history, *given)


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"class_weight": {"a": 1.0}}, ArgumentTypeError, "classes"),
        ({"class_weight": [1.0, -1.0, 2.0]}, ArgumentError, "negative"),
        ({"class_weight": [1.0, 2.0]}, ArgumentError, "names 2 classes"),
        ({"class_weight": {3: 2.0}}, ArgumentError, "scores of 3"),
        ({"sample_weight": -np.ones(ROWS)}, ArgumentError, "the first is -1"),
        ({"sample_weight": np.full(ROWS, np.nan)}, ArgumentError, "the first is nan"),
        ({"sample_weight": "last"}, ArgumentError, "a tuple of 2"),
        ({"clip_norm": 0.0}, ArgumentError, "every gradient 0"),
        ({"validate_every": 0}, ArgumentError, "validate_every must be at least 1"),
        ({"checkpoint_every": 0, "checkpoint": "never"}, ArgumentError, "at least 1"),
        ({"trainable": []}, ArgumentError, "names nothing"),
        ({"sample_weight": np.ones(4)}, ShapeError, "10 examples"),
        ({"sample_weight": "first"}, ArgumentError, "last"),
        ({"sample_weight": np.ones(ROWS), "loss": lambda output, y: F.cross_entropy(output, y)},
         ArgumentError, "one value for each example"),
        ({"accumulate": 0}, ArgumentError, "at least 1"),
        ({"steps_per_epoch": 0}, ArgumentError, "from 1 to"),
        ({"validate_every": 1}, ArgumentError, "validation data"),
    ],
)  # fmt: skip
def test_mistakes(options, error, text):
    loss = options.pop("loss", F.cross_entropy)
    with pytest.raises(error, match=text):
        fit(model_on("numpy"), loss, examples(), optimizer="sgd", **QUIET, **options)


# Accumulation and clipping


@pytest.mark.parametrize("is_compiled", [False, True])
def test_accumulated_batches_are_the_joined_batch(backend, is_compiled, monkeypatch):
    """Batches of 4, 4 and 2, two for an update: the last one alone, as of 8 and 2."""
    if backend == "torch" and is_compiled:
        import functools

        import torch

        monkeypatch.setattr(torch, "compile", functools.partial(torch.compile, backend="eager"))
    x, y = examples()
    ones = np.ones(ROWS)
    parts = [(x[:8], y[:8], ones[:8]), (x[8:], y[8:], ones[8:])]
    model = model_on(backend)
    given = by_hand(model, 2 * parts, 0.5, limit=0.3)
    history = descent(
        model, (x, y), batch_size=4, accumulate=2, clip_norm=0.3, epochs=2, compile=is_compiled
    )
    check(model, history, *given)
    assert history.epoch_steps == [2, 4]


def test_clip_value(backend):
    x, y = examples()
    model = model_on(backend)
    before = trellis.to_numpy(model.v["b"]).astype("float64")
    _, _, change = softmax_gradient(
        trellis.to_numpy(model.v["w"]).astype("float64").reshape(CLASSES, 4).T
        if trellis.to_numpy(model.v["w"]).shape[0] == CLASSES
        else trellis.to_numpy(model.v["w"]).astype("float64"),
        before, x, y, np.ones(ROWS),
    )  # fmt: skip
    descent(model, (x, y), clip_value=0.01)
    expected = before - 0.5 * np.clip(change, -0.01, 0.01)
    assert_close(model.v["b"], expected, rtol=1e-5, atol=1e-6, dtype="float32")


def test_accumulation_resumes_exactly(tmp_path, backend):
    path = tmp_path / "run.safetensors"
    options = {"batch_size": 2, "accumulate": 2, "checkpoint": path, "checkpoint_every": 1,
               "optimizer": "adam", "metrics": "accuracy"}  # fmt: skip

    def run(**more):
        model = model_on(backend)
        return model, fit(model, "cross_entropy", examples(), epochs=3, **QUIET, **options, **more)

    whole, history = run()
    path.unlink()
    run(callbacks=_StopAt(4))
    model, resumed = run(resume=True)
    assert resumed.losses == history.losses
    assert resumed.metrics == history.metrics
    assert_close(model.v, whole.v, rtol=0, atol=0)
    run(callbacks=_StopAt(11), resume=True)


class _StopAt(train.Callback):
    def __init__(self, step):
        self.step = step

    def on_step(self, run):
        if run.step == self.step:
            run.stop()


# Epochs and validation


def batches_of(seen):
    """A model that notes which examples it sees: the first number of each."""

    class Noting(trellis.Module):
        def __init__(self, **options):
            self._linear = nn.Linear(4, CLASSES)
            super().__init__(**options)

        def _forward(self, x):
            if self.training:
                seen.append(float(trellis.to_numpy(trellis.stop_gradient(x))[0, 0]))
            return self._linear(x)

    return Noting(backend="numpy")


def numbered(count):
    return [(np.full((2, 4), i, "float32"), np.array([0, 1])) for i in range(count)]


@pytest.mark.parametrize(
    "data",
    [lambda: numbered(3), lambda: lambda: iter(numbered(3))],
    ids=["length", "no length"],
)
def test_steps_per_epoch_go_on_in_the_data(data):
    seen = []
    history = descent(batches_of(seen), data(), steps_per_epoch=2, epochs=4)
    assert seen == [0, 1, 2, 0, 1, 2, 0, 1]
    assert history.epoch_steps == [2, 4, 6, 8]


def test_steps_per_epoch_of_a_stream_and_resume(tmp_path):
    def stream():
        i = 0
        while True:
            yield np.full((2, 4), i, "float32"), np.array([0, 1])
            i += 1

    options = {"steps_per_epoch": 3, "epochs": 3, "checkpoint": tmp_path / "run.safetensors"}
    seen = []
    descent(batches_of(seen), stream, callbacks=_StopAt(4), **options)
    descent(batches_of(seen), stream, resume=True, **options)
    assert seen == list(range(9))
    with pytest.raises(ArgumentError, match="steps_per_epoch=3"):
        descent(batches_of(seen), stream, resume=True, **{**options, "steps_per_epoch": 2})


def test_steps_per_epoch_of_a_loader(tmp_path):
    def loader():
        x = np.arange(12, dtype="float32").reshape(-1, 1) * np.ones((1, 4), "float32")
        return trellis.data.Loader((x, np.zeros(12, int)), batch_size=2, shuffle=True, seed=4)

    whole, parts = [], []
    options = {"steps_per_epoch": 4, "epochs": 3, "shuffle": None}
    descent(batches_of(whole), loader(), **options)
    path = tmp_path / "run.safetensors"
    descent(batches_of(parts), loader(), callbacks=_StopAt(6), checkpoint=path, **options)
    again = loader()
    descent(batches_of(parts), again, checkpoint=path, resume=True, **options)
    assert parts == whole
    assert sorted(whole[:6]) != whole[:6]
    assert (again.epoch, again.position) == (2, 0)


def test_validation_every_n_steps():
    seen = []

    class Seeing(train.Callback):
        def on_validation(self, run, values):
            seen.append((run.step, values["loss"]))

    x, y = examples()
    history = descent(
        model_on("numpy"), (x, y), batch_size=2, validation_data=(x, y), validate_every=2,
        epochs=2, callbacks=Seeing(),
    )  # fmt: skip
    # Five steps an epoch; at step 10 both are due, and it is looked at once.
    assert [each["step"] for each in history.validations] == [2, 4, 5, 6, 8, 10]
    assert [step for step, _ in seen] == [2, 4, 5, 6, 8, 10]
    at_ends = [each["loss"] for each in history.validations if each["step"] in (5, 10)]
    assert history.metrics["validation_loss"] == at_ends
    picture = history.plot()
    assert picture.svg.count("<polyline") == 2
    assert "validation" in picture.svg
    assert history._repr_html_().startswith("<svg")
    with pytest.raises(ArgumentError, match="no metric"):
        history.plot(metric="auc")


def test_learning_rate_and_metrics_are_in_the_bar(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")  # older versions of tqdm cut the line at 80
    monkeypatch.setenv("LINES", "50")
    fit(
        model_on("numpy"), "cross_entropy", examples(), optimizer="adam", metrics="accuracy",
        seed=0, compile=False,
    )  # fmt: skip
    text = capsys.readouterr().err
    assert "lr=0.001" in text
    assert "accuracy=" in text


# Learning rates
# ---------------------------------------------------------------------------------------


def one_weight(backend):
    return nn.Linear(1, 1, with_bias=False, weight_initializer=nn.init.Ones(), backend=backend)


def test_the_learning_rate_is_set_between_two_runs(backend):
    """loss = w: each step of SGD goes down by the rate."""
    model, optimizer = one_weight(backend), trellis.optim.SGD(0.25)
    data = np.ones((2, 1), "float32")
    options = {"optimizer": optimizer, "batch_size": 1, "progress": False}
    fit(model, trellis.mean, data, **options)
    assert float(model.v.w[0, 0]) == 0.5
    optimizer.lr = 0.125
    fit(model, trellis.mean, data, **options)
    assert float(model.v.w[0, 0]) == 0.25


def test_the_learning_rate_of_a_compiled_step_cannot_be_set():
    optimizer = trellis.optim.SGD(0.25)

    def change(run):
        optimizer.lr = 1.0

    with pytest.raises(ArgumentError, match="cannot be changed: a compiled step"):
        fit(one_weight("numpy"), trellis.mean, np.ones((2, 1), "float32"), optimizer=optimizer,
            progress=False, callbacks=change, batch_size=1)  # fmt: skip
    optimizer.init(model := one_weight("numpy").v)
    with pytest.raises(ArgumentError, match="cannot be changed"):  # as it was before fit
        optimizer.lr = 1.0
    assert model is not None


def grouped():
    schedule = trellis.optim.schedules.polynomial(0.5, 0.0, 2)
    return trellis.optim.groups(
        {"layers/v0/*": trellis.optim.SGD(0.25), "layers/v1/*": trellis.optim.Adam(schedule)}
    )


def test_groups_show_a_rate_each(tmp_path):
    model = nn.Sequential(one_weight("numpy"), one_weight("numpy"), backend="numpy")
    seen, optimizer = [], grouped()
    assert optimizer.lr["layers/v0/*"] == 0.25
    fit(model, "mse", (np.ones((2, 1), "float32"),) * 2, optimizer=optimizer, batch_size=2,
        callbacks=[train.CSVLogger(tmp_path / "run.csv"),
                   lambda run: seen.append((run.learning_rates, run.learning_rate))],
        progress=False)  # fmt: skip
    # After the first step of two the straight line from 0.5 to 0 is half way.
    assert seen == [({"layers/v0/*": 0.25, "layers/v1/*": 0.25}, 0.25)]
    head = (tmp_path / "run.csv").read_text().splitlines()[0]
    assert head == "epoch,step,loss,learning_rate layers/v0/*,learning_rate layers/v1/*"
    optimizer.parts["layers/v0/*"].lr = 0.5
    assert optimizer.lr["layers/v0/*"] == 0.5
    with pytest.raises(ArgumentError, match=r"optimizer\.parts\['layers/v0/\*'\]\.lr = 1"):
        optimizer.lr = 1.0


def test_a_rate_is_found_for_groups():
    x = np.linspace(-1, 1, 64, dtype="float32").reshape(-1, 1)
    model = nn.Sequential(one_weight("numpy"), one_weight("numpy"), backend="numpy")
    optimizer = trellis.optim.groups(
        {"layers/v0/*": trellis.optim.SGD(0.2), "layers/v1/*": trellis.optim.SGD(0.1)}
    )
    found = train.find_learning_rate(model, "mse", (x, 3 * x), optimizer=optimizer, steps=50)
    assert found.rates[0] == pytest.approx(1e-7)
    assert 0.01 < found.suggestion < 1
