"""Which foreign array belongs where: by name, in order, or as the user says; all else is listed."""

import pickle

import numpy as np
import pytest
import safetensors.numpy

import trellis
from oracles import torch
from trellis import convert, errors, nn
from trellis.conformance.example_modules import SharedWeight
from trellis.testing import assert_close


def array(*shape, start=0.0):
    return np.arange(start, start + np.prod(shape), dtype="float32").reshape(shape)


class Net(trellis.Module):
    def __init__(self, **options):
        self._conv = nn.Conv1D(2, 3, 3, 1, "SAME")
        self._blocks = [nn.Linear(3, 3), nn.Linear(3, 3)]
        self._head = nn.Linear(3, 1)
        super().__init__(**options)

    def _create_variables(self, *, device, dtype):
        return {"scale": trellis.ones((1,), dtype=dtype, device=device)}


def weights_of_net():
    return {
        "scale": array(1, start=9),
        "conv.weight": array(3, 2, 3),
        "conv.bias": array(3),
        "blocks.0.weight": array(3, 3),
        "blocks.0.bias": array(3),
        "blocks.1.weight": array(3, 3, start=50),
        "blocks.1.bias": array(3, start=50),
        "head.weight": array(1, 3),
        "head.bias": array(1),
    }


def test_names_mirror_the_model():
    net = Net()
    given = weights_of_net()
    report = convert.load_torch_weights(net, given)
    assert report.is_complete and not report.cast
    assert report.matched["blocks/v1/w"] == "blocks.1.weight"
    assert_close(net.v["conv/w"], np.transpose(given["conv.weight"], (2, 1, 0)))
    assert_close(net.v["blocks/v1/w"], given["blocks.1.weight"])
    assert_close(net.v["scale"], given["scale"])


def test_a_file_in_the_layout_of_torch(tmp_path):
    """What others write with safetensors.torch; a pickle is refused."""
    path, net, given = tmp_path / "net.safetensors", Net(), weights_of_net()
    safetensors.numpy.save_file(given, path)
    assert convert.load_torch_weights(net, path).is_complete
    assert_close(net.v["conv/w"], np.transpose(given["conv.weight"], (2, 1, 0)))
    path.write_bytes(pickle.dumps(given))
    with pytest.raises(errors.ArgumentError, match="cannot run code"):
        convert.load_torch_weights(net, str(path))


@pytest.mark.needs("torch")
def test_state_dict_has_the_same_names():
    net, given = Net(), weights_of_net()
    convert.load_torch_weights(net, given)
    found = convert.state_dict(net)
    assert list(found) == list(given)
    for name, x in found.items():
        assert isinstance(x, torch.Tensor)
        assert_close(x, given[name])


def test_other_names_in_order():
    """Attributes may be called otherwise, and stand deeper: the order counts."""
    others = {
        f"module.{new}": x
        for new, x in zip(
            ["factor", "a.weight", "a.bias", "b.c.weight", "b.c.bias", "b.d.weight", "b.d.bias",
             "e.weight", "e.bias"],
            weights_of_net().values(),
            strict=True,
        )
    }  # fmt: skip
    net = Net()
    with pytest.raises(errors.ShapeError, match=r"Net at 'the top' needs scale \(1,\), but next"):
        convert.load_torch_weights(net, others)  # nobody knows what `factor` is
    others["module.scale"] = others.pop("module.factor")
    with pytest.raises(errors.ShapeError, match=r"next comes module\.a\.weight"):
        convert.load_torch_weights(net, others)  # it stands at the wrong end
    others = {"module.scale": others.pop("module.scale"), **others}
    report = convert.load_torch_weights(net, others)
    assert report.matched["blocks/v1/w"] == "module.b.d.weight"
    assert_close(net.v["blocks/v1/b"], array(3, start=50))


def test_numbers_of_one_shape_are_not_mixed_up():
    """Half by name and half in order, the two would change places: 1 is there in both."""
    model = nn.Sequential(nn.Flatten(), nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 3))
    given = {
        "0.weight": array(3, 3),
        "0.bias": array(3),
        "1.weight": array(3, 3, start=50),
        "1.bias": array(3, start=50),
    }
    report = convert.load_torch_weights(model, given)
    assert report.matched == {
        "layers/v1/b": "0.bias",
        "layers/v1/w": "0.weight",
        "layers/v3/b": "1.bias",
        "layers/v3/w": "1.weight",
    }
    # What is loaded in part is loaded by name only, and says so.
    del given["0.bias"]
    report = convert.load_torch_weights(model, given, strict=False)
    assert report.matched == {"layers/v1/b": "1.bias", "layers/v1/w": "1.weight"}
    assert report.missing == ("layers/v3/b", "layers/v3/w")
    assert report.unexpected == ("0.weight",)


