"""Names of other libraries in place of ours: the error says what to write."""

import re
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

import trellis
from trellis import nn
from trellis.nn.module.foreign import INSTEAD

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
import layer_difference

ROWS = tomllib.loads(
    (Path(__file__).parents[2] / "docs/counterparts.toml").read_text(encoding="utf-8")
)


def layers_elsewhere():
    """Names of classes in the table of counterparts, each with ours for it."""
    found = {}
    for ours, theirs in ROWS.items():
        package, _, name = ours.rpartition(".")
        for other in theirs.values() if package == "trellis.nn" else ():
            foreign = other.rpartition(".")[2]
            if foreign[0].isupper() and not hasattr(nn, foreign):
                found.setdefault(foreign, set()).add(name)
    return found


FOREIGN = layers_elsewhere()


def test_the_table_is_read():
    assert len(FOREIGN) > 50
    assert FOREIGN["Dense"] == {"Linear"}


@pytest.mark.parametrize("name", sorted(FOREIGN))
def test_layers(name):
    with pytest.raises(AttributeError, match=r"Did you mean trellis\.nn\.(\w+)\?") as caught:
        getattr(nn, name)
    assert str(caught.value).rpartition(".")[2].strip("?") in FOREIGN[name]


ELSEWHERE = tomllib.loads(layer_difference.ELSEWHERE.read_text(encoding="utf-8"))
LIBRARY = {"torch.nn": "torch", "keras.layers": "keras"}


@pytest.mark.parametrize(
    "library", [pytest.param(x, marks=pytest.mark.needs(LIBRARY[x])) for x in LIBRARY]
)
def test_each_layer_elsewhere_has_a_place(library):
    """A class, or a line that says what to write; and no line for what has a class, or is gone."""
    assert layer_difference.difference(library) == []
    assert sorted(set(ELSEWHERE[library]) - set(layer_difference.theirs(library))) == []
    assert [x for x in ELSEWHERE[library] if layer_difference.has_a_class(library, x)] == []


@pytest.mark.parametrize("library", ELSEWHERE)
def test_what_is_written_instead_exists(library):
    spaces = {"nn": nn, "F": trellis.functional, "data": trellis.data, "convert": trellis.convert}
    for text in ELSEWHERE[library].values():
        for path in re.findall(r"\b(?:nn|F|data|convert|trellis)(?:\.\w+)+", text):
            first, *names = path.split(".")
            found = spaces.get(first, trellis)
            for name in names:
                found = getattr(found, name)


def test_layers_in_other_words():
    """Some of the table, against their formulas."""
    x, alpha, groups = np.linspace(-2, 2, 8, dtype="float32").reshape(1, 2, 4), 0.7, 2
    chosen = {
        "CELU": np.maximum(x, 0) + np.minimum(alpha * (np.exp(x / alpha) - 1), 0),
        "ChannelShuffle": x[..., [0, 2, 1, 3]],
        "Softshrink": np.sign(x) * np.maximum(np.abs(x) - 0.5, 0),
        "Hardshrink": np.where(np.abs(x) > 0.5, x, 0),
        "Tanhshrink": x - np.tanh(x),
        "Softmin": np.exp(-x) / np.exp(-x).sum(-1, keepdims=True),
    }
    names = {"F": trellis.functional, "trellis": trellis, "alpha": alpha, "groups": groups}
    for name, expected in chosen.items():
        layer = eval(ELSEWHERE["torch.nn"][name].strip("`"), names)
        # Elementary functions of numbers up to 8, in float32.
        np.testing.assert_allclose(nn.Sequential(layer)(x), expected, rtol=2e-6, atol=1e-6)


def test_names_that_mean_nothing_get_no_hint():
    for name in ("Nonsense", "_private", "__wrapped__"):
        with pytest.raises(AttributeError) as caught:
            getattr(nn, name)
        assert "Did you mean" not in str(caught.value)


@pytest.mark.parametrize("name", sorted(INSTEAD))
def test_attributes_of_modules(name):
    model = nn.Linear(2, 1)
    assert not hasattr(model, name)
    assert name not in dir(model)
    with pytest.raises(AttributeError, match=rf"'Linear' object has no attribute '{name}'\. \w"):
        getattr(model, name)
    with pytest.raises(AttributeError, match=f"type object 'Linear' has no attribute '{name}'"):
        getattr(nn.Linear, name)


def test_a_module_may_use_these_names(backend):
    class Own(trellis.Module):
        def __init__(self, **options):
            self.weights = nn.Linear(2, 1)
            super().__init__(**options)

        def _forward(self, x):
            return self.weights(x)

        def forward(self, x):
            return "its own"

    model = Own(backend=backend)
    assert list(model.v) == ["weights"]
    assert model.forward(None) == "its own"
    assert tuple(model(trellis.ones((3, 2), backend=backend)).shape) == (3, 1)


@pytest.mark.parametrize("function", ["fit", "evaluate"])
def test_inputs_and_targets_as_two_arguments(backend, function):
    x = trellis.asarray(np.ones((4, 2), "float32"), backend=backend)
    options = {"optimizer": trellis.optim.SGD(0.1)} if function == "fit" else {}
    call = getattr(trellis.train, function)
    with pytest.raises(TypeError, match=rf"array of float32 of.*{function}\(model, loss, \(x, y\)"):
        call(nn.Linear(2, 1, backend=backend), x, x, **options)
