"""Weights of torch layers in layers of ours: the same input gives the same output, and back."""

import numpy as np
import pytest

import trellis
from oracles import torch
from trellis import convert, nn
from trellis.testing import assert_close

# Sums of some hundred float32 products in another order, and a dozen steps of a recurrent layer.
RTOL, ATOL = 1e-4, 1e-5

RNG = np.random.default_rng(0)


def floats(*shape):
    return RNG.normal(size=shape).astype("float32")


def channel_first(x):
    return np.ascontiguousarray(np.moveaxis(x, -1, 1))


def channel_last(y):
    return np.moveaxis(y, 1, -1)


def same(x):
    return x


def first(outputs):
    return outputs[0]


class Row:
    """A torch layer, ours, and an input; images of torch have their channels first."""

    def __init__(self, theirs, ours, *inputs, images=False, out=same, out_torch=same):
        self.theirs, self.ours, self.inputs = theirs, ours, inputs
        self.to_torch = channel_first if images else same
        self.out, self.out_torch = out, out_torch
        self.from_torch = channel_last if images else same


def rows():
    tn = torch.nn
    image, volume, wave = floats(2, 7, 8, 4), floats(2, 5, 6, 5, 4), floats(2, 9, 4)
    sequence = floats(3, 6, 4)
    ids = np.array([[1, 2, 6], [0, 3, 3]], "int32")
    both = {"out": first, "out_torch": first}
    images = {"images": True}
    return {
        "linear": Row(lambda: tn.Linear(4, 3), lambda: nn.Linear(4, 3), floats(5, 4)),
        "linear without bias": Row(
            lambda: tn.Linear(4, 4, bias=False),
            lambda: nn.Linear(4, 4, with_bias=False),
            floats(5, 4),
        ),
        "bilinear": Row(
            lambda: tn.Bilinear(4, 3, 2),
            lambda: nn.Bilinear(4, 3, 2),
            floats(5, 4),
            floats(5, 3),
        ),
        "embedding": Row(lambda: tn.Embedding(7, 3), lambda: nn.Embedding(7, 3), ids),
        "prelu": Row(lambda: tn.PReLU(4), lambda: nn.PReLU(4), floats(5, 4)),
        "layer norm": Row(
            lambda: tn.LayerNorm((3, 4)), lambda: nn.LayerNorm((3, 4)), floats(2, 3, 4)
        ),
        "rms norm": Row(lambda: tn.RMSNorm(4, eps=1e-6), lambda: nn.RMSNorm(4), floats(2, 3, 4)),
        "group norm": Row(lambda: tn.GroupNorm(2, 4), lambda: nn.GroupNorm(2, 4), image, **images),
        "instance norm": Row(
            lambda: tn.InstanceNorm2d(4, affine=True),
            lambda: nn.InstanceNorm2D(4, affine=True),
            image,
            **images,
        ),
        "batch norm 1": Row(lambda: tn.BatchNorm1d(4), lambda: nn.BatchNorm1D(4), floats(5, 4)),
        "batch norm 2": Row(lambda: tn.BatchNorm2d(4), lambda: nn.BatchNorm2D(4), image, **images),
        "batch norm 3": Row(lambda: tn.BatchNorm3d(4), lambda: nn.BatchNorm3D(4), volume, **images),
        "batch norm without weights": Row(
            lambda: tn.BatchNorm1d(4, affine=False),
            lambda: nn.BatchNorm1D(4, affine=False),
            floats(5, 4),
        ),
        "conv 1": Row(
            lambda: tn.Conv1d(4, 6, 3), lambda: nn.Conv1D(4, 6, 3, 1, "VALID"), wave, **images
        ),
        "conv 2": Row(
            lambda: tn.Conv2d(4, 6, (3, 2), stride=2, padding=1),
            lambda: nn.Conv2D(4, 6, (3, 2), 2, [(1, 1), (1, 1)]),
            image,
            **images,
        ),
        "conv 2 in groups": Row(
            lambda: tn.Conv2d(4, 6, 3, groups=2, dilation=2, bias=False),
            lambda: nn.Conv2D(4, 6, 3, 1, "VALID", False, "NHWC", 2, 2),
            image,
            **images,
        ),
        "conv 2 channel first": Row(
            lambda: tn.Conv2d(4, 6, (3, 2)),
            lambda: nn.Conv2D(4, 6, (3, 2), 1, "VALID", data_format="NCHW"),
            channel_first(image),
        ),
        "conv 3": Row(
            lambda: tn.Conv3d(4, 6, (3, 2, 2)),
            lambda: nn.Conv3D(4, 6, (3, 2, 2), 1, "VALID"),
            volume,
            **images,
        ),
        "conv 1 transposed": Row(
            lambda: tn.ConvTranspose1d(4, 6, 3, stride=2),
            lambda: nn.Conv1DTranspose(4, 6, 3, 2, "VALID"),
            wave,
            **images,
        ),
        "conv 2 transposed": Row(
            lambda: tn.ConvTranspose2d(4, 6, (3, 2), stride=2),
            lambda: nn.Conv2DTranspose(4, 6, (3, 2), 2, "VALID"),
            image,
            **images,
        ),
        "conv 2 transposed in groups": Row(
            lambda: tn.ConvTranspose2d(4, 6, (3, 2), groups=2),
            lambda: nn.Conv2DTranspose(4, 6, (3, 2), 1, "VALID", groups=2),
            image,
            **images,
        ),
        "conv 3 transposed": Row(
            lambda: tn.ConvTranspose3d(4, 6, (3, 2, 2)),
            lambda: nn.Conv3DTranspose(4, 6, (3, 2, 2), 1, "VALID"),
            volume,
            **images,
        ),
        "depthwise": Row(
            lambda: tn.Conv2d(4, 4, (3, 2), groups=4),
            lambda: nn.DepthwiseConv2D(4, (3, 2), 1, "VALID"),
            image,
            **images,
        ),
        "separable": Row(
            lambda: tn.Sequential(tn.Conv2d(4, 4, 3, groups=4, bias=False), tn.Conv2d(4, 6, 1)),
            lambda: nn.SeparableConv2D(4, 6, 3, 1, "VALID"),
            image,
            **images,
        ),
        "lstm": Row(
            lambda: tn.LSTM(4, 5, batch_first=True), lambda: nn.LSTM(4, 5), sequence, **both
        ),
        "lstm, two layers, both directions": Row(
            lambda: tn.LSTM(4, 5, num_layers=2, bidirectional=True, batch_first=True),
            lambda: nn.LSTM(4, 5, num_layers=2, bidirectional=True),
            sequence,
            **both,
        ),
        "lstm without bias": Row(
            lambda: tn.LSTM(4, 5, bias=False, batch_first=True),
            lambda: nn.LSTM(4, 5, with_bias=False),
            sequence,
            **both,
        ),
        "gru": Row(lambda: tn.GRU(4, 5, batch_first=True), lambda: nn.GRU(4, 5), sequence, **both),
        "gru, two layers, both directions": Row(
            lambda: tn.GRU(4, 5, num_layers=2, bidirectional=True, batch_first=True),
            lambda: nn.GRU(4, 5, num_layers=2, bidirectional=True),
            sequence,
            **both,
        ),
        "rnn": Row(
            lambda: tn.RNN(4, 5, nonlinearity="relu", batch_first=True),
            lambda: nn.RNN(4, 5, nonlinearity="relu"),
            sequence,
            **both,
        ),
        "attention": Row(
            lambda: tn.MultiheadAttention(4, 2, batch_first=True),
            lambda: nn.MultiHeadAttention(4, 2),
            sequence,
            sequence[:, :3],
            sequence[:, 3:],
            out_torch=first,
        ),
        "attention of several widths": Row(
            lambda: tn.MultiheadAttention(4, 2, kdim=3, vdim=5, add_bias_kv=True, batch_first=True),
            lambda: nn.MultiHeadAttention(4, 2, key_dim=3, value_dim=5, add_bias_kv=True),
            sequence,
            floats(3, 2, 3),
            floats(3, 2, 5),
            out_torch=first,
        ),
        "encoder layer": Row(
            lambda: tn.TransformerEncoderLayer(4, 2, 8, batch_first=True),
            lambda: nn.TransformerEncoderLayer(4, 2, 8),
            sequence,
        ),
        "decoder layer": Row(
            lambda: tn.TransformerDecoderLayer(4, 2, 8, batch_first=True),
            lambda: nn.TransformerDecoderLayer(4, 2, 8),
            sequence,
            floats(3, 2, 4),
        ),
        "a model": Row(
            lambda: tn.Sequential(
                tn.Conv2d(4, 6, 3),
                tn.BatchNorm2d(6),
                tn.ReLU(),
                tn.Sequential(tn.Conv2d(6, 3, 1), tn.Tanh()),
            ),
            lambda: nn.Sequential(
                nn.Conv2D(4, 6, 3, 1, "VALID"),
                nn.BatchNorm2D(6),
                nn.ReLU(),
                nn.Sequential(nn.Conv2D(6, 3, 1, 1, "VALID"), nn.Tanh()),
            ),
            image,
            **images,
        ),
    }


