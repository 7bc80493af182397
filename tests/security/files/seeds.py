"""Good files of every format, made in code: a file or several, by name."""

import contextlib
import tempfile
from pathlib import Path

import numpy as np


def _read(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(Path(folder).rglob("*"))
        if path.is_file()
    }


@contextlib.contextmanager
def _folder():
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def onnx_files():
    from onnx import TensorProto, helper, parser

    texts = [
        # A network.
        """<ir_version: 8, opset_import: ["" : 17]>
        g (float[N, 2, 6, 6] x) => (float[N, 3] y)
        <float[3, 2, 3, 3] conv = {CONV}, float[3] bias = {0.1, 0.2, 0.3}, float[48, 3] w = {W}> {
            a = Conv<strides = [1, 1], pads = [0, 0, 0, 0], group = 1>(x, conv, bias)
            b = Relu(a)
            p = MaxPool<kernel_shape = [2, 2], strides = [1, 1], pads = [0, 0, 1, 1]>(b)
            f = Flatten<axis = 1>(p)
            y = MatMul(f, w)
        }""",
        # Sizes that are computed.
        """<ir_version: 8, opset_import: ["" : 17]>
        g (float[N, 4] x) => (float[N, M] y)
        <int64[1] one = {1}, int64[1] zero = {0}, int64[2] twice = {1, 2},
         int64[4] pads = {0, 1, 0, 1}, int64 first = {0}, int64 last = {6}, int64 step = {2}> {
            s = Shape(x)
            n = Gather<axis = 0>(s, zero)
            t = Concat<axis = 0>(n, one)
            c = ConstantOfShape(t)
            e = Expand(c, s)
            a = Add(e, x)
            r = Tile(a, twice)
            q = Pad<mode = "constant">(r, pads)
            k = Range(first, last, step)
            f = Cast<to = 1>(k)
            m = ReduceSum<keepdims = 0>(f)
            y = Mul(q, m)
        }""",
        # A function of the file, and one of the standard.
        """<ir_version: 8, opset_import: ["" : 17, "own" : 1]>
        g (float[2, 3] x) => (float[2, 3] y) { a = own.twice(x) y = Softplus(a) }
        <domain: "own", opset_import: ["" : 17]>
        twice (x) => (z) { z = Add(x, x) }""",
        # Quantized, and a recurrent layer.
        """<ir_version: 8, opset_import: ["" : 17]>
        g (float[3, 1, 2] x) => (float[3, 1, 1, 2] y)
        <float[1, 8, 2] w = {R}, float[1, 8, 2] r = {R}, float scale = {0.1}, uint8 mid = {128}> {
            q = QuantizeLinear(x, scale, mid)
            d = DequantizeLinear(q, scale, mid)
            y, h, c = LSTM<hidden_size = 2>(d, w, r)
        }""",
    ]
    for name, count in (("{CONV}", 54), ("{W}", 144), ("{R}", 16)):
        texts = [text.replace(name, "{" + ", ".join(["0.1"] * count) + "}") for text in texts]
    found = [parser.parse_model(text).SerializeToString() for text in texts]
    body = helper.make_graph(
        [helper.make_node("Identity", ["c"], ["d"]), helper.make_node("Add", ["a", "a"], ["b"])],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("c", TensorProto.BOOL, []),
            helper.make_tensor_value_info("a", TensorProto.FLOAT, [2]),
        ],
        [
            helper.make_tensor_value_info("d", TensorProto.BOOL, []),
            helper.make_tensor_value_info("b", TensorProto.FLOAT, [2]),
        ],
    )
    graph = helper.make_graph(
        [helper.make_node("Loop", ["n", "", "x"], ["y"], body=body)],
        "loop",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])],
        [helper.make_tensor("n", TensorProto.INT64, [], [3])],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return [{"model.onnx": each} for each in (*found, made.SerializeToString())]


def torch_archives():
    import torch

    class Small(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = torch.nn.Conv2d(1, 2, 3)
            self.out = torch.nn.Linear(2, 3)

        def forward(self, x):
            x = torch.relu(self.conv(x)).mean((2, 3))
            return self.out(x).reshape(x.shape[0], 3)

    batch = torch.export.Dim("batch", min=2, max=64)
    found = []
    with _folder() as folder:
        for i, dynamic in enumerate([{"x": {0: batch}}, None]):
            program = torch.export.export(
                Small().eval(), (torch.ones(3, 1, 5, 5),), dynamic_shapes=dynamic
            )
            torch.export.save(program, folder / f"{i}.pt2")
            found.append({"model.pt2": (folder / f"{i}.pt2").read_bytes()})
    return found


def saved_models():
    import tensorflow as tf

    class Small(tf.Module):
        def __init__(self):
            super().__init__()
            self.w = tf.Variable(tf.ones((3, 2)), name="w")

        @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32, name="x")])
        def __call__(self, x):
            y = tf.nn.relu(tf.matmul(x, self.w))
            return {"y": tf.reshape(y, [tf.shape(x)[0], 2]) + tf.reduce_mean(y)}

    with _folder() as folder:
        model = Small()
        signatures = model.__call__.get_concrete_function()
        tf.saved_model.save(model, str(folder), signatures=signatures)
        return [_read(folder)]


def keras_files():
    import keras

    layers = keras.layers
    model = keras.Sequential(
        [layers.Input((6, 6, 1)), layers.Conv2D(2, 3, activation="relu"), layers.Flatten(),
         layers.Dense(3)]
    )  # fmt: skip
    with _folder() as folder:
        model.save(folder / "model.keras")
        model.save(folder / "model.h5")
        return [{name: content} for name, content in _read(folder).items()]


