"""What a person sees of a layer before using it: its arguments, their types, what they mean."""

import inspect
import re

import numpy as np
import pytest

import trellis
from trellis import errors, nn
from trellis.nn import init
from trellis.nn.layers.arguments import SPELLINGS
from trellis.nn.layers.layer import Options

LAYERS = [name for name in dir(nn) if inspect.isclass(getattr(nn, name)) and name != "Module"]
INITIALIZERS = [name for name in dir(init) if name != "Initializer"]


def own_parameters(name):
    parameters = inspect.signature(getattr(nn, name)).parameters
    return [p for p in parameters.values() if p.name not in Options.__annotations__]


@pytest.mark.parametrize("name", LAYERS)
def test_layer_shows_all_arguments(name):
    parameters = inspect.signature(getattr(nn, name)).parameters
    assert set(Options.__annotations__) <= set(parameters)
    kinds = {p.kind for p in own_parameters(name)}
    by_place = {inspect.Parameter.POSITIONAL_OR_KEYWORD}
    assert kinds <= ({inspect.Parameter.VAR_POSITIONAL} if name == "Sequential" else by_place)


@pytest.mark.parametrize("name", LAYERS)
def test_layer_documents_all_arguments(name):
    cls = getattr(nn, name)
    said = f"{cls.__doc__}\n{cls.__init__.__doc__}"
    parameters = own_parameters(name)
    assert [p.name for p in parameters if p.annotation is p.empty] == []
    assert [p.name for p in parameters if not re.search(rf"\b{p.name}\b", said)] == []


@pytest.mark.parametrize("name", INITIALIZERS)
def test_initializer_shows_all_arguments(name):
    parameters = inspect.signature(getattr(init, name)).parameters.values()
    assert [p.name for p in parameters if p.kind is not p.POSITIONAL_OR_KEYWORD] == []
    assert [p.name for p in parameters if p.annotation is p.empty] == []


def test_options_are_those_of_modules():
    parameters = inspect.signature(trellis.Module.__init__).parameters.values()
    assert {p.name for p in parameters if p.kind is p.KEYWORD_ONLY} == set(Options.__annotations__)


def test_arguments_by_position_or_keyword():
    assert nn.LeakyReLU(0.2)(np.array([-1.0, 1.0])).tolist() == [-0.2, 1.0]
    by_name = nn.Linear(output_channels=3, input_channels=2, dtype="float64")
    assert by_name.v.w.shape == (3, 2) and by_name.v.w.dtype == "float64"
    layer = nn.Conv2D(2, 3, filter_shape=3, strides=1, padding="SAME", data_format="NCHW")
    assert layer(np.ones((1, 2, 4, 4), "float32")).shape == (1, 3, 4, 4)


@pytest.mark.parametrize(
    "call, theirs, ours",
    [
        (lambda: nn.Linear(in_features=2, out_features=3), "in_features", "input_channels"),
        (lambda: nn.Linear(2, units=3), "units", "output_channels"),
        (lambda: nn.Conv2D(2, 3, kernel_size=3), "kernel_size", "filter_shape"),
        (lambda: nn.Conv2D(2, filters=3), "filters", "output_channels"),
        (lambda: nn.MaxPool2D(kernel_size=2), "kernel_size", "window"),
        (lambda: nn.MaxPool2D(2, stride=2), "stride", "strides"),
        (lambda: nn.Dropout(p=0.5), "p", "prob"),
        (lambda: nn.Dropout(rate=0.5), "rate", "prob"),
        (lambda: nn.Embedding(input_dim=3, output_dim=2), "output_dim", "embedding_dim"),
        (lambda: nn.LayerNorm(3, epsilon=1e-3), "epsilon", "eps"),
        (lambda: nn.CosineLoss(eps=1e-3), "eps", "epsilon"),
        (lambda: nn.LSTM(3, hidden_size=4), "hidden_size", "output_channels"),
        (lambda: nn.Softmax(dim=1), "dim", "axis"),
        (lambda: nn.Linear(2, 3, dtpye="float32"), "dtpye", "dtype"),
    ],
)
def test_other_names_say_what_was_meant(call, theirs, ours):
    with pytest.raises(TypeError, match=f"'{theirs}' \\(did you mean '{ours}'\\?\\)") as raised:
        call()
    assert isinstance(raised.value, errors.TrellisError)


def test_spellings_lead_somewhere():
    names = {p.name for name in LAYERS for p in own_parameters(name)}
    assert {ours for all_ours in SPELLINGS.values() for ours in all_ours} <= names


def test_missing_and_surplus_arguments():
    with pytest.raises(errors.ArgumentTypeError, match=r"Linear\(\) missing .*'output_channels'"):
        nn.Linear(2)
    with pytest.raises(errors.ArgumentTypeError, match="too many positional"):
        nn.ReLU(1)


def test_an_error_inside_a_constructor_stays_as_it_is():
    def broken(shape, **options):
        raise TypeError("from inside")

    with pytest.raises(TypeError, match=r"^from inside$"):
        nn.Linear(2, 3, weight_initializer=broken)
