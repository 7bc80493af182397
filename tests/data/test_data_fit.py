"""Loaders in `fit`, `evaluate` and `predict`; checkpoints that hold their state."""

import numpy as np
import pytest

import trellis
from trellis import nn
from trellis.data import Loader
from trellis.errors import ArgumentError
from trellis.testing import assert_close
from trellis.train import evaluate, fit, predict, read_extra
from trellis.train._data import LoaderSource
from trellis.train._distributed import Shares


def mean_squared(output, y):
    return trellis.mean((output - y) ** 2)


def points(n=26):
    x = np.random.default_rng(0).normal(size=(n, 3)).astype("float32")
    return x, x @ np.array([[1.0], [-2.0], [3.0]], "float32") + 0.5


def loader(seed=4, **options):
    return Loader(points(), 4, **{"shuffle": True, "seed": seed, **options})


def model(backend, seed=0):
    trellis.seed(seed)
    with trellis.using_backend(backend):
        return nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.2), nn.Linear(4, 1))


def train(data, backend, **options):
    net = model(backend)
    given = {"optimizer": trellis.optim.Adam(0.05), "epochs": 3, "seed": 8, **options}
    history = fit(net, mean_squared, data, compile=False, progress=False, **given)
    return net, history


def test_the_same_as_its_batches(backend):
    """A run with a loader is one with the batches of each of its epochs, bit for bit."""
    other = loader()
    epochs = [list(other) for _ in range(3)]
    passed = iter(epochs)
    expected = train(lambda: next(passed), backend)
    data = loader(backend=backend)
    found = train(data, backend)
    assert found[1].losses == expected[1].losses and len(found[1].losses) == 21
    assert found[1].metrics == expected[1].metrics
    assert_close(found[0].v, expected[0].v, rtol=0, atol=0)
    assert (data.epoch, data.position) == (3, 0), "the loader is where the run is"


class StopAfter(trellis.train.Callback):
    def __init__(self, step):
        self.at = step

    def on_step(self, run):
        if run.step == self.at:
            raise KeyboardInterrupt


@pytest.mark.parametrize("step", [3, 7, 9])
def test_interrupted_and_resumed(step, backend, tmp_path):
    """In the middle of an epoch and at its end; with another seed and workers: the same run."""
    _, whole = train(loader(), backend)
    path = tmp_path / "run.safetensors"
    options = {"checkpoint": path, "checkpoint_every": 1}
    data = loader()
    with pytest.raises(KeyboardInterrupt):
        train(data, backend, callbacks=[StopAfter(step)], **options)
    assert (data.epoch, data.position) == divmod(step, 7)
    stored = read_extra(path)["data"]
    assert len(stored) == 6 and all(type(value) is int for value in stored.values())
    again = loader(seed=99, workers=2)
    net, resumed = train(again, backend, resume=True, **options)
    assert resumed.losses == whole.losses
    assert resumed.metrics == whole.metrics
    assert (again.epoch, again.position) == (3, 0)


@pytest.mark.needs("torch", "jax")
def test_resumed_on_another_framework(tmp_path):
    # Dropout, too, draws the same numbers everywhere.
    _, whole = train(loader(), "numpy")
    path = tmp_path / "run.safetensors"
    options = {"checkpoint": path, "checkpoint_every": 1}
    for step, backend in ((4, "torch"), (13, "jax")):
        with pytest.raises(KeyboardInterrupt):
            train(loader(), backend, callbacks=[StopAfter(step)], resume=True, **options)
    _, resumed = train(loader(seed=3), "numpy", resume=True, **options)
    # float32 sums in other orders: some units in the last place, which 21 steps make larger.
    np.testing.assert_allclose(resumed.losses, whole.losses, rtol=1e-4)


