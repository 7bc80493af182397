"""Operations of torch, family by family: outputs and gradients of the converted graph equal those
of torch itself."""

from functools import partial

import numpy as np
import pytest

import trellis
from conftest import one_program
from oracles import torch
from oracles import torch_functional as TF
from trellis import convert

pytestmark = pytest.mark.needs("torch")

FAMILIES = {}


def family(fn):
    FAMILIES[fn.__name__] = fn
    return fn


def inputs():
    g = torch.Generator().manual_seed(0)

    def normal(*shape):
        return torch.randn(shape, generator=g)

    x = normal(3, 4)
    return {
        "x": x,
        "p": torch.rand(3, 4, generator=g) * 0.8 + 0.1,
        "i": torch.randint(0, 3, (3, 4), generator=g),
        "b": x > 0,
        "m": normal(2, 3, 4),
        "n": normal(2, 4, 5),
        "line": normal(2, 4, 11),
        "image": normal(2, 4, 9, 8),
        "volume": normal(1, 2, 5, 6, 4),
    }


@family
def unary(p):
    names = (
        "abs acos asin atan ceil cos cosh erf exp expm1 floor log1p neg reciprocal round sigmoid "
        "sign sin sinh sqrt square tan tanh trunc rsqrt log log10 log2 frac exp2"
    )
    return {name: getattr(torch, name)(p) for name in names.split()} | {
        "isnan": torch.isnan(p),
        "isfinite": torch.isfinite(torch.where(p > 0.4, float("inf"), p)),
        "isneginf": torch.isneginf(torch.where(p > 0.4, float("-inf"), p)),
        "signbit": torch.signbit(p - 0.5),
        "logit": torch.logit(p),
    }


@family
def binary(p, i):
    q = p.flip(0) + 0.3
    names = "add sub mul div maximum minimum atan2 hypot logaddexp fmod remainder copysign pow"
    found = {name: getattr(torch, name)(p, q) for name in names.split()}
    for name in "add sub mul div remainder fmod floor_divide".split():
        found[f"{name}_int"] = getattr(torch, name)(i - 1, i.flip(0) + 1)
    for mode in ("floor", "trunc"):
        found[f"div_{mode}"] = torch.div(p - 0.5, q, rounding_mode=mode)
        found[f"div_{mode}_int"] = torch.div(i - 2, i.flip(0) + 1, rounding_mode=mode)
    return found


@family
def promotion(x, p, i, b):
    wide = torch.tensor(2.0, dtype=torch.float64)
    return {
        "mixed": (x + i, x * b, i * b, i * 0.5, b + 1, i / 2, b * 1.5, 3 - x),
        "zero_dim": x * wide + torch.tensor(3),
        "alpha": torch.add(x, p, alpha=2) - torch.sub(p, x, alpha=0.5),
        "compared": (i > 1.5, i == i.flip(0), x < i, b != i, x >= 0.1),
        "bits": ((i & 1) | (i ^ 2), (i << 2) >> 1, ~i, ~b, b & (x > 1), b.logical_not()),
        "powers": (p**2, p**3, p**0.5, p**-0.5, p**-1, p**1.7, 2.0**p, p**4),
        "casts": (x.to(torch.int32), x.bool(), x.half().float(), i.float(), x.type_as(i)),
    }


@family
def choosing(x, p, i, b):
    return {
        "clamp": (x.clamp(-0.5, 0.5), x.clamp(min=0.1), x.clamp(max=0.1), i.clamp(1, 2)),
        "clamp_tensor": torch.clamp(x, min=x.flip(0) - 0.1),
        "where": (torch.where(b, x, p), torch.where(b, x, 0.0), torch.where(b, 1.0, 2.0)),
        "masked": (x.masked_fill(b, -1e9), x.masked_fill(b, float("-inf"))),
        "lerp": (torch.lerp(x, p, 0.3), torch.addcmul(x, x, p, value=0.5), torch.addcdiv(x, x, p)),
        "nan_to_num": torch.nan_to_num(torch.where(b, x, float("nan"))),
        "xlogy": torch.xlogy(i.float(), p),
        "other": (torch.max(x, p), torch.min(x, p)),
    }


