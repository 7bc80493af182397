"""The scikit-learn estimators: scikit-learn's own checks, and results against formulas."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import trellis
from trellis import nn, optim
from trellis.errors import ArgumentError
from trellis.sklearn import Build, TrellisClassifier, TrellisRegressor, TrellisTransformer, mlp

ESTIMATORS = (TrellisClassifier, TrellisRegressor, TrellisTransformer)


def from_zero(inputs, outputs):
    return nn.Linear(inputs, outputs, weight_initializer=nn.init.Zeros())


def data(n=24, features=3):
    random = np.random.default_rng(0)
    x = random.normal(size=(n, features)).astype("float32")
    return x, (x @ [[1.0], [2.0], [-1.0]] + 0.5)[:, 0].astype("float32")


def descended(x, y, weights, steps, lr):
    """Gradient descent on the weighted mean of squares, from zero, in float64."""
    x = np.concatenate([x, np.ones((len(x), 1))], axis=1)
    w = np.zeros(x.shape[1])
    for _ in range(steps):
        w -= lr * 2 * x.T @ (weights * (x @ w - y)) / weights.sum()
    return x @ w


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_passes_the_checks_of_scikit_learn(estimator):
    check(estimator, "numpy")


@pytest.mark.long  # minutes: hundreds of small fits
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_passes_them_on_every_framework(estimator, backend, x64):
    with x64():
        check(estimator, backend)


def check(estimator, backend):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the checks provoke warnings; pandas is not installed
        results = check_estimator(
            estimator(backend=backend, epochs=10, lr=0.05), on_skip=None, on_fail=None
        )
    failed = {
        each["check_name"]: each["exception"] for each in results if each["status"] == "failed"
    }
    assert failed == {}
    assert len([each for each in results if each["status"] == "passed"]) > 50


@pytest.mark.parametrize("weighted", [False, True])
def test_regression_is_gradient_descent(backend, weighted):
    x, y = data()
    weights = np.arange(24.0) % 3 if weighted else np.ones(24)
    model = TrellisRegressor(
        from_zero, optimizer=optim.SGD, lr=0.1, epochs=20, batch_size=24, backend=backend
    )
    model.fit(x, y, sample_weight=weights if weighted else None)
    # float32, 20 steps: a few units in the last place of numbers up to 5.
    np.testing.assert_allclose(model.predict(x), descended(x, y, weights, 20, 0.1), atol=2e-5)
    assert trellis.backend_of(model.module_.v.w) == backend
    assert model.predict(x).dtype == "float32"


def test_partial_fit_continues(backend):
    x, y = data()
    model = TrellisRegressor(from_zero, optimizer=optim.SGD(0.1), batch_size=24, backend=backend)
    for _ in range(5):
        model.partial_fit(x, y)
    # As above, after 5 steps.
    np.testing.assert_allclose(model.predict(x), descended(x, y, np.ones(24), 5, 0.1), atol=2e-5)


def test_the_same_seed_gives_the_same_model(backend):
    x, y = data()
    fits = [
        TrellisClassifier(backend=backend, random_state=seed, epochs=2, batch_size=8).fit(x, y > 0)
        for seed in (1, 1, 2)
    ]
    first, again, other = [each.predict_proba(x) for each in fits]
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    # The first values are those of the module made by hand with that seed.
    seed = np.random.RandomState(1).randint(2**31 - 1)
    key = trellis.random.fold_in(trellis.random.key(seed), 0)
    with trellis.random.stream(key):
        made = mlp(3, 2)
    untrained = TrellisClassifier(backend=backend, random_state=1, epochs=0).fit(x, y > 0)
    expected = made.v["layers/v0/w"]
    found = trellis.to_numpy(untrained.module_.v["layers/v0/w"])
    # Draws with a root agree within one unit in the last place.
    np.testing.assert_allclose(found, expected, rtol=3e-7)


def test_labels_of_any_type_in_columns(backend):
    x, y = data()
    labels = np.stack([np.where(y > 0, "up", "down"), np.where(x[:, 0] > 0, "a", "b")], axis=1)
    model = TrellisClassifier(backend=backend, random_state=0, epochs=25, lr=0.05)
    model.set_params(compile=backend == "jax")  # which would compile each operation alone
    model.fit(x, labels.astype(object))
    assert (model.predict(x) == labels).mean() > 0.95
    first, second = model.predict_proba(x)
    assert first.shape == second.shape == (24, 2)
    # float32: two probabilities, each rounded once.
    np.testing.assert_allclose(first.sum(axis=1), 1.0, atol=3e-7)
    assert [list(each) for each in model.classes_] == [["down", "up"], ["a", "b"]]


def test_search_and_pipeline():
    x, y = data()
    model = TrellisRegressor(Build(mlp, hidden=(4,)), epochs=3, random_state=0)
    pipeline = make_pipeline(StandardScaler(), model)
    name = "trellisregressor__module__hidden"
    search = GridSearchCV(pipeline, {name: [(2,), (8, 8)]}, cv=2).fit(x, y)
    assert search.cv_results_["mean_test_score"].shape == (2,)
    assert len(search.best_estimator_[-1].module_) in (3, 5)
    assert model.get_params()["module__hidden"] == (4,), "the search worked on clones"


def test_compiled_fits_clone_and_pickle(backend):
    x, y = data()
    model = TrellisRegressor(
        from_zero, optimizer=optim.SGD, lr=0.1, epochs=3, backend=backend, batch_size=24,
        compile=backend != "torch",
    )  # fmt: skip
    found = model.fit(x, y).predict(x)
    # As above, after 3 steps.
    np.testing.assert_allclose(found, descended(x, y, np.ones(24), 3, 0.1), atol=2e-5)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(x), found)
    assert not hasattr(clone(model), "module_")


class Tokens(trellis.Module):
    def __init__(self, inputs, outputs):
        self._table = nn.Embedding(7, 4)
        self._last = nn.Linear(4, outputs)
        super().__init__()

    def _forward(self, x):
        return self._last(trellis.mean(self._table(x), axis=1))


def test_tokens_and_images(backend):
    tokens = np.arange(40).reshape(10, 4) % 7
    model = TrellisClassifier(
        Tokens, input_dtype="int64" if backend != "jax" else "int32", dtype="float32",
        backend=backend, epochs=1,
    )  # fmt: skip
    assert model.fit(tokens, np.arange(10) % 3).predict_proba(tokens).shape == (10, 3)
    images = np.ones((6, 5, 5, 1), "float32")
    shapes = []

    def make(shape, outputs):
        shapes.append(shape)
        return nn.Sequential(
            nn.Conv2D(1, 2, 3, 1, "SAME"), nn.GlobalAvgPool(), nn.Linear(2, outputs)
        )

    model = TrellisClassifier(make, backend=backend, epochs=1).fit(images, np.arange(6) % 2)
    assert model.predict(images).shape == (6,) and shapes == [(5, 5, 1)]


def test_transformer_takes_a_trained_module_as_it_is(backend):
    x, _ = data()
    w = np.array([[1.0, 0.0, 2.0]], "float32")
    module = nn.Linear(3, 1, v={"w": trellis.to_backend(w, backend)}, with_bias=False)
    model = TrellisTransformer(module, n_components=1, epochs=0)
    # One product of three elements: two roundings of numbers below 8.
    np.testing.assert_allclose(model.fit_transform(x), x @ w.T, atol=1e-6)
    assert model.get_feature_names_out().tolist() == ["trellistransformer0"]


def test_transformer_restores_examples(backend):
    random = np.random.default_rng(1)
    x = (random.normal(size=(64, 1)) @ [[1.0, -0.5, 2.0]]).astype("float32")  # one dimension in 3
    model = TrellisTransformer(
        nn_linear, decoder=nn_linear, n_components=1, epochs=150, lr=0.05, random_state=0,
        backend=backend, compile=backend == "jax",
    ).fit(x)  # fmt: skip
    restored = model.inverse_transform(model.transform(x))
    assert np.mean((restored - x) ** 2) < 0.01 * np.mean(x**2)


def nn_linear(inputs, outputs):
    return nn.Linear(inputs, outputs)


@pytest.mark.parametrize(
    "options, hint",
    [
        ({"optimizer": optim.SGD(0.1), "lr": 0.1}, "lr is for a class"),
        ({"module": nn.Linear(3, 1), "dtype": "float32"}, "leave both out"),
        ({"module": "mlp"}, "function of"),
        ({"module": lambda inputs, outputs: None}, "expected a module"),
        ({"fit_options": {"epochs": 3}}, "argument of the estimator"),
    ],
)
def test_arguments_that_cannot_be(options, hint):
    x, y = data()
    with pytest.raises(ArgumentError, match=hint):
        TrellisRegressor(epochs=1).set_params(**options).fit(x, y)


def test_mistakes_in_calls():
    x, y = data()
    with pytest.raises(ArgumentError, match="one number per example"):
        TrellisRegressor(epochs=1, loss=lambda out, y: trellis.mean((out - y) ** 2)).fit(
            x, y, sample_weight=np.arange(24.0)
        )
    model = TrellisClassifier(epochs=1).partial_fit(x, y > 0)
    with pytest.raises(ArgumentError, match=r"first partial_fit"):
        model.partial_fit(x, np.arange(24) % 5)
    with pytest.raises(ArgumentError, match="no option"):
        Build(mlp).set_params(width=3)