def test_a_second_fit_goes_on():
    data, net, optimizer = loader(), model("numpy"), trellis.optim.SGD(0.01)
    whole = [np.asarray(y) for other in [loader()] for _ in range(2) for _, y in other]
    seen = []

    def loss(output, y):
        seen.append(y)
        return mean_squared(output, y)

    batches = iter(data)
    for _ in range(3):
        seen.append(next(batches)[1])
    batches.close()
    fit(net, loss, data, optimizer=optimizer, epochs=1, compile=False, progress=False)
    assert (data.epoch, data.position) == (1, 0)
    fit(net, loss, data, optimizer=optimizer, epochs=1, compile=False, progress=False)
    assert (data.epoch, data.position) == (2, 0)
    assert len(seen) == 14
    for found, expected in zip(seen, whole, strict=True):
        assert np.array_equal(found, expected)


def test_model_without_variables_yet(backend):
    """Building a model does not use up a batch."""
    data = loader(backend=backend)
    trellis.seed(0)
    net = nn.Linear(3, 1, backend=backend, build_mode="on_call")
    assert not net.built
    history = fit(
        net, mean_squared, data, optimizer=trellis.optim.SGD(0.1), compile=False, progress=False
    )
    assert len(history.losses) == 7


def test_evaluate_and_predict(backend):
    net, (x, y) = model(backend), points()
    data = loader(backend=backend)
    iterator = iter(data)
    next(iterator)
    found = evaluate(net, mean_squared, data, metrics="mean_absolute_error", compile=False)
    expected = evaluate(net, mean_squared, (x, y), metrics="mean_absolute_error", compile=False)
    assert (data.epoch, data.position) == (0, 1)
    for name, value in expected.items():
        # Means of float32 in another order.
        assert found[name] == pytest.approx(value, rel=1e-5)
    outputs = predict(net, Loader(x, 4), compile=False)
    # Smaller products may be summed in another order.
    assert_close(outputs, predict(net, x, compile=False), rtol=1e-5, atol=1e-6)
    for options in ({"shuffle": True}, {"weights": np.ones(26)}):
        with pytest.raises(ArgumentError, match="order of the data"):
            predict(net, Loader(x, 4, **options))


def test_validation_data():
    net, history = train(loader(), "numpy", validation_data=Loader(points(), 10))
    expected = evaluate(net, mean_squared, points(), compile=False)["loss"]
    # Means of float32 in another order.
    assert history.metrics["validation_loss"][-1] == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("options", [{"batch_size": 2}, {"shuffle": True}, {"drop_last": True}])
def test_options_of_the_loader_are_its_own(options):
    with pytest.raises(ArgumentError, match="a Loader has its own"):
        train(loader(), "numpy", **options)


def test_checkpoints_of_other_data(tmp_path):
    path = tmp_path / "run.safetensors"
    train(points(), "numpy", checkpoint=path, batch_size=4, epochs=1)
    with pytest.raises(ArgumentError, match="a run with other data"):
        train(loader(), "numpy", checkpoint=path, resume=True)
    train(loader(), "numpy", checkpoint=path, epochs=1)
    with pytest.raises(ArgumentError, match=r"a run with a trellis\.data\.Loader"):
        train(points(), "numpy", checkpoint=path, resume=True, batch_size=4)
    with pytest.raises(ArgumentError, match="another batch_size"):
        train(Loader(points(), 5, shuffle=True), "numpy", checkpoint=path, resume=True)


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("batch_size", [4, None])
def test_shares_of_distributed_runs(workers, batch_size):
    """What `fit(distributed=True)` reads on each rank; one without rows gets a row of no weight."""

    def target(batch):
        return batch

    examples = (
        list(np.arange(9)) if batch_size else [np.arange(i, min(i + 4, 9)) for i in (0, 4, 8)]
    )
    data = Loader(examples, batch_size, workers=workers)
    whole = [batch.tolist() for _, batch in data.host_batches(0)]
    shares = [list(Shares(LoaderSource(data), rank, 3).batches(0, target)) for rank in range(3)]
    for i, expected in enumerate(whole):
        found = [x for rank in range(3) for x in shares[rank][i][0][: shares[rank][i][1]]]
        assert found == expected
        assert [shares[rank][i][2] for rank in range(3)] == [len(expected)] * 3
        assert all(len(shares[rank][i][0]) >= 1 for rank in range(3))
