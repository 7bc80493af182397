"""The layers of `trellis.nn`: shapes, values, gradients, both modes, compiled and eager."""

import numpy as np
import pytest

import trellis
from conftest import compile_with
from trellis import errors, nn
from trellis.testing import assert_close


@pytest.fixture(autouse=True)
def _default_backend(request):
    if "backend" not in request.fixturenames:
        yield
        return
    with trellis.using_backend(request.getfixturevalue("backend")):
        trellis.seed(0)
        yield


def numbers(shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype("float32")


IMAGE, LINE, CUBE = (2, 6, 5, 3), (2, 7, 3), (2, 4, 3, 4, 3)

# What makes the layer, the shapes of its inputs, the shape of its (first) output.
LAYERS = {
    "Linear": (lambda: nn.Linear(3, 4), [LINE], (2, 7, 4)),
    "Linear without bias": (lambda: nn.Linear(3, 4, with_bias=False), [(3,)], (4,)),
    "Bilinear": (lambda: nn.Bilinear(3, 2, 4), [(5, 3), (5, 2)], (5, 4)),
    "Conv1D": (lambda: nn.Conv1D(3, 4, 3, 2, "SAME"), [LINE], (2, 4, 4)),
    "Conv2D": (lambda: nn.Conv2D(3, 4, [3, 2], 1, "VALID", dilations=(2, 1)), [IMAGE],
               (2, 2, 4, 4)),
    "Conv2D groups": (lambda: nn.Conv2D(4, 6, 3, 1, "SAME", groups=2), [(2, 5, 5, 4)],
                      (2, 5, 5, 6)),
    "Conv2D channel first": (
        lambda: nn.Conv2D(3, 4, 3, 1, "SAME", data_format="NCHW", with_bias=False), [(2, 3, 6, 5)],
        (2, 4, 6, 5)
    ),
    "Conv3D": (lambda: nn.Conv3D(3, 4, 2, 1, [(0, 1), (1, 0), (0, 0)]), [CUBE], (2, 4, 3, 3, 4)),
    "Conv1DTranspose": (lambda: nn.Conv1DTranspose(3, 4, 3, 2, "SAME"), [LINE], (2, 14, 4)),
    "Conv2DTranspose": (
        lambda: nn.Conv2DTranspose(3, 4, 3, 2, "SAME", output_shape=(11, 10)), [IMAGE],
        (2, 11, 10, 4)
    ),
    "Conv3DTranspose": (lambda: nn.Conv3DTranspose(3, 4, 2, 2, "VALID"), [CUBE], (2, 8, 6, 8, 4)),
    "DepthwiseConv2D": (lambda: nn.DepthwiseConv2D(3, 3, 1, "SAME"), [IMAGE], IMAGE),
    "DepthwiseConv2D channel first": (
        lambda: nn.DepthwiseConv2D(3, 3, 1, "SAME", data_format="NCHW"), [(2, 3, 6, 5)],
        (2, 3, 6, 5)
    ),
    "SeparableConv2D": (lambda: nn.SeparableConv2D(3, 4, 3, 1, "SAME"), [IMAGE], (2, 6, 5, 4)),
    "LSTM": (lambda: nn.LSTM(3, 4, num_layers=2, bidirectional=True), [LINE], (2, 7, 8)),
    "GRU": (lambda: nn.GRU(3, 4, num_layers=2), [LINE], (2, 7, 4)),
    "RNN": (lambda: nn.RNN(3, 4, bidirectional=True, time_major=True), [LINE], (2, 7, 8)),
    "MultiHeadAttention": (lambda: nn.MultiHeadAttention(4, num_heads=2), [(2, 5, 4)], (2, 5, 4)),
    "MultiHeadAttention of other widths": (
        lambda: nn.MultiHeadAttention(4, num_heads=2, key_dim=3, value_dim=6, add_bias_kv=True),
        [(2, 5, 4), (2, 7, 3), (2, 7, 6)], (2, 5, 4),
    ),
    "TransformerEncoderLayer": (
        lambda: nn.TransformerEncoderLayer(4, num_heads=2, feedforward_channels=8), [(2, 5, 4)],
        (2, 5, 4)
    ),
    "TransformerDecoderLayer": (
        lambda: nn.TransformerDecoderLayer(4, num_heads=2, feedforward_channels=8, norm_first=True,
                                           activation="gelu"),
        [(2, 5, 4), (2, 3, 4)], (2, 5, 4),
    ),
    "TransformerEncoder": (
        lambda: nn.TransformerEncoder(2, 4, num_heads=2, feedforward_channels=8, norm_first=True),
        [(2, 5, 4)], (2, 5, 4),
    ),
    "TransformerDecoder": (
        lambda: nn.TransformerDecoder(1, 4, num_heads=2, feedforward_channels=8),
        [(2, 5, 4), (2, 3, 4)], (2, 5, 4),
    ),
    "Transformer": (
        lambda: nn.Transformer(4, num_heads=2, num_layers=1, feedforward_channels=8),
        [(2, 3, 4), (2, 5, 4)], (2, 5, 4),
    ),
    "MixtureOfExperts": (
        lambda: nn.MixtureOfExperts(4, 6, num_experts=3, num_chosen=3), [(2, 5, 4)], (2, 5, 4)
    ),
    "Mamba": (lambda: nn.Mamba(4, state_channels=3, window=3), [(2, 5, 4)], (2, 5, 4)),
    "PixelShuffle": (lambda: nn.PixelShuffle(2), [(2, 3, 2, 8)], (2, 6, 4, 2)),
    "PixelUnshuffle": (
        lambda: nn.PixelUnshuffle(2, data_format="NCHW"), [(2, 3, 6, 4)], (2, 12, 3, 2)
    ),
    "Unfold": (lambda: nn.Unfold((2, 3), 1), [IMAGE], (2, 15, 18)),
    "Fold": (lambda: nn.Fold(8, 2), [(2, 4, 6)], (2, 8, 3)),
    "Upsample": (lambda: nn.Upsample(2, "bilinear"), [IMAGE], (2, 12, 10, 3)),
    "WeightNorm": (lambda: nn.WeightNorm(nn.Conv2D(3, 4, 3, 1, "SAME")), [IMAGE], (2, 6, 5, 4)),
    "SpectralNorm": (lambda: nn.SpectralNorm(nn.Linear(3, 4)), [LINE], (2, 7, 4)),
    "Dropout": (lambda: nn.Dropout(0.5), [LINE], LINE),
    "Dropout1D": (lambda: nn.Dropout1D(0.5), [LINE], LINE),
    "Dropout2D": (lambda: nn.Dropout2D(0.5, data_format="NCHW"), [IMAGE], IMAGE),
    "Dropout3D": (lambda: nn.Dropout3D(0.5), [CUBE], CUBE),
    "DropPath": (lambda: nn.DropPath(0.5), [IMAGE], IMAGE),
    "AlphaDropout": (lambda: nn.AlphaDropout(0.5), [LINE], LINE),
    "LayerNorm": (lambda: nn.LayerNorm(3), [LINE], LINE),
    "LayerNorm of two axes": (lambda: nn.LayerNorm((7, 3), with_bias=False), [LINE], LINE),
    "RMSNorm": (lambda: nn.RMSNorm(3), [LINE], LINE),
    "BatchNorm1D": (lambda: nn.BatchNorm1D(3), [(6, 3)], (6, 3)),
    "BatchNorm2D": (lambda: nn.BatchNorm2D(3), [IMAGE], IMAGE),
    "BatchNorm2D channel first": (lambda: nn.BatchNorm2D(6, data_format="NCHW"), [IMAGE], IMAGE),
    "BatchNorm3D": (lambda: nn.BatchNorm3D(3), [CUBE], CUBE),
    "BatchNorm2D without statistics": (
        lambda: nn.BatchNorm2D(3, track_running_stats=False, affine=False), [IMAGE], IMAGE
    ),
    "GroupNorm": (lambda: nn.GroupNorm(2, 4), [(2, 5, 4)], (2, 5, 4)),
    "InstanceNorm1D": (lambda: nn.InstanceNorm1D(3, affine=True), [LINE], LINE),
    "InstanceNorm2D": (lambda: nn.InstanceNorm2D(6, data_format="NCHW"), [IMAGE], IMAGE),
    "InstanceNorm3D": (lambda: nn.InstanceNorm3D(3), [CUBE], CUBE),
    "ReLU": (nn.ReLU, [LINE], LINE),
    "ReLU6": (nn.ReLU6, [LINE], LINE),
    "LeakyReLU": (lambda: nn.LeakyReLU(negative_slope=0.2), [LINE], LINE),
    "PReLU": (lambda: nn.PReLU(3), [LINE], LINE),
    "Sigmoid": (nn.Sigmoid, [LINE], LINE),
    "LogSigmoid": (nn.LogSigmoid, [LINE], LINE),
    "HardSigmoid": (nn.HardSigmoid, [LINE], LINE),
    "HardSwish": (nn.HardSwish, [LINE], LINE),
    "HardTanh": (nn.HardTanh, [LINE], LINE),
    "Tanh": (nn.Tanh, [LINE], LINE),
    "Softplus": (nn.Softplus, [LINE], LINE),
    "Softsign": (nn.Softsign, [LINE], LINE),
    "ELU": (nn.ELU, [LINE], LINE),
    "SELU": (nn.SELU, [LINE], LINE),
    "GELU": (lambda: nn.GELU(approximate=True), [LINE], LINE),
    "SiLU": (nn.SiLU, [LINE], LINE),
    "Mish": (nn.Mish, [LINE], LINE),
    "Softmax": (lambda: nn.Softmax(axis=1), [LINE], LINE),
    "LogSoftmax": (nn.LogSoftmax, [LINE], LINE),
    "GLU": (nn.GLU, [(2, 4)], (2, 2)),
    "GEGLU": (nn.GEGLU, [(2, 4)], (2, 2)),
    "SwiGLU": (nn.SwiGLU, [(2, 4)], (2, 2)),
    "MaxPool1D": (lambda: nn.MaxPool1D(2), [LINE], (2, 3, 3)),
    "MaxPool2D": (lambda: nn.MaxPool2D(2, 1, "SAME"), [IMAGE], IMAGE),
    "MaxPool3D": (lambda: nn.MaxPool3D(2), [CUBE], (2, 2, 1, 2, 3)),
    "AvgPool1D": (lambda: nn.AvgPool1D(2), [LINE], (2, 3, 3)),
    "AvgPool2D": (lambda: nn.AvgPool2D((3, 2), data_format="NCHW"), [(2, 3, 6, 5)], (2, 3, 2, 2)),
    "AvgPool3D": (lambda: nn.AvgPool3D(2), [CUBE], (2, 2, 1, 2, 3)),
    "GlobalAvgPool": (nn.GlobalAvgPool, [IMAGE], (2, 3)),
    "GlobalMaxPool": (lambda: nn.GlobalMaxPool(keepdims=True), [IMAGE], (2, 1, 1, 3)),
    "AdaptiveAvgPool": (lambda: nn.AdaptiveAvgPool((3, 2)), [IMAGE], (2, 3, 2, 3)),
    "AdaptiveMaxPool": (lambda: nn.AdaptiveMaxPool(2), [LINE], (2, 2, 3)),
    "Identity": (nn.Identity, [LINE], LINE),
    "Flatten": (nn.Flatten, [IMAGE], (2, 90)),
    "Checkpoint": (lambda: nn.Checkpoint(nn.Linear(3, 2)), [LINE], (*LINE[:-1], 2)),
    "Sequential": (
        lambda: nn.Sequential(nn.Conv2D(3, 4, 3, 1, "SAME"), nn.ReLU(), nn.Flatten(),
                              nn.Linear(120, 2)),
        [IMAGE], (2, 2),
    ),
}  # fmt: skip


def first(result):
    return result[0] if isinstance(result, tuple) else result


def test_every_layer_is_in_the_table():
    classes = {
        name for name, value in vars(nn).items()
        if isinstance(value, type) and issubclass(value, trellis.Module)
        and value is not trellis.Module
    }  # fmt: skip
    losses = {name for name in classes if name.endswith("Loss")}
    assert losses == {type(loss).__name__ for loss, _, _ in losses_and_functions()}
    assert classes - losses - {"Embedding"} == {label.split()[0] for label in LAYERS}


def make_layers(backend, dtype="float32"):
    """All layers; made on NumPy, because JAX would compile each operation of each initial value."""
    layers = []
    with trellis.using_backend("numpy"), trellis.using_default_dtype(dtype):
        for make, _, _ in LAYERS.values():
            layer = make()
            layer.v = trellis.to_backend(layer.v, backend)
            layer.buffers = trellis.to_backend(layer.buffers, backend)
            layers.append(layer)
    return layers


def compile_quickly(backend, fn):
    """XLA with few optimisations: what is wanted here are the numbers, not their speed."""
    if backend != "jax":
        return compile_with(backend, fn)
    import jax

    options = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}
    return jax.jit(fn, compiler_options=options)