@family
def activations(x, image):
    names = (
        "relu gelu silu hardswish hardsigmoid relu6 selu mish logsigmoid softsign elu celu "
        "leaky_relu softplus hardtanh hardshrink softshrink tanhshrink"
    )
    slopes = torch.tensor([0.1, 0.2, 0.3, 0.4])
    return {name: getattr(TF, name)(x * 3) for name in names.split()} | {
        "gelu_tanh": TF.gelu(x, approximate="tanh"),
        "prelu": TF.prelu(image, slopes),
        "prelu_one": TF.prelu(image, slopes[:1]),
        "glu": TF.glu(x, dim=1),
        "softmax": (x.softmax(-1), x.log_softmax(0)),
        "threshold": TF.threshold(x, 0.1, -2.0),
        "dropout": TF.dropout(x, 0.5, training=False),
    }


@family
def shapes(x, i, line, image):
    return {
        "view": (x.view(4, 3), x.reshape(-1), x.t(), x.T, x.permute(1, 0), x.unsqueeze(1)),
        "axes": (x[None].squeeze(), x.flatten(), x.unflatten(1, (2, 2)), x.movedim(0, 1)),
        "repeated": (x.expand(2, 3, 4), x.repeat(2, 1, 3), x.tile(2), x.repeat_interleave(2, 1)),
        "split": (x.split(3, 1), x.chunk(2, 1), x.split([1, 3], 1), x.unbind(0)),
        "joined": (torch.cat([x, i], 0), torch.stack([x, x], 1), torch.hstack([x, x])),
        "turned": (x.roll(1, 0), x.roll((1, 2), (0, 1)), x.roll(3), x.flip(0), x.flip((0, 1))),
        "padded": (TF.pad(line, (1, 2)), TF.pad(line, (1, 2, 0, 1), value=3.0)),
        "cut": TF.pad(line, (-1, 1)),
        "reflected": [TF.pad(image, (1, 2, 2, 1), mode=m) for m in ("reflect", "replicate")],
        "circular": TF.pad(line, (2, 1), mode="circular"),
        "windows": (line.unfold(2, 3, 2), TF.unfold(image, 3, padding=1, stride=2)),
        "shuffled": (TF.pixel_shuffle(image, 2), TF.pixel_unshuffle(image[:, :, :8], 2)),
        "strided": torch.as_strided(x, (2, 3), (4, 2), 1),
        "folded": TF.fold(TF.unfold(image, 3), (9, 8), 3),
    }


@family
def creation(x):
    return {
        "counted": (torch.arange(5), torch.arange(1, 7, 2), torch.arange(0.0, 1.0, 0.25)),
        "filled": (torch.zeros(2, 3), torch.ones(3), torch.full((2,), 4.0), torch.eye(3)),
        "alike": (torch.zeros_like(x), torch.ones_like(x), torch.full_like(x, 2)),
        "new": (x.new_zeros(2), x.new_ones(2, 2), x.new_full((2,), 3)),
        "triangles": (torch.tril(x), torch.triu(x, 1), torch.tril_indices(3, 3)),
        "windows": (torch.hann_window(5), torch.hamming_window(6, False), torch.blackman_window(4)),
        "others": (torch.linspace(0, 1, 5), torch.tensor([1.0, 2.0]), x * 1),
    }


