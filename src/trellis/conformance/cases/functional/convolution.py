from itertools import product

import numpy as np

from trellis import functional as F

from ..case import Case, numbers

line, image, volume = numbers(2, 5, 2), numbers(1, 4, 5, 2), numbers(1, 3, 3, 2, 1)
line_filters, image_filters = numbers(3, 2, 3, seed=1), numbers(2, 3, 2, 3, seed=1)
volume_filters = numbers(2, 2, 1, 1, 2, seed=1)


def correlated(x, w, step=1, low=0, high=0, dilation=1):
    """Channel last, by its definition: every position of the filter, one after another."""
    dims = x.ndim - 2
    x = np.pad(x, [(0, 0), *[(low, high)] * dims, (0, 0)])
    sizes, kernel = x.shape[1:-1], w.shape[:-2]
    outs = [(n - (k - 1) * dilation - 1) // step + 1 for n, k in zip(sizes, kernel, strict=True)]
    y = np.zeros((x.shape[0], *outs, w.shape[-1]))
    for at in product(*[range(k) for k in kernel]):
        spans = [
            slice(i * dilation, i * dilation + (out - 1) * step + 1, step)
            for i, out in zip(at, outs, strict=True)
        ]
        y = y + x[(slice(None), *spans)] @ w[at]
    return y


def spread(x, w, step=1):
    """The transposed convolution in full: each element of `x` adds a multiple of the filter."""
    sizes, kernel = x.shape[1:-1], w.shape[:-2]
    outs = [(n - 1) * step + k for n, k in zip(sizes, kernel, strict=True)]
    y = np.zeros((x.shape[0], *outs, w.shape[-2]))
    for at in product(*[range(k) for k in kernel]):
        spans = [slice(i, i + (n - 1) * step + 1, step) for i, n in zip(at, sizes, strict=True)]
        y[(slice(None), *spans)] += x @ w[at].T
    return y


def grouped(x, w, step, padding):
    parts = [correlated(x[..., :1], w[..., :2]), correlated(x[..., 1:], w[..., 2:])]
    return np.concatenate(parts, axis=-1)


def case(name, args, expected, **more):
    return Case(f"functional.{name}", args, expected, **more)


CASES = [
    case("conv1d", (line, line_filters, 1, "VALID"), lambda x, w, s, p: correlated(x, w)),
    case(
        "conv1d",
        (line, line_filters, 2, [(1, 2)]),
        lambda x, w, s, p: correlated(x, w, 2, 1, 2),
        about="strides and padding",
    ),
    case("conv2d", (image, image_filters, 1, "VALID"), lambda x, w, s, p: correlated(x, w)),
    case(
        "conv2d",
        (image, image_filters, 1, 2),
        lambda x, w, s, p: correlated(x, w, 1, 2, 2, dilation=2),
        about="dilations",
        kwargs={"dilations": 2},
    ),
    case(
        "conv2d",
        (image, image_filters, numbers(3)),
        lambda x, w, b: correlated(x, w) + b,
        about="bias",
        call=lambda x, w, b: F.conv2d(x, w, 1, "VALID", bias=b),
    ),
    case(
        "conv2d",
        (image.transpose(0, 3, 1, 2).copy(), image_filters, 1, "VALID"),
        lambda x, w, s, p: correlated(x.transpose(0, 2, 3, 1), w).transpose(0, 3, 1, 2),
        about="channel first",
        kwargs={"data_format": "NCHW"},
    ),
    case("conv3d", (volume, volume_filters, 1, "VALID"), lambda x, w, s, p: correlated(x, w)),
    case(
        "depthwise_conv2d",
        (image, numbers(2, 2, 2), 1, "VALID"),
        lambda x, w, s, p: np.concatenate(
            [correlated(x[..., i : i + 1], w[..., i].reshape(2, 2, 1, 1)) for i in range(2)], -1
        ),
    ),
    case(
        "conv_general_dilated",
        (line, numbers(3, 1, 4, seed=1), 1, "VALID"),
        grouped,
        kwargs={"dims": 1, "feature_group_count": 2},
    ),
    case(
        "conv1d_transpose",
        (line, numbers(3, 3, 2, seed=1), 2, "VALID"),
        lambda x, w, s, p: spread(x, w, 2),
    ),
    case(
        "conv2d_transpose",
        (image, numbers(2, 3, 3, 2, seed=1), 1, "VALID"),
        lambda x, w, s, p: spread(x, w),
    ),
    case(
        "conv2d_transpose",
        (image, numbers(2, 2, 3, 2, seed=1), 2, "SAME"),
        lambda x, w, s, p: spread(x, w, 2),
        about="same",
    ),
    case(
        "conv3d_transpose",
        (volume, numbers(2, 1, 2, 2, 1, seed=1), 1, "VALID"),
        lambda x, w, s, p: spread(x, w),
    ),
    case(
        "conv_general_transpose",
        (line, numbers(2, 1, 2, seed=1), 1, "VALID"),
        lambda x, w, s, p: np.concatenate(
            [spread(x[..., i : i + 1], w[..., i : i + 1]) for i in range(2)], -1
        ),
        kwargs={"dims": 1, "feature_group_count": 2},
    ),
]
