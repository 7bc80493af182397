"""Names of other libraries in place of ours: the error says what to write."""

import tomllib
from pathlib import Path

import numpy as np
import pytest

import trellis
from trellis import nn
from trellis.nn.module.foreign import INSTEAD

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
