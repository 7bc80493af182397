"""Foreign models, pretrained ones and recomputation on MLX."""

import mlx.core as mx
import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

import trellis
from trellis import convert, models, nn

NUMBERS = np.random.default_rng(0)


def weights(*shape):
    return (NUMBERS.normal(size=shape) / np.sqrt(shape[-1])).astype("float32")


def node(op, inputs, outputs, **attributes):
    return onnx.helper.make_node(op, inputs.split(), outputs.split(), **attributes)


MLP = (
    [
        node("Gemm", "x w1 b1", "h", transB=1),
        node("Gelu", "h", "a"),
        node("LayerNormalization", "a s t", "n"),
        node("Gemm", "n w2 b2", "l", transB=1),
        node("LogSoftmax", "l", "y", axis=-1),
    ],
    {
        "w1": weights(8, 4),
        "b1": weights(8),
        "s": weights(8),
        "t": weights(8),
        "w2": weights(3, 8),
        "b2": weights(3),
    },
    weights(5, 4),
)
CNN = (
    [
        node("Conv", "x k b", "c", pads=[1, 1, 1, 1], strides=[2, 2]),
        node("BatchNormalization", "c g d m v", "n"),
        node("Relu", "n", "r"),
        node("MaxPool", "r", "p", kernel_shape=[2, 2], strides=[1, 1]),
        node("Conv", "p k2", "q", group=2),
        node("GlobalAveragePool", "q", "f"),
        node("Flatten", "f", "y"),
    ],
    {
        "k": weights(4, 3, 3, 3),
        "b": weights(4),
        "g": weights(4),
        "d": weights(4),
        "m": weights(4),
        "v": np.abs(weights(4)) + 1,
        "k2": weights(6, 2, 2, 2),
    },
    weights(2, 3, 8, 8),
)
RECURRENT = (
    [node("LSTM", "x w r b", "all last", hidden_size=3), node("Squeeze", "all one", "y")],
    {"w": weights(1, 12, 4), "r": weights(1, 12, 3), "b": weights(1, 24), "one": np.array([1])},
    weights(5, 2, 4),
)
ATTENTION = (
    [
        node("Gather", "table x", "e"),
        node("MatMul", "e wq", "q"),
        node("MatMul", "e wk", "k"),
        node("MatMul", "e wv", "v"),
        node("Transpose", "k", "kt", perm=[0, 2, 1]),
        node("MatMul", "q kt", "s"),
        node("Add", "s mask", "z"),
        node("Softmax", "z", "p", axis=-1),
        node("MatMul", "p v", "o"),
        node("Add", "o e", "y"),
    ],
    {
        "table": weights(11, 6),
        "wq": weights(6, 6),
        "wk": weights(6, 6),
        "wv": weights(6, 6),
        "mask": np.triu(np.full((4, 4), -1e9, "float32"), 1),
    },
    np.array([[1, 5, 2, 9], [0, 10, 3, 3]]),
)
UPSAMPLING = (
    [
        node("ConvTranspose", "x k", "c", strides=[2, 2], pads=[1, 1, 0, 0]),
        node(
            "Resize",
            "c none none sizes",
            "r",
            mode="linear",
            coordinate_transformation_mode="half_pixel",
        ),
        node("Pad", "r pads", "p", mode="reflect"),
        node("Sigmoid", "p", "y"),
    ],
    {
        "k": weights(2, 3, 3, 3),
        "none": np.zeros(0, "float32"),
        "sizes": np.array([1, 3, 10, 10]),
        "pads": np.array([0, 0, 1, 1, 0, 0, 1, 1]),
    },
    weights(1, 2, 4, 4),
)
SHAPES = (
    [node("TopK", "x k", "best places", axis=1), node("Cast", "places", "f", to=1),
     node("Concat", "best f", "c", axis=1), node("Slice", "c from to axes steps", "s"),
     node("ReduceL2", "s axes", "n", keepdims=1), node("Div", "s n", "d"),
     node("CumSum", "d one", "u"), node("Greater", "u zero", "is"), node("Where", "is u d", "y")],
    {"k": np.array([3]), "from": np.array([5]), "to": np.array([0]), "axes": np.array([1]),
     "steps": np.array([-2]), "one": np.array(1), "zero": np.array(0.0, "float32")},
    weights(3, 7),
)  # fmt: skip
PROGRAMS = {
    **{"mlp": MLP, "cnn": CNN, "lstm": RECURRENT, "attention": ATTENTION, "upsampling": UPSAMPLING},
    "shapes": SHAPES,
}


