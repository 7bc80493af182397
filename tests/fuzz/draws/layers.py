"""What layers compute: activations, norms, attention, recurrent steps."""

import numpy as np
from hypothesis import strategies as st

from ..call import Call, Given
from ..drawing import (
    COMMON_FLOATS,
    INTEGER,
    REAL,
    array,
    axis_of,
    broadcast,
    drawn,
    indices,
    options,
    shapes,
)

PLAIN = (
    "relu relu6 leaky_relu hard_sigmoid hard_swish hard_tanh sigmoid log_sigmoid softplus softsign "
    "elu selu gelu silu mish"
).split()
OPTIONS = {
    "leaky_relu": {"negative_slope": (0.5, 0.0, 2.0)},
    "hard_tanh": {"low": (-2.0, 0.0), "high": (0.5, 2.0)},
    "softplus": {"beta": (2.0, 0.5)},
    "elu": {"alpha": (0.5, 2.0)},
    "gelu": {"approximate": (True, False)},
}


@drawn(*[f"functional.{name}" for name in PLAIN])
def activation(draw, op):
    kind = draw(st.sampled_from(("plain", "plain", "special")))
    chosen = options(draw, **OPTIONS.get(op.removeprefix("functional."), {}))
    x = array(draw, REAL, kind=kind)
    floor = 1.0 if op == "functional.gelu" else 0.0  # 1 + erf(x) cancels
    return Call(op, (x,), chosen, gradient=kind == "plain", elementwise=True, units=64, floor=floor)


@drawn("functional.softmax", "functional.log_softmax")
def softmax(draw, op):
    x = array(draw, REAL, draw(shapes(1)))
    ndim = x.values.ndim
    axis = axis_of(draw, ndim)
    if draw(st.booleans()):
        axis = tuple(range(ndim))
    return Call(op, (x,), {"axis": axis} if draw(st.booleans()) else {}, units=64)


@drawn("functional.glu", "functional.geglu", "functional.swiglu")
def gated(draw, op):
    shape = list(draw(shapes(1)))
    axis = axis_of(draw, len(shape))
    shape[axis] *= 2
    return Call(op, (array(draw, REAL, shape),), {"axis": axis}, units=64, floor=1.0)


@drawn("functional.prelu")
def prelu(draw, op):
    x = array(draw, COMMON_FLOATS, draw(shapes(1)))
    axis = axis_of(draw, x.values.ndim)
    size = draw(st.sampled_from((1, x.values.shape[axis])))
    weight = array(draw, x.values.dtype.name, (size,))
    return Call(op, (x, weight), {"axis": axis}, elementwise=True)


@drawn("functional.linear")
def linear(draw, op):
    wide, out = draw(st.integers(0, 3)), draw(st.integers(0, 3))
    name = draw(st.sampled_from((*COMMON_FLOATS, *INTEGER, "bool")))
    x = array(draw, name, (*draw(shapes(0, 2)), wide))
    chosen = {"bias": array(draw, name, (out,))} if draw(st.booleans()) else {}
    return Call(op, (x, array(draw, name, (out, wide))), chosen, units=64)


@drawn("functional.grouped_matmul")
def grouped_matmul(draw, op):
    rows, wide, out = draw(st.integers(0, 4)), draw(st.integers(1, 3)), draw(st.integers(1, 3))
    name = draw(st.sampled_from(COMMON_FLOATS))
    first = draw(st.integers(0, rows))
    sizes = Given(np.array([first, draw(st.integers(0, rows - first))]))
    args = (array(draw, name, (rows, wide)), array(draw, name, (2, wide, out)), sizes)
    return Call(op, args, units=64)


@drawn("functional.selective_scan")
def selective_scan(draw, op):
    batch, time, wide, states = (draw(st.integers(1, 3)) for _ in range(4))
    name = draw(st.sampled_from(COMMON_FLOATS))
    row = (batch, time, states)
    args = [array(draw, name, (batch, time, wide)) for _ in range(2)]
    args += [array(draw, name, (wide, states)), array(draw, name, row), array(draw, name, row)]
    # Exponentials of products of whatever was drawn.
    return Call(op, tuple(args), units=256)