@family
def reductions(x, i, b):
    edges = torch.tensor([-1.0, 0.25, 0.5, 2.0])
    return {
        "sums": (x.sum(), x.sum(1), x.sum((0, 1)), i.sum(), b.sum(1), i.prod(1), x.prod(1)),
        "means": (x.mean(), x.mean(1, keepdim=True), x.logsumexp(1)),
        "without nan": (torch.where(x > 0, x, torch.nan).nansum(1), x.nansum(0, keepdim=True)),
        "extremes": (x.amax(1), x.amin(0), x.max(), x.min(), x.max(1), x.min(0, keepdim=True)),
        "places": (x.argmax(), x.argmax(1), x.argmin(0, keepdim=True)),
        "truth": (b.any(), b.all(1), i.any(0)),
        "spread": (x.var(), x.var(1), x.std(0, unbiased=False), torch.var_mean(x, 1)),
        "norms": (x.norm(), x.norm(dim=1), x.norm(p=1, dim=1), TF.normalize(x, dim=1)),
        "running": (x.cumsum(1), x.cumprod(0), i.cumsum(0), b.cumsum(1), x.logcumsumexp(1)),
        "diff": (torch.diff(x, dim=1), torch.diff(i, prepend=i[:, :1])),
        "sorted": (x.sort(1), x.sort(0, descending=True), x.argsort(1), x.kthvalue(2, 1)),
        "topk": (x.topk(2, 1), x.topk(2, 0, largest=False), x.median(1)),
        "counted": (
            torch.histc(i.float(), bins=3, min=0, max=2),
            torch.bucketize(i.float(), torch.tensor([0.5, 1.5])),
        ),
        "searched": (
            *[torch.searchsorted(edges, x.detach(), side=side) for side in ("left", "right")],
            torch.searchsorted(edges, x.detach(), right=True),
            torch.searchsorted(edges.flip(0), x.detach(), sorter=torch.arange(4).flip(0)),
            torch.bucketize(x.detach(), edges, out_int32=True),
        ),
        "factors": (*torch.linalg.qr(x.detach().T, mode="complete"), *torch.linalg.qr(x.T)),
        "matrices": (torch.linalg.matrix_norm(x @ x.T + 1, "nuc"), torch.linalg.matrix_norm(x)),
    }


