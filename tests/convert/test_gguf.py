"""GGUF files against the gguf package: its writer's files, its own dequantisation, bit for bit."""

import numpy as np
import pytest

import trellis
from trellis import errors

KINDS = ["F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_K"]


@pytest.fixture
def gguf():
    return pytest.importorskip("gguf")


def blocks_of(gguf, kind, shape):
    """Bytes of a format: those of its quantisation where the package has one, else drawn, with
    scales that are numbers."""
    random = np.random.default_rng(0)
    number = gguf.GGMLQuantizationType[kind]
    if kind != "Q4_K":
        return gguf.quantize(random.normal(size=shape).astype("float32"), number)
    count, size = gguf.GGML_QUANT_SIZES[number]
    rows = random.integers(0, 256, (shape[0], shape[1] // count, size), dtype=np.uint8)
    scales = random.normal(size=(*rows.shape[:2], 2)).astype("float16")
    rows[..., :4] = scales.view(np.uint8)
    return rows.reshape(shape[0], -1)


@pytest.fixture
def path(gguf, tmp_path):
    writer = gguf.GGUFWriter(tmp_path / "model.gguf", "llama")
    writer.add_uint32("llama.block_count", 2)
    writer.add_float32("llama.epsilon", 0.5)
    writer.add_bool("llama.tied", True)
    writer.add_array("tokenizer.tokens", ["a", "b", "ab"])
    writer.add_array("tokenizer.kinds", [1, 1, 3])
    for kind in KINDS:
        raw = blocks_of(gguf, kind, (3, 512))
        writer.add_tensor(kind, raw, raw_dtype=gguf.GGMLQuantizationType[kind])
    writer.add_tensor("vector", np.arange(5, dtype="float32"))
    writer.add_tensor("other", np.zeros((2, 3), "int32"))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return tmp_path / "model.gguf"


def test_like_the_gguf_package(gguf, path):
    """Names, settings, shapes, and every bit of every format."""
    found, theirs = trellis.convert.read_gguf(path), gguf.GGUFReader(path)
    assert list(found) == [t.name for t in theirs.tensors]
    for tensor in theirs.tensors:
        if tensor.name == "other":
            continue
        expected = gguf.dequantize(tensor.data, tensor.tensor_type)
        array = found[tensor.name]
        assert array.dtype == np.float32
        assert array.shape == tuple(tensor.shape[::-1]) == found.shapes[tensor.name]
        assert array.tobytes() == np.ascontiguousarray(expected).tobytes(), tensor.name
    assert {name: found.formats[name] for name in KINDS} == dict(zip(KINDS, KINDS, strict=True))
    settings = found.metadata
    assert settings["llama.block_count"] == 2
    assert settings["llama.tied"] is True
    assert settings["llama.epsilon"] == 0.5
    assert settings["tokenizer.tokens"] == ["a", "b", "ab"]
    assert settings["tokenizer.kinds"].tolist() == [1, 1, 3]
    with pytest.raises(errors.NotSupportedError, match="format I32; read_gguf"):
        found["other"]


def head(*parts):
    return b"GGUF" + b"".join(parts)


def u32(*numbers):
    return np.array(numbers, "<u4").tobytes()


def u64(*numbers):
    return np.array(numbers, "<u8").tobytes()


def named(name):
    return u64(len(name)) + name


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "empty"),
        (b"GG", "ends too early"),
        (b"PK\3\4aaaa", "does not begin with GGUF"),
        (head(u32(1), u64(0, 0)), "version 1"),
        (head(u32(3), u64(2**60, 0)), "more than fit"),
        (head(u32(3), u64(0, 2**63)), "more than fit"),
        (head(u32(3), u64(0, 1), u64(2**40), b"a" * 50), "a name has"),
        (head(u32(3), u64(0, 1), named(b"a"), u32(8), u64(2**62)), "ends too early"),
        (head(u32(3), u64(0, 1), named(b"\xff"), u32(4, 0)), "not UTF-8"),
        (head(u32(3), u64(0, 1), named(b"a"), u32(77, 0)), "the type 77"),
        (head(u32(3), u64(0, 1), named(b"a"), u32(9, 10), u64(2**61), b"a" * 99), "ends too"),
        (head(u32(3), u64(0, 1), named(b"a"), *[u32(9) + (u32(9) + u64(1)) * 9]), "the type"),
        (head(u32(3), u64(1, 0), named(b"w"), u32(9), u64(*[1] * 9), u32(0), u64(0)), "9 axes"),
        (head(u32(3), u64(1, 0), named(b"w"), u32(2), u64(2**40, 2**40), u32(0), u64(0)), "beyond"),
        (head(u32(3), u64(1, 0), named(b"w"), u32(1), u64(33), u32(2), u64(0)), "no multiple"),
        (head(u32(3), u64(1, 0), named(b"w"), u32(1), u64(4), u32(99), u64(0)), "the format 99"),
        (head(u32(3), u64(1, 0), named(b"w"), u32(1), u64(1), u32(0), u64(2**63)), "beyond"),
        (head(u32(3), u64(0, 1), named(b"general.alignment"), u32(4, 3), bytes(9)), "alignment"),
    ],
)
def test_hostile_files(content, said, tmp_path):
    """Every count and length is checked before memory is taken for it."""
    (tmp_path / "bad.gguf").write_bytes(content)
    with pytest.raises(errors.TrellisError, match=said):
        trellis.convert.read_gguf(tmp_path / "bad.gguf")