@drawn("functional.dropout")
def dropout(draw, op):
    x = array(draw, COMMON_FLOATS)
    chosen = {"seed": draw(st.integers(0, 9))}
    chosen |= options(draw, scale=(True, False), training=(True, False))
    return Call(op, (x, draw(st.sampled_from((0.0, 0.5, 0.25, 1.0)))), chosen)


@drawn("functional.embedding")
def embedding(draw, op):
    weight = array(draw, COMMON_FLOATS, (3, *draw(shapes(0, 2))))
    chosen = options(draw, padding_index=(0, 1, 2))
    return Call(op, (indices(draw, 3, draw(shapes(0, 2))), weight), chosen)


# Norms ----------------------------------------------------------------------------------


def affine(draw, name, shape, *names):
    return {key: array(draw, name, shape) for key in names if draw(st.booleans())}


# A nearly constant row has a tiny variance, and rounding in it counts the more; the large epsilon
# keeps that within the units below.
EPSILONS = {"epsilon": 0.25}


@drawn("functional.layer_norm", "functional.rms_norm")
def layer_norm(draw, op):
    x = array(draw, (*COMMON_FLOATS, "int32"), draw(shapes(1)))
    axis = axis_of(draw, x.values.ndim)
    names = ("weight", "bias") if op.endswith("layer_norm") else ("weight",)
    name = "float32" if x.values.dtype.kind == "i" else x.values.dtype.name
    chosen = affine(draw, name, (x.values.shape[axis],), *names)
    return Call(op, (x,), {"axis": axis, **chosen, **EPSILONS}, units=512)


@drawn("functional.batch_norm")
def batch_norm(draw, op):
    x = array(draw, COMMON_FLOATS, draw(shapes(2)))
    axis = draw(st.sampled_from((-1, 1)))
    channels, name = x.values.shape[axis], x.values.dtype.name
    mean, variance = array(draw, name, (channels,)), array(draw, name, (channels,), "positive")
    chosen = affine(draw, name, (channels,), "weight", "bias")
    chosen |= {"channel_axis": axis, **options(draw, training=(True, False), momentum=(0.5,))}
    return Call(op, (x, mean, variance), {**chosen, **EPSILONS}, units=512)


@drawn("functional.group_norm", "functional.instance_norm", "functional.local_response_norm")
def other_norm(draw, op):
    first = draw(st.booleans())
    batch, channels, size = draw(st.sampled_from((1, 2, 0))), draw(st.sampled_from((2, 4))), 3
    shape = (batch, channels, size) if first else (batch, size, channels)
    x = array(draw, COMMON_FLOATS, shape)
    axis = 1 if first else -1
    if op.endswith("response_norm"):
        chosen = options(draw, size=(1, 2, 3, 5), alpha=(0.5,), beta=(0.5, 1.0), k=(2.0,))
        return Call(op, (x,), {"channel_axis": axis, **chosen}, units=512)
    chosen = affine(draw, x.values.dtype.name, (channels,), "weight", "bias")
    args = (x, draw(st.sampled_from((1, 2)))) if op.endswith("group_norm") else (x,)
    return Call(op, args, {"channel_axis": axis, **chosen, **EPSILONS}, units=512)


@drawn("functional.spectral_norm")
def spectral_norm(draw, op):
    shape = draw(shapes(2, empty=False))
    weight = array(draw, ("float32", "float64"), shape, "positive")
    axis = axis_of(draw, len(shape))
    u = array(draw, weight.values.dtype.name, (shape[axis],), "positive")
    return Call(op, (weight, u), {"axis": axis, **options(draw, iterations=(1, 3))}, units=512)


# Attention and positions ------------------------------------------------------------------