def native_inputs(backend, dtype="float32"):
    return [
        [trellis.asarray(numbers(shape).astype(dtype), backend=backend) for shape in shapes]
        for _, shapes, _ in LAYERS.values()
    ]


def test_layers(backend):
    """Output shapes, dtypes and backends; in training, gradients that reach every variable and the
    input."""
    layers = make_layers(backend)
    cots = [trellis.asarray(numbers(shape, 1), backend=backend) for _, _, shape in LAYERS.values()]
    key = trellis.random.key(0, backend=backend)

    def everything(vs, xs, cots, key):
        results = []
        for layer, v, x, cot in zip(layers, vs, xs, cots, strict=True):

            def loss(v, x, layer=layer, cot=cot):
                y = first(layer.apply(v, None, *x)[0])
                return trellis.sum(y * cot), y

            with trellis.random.stream(key):
                results.append(trellis.value_and_grad(loss, argnums=(0, 1), has_aux=True)(v, x))
        return results

    # On JAX one compilation takes far less time than one for each operation of each layer.
    run = compile_quickly(backend, everything) if backend == "jax" else everything
    results = run([layer.v for layer in layers], native_inputs(backend), cots, key)
    for (label, (_, _, out_shape)), layer, result in zip(
        LAYERS.items(), layers, results, strict=True
    ):
        (_, y), (grads, x_grads) = result
        assert tuple(y.shape) == out_shape, label
        assert trellis.dtype(y) == "float32", label
        assert trellis.backend_of(y) == backend, label
        assert grads.key_chains() == layer.v.key_chains(), label
        for chain in grads.key_chains():
            if "bias_k" not in chain:
                assert np.max(np.abs(trellis.to_numpy(grads[chain]))) > 0, (label, chain)
        for g in x_grads:
            assert np.max(np.abs(trellis.to_numpy(g))) > 0, label
        assert repr(layer).startswith(label.split()[0])