@pytest.mark.parametrize("kind", ["dict", "function"])
def test_names_are_said(kind):
    given = {f"net.{name.replace('blocks', 'layer')}": x for name, x in weights_of_net().items()}
    given["net.extra.weight"] = array(2)
    names = {"net": "", "net.layer": "blocks", "net.extra": None}
    if kind == "function":

        def names(name):
            name = name.removeprefix("net.").replace("layer", "blocks")
            return None if name.startswith("extra") else name

    net = Net()
    report = convert.load_torch_weights(net, given, names=names)
    assert report.is_complete
    assert report.matched["blocks/v0/b"] == "net.layer.0.bias"
    assert_close(net.v["blocks/v1/w"], given["net.layer.1.weight"])


def test_names_that_make_no_sense():
    net, given = Net(), weights_of_net()
    for names, error, message in [
        ({"con": "conv"}, errors.ArgumentError, r"names has \['con'\]"),
        ({"blocks.0": "blocks.1"}, errors.ArgumentError, "out of both"),
        (lambda name: 3, errors.ArgumentTypeError, "made 3 out of"),
        (["conv"], errors.ArgumentTypeError, "a dict or a function"),
    ]:
        with pytest.raises(error, match=message):
            convert.load_torch_weights(net, given, names=names)


def test_all_that_does_not_fit_is_listed(backend):
    with trellis.using_backend(backend):
        net = Net()
    before = net.v
    given = weights_of_net()
    given["conv.weight"] = array(3, 3, 2)
    given["head.bias"] = array(2)
    given["blocks.2.weight"] = given.pop("blocks.1.weight")
    given["scale"] = np.array([1])
    with pytest.raises(errors.ShapeError) as caught:
        convert.load_torch_weights(net, given)
    for text in (
        "looked for blocks.1.weight",
        "'blocks/v1/w' is missing",
        "'blocks.2.weight' of the weights is unknown",
        "'conv.weight' has shape (3, 3, 2), and 'conv/w' needs (3, 2, 3)",
        "'head.bias' has shape (2,), and 'head/b' needs (1,)",
        "'scale' is int64 in the weights, float32 here",
        "In order they do not fit either",
    ):
        assert text in str(caught.value)
    assert net.v is before
    report = convert.load_torch_weights(net, given, strict=False)
    assert sorted(report.matched) == [
        "blocks/v0/b",
        "blocks/v0/w",
        "blocks/v1/b",
        "conv/b",
        "head/w",
    ]
    assert report.missing == ("blocks/v1/w",)
    assert report.unexpected == ("blocks.2.weight",)
    assert report.wrong_shape == {"conv/w": ((3, 3, 2), (3, 2, 3)), "head/b": ((2,), (1,))}
    assert report.wrong_dtype == {"scale": ("int64", "float32")}
    for line in ("5 loaded", "blocks/v0/b <- blocks.0.bias", "1 missing", "2 of another shape"):
        assert line in str(report)
    assert_close(net.v["blocks/v1/b"], array(3, start=50), backend=backend)
    assert_close(net.v["blocks/v1/w"], before["blocks/v1/w"])


def test_types_become_those_of_the_model(backend):
    """Half precision there, float32 here: the report says so."""
    with trellis.using_backend(backend):
        layer = nn.Linear(2, 2)
    given = {"weight": array(2, 2).astype("float16"), "bias": array(2).astype("float64")}
    report = convert.load_torch_weights(layer, given)
    assert report.is_complete
    assert report.cast == {"b": ("float64", "float32"), "w": ("float16", "float32")}
    assert_close(layer.v.w, array(2, 2), backend=backend)


def test_shared_weights():
    shared = SharedWeight(2)
    given = {
        "linear0.weight": array(2, 2),
        "linear0.bias": array(2),
        "linear1.weight": array(2, 2),
        "linear1.bias": array(2, start=5),
    }
    report = convert.load_torch_weights(shared, given)
    assert report.is_complete and "linear1/w" not in report.matched
    assert shared._linear1.v.w is shared.v["linear0/w"]
    with pytest.raises(errors.ArgumentError, match="are one array here"):
        convert.load_torch_weights(shared, {**given, "linear1.weight": array(2, 2, start=1)})


