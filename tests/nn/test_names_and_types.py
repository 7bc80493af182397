"""Named modules, pairs of names and arrays, and casting a whole module."""

import numpy as np
import pytest

import trellis
from trellis import nn
from trellis.errors import ArgumentError, ArgumentTypeError


def named(backend):
    with trellis.using_backend(backend):
        return nn.Sequential({"second": nn.Linear(2, 3), "first": nn.Linear(3, 1)})


def test_sequential_runs_in_the_order_of_its_dict(backend, array):
    model = named(backend)
    assert model.v.key_chains() == ["first/b", "first/w", "second/b", "second/w"]
    x = np.array([[1.0, -2.0]], "float32")
    v = {name: trellis.to_numpy(value) for name, value in model.parameters()}
    expected = (x @ v["second/w"].T) @ v["first/w"].T  # the biases are zero
    # Two sums of three products in float32.
    np.testing.assert_allclose(trellis.to_numpy(model(array(x))), expected, atol=1e-6)
    assert model["second"] is model.second is model[0] and len(model) == 2


def test_a_named_module_can_be_replaced(array, backend):
    model = named(backend)
    model.first = nn.Identity()
    assert tuple(model(array(np.ones((1, 2)), "float32")).shape) == (1, 3)


def test_parameters_are_names_and_arrays(backend):
    model = nn.Linear(2, 3, backend=backend)
    names, arrays = zip(*model.parameters(), strict=True)
    assert names == ("b", "w") and arrays[1] is model.v.w
    assert next(iter(model.parameters()))[0] == "b"


@pytest.mark.parametrize(
    "make, hint",
    [
        (lambda: nn.Sequential(head=nn.Linear(2, 1)), r"Sequential\(\{'head': module"),
        (lambda: nn.Sequential(nn.Tanh(), {"a": nn.Tanh()}), "keys of one dict"),
        (lambda: nn.Sequential({"train": nn.Tanh()}), "attribute of modules already"),
        (lambda: nn.Sequential({"_a": nn.Tanh()}), "no underscore"),
        (lambda: nn.Sequential({"a": nn.Tanh()})["b"], "it has a"),
        (lambda: nn.Sequential(nn.Tanh())["b"], "have no names"),
    ],
)
def test_names_that_cannot_be(make, hint):
    with pytest.raises((ArgumentError, ArgumentTypeError), match=hint):
        make()


def test_astype_casts_floats_of_variables_and_buffers(backend, array):
    with trellis.using_backend(backend):
        model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1D(3))
    before = trellis.to_numpy(model.v["layers/v0/w"])
    assert model.astype(trellis.bfloat16) is model
    kinds = {trellis.dtype(x) for x in trellis.tree.leaves((model.v, model.buffers))}
    assert kinds == {trellis.bfloat16}
    assert trellis.dtype(model(array(np.ones((2, 2)), "bfloat16"))) == trellis.bfloat16
    model[0].astype("float32")
    assert trellis.dtype(model.v["layers/v0/w"]) == trellis.float32
    assert trellis.dtype(model.v["layers/v1/w"]) == trellis.bfloat16
    # bfloat16 has eight digits: half a unit in the last place.
    after = trellis.to_numpy(model.v["layers/v0/w"])
    np.testing.assert_allclose(after, before, rtol=2**-8)


def test_astype_holds_for_modules_that_are_built_later():
    model = nn.Linear(2, 3, build_mode="explicit").astype("float16")
    assert model.build()["w"].dtype == np.float16
    model = nn.Sequential(nn.Linear(2, 3), build_mode="explicit").astype("float16")
    assert model.build()["layers/v0/w"].dtype == np.float16


def test_astype_leaves_integers(backend):
    model = nn.Identity(backend=backend)
    model.register_buffer("count", trellis.zeros((2,), dtype="int32", backend=backend))
    assert trellis.dtype(model.astype("float16").buffers.count) == trellis.int32
    with pytest.raises(ArgumentTypeError, match="floating dtype"):
        model.astype("int8")
