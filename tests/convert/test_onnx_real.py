"""Real ONNX files, from packages that carry them: silero-vad, magika, rapidocr-onnxruntime,
basic-pitch.

They are found where the packages are installed, or in a folder of unpacked wheels that
TRELLIS_ONNX_FILES names; nothing is downloaded.
"""

import os
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import trellis
from trellis import convert
from trellis.convert.module import native

onnxruntime = pytest.importorskip("onnxruntime", reason="the extra 'convert' is not installed")
pytestmark = pytest.mark.long


LETTERS = """
10001 11111 10000 10000 01110
10001 10000 10000 10000 10001
10001 10000 10000 10000 10001
11111 11110 10000 10000 10001
10001 10000 10000 10000 10001
10001 10000 10000 10000 10001
10001 11111 11111 11111 01110"""


def an_image(rows, columns, count=1):
    """The word HELLO, dark on a light page of numbers from -1 to 1."""
    ink = [[int(c) for c in line.replace(" ", "0")] for line in LETTERS.split("\n")[1:]]
    ink = np.kron(np.array(ink), np.ones((3, 3)))
    top, left = (rows - ink.shape[0]) // 2, (columns - ink.shape[1]) // 2
    page = np.ones((rows, columns), "float32")
    page[top : top + ink.shape[0], left : left + ink.shape[1]] -= 2 * ink
    return np.tile(page, (count, 3, 1, 1))


def a_sound(*shape):
    t = np.arange(np.prod(shape)) / 16000
    wave = np.sin(2 * np.pi * 220 * t) * np.sin(2 * np.pi * 3 * t)
    # Without noise the logarithms of silent frequencies decide: onnxruntime then differs from
    # itself by 4e-3 when it optimizes.
    noise = np.random.default_rng(0).standard_normal(wave.shape) / 2
    return (wave + noise).reshape(shape).astype("float32")


def sizes(*shape):
    return np.zeros(shape, "float32")


FILES = {
    "silero_vad/data/silero_vad.onnx": lambda: {
        "input": a_sound(1, 512), "state": sizes(2, 1, 128), "sr": np.array(16000),
    },
    "silero_vad/data/silero_vad_op18_ifless.onnx": lambda: {
        "input": a_sound(2, 576), "sr": np.array(16000), "state": sizes(2, 2, 128),
    },
    "silero_vad/data/silero_vad_16k_op15.onnx": lambda: {
        "input": a_sound(3, 576), "state": sizes(2, 3, 128), "sr": np.array(16000),
    },
    "magika/models/standard_v3_3/model.onnx": lambda: {
        "bytes": np.random.default_rng(0).integers(0, 256, (2, 2048)).astype("int32"),
    },
    "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx": lambda: {"x": an_image(48, 160)},
    "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx": lambda: {"x": an_image(96, 128)},
    "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx": lambda: {
        "x": an_image(48, 192, 2)
    },
    "basic_pitch/saved_models/icassp_2022/nmp.onnx": lambda: {
        "serving_default_input_2:0": a_sound(1, 43844, 1)
    },
}  # fmt: skip


def the_file(name):
    package, _, inside = name.partition("/")
    places = []
    if "TRELLIS_ONNX_FILES" in os.environ:
        root = Path(os.environ["TRELLIS_ONNX_FILES"])
        places += [root / name, root / package / name]
    spec = find_spec(package)
    places += [Path(place) / inside for place in (spec and spec.submodule_search_locations) or ()]
    found = [place for place in places if place.is_file()]
    if not found:
        pytest.skip(f"the package {package} is not installed and TRELLIS_ONNX_FILES has no {name}")
    return found[0]


@pytest.mark.parametrize("name", FILES)
def test_a_real_file(name, backend):
    path = the_file(name)
    example = FILES[name]()
    model = convert.from_onnx(path, args=example, to=backend, verify=False)
    found = model(**{key: native(x, backend, None) for key, x in example.items()})
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    expected = session.run(None, example)
    found = found if isinstance(found, tuple) else (found,)
    assert len(found) == len(expected)
    for x, y in zip(found, expected):
        scale = np.abs(y).max()
        assert scale > 1e-4
        # float32 through up to 70 layers, of which onnxruntime joins some
        np.testing.assert_allclose(trellis.to_numpy(x) / scale, y / scale, atol=2e-4)
    assert len(model.v.key_chains()) > 10


def test_a_real_file_trains(backend):
    """A step down the gradient makes the loss of a real model smaller."""
    name = "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx"
    example = {"x": an_image(48, 192, 2)}
    model = convert.from_onnx(the_file(name), args=example, to=backend, verify=False)
    x = native(example["x"], backend, None)

    def loss(v):
        return trellis.mean(-trellis.log(model(x, v=v)[:, 1] + 1e-6))

    before, grads = trellis.value_and_grad(loss)(model.v)
    size = sum([float(trellis.to_numpy(trellis.sum(g * g))) for g in trellis.tree.leaves(grads)])
    assert size > 0
    step = 0.01 * float(before) / size
    after = loss(trellis.tree.map(lambda v, g: v - step * g, model.v, grads))
    assert float(after) < float(before)