def a_module():
    import trellis

    nn = trellis.nn
    with trellis.using_backend("numpy"):
        return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1D(4), nn.Linear(4, 2))


def weights():
    with _folder() as folder:
        a_module().save_weights(folder / "weights.safetensors")
        return [_read(folder)]


def a_state():
    return {"v": a_module().v, "step": 3, "losses": [0.5, 0.25], "shape": (1, None, "x")}


def checkpoints():
    from trellis.train.checkpoint import save_checkpoint

    with _folder() as folder:
        save_checkpoint(folder / "run.ckpt", a_state(), extra={"epoch": 2})
        return [_read(folder)]


def pretrained():
    from trellis import models

    sizes = {"vocab_size": 9, "n_positions": 8}
    made = [
        models.GPT2(models.GPT2Config(n_embd=4, n_head=2, n_layer=2, **sizes)),
        models.Bert(
            models.BertConfig(
                vocab_size=9, hidden_size=4, num_hidden_layers=2, num_attention_heads=2,
                intermediate_size=8, max_position_embeddings=8,
            )
        ),
        models.Llama(
            models.LlamaConfig(
                vocab_size=9, hidden_size=8, num_hidden_layers=2, num_attention_heads=2,
                intermediate_size=8, num_key_value_heads=1,
            )
        ),
        models.ResNet(
            models.ResNetConfig(embedding_size=4, hidden_sizes=[4, 8], depths=[1, 1], num_labels=2)
        ),
    ]  # fmt: skip
    found = []
    for model in made:
        with _folder() as folder:
            model.save_pretrained(folder)
            found.append(_read(folder))
    return found


def tokenizers():
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    words = {word: i for i, word in enumerate(["[UNK]", "a", "b", "ab", "c"])}
    made = Tokenizer(models.WordPiece(words, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.normalizer = normalizers.Lowercase()
    pairs = Tokenizer(models.BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")]))
    return [{"tokenizer.json": each.to_str().encode()} for each in (made, pairs)]


def gguf_files():
    """Settings of every type, and an array in each format that is read."""

    def named(name):
        return np.array(len(name), "<u8").tobytes() + name

    def number(kind, *values):
        return np.array(values, kind).tobytes()

    settings = [
        named(b"general.alignment") + number("<u4", 4, 32),
        named(b"kind") + number("<u4", 8) + named(b"llama"),
        named(b"words") + number("<u4", 9, 8) + number("<u8", 2) + named(b"a") + named(b"bc"),
        named(b"sizes") + number("<u4", 9, 5) + number("<u8", 3) + number("<i4", 1, 2, 3),
        named(b"tied") + number("<u4", 7) + b"\1",
    ]
    arrays, data = [], b""
    for kind, count, size in ((0, 1, 4), (1, 1, 2), (2, 32, 18), (8, 32, 34), (12, 256, 144)):
        arrays.append(
            named(b"w%d" % kind) + number("<u4", 2) + number("<u8", 256, 2)
            + number("<u4", kind) + number("<u8", len(data))
        )  # fmt: skip
        data += bytes(range(32)) * (512 // count * size // 32)
    head = b"GGUF" + number("<u4", 3) + number("<u8", len(arrays), len(settings))
    head += b"".join([*settings, *arrays])
    return [{"model.gguf": head + bytes(-len(head) % 32) + data}]


def a_small_module():
    import trellis

    return trellis.nn.Sequential(*[trellis.nn.Linear(3, 3, backend="numpy") for _ in range(2)])


def adapters():
    import trellis

    found = []
    for variant in ("lora", "dora"):
        with _folder() as folder:
            model = trellis.nn.lora(a_small_module(), 2, variant=variant)
            trellis.nn.adapters.save(model, folder)
            found.append(_read(folder))
    return found


def recordings():
    import trellis
    from trellis._diverge.recording import record

    with _folder() as folder:
        made = record(lambda x: trellis.sum(trellis.exp(x) + 1), (np.ones(3),), gradients=True)
        made.save(folder / "a.rec")
        return [_read(folder)]


def junit():
    text = b"""<?xml version="1.0"?><testsuites><testsuite name="s" timestamp="2024-01-01T00:00:00">
    <testcase classname="ops.Unary" name="tanh[torch]" time="0.1"/>
    <testcase classname="ops" name="exp" time="0.2"><failure message="no">x</failure></testcase>
    <testcase classname="ops" name="log"><skipped message="why"/></testcase>
    <testcase classname="ops" name="sin"><error>broken</error><system-out>o</system-out></testcase>
    </testsuite></testsuites>"""
    return [{"results.xml": text}]


def tables():
    from trellis_board.tables import Cell, Table, write_table

    table = Table(
        ["jax", "torch"],
        {
            "test_a": {"jax": Cell("success", "https://example.org/1"), "torch": Cell("failure")},
            "test_b": {"jax": Cell("success")},
        },
    )
    return [{"table.txt": write_table(table).encode()}]


def stores():
    from trellis_board.junit import read_junit
    from trellis_board.recording import project_id, record_part
    from trellis_board.store import Store

    part = read_junit(junit()[0]["results.xml"], backend="torch", run="1", shard="a", at=1.0)
    with _folder() as folder:
        store = Store.open(folder / "board.sqlite")
        with store.writing() as connection:
            record_part(connection, project_id(connection, "p"), part)
        store.close()
        return [{"board.sqlite": (folder / "board.sqlite").read_bytes()}]


def described():
    """One file of each kind that `trellis inspect` knows and no reader above does."""
    import io

    import torch

    saved = io.BytesIO()
    torch.save({"w": torch.ones(2, 3), "b": [torch.zeros(2)]}, saved)
    return [{"model.pt": saved.getvalue()}]