@pytest.mark.needs("torch")
def test_shared_weights_of_torch():
    """A second name of the same memory is nothing unexpected, in both directions."""

    class Tied(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = torch.nn.Linear(3, 3)
            self.again = self.first

    class Once(trellis.Module):
        def __init__(self):
            self._first = nn.Linear(3, 3)
            super().__init__()

    model, tied = Once(), Tied()
    assert convert.load_torch_weights(model, tied).is_complete
    fresh = Tied()
    fresh.load_state_dict(convert.state_dict(model, like=fresh))
    assert_close(fresh.again.weight.detach(), tied.first.weight.detach(), rtol=0, atol=0)


@pytest.mark.needs("torch")
def test_another_epsilon_is_noted():
    """No weight shows it, and every result would."""
    theirs = torch.nn.Sequential(torch.nn.LayerNorm(3, eps=1e-12), torch.nn.BatchNorm1d(3))
    model = nn.Sequential(nn.LayerNorm(3), nn.BatchNorm1D(3))
    report = convert.load_torch_weights(model, theirs)
    note = "LayerNorm at 'layers/v0' has eps=1e-05, there it is 1e-12: make it with eps=1e-12"
    assert report.is_complete and report.notes == (note,)
    assert f"1 to look at\n    {note}" in str(report)
    assert convert.load_torch_weights(model, theirs.state_dict()).notes == ()


@pytest.mark.needs("torch")
def test_half_precision_of_torch():
    """Two biases become one: added before they are rounded."""
    theirs = torch.nn.LSTM(2, 3).to(torch.bfloat16)
    model = nn.LSTM(2, 3)
    assert convert.load_torch_weights(model, theirs).cast["layer0/w"] == ("bfloat16", "float32")
    both = [theirs.bias_ih_l0.float(), theirs.bias_hh_l0.float()]
    assert_close(model.v["layer0/b"], (both[0] + both[1]).detach().numpy(), rtol=0, atol=0)


@pytest.mark.needs("torch")
def test_projections_that_stand_apart():
    """As most models but torch's own keep them."""
    attention = nn.MultiHeadAttention(4, 2)
    given = {f"{x}_proj.{kind}": array(*shape, start=ord(x))
             for x in "qkv" for kind, shape in (("weight", (4, 4)), ("bias", (4,)))}  # fmt: skip
    given |= {"out_proj.weight": array(4, 4), "out_proj.bias": array(4)}
    assert convert.load_torch_weights(attention, given).is_complete
    expected = np.concatenate([given[f"{x}_proj.weight"] for x in "qkv"])
    assert_close(attention.v.in_proj_weights, expected)
    with pytest.raises(errors.ShapeError, match="cannot split"):
        convert.state_dict(attention, like=given)
    given["q_proj.weight"] = array(5, 4)
    with pytest.raises(
        errors.ShapeError, match=r"\(13, 4\), and 'in_proj_weights' needs \(12, 4\)"
    ):
        convert.load_torch_weights(attention, given)


def test_what_is_no_state_dict():
    layer = nn.Linear(2, 2)
    for given, error, message in [
        ({"state_dict": {}, "epoch": 3}, errors.ArgumentError, r"checkpoint\['state_dict'\]"),
        (3, errors.ArgumentTypeError, "a state_dict, a torch module, or the path"),
    ]:
        with pytest.raises(error, match=message):
            convert.load_torch_weights(layer, given)
    with pytest.raises(errors.ArgumentTypeError, match="a Trellis module first"):
        convert.load_torch_weights({}, {})
    with pytest.raises(errors.ArgumentError, match="build"):
        convert.load_torch_weights(nn.Linear(2, 2, build_mode="explicit"), {})
    with pytest.raises(errors.ArgumentError, match="Nothing of The torch weights fits"):
        convert.load_torch_weights(layer, {"a.w": array(7)}, strict=False)


@pytest.mark.needs("torch")
def test_names_of_like_that_do_not_fit():
    with pytest.raises(errors.ShapeError, match="neither by name nor in order"):
        convert.state_dict(nn.Linear(2, 2), like={"a.weight": array(3, 3)})
