"""`trellis.debug.watch`: statistics against NumPy, findings in models broken on purpose."""

import numpy as np
import pytest

import trellis
from trellis import nn
from trellis.debug import Statistics, watch
from trellis.errors import ArgumentTypeError


def model_of(backend, **options):
    w = np.array([[1.0, -1.0], [0.5, 2.0], [-3.0, -1.0]], "float32")
    first = nn.Linear(2, 3, v={"w": trellis.to_backend(w, backend)}, with_bias=False)
    return nn.Sequential({"first": first, "act": nn.ReLU()}), w


X = np.array([[1.0, 2.0], [0.5, 0.25]], "float32")


def test_statistics_are_those_of_the_arrays(backend):
    model, w = model_of(backend)
    x = trellis.to_backend(X, backend)
    with watch(model, show=False) as seen:
        value, grads = trellis.value_and_grad(lambda v: trellis.sum(model(x, v=v) ** 2))(model.v)
        model(x)
    linear = X @ w.T
    active = np.maximum(linear, 0)
    found = seen.activations
    assert list(found) == ["first", "act", ""]
    assert [each.calls for each in found.values()] == [2, 2, 2]
    # Numbers of a few digits: their sums in float64 are exact to the last place of float32.
    assert found["first"].mean == pytest.approx(linear.mean(), rel=1e-6)
    assert found["act"].rms == pytest.approx(np.sqrt((active**2).mean()), rel=1e-6)
    assert found["act"].zeros == pytest.approx((active == 0).mean())
    assert found["act"].dead == [2]
    upstream = 2 * active
    assert seen.gradients["act"].rms == pytest.approx(np.sqrt((upstream**2).mean()), rel=1e-6)
    through = upstream * (linear > 0)
    assert seen.gradients["first"].largest == pytest.approx(np.abs(through).max(), rel=1e-6)
    np.testing.assert_allclose(trellis.to_numpy(grads["first"]["w"]), through.T @ X, rtol=1e-6)
    assert seen.findings == ["act (ReLU): 1 of 3 units are dead (0 in every example)."]
    assert "act     ReLU" in str(seen)


def test_nothing_stays_on_the_modules(backend):
    model, _ = model_of(backend)
    with pytest.raises(trellis.errors.TrellisError), watch(model, show=False):
        model("no array")
    assert "_forward" not in vars(model) | vars(model.first)


def test_first_module_that_is_not_finite(backend, array):
    model, _ = model_of(backend)
    x = array([[np.nan, 1.0]], "float32")
    with watch(model, show=False) as seen:
        model(x)
    assert seen.first_nonfinite == (
        "first (Linear), call 1: the output is not finite, because its input is not"
    )
    model.first.v = {"w": array(np.full((3, 2), np.nan), "float32")}
    with watch(model, show=False) as seen:
        model(array(X))
    assert seen.first_nonfinite.endswith("because its variables are not")
    assert any(["First value that is not finite" in each for each in seen.findings])


class Root(trellis.Module):
    def _forward(self, x):
        return trellis.sqrt(x)


def test_gradient_that_is_not_finite(backend, array):
    model = nn.Sequential(nn.Identity(), Root(), backend=backend)
    with watch(model, show=False) as seen:
        trellis.grad(lambda x: trellis.sum(model(x)))(array([0.0, 1.0], "float32"))
    assert seen.first_nonfinite == (
        "layers_v0 (Identity), call 1: the gradient by its output is not finite"
    )


class Times(trellis.Module):
    def __init__(self, factor):
        self._factor = factor
        super().__init__()

    def _forward(self, x):
        return x * self._factor


def test_norms_that_explode_and_vanish():
    model = nn.Sequential(Times(1.0), Times(1e5), Times(1e-9), Times(1.0), Times(1.0))
    with watch(model, show=False) as seen:
        trellis.grad(lambda x: trellis.sum(model(x)))(np.ones(3))
    assert seen.findings == [
        "layers_v1 (Times): activations explode, rms 1e+05.",
        "layers_v1 (Times): the gradient vanishes, rms 1e-09.",
    ]
    model = nn.Sequential(Times(1e4), Times(1.0), Times(1.0))
    with watch(model, show=False) as seen:
        trellis.grad(lambda x: trellis.sum(model(x)))(np.full(3, 1e-4))
    assert seen.findings == []  # by the output of the first one it is 1
    model = nn.Sequential(Times(1.0), Times(1e4), Times(1.0), Times(1.0))
    with watch(model, show=False) as seen:
        trellis.grad(lambda x: trellis.sum(model(x)))(np.full(3, 1e-4))
    assert seen.findings == ["layers_v0 (Times): the gradient explodes, rms 1e+04."]


def test_compiled_functions_are_said_to_be_unseen(backend, array):
    if backend == "numpy":
        pytest.skip("nothing is compiled on NumPy")
    model, _ = model_of(backend)
    run = trellis.compile(lambda v, x: model(x, v=v))
    before = run(model.v, array(X))
    with watch(model, show=False) as seen, trellis.using_compilation(False):
        after = run(model.v, array(X))
    assert seen.activations["act"].calls == 1 and seen.compiled_calls == 0
    np.testing.assert_allclose(trellis.to_numpy(before), trellis.to_numpy(after), rtol=1e-6)


def test_traced_and_unseen_calls_are_told():
    model, _ = model_of("numpy")
    with watch(model, show=False) as seen, pretending_to_compile():
        model(X)
    assert "3 arrays passed inside compiled functions" in seen.findings[-1]
    with watch(model, show=False) as seen:
        pass
    assert "No call of the model was seen" in seen.findings[-1]


def pretending_to_compile():
    from trellis._core.tracing import pretending

    return pretending("numpy")


def test_report_is_printed_at_the_end(capsys):
    model, _ = model_of("numpy")
    with watch(model):
        model(X.astype("float32"))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:3] == ["module", "class", "calls"] and len(lines) == 6


def test_units_of_changing_number_are_none():
    seen = Statistics()
    seen.add(np.zeros((2, 3)))
    seen.add(np.zeros((2, 4)))
    assert seen.dead == [] and seen.zeros == 1.0


def test_only_modules_are_watched():
    with pytest.raises(ArgumentTypeError, match=r"expects a trellis\.Module"):
        watch(lambda x: x)