def test_layers_in_float64(backend, x64):
    with x64():
        layers = make_layers(backend, "float64")
        for layer in layers:
            layer.eval()
            assert {
                str(trellis.dtype(leaf)) for leaf in trellis.tree.leaves(layer.state_dict())
            } <= {"float64"}

        def run(xs):
            return [first(layer(*x)) for layer, x in zip(layers, xs, strict=True)]

        xs = native_inputs(backend, "float64")
        if backend == "jax":
            import jax

            ys = jax.eval_shape(run, xs)
            assert {str(y.dtype) for y in ys} == {"float64"}
        else:
            assert {str(trellis.dtype(y)) for y in run(xs)} == {"float64"}


def test_compiled_layers(backend):
    """All layers in one compiled function, in evaluation mode."""
    layers = [layer.eval() for layer in make_layers(backend)]
    xs = native_inputs(backend)
    vs = [layer.v for layer in layers]
    eager = [first(layer(*x)) for layer, x in zip(layers, xs, strict=True)]

    def run(vs, xs):
        return [first(layer(*x, v=v)) for layer, v, x in zip(layers, vs, xs, strict=True)]

    # trellis.compile leaves AutoGraph out, which would take a minute to rewrite all of this; the
    # training step below runs with it.
    fast = trellis.compile(run) if backend == "tensorflow" else compile_quickly(backend, run)
    for label, got, want in zip(LAYERS, fast(vs, xs), eager, strict=True):
        np.testing.assert_allclose(
            trellis.to_numpy(got), trellis.to_numpy(want), rtol=1e-4, atol=1e-5, err_msg=label
        )