NAMES = [
    "linear", "linear without bias", "bilinear", "embedding", "prelu", "layer norm", "rms norm",
    "group norm", "instance norm", "batch norm 1", "batch norm 2", "batch norm 3",
    "batch norm without weights", "conv 1", "conv 2", "conv 2 in groups", "conv 2 channel first",
    "conv 3", "conv 1 transposed", "conv 2 transposed", "conv 2 transposed in groups",
    "conv 3 transposed", "depthwise", "separable", "lstm", "lstm, two layers, both directions",
    "lstm without bias", "gru", "gru, two layers, both directions", "rnn", "attention",
    "attention of several widths", "encoder layer", "decoder layer", "a model",
]  # fmt: skip


def randomised(module):
    """Statistics, biases and scales that nothing can be mistaken for: all begin with 0 or 1."""
    generator = torch.Generator().manual_seed(0)
    for name, x in module.state_dict().items():
        if x.dtype.is_floating_point:
            noise = torch.rand(x.shape, generator=generator) + 0.5
            x.copy_(noise if name.endswith("running_var") else (noise - 1))
    return module.eval()


def of_torch(row, module):
    inputs = [torch.as_tensor(row.to_torch(x)) for x in row.inputs]
    with torch.no_grad():
        return row.from_torch(row.out_torch(module(*inputs)).numpy())


def test_every_row_has_a_name():
    assert list(rows()) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_torch_layer(backend, name):
    row = rows()[name]
    module = randomised(row.theirs())
    expected = of_torch(row, module)
    assert np.abs(expected).max() > 1e-2
    with trellis.using_backend(backend):
        model = row.ours().eval()
    report = convert.load_torch_weights(model, module.state_dict())
    assert report.is_complete and sorted(report.matched) == model.state_dict().key_chains()
    inputs = [trellis.asarray(x, backend=backend) for x in row.inputs]
    assert_close(row.out(model(*inputs)), expected, rtol=RTOL, atol=ATOL, backend=backend)
    # And back: a torch module that never saw these weights computes the same.
    again = row.theirs().eval()
    again.load_state_dict(convert.state_dict(model, like=again))
    np.testing.assert_allclose(of_torch(row, again), expected, rtol=RTOL, atol=ATOL)