def onnx_model(nodes, constants, x):
    kinds = {"float32": onnx.TensorProto.FLOAT, "int64": onnx.TensorProto.INT64}
    graph = onnx.helper.make_graph(
        nodes, "program",
        [onnx.helper.make_tensor_value_info("x", kinds[x.dtype.name], x.shape)],
        [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)],
        [onnx.numpy_helper.from_array(value, name) for name, value in constants.items()],
    )  # fmt: skip
    opset = onnx.helper.make_opsetid("", 20)
    return onnx.helper.make_model(graph, opset_imports=[opset], ir_version=9)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_file_of_onnx_runs_on_mlx(name, tmp_path):
    """Compared with ONNX's own reference; with gradients, which NumPy computes too."""
    nodes, constants, x = PROGRAMS[name]
    file = tmp_path / "model.onnx"
    onnx.save(onnx_model(nodes, constants, x), file)
    model = convert.from_onnx(file, to="mlx", verify=False)
    (wanted,) = ReferenceEvaluator(str(file)).run(None, {"x": x})
    found = model(mx.array(x))
    assert isinstance(found, mx.array) and found.dtype == mx.float32
    # float32 through a few layers, sums in another order.
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(trellis.compile(model)(mx.array(x)), wanted, rtol=1e-5, atol=1e-6)
    if len(model.v.key_chains()) == 0:
        return
    other = convert.from_onnx(file, to="numpy", verify=False)
    gradients = [
        trellis.grad(lambda v, m=m, x=x: trellis.sum(m(x, v=v) ** 2))(m.v)
        for m, x in ((model, mx.array(x)), (other, x))
    ]
    for chain in gradients[1].key_chains():
        np.testing.assert_allclose(
            gradients[0][chain], gradients[1][chain], rtol=1e-4, atol=1e-5, err_msg=chain
        )


CONFIGURATIONS = {
    "gpt2": lambda: models.GPT2(
        models.GPT2Config(
            vocab_size=40, n_positions=32, n_embd=16, n_layer=2, n_head=2, initializer_range=0.5
        ),
        backend="numpy",
    ),
    "llama": lambda: models.Llama(
        models.LlamaConfig(
            vocab_size=40, hidden_size=16, intermediate_size=24, num_hidden_layers=2,
            num_attention_heads=4, num_key_value_heads=2,
            initializer_range=0.5,
        ),
        backend="numpy",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_a_pretrained_model_generates_the_same_tokens(name, tmp_path):
    trellis.seed(0)
    CONFIGURATIONS[name]().save_pretrained(tmp_path)
    tokens = {}
    for backend in ("numpy", "mlx"):
        model = models.from_pretrained(tmp_path, backend=backend)
        assert trellis.backend_of(model.v[model.v.key_chains()[0]]) == backend
        found = trellis.generate(model, [[3, 7, 1], [9, 9, 2]], max_new_tokens=12)
        drawn = trellis.generate(model, [[3, 7, 1]], max_new_tokens=12, temperature=0.9, seed=5)
        tokens[backend] = np.array(found).tolist(), np.array(drawn).tolist()
    assert tokens["mlx"] == tokens["numpy"]
    assert len({tuple(row) for row in tokens["mlx"][0]}) == 2


def test_diverge_against_numpy():
    trellis.seed(1)
    with trellis.using_backend("mlx"):
        model = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 2))
    x = mx.array(weights(5, 4))
    report = trellis.diverge(model, (x,), backends=("mlx", "numpy"))
    assert report.count >= 4 and report.differences == []

    def wrong(x):
        y = trellis.tanh(x)
        return y + 0.01 if trellis.backend_of(x) == "mlx" else y

    report = trellis.diverge(lambda x: trellis.exp(wrong(x)), (x,), backends=("mlx", "numpy"))
    assert report.differences


# Recomputation ------------------------------------------------------------------------------------


def counting():
    calls = []

    def fn(x, w):
        calls.append(1)
        return trellis.sin(trellis.exp(x) * w)

    return fn, calls


def test_checkpoint_computes_again():
    fn, calls = counting()
    x, w = mx.array([0.1, 0.2]), mx.array([0.3, 0.4])

    def both(fn):
        return trellis.value_and_grad(lambda x, w: trellis.sum(fn(x, w) ** 2), argnums=(0, 1))(x, w)

    value, gradients = both(trellis.checkpoint(fn))
    assert len(calls) == 2
    wanted, others = both(fn)
    assert float(value) == float(wanted)
    for found, other in zip(gradients, others, strict=True):
        np.testing.assert_allclose(found, other, rtol=1e-6)  # float32


def test_checkpoint_keeps_less_memory():
    def block(x):
        for _ in range(20):
            x = trellis.sin(x) + x * 0.5
        return x

    peaks = []
    x = mx.full((500, 500), 0.3)
    for fn in (block, trellis.checkpoint(block)):

        def loss(x, fn=fn):
            return trellis.sum(fn(fn(fn(fn(x)))))

        mx.clear_cache()
        mx.reset_peak_memory()
        mx.eval(*trellis.value_and_grad(loss)(x))
        peaks.append(mx.get_peak_memory())
    assert peaks[1] < 0.7 * peaks[0]  # 160 arrays of one block in four, and copies at its ends


def test_checkpoint_of_what_closes_over_arrays():
    """An array that is no argument, and is differentiated: its gradient is not lost."""
    fn, _ = counting()
    x, w = mx.array([0.1, 0.2]), mx.array([0.3, 0.4])

    def gradients(keep):
        def loss(x, w):
            twice = w * 2
            return trellis.sum(keep(lambda x: fn(x, twice))(x) ** 2)

        return trellis.grad(loss, argnums=(0, 1))(x, w)

    for found, wanted in zip(gradients(trellis.checkpoint), gradients(lambda f: f), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-6)  # float32


def test_second_derivatives_through_checkpoint():
    x = mx.array([0.1, 0.2], dtype=mx.float64)

    def second(fn):
        first = trellis.grad(lambda x: trellis.sum(fn(x)))
        return trellis.grad(lambda x: trellis.sum(first(x) ** 2))(x)

    def fn(x):
        return trellis.exp(x) * x

    np.testing.assert_allclose(second(trellis.checkpoint(fn)), second(fn), rtol=1e-14)
