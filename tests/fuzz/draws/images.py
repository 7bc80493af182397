"""Functions of planes: convolutions, pooling, resizing, windows."""

import numpy as np
from hypothesis import strategies as st

from ..call import Call, Given
from ..drawing import COMMON_FLOATS, REAL, array, drawn, options

LETTERS = {1: ("NWC", "NCW"), 2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}
WORDS = ("channel_last", "channel_first")
FLOATS = (*COMMON_FLOATS, "int32")


def plane(draw, dims, channels, fmt_first, dtypes=FLOATS, least=1):
    batch = draw(st.sampled_from((1, 2, 0)))
    sizes = [draw(st.integers(least, 5 if dims < 3 else 3)) for _ in range(dims)]
    shape = (batch, channels, *sizes) if fmt_first else (batch, *sizes, channels)
    return array(draw, dtypes, shape), sizes


def padding(draw, dims):
    pairs = [(draw(st.integers(0, 2)), draw(st.integers(0, 2))) for _ in range(dims)]
    return draw(st.sampled_from(("VALID", "SAME", 1, 0, pairs)))


def steps(draw, dims, most=2):
    each = [draw(st.integers(1, most)) for _ in range(dims)]
    return draw(st.sampled_from((each[0], tuple(each))))


CONV = {f"functional.conv{n}d": n for n in (1, 2, 3)}
CONV_T = {f"functional.conv{n}d_transpose": n for n in (1, 2, 3)}


@drawn(*CONV, "functional.conv_general_dilated")
def conv(draw, op):
    return convolution(draw, op, CONV, ("dilations", "x_dilations"))


@drawn(*CONV_T, "functional.conv_general_transpose")
def conv_transpose(draw, op):
    return convolution(draw, op, CONV_T, ("dilations",), transposed=True)


