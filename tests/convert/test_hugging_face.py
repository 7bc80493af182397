"""Tiny models of transformers: outputs and all gradients equal torch's, on every framework."""

import os

import hugging_face_configs
import hugging_face_more
import numpy as np
import pytest

import trellis
from conftest import one_program
from oracles import torch
from trellis import convert

os.environ["HF_HUB_OFFLINE"] = "1"

pytestmark = [
    pytest.mark.needs("torch"),
    # What transformers and torch say about their own code.
    pytest.mark.filterwarnings("ignore"),
]

# One of each kind in every run, the others with --long.
SHORT = ("bert", "llama", "resnet", "qwen3_moe")


@pytest.mark.parametrize("name", SHORT)
def test_outputs_and_gradients(name, backend, array):
    compare(*hugging_face_configs.build(name), backend, array)


# Too badly conditioned for the limits in float32 (NumPy is at 1.3e-4 of a gradient's scale): in
# float64, where the same limits leave nothing to rounding.
IN_DOUBLE = ("detr",)


@pytest.mark.long
@pytest.mark.parametrize("name", [n for n in hugging_face_configs.MODELS if n not in SHORT])
def test_outputs_and_gradients_of_the_list(name, backend, array, x64):
    model, given = hugging_face_configs.build(name)
    if name not in IN_DOUBLE:
        compare(model, given, backend, array)
        return
    with x64():
        given = {key: x.double() if x.is_floating_point() else x for key, x in given.items()}
        compare(model.double(), given, backend, array)


@pytest.mark.long
@pytest.mark.parametrize("name", hugging_face_more.MODELS)
def test_outputs_and_gradients_of_more(name, backend, array):
    model, given = hugging_face_configs.build(name, hugging_face_more.MODELS)
    compare(model, given, backend, array)


@pytest.mark.long
@pytest.mark.parametrize("name", ["bert", "gpt2", "llama", "vit", "t5", "mistral"])
def test_open_batch_and_length(name, backend, array, compiled):
    model, given = hugging_face_configs.build(name)
    dynamic = {
        key: {0: "batch"} if key == "pixel_values" else {0: "batch", 1: f"{key[:7]}_length"}
        for key in given
    }
    if "attention_mask" in dynamic:
        dynamic["attention_mask"] = dynamic["input_ids"]
    converted = convert.from_torch(model, (), given, to=backend, dynamic=dynamic)
    run = compiled(lambda v, arrays: converted(v=v, **arrays))
    for batch, length in ((3, 5), (1, 11)):
        other = {}
        for key, x in given.items():
            shape = (batch, *x.shape[1:]) if key == "pixel_values" else (batch, length)
            g = torch.Generator().manual_seed(length)
            if x.is_floating_point():
                other[key] = torch.randn(shape, generator=g)
            elif key == "attention_mask":
                other[key] = torch.ones(shape, dtype=torch.long)
                other[key][-1, length - 2 :] = 0
            else:
                other[key] = torch.randint(3, 60, shape, generator=g)
        arrays = {key: array(narrow(x)) for key, x in other.items()}
        with torch.no_grad():
            expected = leaves(model(**other))
        for found in (converted(**arrays), run(converted.v, arrays)):
            check_outputs(trellis.tree.leaves(found), expected)


def compare(model, given, backend, array):
    expected = leaves(model(**given))
    floats = [x for x in expected if x.requires_grad]
    total = sum([(x * weights_like(x)).mean() for x in floats])
    total.backward()
    wanted = {
        name.replace(".", "/"): p.grad.numpy()
        for name, p in model.named_parameters()
        if p.grad is not None
    }
    converted = convert.from_torch(model, (), given, to=backend)
    assert "not verified" not in converted.report()
    arrays = {key: array(narrow(x)) for key, x in given.items()}
    check_outputs(trellis.tree.leaves(converted(**arrays)), expected)

    def weighted(v):
        found = trellis.tree.leaves(converted(v=v, **arrays))
        parts = []
        for x, y in zip(found, expected):
            if y.requires_grad:
                parts.append(trellis.mean(x * array(weights_like(y).numpy())))
        return sum(parts)

    gradients = one_program(backend, trellis.grad(weighted))(converted.v)
    # Some gradients are zero but for rounding (that of a key's bias under softmax): the scale of
    # one is at least a hundredth of the largest of all.
    largest = max([np.abs(x).max(initial=0) for x in wanted.values()])
    for name in converted.graph.variables:
        y = wanted.pop(name, None)
        found = trellis.to_numpy(gradients[name])
        y = np.zeros_like(found) if y is None else y
        scale = max(np.abs(y).max(initial=0), 1e-2 * largest)
        assert np.abs(found - y).max(initial=0) <= 1e-4 * scale, name
    assert not set(wanted) - set(converted.aliases)


def check_outputs(found, expected):
    assert len(found) == len(expected)
    for x, y in zip(found, expected):
        y = y.detach().numpy()
        assert tuple(x.shape) == y.shape
        difference = np.abs(trellis.to_numpy(x).astype("float64") - y).max()
        assert difference <= 1e-5 * np.abs(y).max()


def leaves(output):
    """The tensors of an output, in the order of the converted model's."""
    from trellis.convert.torch.nests import simplified

    nest = simplified(output, lambda x: x, [])
    return [x for x in trellis.tree.leaves(nest) if isinstance(x, torch.Tensor)]


def weights_like(x):
    return torch.linspace(-1, 1, x.numel(), dtype=x.dtype).reshape(x.shape)


def narrow(x):
    return x.numpy().astype("int32") if x.dtype == torch.int64 else x.numpy()
