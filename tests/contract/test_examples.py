"""The examples run, learn, and give the same loss on every framework; so does the demo."""

import functools
import importlib.util
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import trellis
from trellis import demo

EXAMPLES = Path(__file__).parents[2] / "examples"
# A few steps each, and the loss that NumPy reaches is the measure.
STEPS = {
    "mlp": 20,
    "cnn": 10,
    "character_transformer": 6,
    "lstm": 8,
    "pinn": 8,
    "custom_gradient": 10,
    "four_backends": 10,
    "text_classifier": 8,
    "diffusion": 11,
    "graph_attention": 8,
    "time_series": 18,
    "ppo_cart_pole": 2,
    "gpt_bfloat16": 7,
    "gaussian_process": 3,
    "curve_fitting": 3,
    "bayesian_regression": 3,
    "neural_ode": 4,
    "variational_autoencoder": 5,
    "normalizing_flow": 5,
}
# bfloat16 has eight binary digits.
CLOSENESS = {"gpt_bfloat16": 2e-2}
# Those that draw a picture of what they have learned.
DRAWING = (
    "text_classifier",
    "diffusion",
    "graph_attention",
    "time_series",
    "ppo_cart_pole",
    "gpt_bfloat16",
    "gaussian_process",
    "curve_fitting",
    "bayesian_regression",
    "neural_ode",
    "variational_autoencoder",
    "normalizing_flow",
)


def load(name):
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # torch.compile looks classes up by their module
    spec.loader.exec_module(module)
    return module


@functools.cache
def measure(name):
    return load(name).main(backend="numpy", steps=STEPS[name])


@pytest.fixture
def quick_compiler(backend, monkeypatch):
    """torch.compile traces in full, but leaves the C++ compiler out, which takes minutes."""
    if backend == "torch":
        import torch

        torch._dynamo.reset()
        monkeypatch.setattr(torch, "compile", functools.partial(torch.compile, backend="eager"))


def test_every_example_is_tested():
    elsewhere = {"sentence_embeddings"}  # tests/models: it needs weights from a package
    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(STEPS) | elsewhere


@pytest.mark.usefixtures("quick_compiler")
@pytest.mark.parametrize("name", STEPS)
def test_example(backend, name, capsys):
    expected = measure(name)
    loss = load(name).main(backend=backend, steps=STEPS[name])
    assert isinstance(loss, float)
    assert loss == pytest.approx(expected, rel=CLOSENESS.get(name, 1e-3))
    printed = [float(number) for number in re.findall(r"-?\d+\.\d+", capsys.readouterr().out)]
    assert any([number == pytest.approx(loss, abs=1e-3) for number in printed]), printed


@pytest.mark.parametrize(
    ("name", "limit"),
    [
        ("mlp", 0.05),
        ("lstm", 0.02),
        ("pinn", 0.001),
        ("custom_gradient", 0.01),
        ("four_backends", 0.2),
        ("graph_attention", 0.05),
        ("gaussian_process", -0.093),
        ("curve_fitting", 0.79),
    ],
)
def test_example_learns(name, limit):
    """In full, on NumPy."""
    assert load(name).main(backend="numpy") < limit


@pytest.fixture
def histories(monkeypatch):
    """The losses of every call of `fit` in an example."""
    found, fit = [], trellis.train.fit

    def noted(*args, **kwargs):
        history = fit(*args, **kwargs)
        found.append(history.losses)
        return history

    monkeypatch.setattr(trellis.train, "fit", noted)
    return found


# Steps, and what the mean loss of the last five is at most. What is measured here is a tenth or
# more below: rounding moves it by much less, a broken gradient or update by much more.
FALLS = {
    # Two classes: who knows nothing has a loss of log(2) = 0.693. (0.63 is measured)
    "text_classifier": (40, 0.66),
    # The noise has variance 1: who guesses zeros has an error of 1. (0.41)
    "diffusion": (60, 0.5),
    # It begins at 1.5, the variance of the series. (0.27)
    "time_series": (60, 0.4),
    # It begins at 3.4, the logarithm of the number of characters. (1.6)
    "gpt_bfloat16": (30, 1.9),
}


@pytest.mark.parametrize("name", FALLS)
def test_example_begins_to_learn(name, histories):
    steps, limit = FALLS[name]
    load(name).main(backend="numpy", steps=steps)
    last = histories[-1]
    assert np.mean(last[-5:]) < limit
    assert np.mean(last[-5:]) < np.mean(last[:5])


def test_poles_stand_longer(capsys):
    """Who pushes at random holds a pole for some 20 steps. (29 after twelve rounds)"""
    load("ppo_cart_pole").main(backend="numpy", steps=12)
    stood = int(re.search(r"stood for (\d+) steps", capsys.readouterr().out)[1])
    assert stood > 25


@pytest.mark.parametrize("name", STEPS)
def test_example_is_a_page_long(name):
    assert len((EXAMPLES / f"{name}.py").read_text().splitlines()) <= 150


@pytest.mark.parametrize("name", DRAWING)
def test_example_draws_a_picture(name, tmp_path):
    load(name).main(backend="numpy", picture=tmp_path / "picture.svg", steps=2)
    assert "<svg" in (tmp_path / "picture.svg").read_text()


# The demo -----------------------------------------------------------------------------------------


def test_demo_reads_digits(tmp_path, capsys):
    picture = tmp_path / "curves.svg"
    accuracies = demo.main(["--epochs", "2", "--picture", str(picture)])
    assert accuracies["numpy"] > 0.85
    shown = capsys.readouterr()
    assert "unseen digits read correctly" in shown.out
    assert "step/s" in shown.err
    assert "<svg" in picture.read_text()


def test_demo_is_the_same_program_everywhere(backend, monkeypatch):
    """A short part of it: the losses of four batches."""
    (pictures, labels), test = demo.load_digits()
    monkeypatch.setattr(
        demo,
        "load_digits",
        lambda: ((pictures[:192], labels[:192]), (test[0][:119], test[1][:119])),
    )
    # One operation after another, JAX would compile each of them.
    losses, _ = demo.train(backend, 1, compile=backend == "jax")
    np.testing.assert_allclose(losses, _digits_on_numpy(), rtol=1e-3)


@functools.cache
def _digits_on_numpy():
    return demo.train("numpy", 1, compile=False)[0]


def test_demo_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(SystemExit, match="pip install scikit-learn"):
        demo.load_digits()


def test_demo_refuses_unknown_frameworks(tmp_path):
    with pytest.raises(trellis.errors.ArgumentError, match="Unknown backend"):
        demo.main(["--backends", "numpy,caffe", "--picture", str(tmp_path / "x.svg")])