def convolution(draw, op, dims_of, stretched, transposed=False):
    general = op not in dims_of
    dims = dims_of.get(op) or draw(st.sampled_from((1, 2, 3)))
    groups = draw(st.sampled_from((1, 2))) if general else 1
    inner, outer = draw(st.integers(1, 2)) * groups, draw(st.integers(1, 2)) * groups
    first, filter_first = draw(st.booleans()), draw(st.booleans())
    x, _ = plane(draw, dims, inner, first)
    taps = [draw(st.integers(1, 3)) for _ in range(dims)]
    ends = (outer // groups, inner) if transposed else (inner // groups, outer)
    shape = (*reversed(ends), *taps) if filter_first else (*taps, *ends)
    filters = array(draw, x.values.dtype.name, shape)
    chosen = {
        "data_format": (WORDS if general else LETTERS[dims])[first],
        "filter_format": WORDS[filter_first],
    }
    if general:
        chosen |= {"dims": dims, "feature_group_count": groups}
    if draw(st.booleans()):
        chosen["bias"] = array(draw, x.values.dtype.name, (outer,))
    for name in stretched:
        if draw(st.booleans()):
            chosen[name] = steps(draw, dims)
    return Call(op, (x, filters, steps(draw, dims), padding(draw, dims)), chosen, units=256)


@drawn("functional.depthwise_conv2d")
def depthwise(draw, op):
    channels, first = draw(st.integers(1, 3)), draw(st.booleans())
    x, _ = plane(draw, 2, channels, first)
    taps = (draw(st.integers(1, 3)), draw(st.integers(1, 3)))
    shape = (*taps, channels, 1) if draw(st.booleans()) else (*taps, channels)
    filters = array(draw, x.values.dtype.name, shape)
    chosen = {"data_format": LETTERS[2][first], **options(draw, dilations=(1, 2, (1, 2)))}
    return Call(op, (x, filters, steps(draw, 2), padding(draw, 2)), chosen, units=256)


@drawn(*[f"functional.{kind}_pool{n}d" for kind in ("max", "avg") for n in (1, 2, 3)])
def pool(draw, op):
    dims, first = int(op[-2]), draw(st.booleans())
    x, sizes = plane(draw, dims, draw(st.integers(1, 2)), first, REAL, least=2)
    window = tuple(draw(st.integers(1, min(2, n))) for n in sizes)
    edge = draw(st.sampled_from(("VALID", "SAME", 0)))
    if all(n > 1 for n in window) and draw(st.booleans()):
        edge = draw(st.sampled_from((1, [(0, 1)] * dims)))
    chosen = {"data_format": LETTERS[dims][first], **options(draw, ceil_mode=(True, False))}
    if "max" in op:
        chosen |= options(draw, return_indices=(True, False))
    else:
        chosen |= options(draw, count_include_pad=(True, False))
    return Call(op, (x, window, steps(draw, dims), edge), chosen, units=64)


@drawn("functional.adaptive_avg_pool", "functional.adaptive_max_pool")
def adaptive(draw, op):
    dims, first = draw(st.sampled_from((1, 2, 3))), draw(st.booleans())
    x, sizes = plane(draw, dims, 2, first, REAL)
    wanted = tuple(draw(st.integers(1, 4)) for _ in sizes)
    chosen = {"data_format": WORDS[first]}
    if "max" in op:
        chosen |= options(draw, return_indices=(True, False))
    return Call(op, (x, wanted), chosen, units=64)


@drawn("functional.global_avg_pool", "functional.global_max_pool")
def whole(draw, op):
    dims, first = draw(st.sampled_from((1, 2, 3))), draw(st.booleans())
    x, _ = plane(draw, dims, 2, first, REAL)
    chosen = {"data_format": WORDS[first], **options(draw, keepdims=(True, False))}
    return Call(op, (x,), chosen, units=64)


METHODS = {1: ("linear", "cubic"), 2: ("bilinear", "bicubic"), 3: ("trilinear", "tricubic")}


@drawn("functional.resize", "functional.interpolate")
def resize(draw, op):
    dims, first = draw(st.sampled_from((1, 2, 3))), draw(st.booleans())
    x, sizes = plane(draw, dims, 1, first)
    if op == "functional.resize":
        target = tuple(draw(st.integers(1, 6)) for _ in sizes)
    else:
        target = draw(st.sampled_from((2, 1.5, 3.0, 1.0)))
    method = draw(st.sampled_from(("nearest", *METHODS[dims])))
    chosen = {"method": method, "data_format": WORDS[first]}
    if method != "nearest":
        chosen |= options(draw, align_corners=(True, False))
    return Call(op, (x, target), chosen, units=256)


@drawn("functional.grid_sample")
def grid_sample(draw, op):
    first, dims = draw(st.booleans()), draw(st.sampled_from((1, 2)))
    batch, sizes = draw(st.integers(1, 2)), [draw(st.integers(1, 3)) for _ in range(dims)]
    shape = (batch, 2, *sizes) if first else (batch, *sizes, 2)
    x = array(draw, ("float32", "float64"), shape)
    # Places off the grid: at a half, rounding decides which neighbour is nearest.
    grid = array(draw, x.values.dtype.name, (batch, *[2] * dims, dims), "unit")
    grid = Given((grid.values * 0.9 + 0.013).astype(grid.values.dtype))
    chosen = {"data_format": WORDS[first], **options(draw, align_corners=(True, False))}
    chosen |= options(draw, method=("linear", "nearest"), padding=("zeros", "border"))
    return Call(op, (x, grid), chosen, units=256)


@drawn("functional.roi_align")
def roi_align(draw, op):
    x = array(draw, ("float32", "float64"), (1, 4, 4, 2))
    corners = [sorted(draw(st.sampled_from((0.0, 1.25, 2.75, 3.5))) for _ in "ab") for _ in "xy"]
    (x1, x2), (y1, y2) = corners
    boxes = Given(np.array([[x1, y1, x2 + 0.5, y2 + 0.5]], x.values.dtype))
    chosen = {"output_size": 2, "sampling_ratio": 2, **options(draw, aligned=(True, False))}
    return Call(op, (x, boxes, Given(np.array([0]))), chosen, units=256)


@drawn("functional.non_max_suppression")
def non_max_suppression(draw, op):
    low = array(draw, ("float32", "float64"), (3, 2))
    boxes = Given(np.concatenate([low.values, low.values + 1], axis=-1))
    scores = array(draw, low.values.dtype.name, (3,))
    return Call(op, (boxes, scores), {"max_output": 2}, gradient=False)


@drawn("functional.pixel_shuffle", "functional.pixel_unshuffle")
def pixels(draw, op):
    factor, first = draw(st.sampled_from((1, 2))), draw(st.booleans())
    channels, h, w = (draw(st.integers(1, 2)) for _ in range(3))
    if op.endswith("unshuffle"):
        h, w = h * factor, w * factor
    else:
        channels *= factor**2
    shape = (2, channels, h, w) if first else (2, h, w, channels)
    return Call(op, (array(draw, REAL, shape), factor), {"data_format": LETTERS[2][first]})


@drawn("functional.unfold")
def unfold(draw, op):
    dims, first = draw(st.sampled_from((1, 2))), draw(st.booleans())
    x, sizes = plane(draw, dims, 2, first, least=2)
    window = tuple(draw(st.integers(1, 2)) for _ in sizes)
    chosen = {"data_format": WORDS[first]}
    return Call(op, (x, window, steps(draw, dims), padding(draw, dims)), chosen)


@drawn("functional.fold")
def fold(draw, op):
    first, step = draw(st.booleans()), draw(st.sampled_from((1, 2)))
    h, w = draw(st.integers(2, 4)), draw(st.integers(2, 4))
    count = ((h - 2) // step + 1) * ((w - 2) // step + 1)
    shape = (2, 8, count) if first else (2, count, 8)
    x = array(draw, FLOATS, shape)
    return Call(op, (x, (h, w), 2, step, "VALID"), {"data_format": WORDS[first]}, units=64)