@family
def indexing(x, p, i, m):
    rows, columns = torch.tensor([0, 2]), torch.tensor([1, 3])
    return {
        "slices": (x[0], x[:, 1], x[1:], x[:, ::2], x[-1], x[..., None], x[:, -3:-1]),
        "arrays": (x[i[:, 0]], x[i[:, 0], i[:, 1]], x[:, i[0]], x[i], x[rows[:, None], columns]),
        "apart": (m[:, rows, rows], m[rows // 2, :, columns], m[torch.tensor([-1])]),
        "mask": x[torch.tensor([True, False, True])],
        "gather": (x.gather(0, i), x.gather(1, i), x.gather(1, i[:2, :2]), x.index_select(1, i[0])),
        "scatter": (x.scatter(1, i[:, :1], 2.0), x.scatter_add(0, i, p)),
        "scatter_reduce": (
            x.scatter_reduce(0, i, p, "amax"),
            x.scatter_reduce(0, i, p, "mean", include_self=False),
        ),
        "others": (x.index_add(0, i[0, :3], p), x.masked_scatter(x > 0, p), torch.take(x, i)),
        "embedding": (TF.embedding(i, x), TF.embedding(i, x, padding_idx=1), TF.one_hot(i, 4)),
        "diagonals": (torch.diag_embed(x), torch.diagonal(x, 1), torch.diag_embed(x, offset=1)),
    }


@family
def written_in_place(x, p, i):
    a = x.clone()
    a[0] = 1.0
    a[:, 1] = p[:, 0]
    a[1:, 2:] *= 2
    b = x.clone()
    b[i[:, 0], i[:, 1]] = 5.0
    c = x.clone()
    c[x > 0] = 0.0
    d = x.clone()
    d.index_put_((torch.tensor([0, 0]),), torch.ones(2, 4), accumulate=True)
    e = x.clone()
    e[:, torch.tensor([1, 2])] = p[:, :2]
    f = (x * 2).add_(1).relu_()
    return a, b, c, d, e, f


@family
def products(x, m, n):
    square = m @ m.mT + torch.eye(3)
    return {
        "matmul": (m @ n, torch.bmm(m, n), x @ x[0], torch.dot(x[0], x[1])),
        "added": (torch.baddbmm(torch.ones(2, 3, 5), m, n, beta=0.5, alpha=2)),
        "einsum": torch.einsum("b i j, b j k -> b i k", m, n),
        "others": (torch.outer(x[0], x[1]), TF.linear(m, x), torch.cdist(m, m + 1)),
        "attention": (
            TF.scaled_dot_product_attention(m, m, m),
            TF.scaled_dot_product_attention(m, m, m, is_causal=True),
            TF.scaled_dot_product_attention(m, m, m, attn_mask=torch.ones(3, 3).tril().bool()),
            TF.scaled_dot_product_attention(m, m, m, attn_mask=m[0, :, :3], scale=0.3),
        ),
        "algebra": (torch.linalg.inv(square), torch.linalg.det(square)),
        "solved": (torch.linalg.cholesky(square), torch.linalg.solve(square, m)),
        "ranks": (
            torch.linalg.matrix_rank(square),
            torch.linalg.matrix_rank(square, rtol=0.3, hermitian=True),
            torch.linalg.matrix_rank(torch.diag(1e-9 ** torch.arange(3.0)), rtol=0.0),
            torch.linalg.matrix_rank(x, atol=1.5, rtol=0.1),
            torch.linalg.matrix_rank(m, atol=m.detach()[:, 0, 0].abs()),
        ),
        "fourier": (torch.fft.fft(x).abs(), torch.fft.rfft(x).real, torch.fft.fft2(x).imag),
        "complex": torch.view_as_real(
            torch.polar(x[:, :2] ** 2, x[:, 2:]) * torch.view_as_complex(x.view(3, 2, 2))
        ),
    }


@family
def layers(image, line, volume):
    def weights(*shape):
        return torch.linspace(-1, 1, int(np.prod(shape))).cos().reshape(shape)

    w, grouped, back = weights(6, 4, 3, 3), weights(8, 2, 3, 3), weights(4, 5, 3, 3)
    return {
        "norms": (
            TF.layer_norm(image, (8,)),
            TF.layer_norm(image, (9, 8)),
            TF.rms_norm(image, (8,)),
        ),
        "channel_norms": (
            TF.group_norm(image, 2),
            TF.instance_norm(image),
            TF.batch_norm(image, torch.zeros(4) + 0.1, torch.ones(4) * 2),
        ),
        "conv": (TF.conv2d(image, w), TF.conv2d(image, w, torch.ones(6), 2, 1)),
        "conv_padding": (TF.conv2d(image, w, padding="same"), TF.conv2d(image[0], w)),
        "conv_dilated": TF.conv2d(image, w, padding=(1, 2), dilation=(2, 1)),
        "conv_grouped": TF.conv2d(image, grouped, groups=2, padding=1),
        "conv_1_3": (
            TF.conv1d(line, weights(6, 4, 3), stride=2, padding=1),
            TF.conv3d(volume, weights(3, 2, 2, 2, 2)),
        ),
        "transposed": (
            TF.conv_transpose2d(image, back, torch.ones(5), 2, 1),
            TF.conv_transpose2d(image, back, stride=2, padding=1, output_padding=1),
            TF.conv_transpose2d(image, back[:, :3], groups=2, dilation=2),
        ),
    }


@family
def pools(image, line):
    return {
        "max": (TF.max_pool2d(image, 2), TF.max_pool2d(image, 3, 2, 1), TF.max_pool1d(line, 2)),
        "avg": (TF.avg_pool2d(image, 3, 2, 1), TF.avg_pool1d(line, 3, 2, 1)),
        "not_counted": TF.avg_pool2d(image, 3, 2, 1, count_include_pad=False),
        "ceil": (
            TF.max_pool2d(image, 3, 2, ceil_mode=True),
            TF.avg_pool2d(image, 3, 2, 1, ceil_mode=True),
        ),
        "adaptive": (
            TF.adaptive_avg_pool2d(image, 1),
            TF.adaptive_avg_pool2d(image, (3, 4)),
            TF.adaptive_max_pool2d(image, (3, 4)),
        ),
        "nearest": (TF.interpolate(image, scale_factor=2), TF.interpolate(image, (5, 7))),
        "exact": TF.interpolate(image, (5, 7), mode="nearest-exact"),
        "linear": (
            TF.interpolate(image, (12, 5), mode="bilinear"),
            TF.interpolate(image, (12, 5), mode="bilinear", align_corners=True),
            TF.interpolate(line, 7, mode="linear"),
        ),
        "cubic": TF.interpolate(image, (12, 5), mode="bicubic"),
        "antialias": tuple(
            [
                TF.interpolate(image, size, mode=mode, align_corners=align, antialias=True)
                for mode in ("bilinear", "bicubic")
                for align in (True, False)
                for size in ((12, 5), (1, 3))
            ]
        ),
        "by_factor": TF.interpolate(image, scale_factor=1.7, mode="bilinear"),
        "sampled": TF.grid_sample(image, image[:, :2].permute(0, 2, 3, 1), align_corners=False),
    }


def module_of(fn, names):
    class Family(torch.nn.Module):
        def forward(self, *arrays):
            return fn(**dict(zip(names, arrays)))

    return Family()


@pytest.mark.parametrize("name", FAMILIES)
def test_outputs_and_gradients_are_those_of_torch(name, backend, array):
    fn = FAMILIES[name]
    names = fn.__code__.co_varnames[: fn.__code__.co_argcount]
    given = [inputs()[key] for key in names]
    model = convert.from_torch(module_of(fn, names), given, to=backend, verify=False)
    arrays = [
        array(x.numpy().astype("int32" if x.dtype == torch.int64 else None or x.numpy().dtype))
        for x in given
    ]
    # The shape of a mask's result depends on its values, which no program of JAX can know.
    as_program = (lambda fn: fn) if name == "indexing" else partial(one_program, backend)
    found = trellis.tree.leaves(as_program(model)(*arrays))
    leaves = [x.clone().requires_grad_(x.is_floating_point()) for x in given]
    expected = trellis.tree.leaves(convert.torch.nests.simplified(fn(*leaves), lambda x: x, []))
    assert len(found) == len(expected)
    # float32 on both sides, sums of up to some hundred terms in another order.
    for x, y in zip(found, expected):
        y = y.detach().numpy()
        assert tuple(x.shape) == y.shape
        scale = max(float(np.abs(y[np.isfinite(y)]).max(initial=0)), 1e-3)
        np.testing.assert_allclose(
            trellis.to_numpy(x).astype(y.dtype), y, rtol=1e-5, atol=1e-5 * scale
        )

    float_places = [i for i, x in enumerate(given) if x.is_floating_point()]
    smooth = [i for i, y in enumerate(expected) if y.requires_grad and bool(y.isfinite().all())]
    weights = [np.cos(np.arange(expected[i].numel(), dtype="float32")) for i in smooth]
    weights = [w.reshape(tuple(expected[i].shape)) for w, i in zip(weights, smooth)]
    if not smooth:
        return
    total = sum([(expected[i] * torch.from_numpy(w)).sum() for i, w in zip(smooth, weights)])
    wanted = torch.autograd.grad(total, [leaves[i] for i in float_places], allow_unused=True)

    def weighted(floats):
        full = list(arrays)
        for i, x in zip(float_places, floats):
            full[i] = x
        out = trellis.tree.leaves(model(*full))
        return sum([trellis.sum(out[i] * array(w)) for i, w in zip(smooth, weights)])

    gradient = as_program(trellis.grad(weighted))
    gradients = gradient([arrays[i] for i in float_places])
    for x, y, i in zip(gradients, wanted, float_places):
        y = np.zeros(tuple(given[i].shape), "float32") if y is None else y.numpy()
        scale = max(float(np.abs(y).max()), 1e-3)
        np.testing.assert_allclose(trellis.to_numpy(x), y, rtol=1e-4, atol=1e-4 * scale)


def test_complex_numbers_of_parts_that_are_not_finite(backend, array):
    class Parts(torch.nn.Module):
        def forward(self, real, imag):
            return torch.complex(real, imag)

    numbers = np.array([np.inf, -np.inf, np.nan, 1.0], "float32")
    parts = [np.repeat(numbers, 4), np.tile(numbers, 4)]
    model = convert.from_torch(Parts(), [torch.tensor(x) for x in parts], to=backend)
    found = trellis.to_numpy(model(*[array(x) for x in parts]))
    np.testing.assert_array_equal(found.real, parts[0])
    np.testing.assert_array_equal(found.imag, parts[1])