# Values
# --------------------------------------------------------------------------------------------------


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def lstm_formula(x, part):
    h = c = np.zeros((x.shape[0], part["r"].shape[0]))
    hs = []
    for t in range(x.shape[1]):
        i, f, g, o = np.split(x[:, t] @ part["w"] + part["b"] + h @ part["r"], 4, axis=-1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        hs.append(h)
    return np.stack(hs, axis=1), h, c


def gru_formula(x, part):
    h = np.zeros((x.shape[0], part["r"].shape[0]))
    hs = []
    for t in range(x.shape[1]):
        xr, xz, xn = np.split(x[:, t] @ part["w"] + part["b"], 3, axis=-1)
        hr, hz, hn = np.split(h @ part["r"] + part["rb"], 3, axis=-1)
        r, z = sigmoid(xr + hr), sigmoid(xz + hz)
        h = (1 - z) * np.tanh(xn + r * hn) + z * h
        hs.append(h)
    return np.stack(hs, axis=1), h


def shaken(module):
    """All variables, also the biases, with numbers in them."""
    module.v = trellis.tree.map(
        lambda w: (
            w + trellis.asarray(0.3 * numbers(tuple(w.shape), 5), backend=trellis.backend_of(w))
        ),
        module.v,
    )
    return module, trellis.tree.map(lambda w: trellis.to_numpy(w).astype("float64"), module.v)


def test_recurrent_values(backend):
    x = numbers((2, 5, 3))
    native = trellis.asarray(x, backend=backend)
    module, v = shaken(nn.LSTM(3, 4, num_layers=2, bidirectional=True))
    want, hs, cs = x, [], []
    for i in range(2):
        forward, h0, c0 = lstm_formula(want, v[f"layer{i}"])
        backward, h1, c1 = lstm_formula(want[:, ::-1], v[f"layer{i}_reverse"])
        want = np.concatenate([forward, backward[:, ::-1]], axis=-1)
        hs += [h0, h1]
        cs += [c0, c1]
    y, (h, c) = module(native)
    for got, expected in ((y, want), (h, np.stack(hs)), (c, np.stack(cs))):
        np.testing.assert_allclose(trellis.to_numpy(got), expected, rtol=1e-4, atol=1e-6)
    # In two pieces, the second beginning where the first ended.
    module, _ = shaken(nn.LSTM(3, 4, num_layers=2))
    whole, (h, c) = module(native)
    left, state = module(native[:, :2])
    right, (h2, c2) = module(native[:, 2:], state)
    np.testing.assert_allclose(
        trellis.to_numpy(right), trellis.to_numpy(whole)[:, 2:], rtol=1e-4, atol=1e-6
    )
    np.testing.assert_allclose(trellis.to_numpy(c2), trellis.to_numpy(c), rtol=1e-4, atol=1e-6)

    module, v = shaken(nn.GRU(3, 4))
    y, h = module(native)
    want, last = gru_formula(x, v["layer0"])
    np.testing.assert_allclose(trellis.to_numpy(y), want, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(trellis.to_numpy(h), last[None], rtol=1e-4, atol=1e-6)

    module, v = shaken(nn.RNN(3, 4, nonlinearity="relu", return_sequence=False, return_state=False))
    h, part = np.zeros((2, 4)), v["layer0"]
    for t in range(5):
        h = np.maximum(x[:, t] @ part["w"] + part["b"] + h @ part["r"], 0)
    np.testing.assert_allclose(trellis.to_numpy(module(native)), h, rtol=1e-4, atol=1e-6)
    with pytest.raises(errors.ArgumentError):
        nn.RNN(3, 4, nonlinearity="sin")
    with pytest.raises(errors.ArgumentError):
        nn.LSTM(3, 4, num_layers=0)


def test_functions_behind_the_layers(backend):
    """Layers compute what the functions do with their variables."""
    x = trellis.asarray(numbers(IMAGE), backend=backend)
    layer, _ = shaken(nn.Conv2D(3, 4, (3, 2), 2, "SAME"))
    assert tuple(layer.v.w.shape) == (3, 2, 3, 4)
    assert tuple(layer.v.b.shape) == (4,)
    want = trellis.conv2d(x, layer.v.w, 2, "SAME", bias=layer.v.b)
    assert_close(layer(x), trellis.to_numpy(want))
    layer, _ = shaken(nn.Conv2DTranspose(3, 4, 3, 2, "SAME"))
    want = trellis.conv2d_transpose(x, layer.v.w, 2, "SAME", bias=layer.v.b)
    assert_close(layer(x), trellis.to_numpy(want))
    layer, _ = shaken(nn.DepthwiseConv2D(3, 3, 1, "SAME"))
    want = trellis.depthwise_conv2d(x, layer.v.w, 1, "SAME") + layer.v.b
    assert_close(layer(x), trellis.to_numpy(want))
    first_channels = nn.Conv2D(3, 4, 3, 1, "SAME", data_format="NCHW")
    last = nn.Conv2D(3, 4, 3, 1, "SAME", v=first_channels.v)
    turned = trellis.permute_dims(
        first_channels(trellis.permute_dims(x, (0, 3, 1, 2))), (0, 2, 3, 1)
    )
    assert_close(turned, trellis.to_numpy(last(x)), rtol=1e-5)
    with pytest.raises(errors.ArgumentError, match="NHWC"):
        nn.Conv2D(3, 4, 3, 1, "SAME", data_format="NWC")
    layer, v = shaken(nn.Bilinear(3, 2, 4))
    a, b = numbers((5, 3)), numbers((5, 2), 1)
    want = np.einsum("ni,kij,nj->nk", a, v["w"], b) + v["b"]
    got = layer(trellis.asarray(a, backend=backend), trellis.asarray(b, backend=backend))
    np.testing.assert_allclose(trellis.to_numpy(got), want, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("backend", ["torch"], indirect=True)
def test_transformer_layers_equal_torch(backend):
    """An independent implementation with the same weights: torch.nn."""
    import torch

    x, memory = torch.tensor(numbers((2, 5, 8))), torch.tensor(numbers((2, 3, 8), 1))
    for is_decoder in (False, True):
        for norm_first in (False, True):
            make = (
                torch.nn.TransformerDecoderLayer if is_decoder else torch.nn.TransformerEncoderLayer
            )
            theirs = make(8, 2, 16, dropout=0.0, batch_first=True, norm_first=norm_first)
            cls = nn.TransformerDecoderLayer if is_decoder else nn.TransformerEncoderLayer
            ours = cls(
                8,
                num_heads=2,
                feedforward_channels=16,
                dropout=0.0,
                norm_first=norm_first,
                backend="torch",
            )
            v = ours.v.copy()
            attentions = [("attention", theirs.self_attn)]
            if is_decoder:
                attentions.append(("cross_attention", theirs.multihead_attn))
            for name, part in attentions:
                v[f"{name}/in_proj_weights"], v[f"{name}/in_proj_bias"] = (
                    part.in_proj_weight,
                    part.in_proj_bias,
                )
                v[f"{name}/out_proj_weights"], v[f"{name}/out_proj_bias"] = (
                    part.out_proj.weight,
                    part.out_proj.bias,
                )
            for name in (
                "linear1",
                "linear2",
                "norm1",
                "norm2",
                *(["norm3"] if is_decoder else []),
            ):
                v[f"{name}/w"], v[f"{name}/b"] = (
                    getattr(theirs, name).weight,
                    getattr(theirs, name).bias,
                )
            ours.v = trellis.tree.map(lambda p: p.detach(), v)
            mask = torch.nn.Transformer.generate_square_subsequent_mask(5)
            if is_decoder:
                want = theirs(x, memory, tgt_mask=mask)
                got = ours(x, memory, is_causal=True)
            else:
                want, got = theirs(x, src_mask=mask), ours(x, is_causal=True)
            np.testing.assert_allclose(got.detach(), want.detach(), rtol=1e-4, atol=1e-5)
    with pytest.raises(errors.ArgumentError, match="relu"):
        nn.TransformerEncoderLayer(8, num_heads=2, activation="rely")


def test_batch_norm_statistics(backend):
    x = numbers((6, 4, 4, 3)) * 2 + 1
    native = trellis.asarray(x, backend=backend)
    layer, v = shaken(nn.BatchNorm2D(3, momentum=0.2))
    mean, var = x.mean(axis=(0, 1, 2)), x.var(axis=(0, 1, 2))
    want = (x - mean) / np.sqrt(var + 1e-5) * v["w"] + v["b"]
    np.testing.assert_allclose(trellis.to_numpy(layer(native)), want, rtol=1e-4, atol=1e-5)
    n = 6 * 16
    np.testing.assert_allclose(trellis.to_numpy(layer.buffers.mean), 0.2 * mean, rtol=1e-4)
    np.testing.assert_allclose(
        trellis.to_numpy(layer.buffers.var), 0.8 + 0.2 * var * n / (n - 1), rtol=1e-4
    )
    kept = trellis.tree.map(trellis.to_numpy, layer.buffers)
    # A gradient step leaves numbers in the buffers, nothing that is still being differentiated.
    trellis.grad(lambda v: trellis.mean(layer(native, v=v) ** 2))(layer.v)
    assert not np.allclose(trellis.to_numpy(layer.buffers.mean), kept["mean"])
    kept = trellis.tree.map(trellis.to_numpy, layer.buffers)
    layer.eval()
    want = (x - kept["mean"]) / np.sqrt(kept["var"] + 1e-5) * v["w"] + v["b"]
    np.testing.assert_allclose(trellis.to_numpy(layer(native)), want, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(trellis.to_numpy(layer.buffers.mean), kept["mean"])
    with pytest.raises(errors.ShapeError, match="4 axes"):
        layer(native[0])
    with pytest.raises(errors.ArgumentError, match="NHWC"):
        nn.BatchNorm2D(3, data_format="NWC")


class Small(trellis.Module):
    def __init__(self):
        self._conv = nn.Conv2D(1, 4, 3, 1, "SAME")
        self._norm = nn.BatchNorm2D(4)
        self._drop = nn.Dropout(0.3)
        self._head = nn.Linear(4, 2)
        super().__init__()

    def _forward(self, x):
        x = self._drop(trellis.functional.relu(self._norm(self._conv(x))))
        return self._head(trellis.mean(x, axis=(1, 2)))


def test_a_compiled_training_step(backend):
    """Convolution, batch norm and dropout: compiled equals eager, and nothing leaks out."""
    model = Small()
    x = trellis.asarray(numbers((4, 5, 5, 1)), backend=backend)
    v, buffers = model.v, model.buffers.copy()

    def step(v, buffers, x, key):
        def loss(v):
            with trellis.random.stream(key):
                y, new = model.apply(v, buffers, x)
            return trellis.mean(y * y), new

        (value, new), grads = trellis.value_and_grad(loss, has_aux=True)(v)
        return value, trellis.gradient_descent_update(v, grads, 0.1), new

    key = trellis.random.key(7, backend=backend)
    eager = step(v, buffers, x, key)
    fast = compile_quickly(backend, step)(v, buffers, x, key)
    for got, want in zip(trellis.tree.leaves(fast), trellis.tree.leaves(eager), strict=True):
        np.testing.assert_allclose(
            trellis.to_numpy(got), trellis.to_numpy(want), rtol=1e-4, atol=1e-6
        )
    assert float(trellis.max(trellis.abs(model.buffers["norm/mean"]))) == 0
    # The model is usable afterwards.
    assert model(x, v=fast[1], buffers=fast[2]).shape == (4, 2)


# Dropping
# ------------------------------------------------------------------------------------------------


def test_dropout_layers(backend):
    x = trellis.ones((4, 6, 5, 3))
    with trellis.using_backend("numpy"):
        trellis.seed(1)
        same = nn.Dropout(0.4)(trellis.ones((4, 6, 5, 3)))
    trellis.seed(1)
    layer = nn.Dropout(0.4)
    y = trellis.to_numpy(layer(x))
    np.testing.assert_array_equal(y, same)
    assert set(np.unique(y)) == {np.float32(0), np.float32(1) / np.float32(0.6)}
    assert not np.array_equal(trellis.to_numpy(layer(x)), y)
    assert layer.eval()(x) is x
    assert set(np.unique(trellis.to_numpy(nn.Dropout(0.4, scale=False)(x)))) == {0, 1}
    for layer, axes in ((nn.Dropout2D(0.5), (1, 2)),
                        (nn.Dropout2D(0.5, data_format="NCHW"), (2, 3)),
                        (nn.DropPath(0.5), (1, 2, 3))):  # fmt: skip
        y = trellis.to_numpy(layer(x))
        assert (y.max(axis=axes) == y.min(axis=axes)).all()
        assert set(np.unique(y)) == {0, 2}
    trellis.seed(0)
    z = trellis.to_numpy(nn.AlphaDropout(0.3)(trellis.random_normal(shape=(40000,))))
    assert abs(z.mean()) < 0.03
    assert abs(z.var() - 1) < 0.05
    with pytest.raises(errors.ArgumentError):
        nn.Dropout(1.5)


def losses_and_functions():
    """A loss module, the function behind it with the same options, and arguments."""
    f = trellis.functional
    x, t = numbers((4, 3)), numbers((4, 3), 1)
    classes, signs = np.array([0, 2, 1, 1], "int32"), np.sign(t)
    p, logs = 1 / (1 + np.exp(-x)), x - np.log(np.exp(x).sum(axis=-1, keepdims=True))
    targets = np.exp(t) / np.exp(t).sum(axis=-1, keepdims=True)
    lengths = [np.array(a, "int32") for a in ([[1, 2], [2, 1]], [4, 4], [2, 1])]
    sequence = [np.log(np.full((2, 4, 3), 1 / 3, "float32")), *lengths]
    return [
        (nn.MSELoss(reduction="sum"), lambda *a: f.mse_loss(*a, reduction="sum"), [x, t]),
        (nn.MAELoss(), f.mae_loss, [x, t]),
        (nn.HuberLoss(delta=0.5), lambda *a: f.huber_loss(*a, delta=0.5), [x, t]),
        (nn.PoissonNLLLoss(), f.poisson_nll_loss, [x, np.exp(t)]),
        (
            nn.CrossEntropyLoss(label_smoothing=0.1),
            lambda *a: f.cross_entropy(*a, label_smoothing=0.1),
            [x, classes],
        ),
        (nn.NLLLoss(), f.nll_loss, [logs, classes]),
        (nn.KLDivergenceLoss(), f.kl_divergence, [logs, targets]),
        (nn.BinaryCrossEntropyLoss(), f.binary_cross_entropy, [p, 1 / (1 + np.exp(-t))]),
        (
            nn.FocalLoss(gamma=1.0),
            lambda *a: f.focal_loss(*a, gamma=1.0),
            [x, (t > 0).astype("float32")],
        ),
        (nn.HingeLoss(), f.hinge_loss, [x, signs]),
        (nn.CosineLoss(), f.cosine_loss, [x, t]),
        (
            nn.TripletLoss(margin=2.0),
            lambda *a: f.triplet_loss(*a, margin=2.0),
            [x, t, numbers((4, 3), 2)],
        ),
        (nn.CTCLoss(), f.ctc_loss, sequence),
    ]


def test_losses(backend):
    for module, function, args in losses_and_functions():
        native = [trellis.asarray(a, backend=backend) for a in args]
        got, want = module(*native), function(*native)
        np.testing.assert_allclose(
            trellis.to_numpy(got), trellis.to_numpy(want), rtol=1e-6, err_msg=repr(module)
        )
        assert trellis.backend_of(got) == backend
    with pytest.raises(errors.ArgumentTypeError, match="reducton"):
        nn.MSELoss(reducton="sum")


def test_embedding(backend):
    layer = nn.Embedding(5, 3, padding_index=2)
    w = trellis.to_numpy(layer.v.w)
    assert (w[2] == 0).all()
    assert (w[1] != 0).all()
    indices = trellis.asarray([[1, 2], [4, 1]], backend=backend)
    assert_close(layer(indices), w[np.array([[1, 2], [4, 1]])])
    grads = trellis.grad(lambda v: trellis.sum(layer(indices, v=v)))(layer.v)
    np.testing.assert_array_equal(trellis.to_numpy(grads.w)[:, 0], [0, 2, 0, 0, 1])
    if backend != "numpy":
        fast = compile_with(backend, lambda v, i: layer(i, v=v))(layer.v, indices)
        assert_close(fast, w[np.array([[1, 2], [4, 1]])])
    with pytest.raises(errors.ArgumentError, match="padding_index"):
        nn.Embedding(5, 3, padding_index=5)


def test_sequential_and_flatten(backend):
    model = nn.Sequential(nn.Linear(2, 3), nn.Identity(), nn.Linear(3, 1))
    assert len(model) == 3
    assert model[2].v is model.v.layers.v2
    assert list(model.sub_mods()) == ["layers_v0", "layers_v1", "layers_v2"]
    x = trellis.ones((2, 3, 4))
    assert nn.Flatten()(x).shape == (2, 12)
    assert nn.Flatten(start=0)(x).shape == (24,)
    assert nn.Flatten(start=2)(x).shape == (2, 3, 4)


@pytest.mark.parametrize("backend", ["tensorflow"], indirect=True)
def test_compiled_with_unknown_batch(backend):
    """TensorFlow may trace with a batch whose size is not known."""
    import tensorflow as tf

    model = nn.Sequential(
        nn.Conv2D(3, 4, 3, 1, "SAME"), nn.BatchNorm2D(4), nn.ReLU(), nn.Flatten(), nn.Linear(120, 2)
    )
    model.eval()
    lstm = nn.LSTM(3, 4)
    signature = [tf.TensorSpec((None, 6, 5, 3)), tf.TensorSpec((None, 7, 3))]
    traced = tf.function(lambda x, s: (model(x), lstm(s)[0]), input_signature=signature)
    y, h = traced(tf.ones((3, 6, 5, 3)), tf.ones((3, 7, 3)))
    assert y.shape == (3, 2)
    assert h.shape == (3, 7, 4)