@drawn("functional.scaled_dot_product_attention")
def attention(draw, op):
    name = draw(st.sampled_from(COMMON_FLOATS))
    queries, keys, width, out = (draw(st.integers(1, 3)) for _ in range(4))
    batch = draw(st.sampled_from(((), (2,), (2, 2))))
    others = draw(st.sampled_from((batch, broadcast(draw, batch))))
    q = array(draw, name, (*batch, queries, width))
    k, v = array(draw, name, (*others, keys, width)), array(draw, name, (*others, keys, out))
    chosen = options(draw, scale=(1.0, 0.5, -1.0, 0.0), is_causal=(True, False))
    if draw(st.booleans()):
        shape = (*broadcast(draw, batch), queries, keys)
        chosen["mask"] = array(draw, draw(st.sampled_from(("bool", name))), shape)
    if draw(st.booleans()):
        chosen |= {"dropout_p": 0.5, "training": True, "seed": draw(st.integers(0, 3))}
    return Call(op, (q, k, v), chosen, units=256)


@drawn("functional.multi_head_attention")
def multi_head(draw, op):
    name = draw(st.sampled_from(COMMON_FLOATS))
    heads, batch, queries, keys = 2, draw(st.integers(1, 2)), *(draw(st.integers(1, 3)),) * 2
    chosen = {"num_heads": heads, **options(draw, is_causal=(True, False), scale=(1.0,))}
    chosen |= options(draw, add_zero_attn=(True, False), return_attention_weights=(True, False))
    chosen |= options(draw, average_attention_weights=(True, False))
    query = array(draw, name, (batch, queries, 4))
    if draw(st.booleans()):
        chosen["key"] = array(draw, name, (batch, keys, 4))
    if draw(st.booleans()):
        chosen["in_proj_weights"] = array(draw, name, (12, 4), "unit")
        if draw(st.booleans()):
            chosen["in_proj_bias"] = array(draw, name, (12,), "unit")
    if draw(st.booleans()):
        chosen["out_proj_weights"] = array(draw, name, (4, 4), "unit")
    if draw(st.booleans()):
        chosen["key_padding_mask"] = array(draw, "bool", (batch, keys))
    return Call(op, (query,), chosen, units=512)


@drawn("functional.sinusoidal_encoding")
def sinusoidal(draw, op):
    positions = array(draw, REAL, draw(shapes(0, 2)))
    return Call(op, (positions, draw(st.sampled_from((2, 4)))), units=64)


@drawn("functional.rotary_embedding")
def rotary(draw, op):
    x = array(draw, COMMON_FLOATS, (*draw(shapes(0, 1)), 3, 4))
    chosen = options(draw, interleaved=(True, False), width=(2, 4), base=(100.0,))
    args = (x, indices(draw, 9, (3,))) if draw(st.booleans()) else (x,)
    return Call(op, args, chosen, units=64)


@drawn("functional.length_mask")
def lengths_of(draw, op):
    return Call(op, (indices(draw, 4, draw(shapes(0, 2))), draw(st.integers(0, 5))))


# Recurrent ----------------------------------------------------------------------------------


@drawn("functional.lstm_update", "functional.gru_update", "functional.rnn_update")
def recurrent(draw, op):
    gates = {"lstm": 4, "gru": 3, "rnn": 1}[op.removeprefix("functional.").partition("_")[0]]
    name = draw(st.sampled_from(COMMON_FLOATS))
    batch = draw(st.sampled_from(((2,), (), (2, 1), (0,))))
    time, wide, out = (draw(st.integers(1, 3)) for _ in range(3))
    time_major = draw(st.booleans())
    shape = (time, *batch, wide) if time_major else (*batch, time, wide)
    x = array(draw, name, shape, "unit")
    states = [array(draw, name, (*batch, out), "unit") for _ in range(2 if gates == 4 else 1)]
    kernels = [array(draw, name, (n, gates * out), "unit") for n in (wide, out)]
    chosen = affine(draw, name, (gates * out,), "bias", "recurrent_bias")
    if gates == 1:
        chosen |= options(draw, activation=("tanh", "relu"))
    return Call(op, (x, *states, *kernels), {"time_major": time_major, **chosen}, units=256)
