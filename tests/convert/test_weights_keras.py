"""Weights of Keras layers in layers of ours: the same input gives the same output."""

import numpy as np
import pytest

import trellis
from oracles import keras
from trellis import convert, errors, nn
from trellis.testing import assert_close

# Sums of some hundred float32 products in another order, and a dozen steps of a recurrent layer.
RTOL, ATOL = 1e-4, 1e-5

RNG = np.random.default_rng(0)


def floats(*shape):
    return RNG.normal(size=shape).astype("float32")


IMAGE, VOLUME, WAVE = floats(2, 7, 8, 4), floats(2, 5, 6, 5, 4), floats(2, 9, 4)
VECTORS, SEQUENCE, SHORT = floats(5, 4), floats(3, 6, 4), floats(3, 2, 4)
IDS = np.array([[1, 2, 6], [0, 3, 3]], "int32")
LAST = {"return_sequence": False, "return_state": False}
ALL = {"return_state": False}

# name: (Keras' layers, our layer, inputs)
ROWS = {
    "dense": (
        lambda kl: [kl.Dense(3)],
        lambda: nn.Linear(4, 3),
        VECTORS,
    ),
    "dense without bias": (
        lambda kl: [kl.Dense(4, use_bias=False)],
        lambda: nn.Linear(4, 4, with_bias=False),
        VECTORS,
    ),
    "embedding": (lambda kl: [kl.Embedding(7, 3)], lambda: nn.Embedding(7, 3), IDS),
    "prelu": (lambda kl: [kl.PReLU()], lambda: nn.PReLU(4), VECTORS),
    "prelu of images": (lambda kl: [kl.PReLU(shared_axes=[1, 2])], lambda: nn.PReLU(4), IMAGE),
    "layer norm": (
        lambda kl: [kl.LayerNormalization(epsilon=1e-5)],
        lambda: nn.LayerNorm(4),
        VECTORS,
    ),
    "rms norm": (lambda kl: [kl.RMSNormalization()], lambda: nn.RMSNorm(4), VECTORS),
    "group norm": (
        lambda kl: [kl.GroupNormalization(2, epsilon=1e-5)],
        lambda: nn.GroupNorm(2, 4),
        IMAGE,
    ),
    "instance norm": (
        lambda kl: [kl.GroupNormalization(-1, epsilon=1e-5)],
        lambda: nn.InstanceNorm2D(4, affine=True),
        IMAGE,
    ),
    "batch norm": (
        lambda kl: [kl.BatchNormalization()],
        lambda: nn.BatchNorm2D(4, eps=1e-3),
        IMAGE,
    ),
    "conv 1": (lambda kl: [kl.Conv1D(6, 3)], lambda: nn.Conv1D(4, 6, 3, 1, "VALID"), WAVE),
    "conv 2": (
        lambda kl: [kl.Conv2D(6, (3, 2), strides=2, padding="same")],
        lambda: nn.Conv2D(4, 6, (3, 2), 2, "SAME"),
        IMAGE,
    ),
    "conv 2 in groups": (
        lambda kl: [kl.Conv2D(6, 3, groups=2, use_bias=False)],
        lambda: nn.Conv2D(4, 6, 3, 1, "VALID", False, groups=2),
        IMAGE,
    ),
    "conv 3": (
        lambda kl: [kl.Conv3D(6, (3, 2, 2))],
        lambda: nn.Conv3D(4, 6, (3, 2, 2), 1, "VALID"),
        VOLUME,
    ),
    "conv 1 transposed": (
        lambda kl: [kl.Conv1DTranspose(6, 3, strides=2, padding="same")],
        lambda: nn.Conv1DTranspose(4, 6, 3, 2, "SAME"),
        WAVE,
    ),
    "conv 2 transposed": (
        lambda kl: [kl.Conv2DTranspose(6, (3, 2), strides=2)],
        lambda: nn.Conv2DTranspose(4, 6, (3, 2), 2, "VALID"),
        IMAGE,
    ),
    "conv 3 transposed": (
        lambda kl: [kl.Conv3DTranspose(6, 2, strides=2)],
        lambda: nn.Conv3DTranspose(4, 6, 2, 2, "VALID"),
        VOLUME,
    ),
    "depthwise": (
        lambda kl: [kl.DepthwiseConv2D((3, 2))],
        lambda: nn.DepthwiseConv2D(4, (3, 2), 1, "VALID"),
        IMAGE,
    ),
    "separable": (
        lambda kl: [kl.SeparableConv2D(6, 3)],
        lambda: nn.SeparableConv2D(4, 6, 3, 1, "VALID"),
        IMAGE,
    ),
    "lstm": (
        lambda kl: [kl.LSTM(5, return_sequences=True)],
        lambda: nn.LSTM(4, 5, **ALL),
        SEQUENCE,
    ),
    "lstm without bias": (
        lambda kl: [kl.LSTM(5, use_bias=False)],
        lambda: nn.LSTM(4, 5, with_bias=False, **LAST),
        SEQUENCE,
    ),
    "lstm, two layers, both directions": (
        lambda kl: [
            kl.Bidirectional(kl.LSTM(5, return_sequences=True)),
            kl.Bidirectional(kl.LSTM(5, return_sequences=True)),
        ],
        lambda: nn.LSTM(4, 5, num_layers=2, bidirectional=True, **ALL),
        SEQUENCE,
    ),
    "gru": (
        lambda kl: [kl.GRU(5, return_sequences=True)],
        lambda: nn.GRU(4, 5, **ALL),
        SEQUENCE,
    ),
    "gru, both directions": (
        lambda kl: [kl.Bidirectional(kl.GRU(5, return_sequences=True))],
        lambda: nn.GRU(4, 5, bidirectional=True, **ALL),
        SEQUENCE,
    ),
    "rnn": (lambda kl: [kl.SimpleRNN(5)], lambda: nn.RNN(4, 5, **LAST), SEQUENCE),
    "a model": (
        lambda kl: [
            kl.Conv2D(6, 3, activation="relu"),
            kl.BatchNormalization(epsilon=1e-5),
            kl.Dropout(0.5),
            kl.Flatten(),
            kl.Dense(3),
        ],
        lambda: nn.Sequential(
            nn.Conv2D(4, 6, 3, 1, "VALID"),
            nn.ReLU(),
            nn.BatchNorm2D(6),
            nn.Dropout(0.5),
            nn.Flatten(),
            nn.Linear(180, 3),
        ),
        IMAGE,
    ),
}


def randomised(layer):
    """Statistics, biases and scales that nothing can be mistaken for: all begin with 0 or 1."""
    random = np.random.default_rng(1)
    layer.set_weights([random.uniform(0.3, 0.9, x.shape) for x in layer.get_weights()])
    return layer


@pytest.mark.parametrize("name", ROWS)
def test_keras_layer(backend, name):
    layers, ours, x = ROWS[name]
    theirs = keras.Sequential([keras.Input(x.shape[1:], dtype=x.dtype), *layers(keras.layers)])
    randomised(theirs)
    expected = np.asarray(theirs(x))
    assert np.abs(expected).max() > 1e-2
    with trellis.using_backend(backend):
        model = ours().eval()
    # The model itself, and the bare list of its arrays.
    for weights in (theirs, theirs.get_weights()):
        fresh = trellis.tree.map(trellis.zeros_like, model.v)
        model.v = fresh
        report = convert.load_keras_weights(model, weights)
        assert report.is_complete and sorted(report.matched) == model.state_dict().key_chains()
        y = model(trellis.asarray(x, backend=backend))
        assert_close(y, expected, rtol=RTOL, atol=ATOL, backend=backend)


@pytest.mark.parametrize("shared", [False, True])
def test_keras_attention(backend, shared):
    """Several inputs; and groups of heads that share keys and values."""
    if shared:
        theirs = keras.layers.GroupQueryAttention(2, 4, 2)
        with trellis.using_backend(backend):
            model = nn.MultiHeadAttention(8, 4, num_kv_heads=2)
        query, key = floats(3, 6, 8), floats(3, 2, 8)
    else:
        theirs = keras.layers.MultiHeadAttention(2, 2)
        with trellis.using_backend(backend):
            model = nn.MultiHeadAttention(4, 2)
        query, key = SEQUENCE, SHORT
    theirs(query, key)
    randomised(theirs)
    expected = np.asarray(theirs(query, key))
    assert convert.load_keras_weights(model, theirs).is_complete
    y = model(*[trellis.asarray(x, backend=backend) for x in (query, key, key)])
    assert_close(y, expected, rtol=RTOL, atol=ATOL, backend=backend)


@pytest.mark.needs("tensorflow")
def test_keras_attention_of_several_widths():
    theirs = keras.layers.MultiHeadAttention(2, 2, use_bias=False)
    inputs = SEQUENCE, floats(3, 2, 5), floats(3, 2, 3)  # queries, values, keys
    theirs(*inputs)
    randomised(theirs)
    model = nn.MultiHeadAttention(4, 2, key_dim=3, value_dim=5, with_bias=False)
    assert convert.load_keras_weights(model, theirs).is_complete
    query, value, key = inputs
    assert_close(model(query, key, value), np.asarray(theirs(*inputs)), rtol=RTOL, atol=ATOL)


@pytest.mark.needs("tensorflow")
def test_keras_names():
    """Named, layers of one shape may change places."""
    theirs = keras.Sequential(
        [
            keras.Input((4,)),
            keras.layers.Dense(4, name="first"),
            keras.layers.Dense(4, name="second"),
        ],
        name="model",
    )
    randomised(theirs)
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
    report = convert.load_keras_weights(
        model, theirs, names={"model/first": "layers/v1", "model/second": "layers/v0"}
    )
    assert report.matched["layers/v1/w"] == "model/first/kernel"
    expected = np.asarray(theirs.layers[0](theirs.layers[1](VECTORS)))
    assert_close(model(VECTORS), expected, rtol=RTOL, atol=ATOL)


@pytest.mark.needs("tensorflow")
def test_another_epsilon_is_noted():
    norm = keras.layers.BatchNormalization()
    norm.build((None, 4))
    report = convert.load_keras_weights(nn.BatchNorm1D(4), norm)
    assert len(report.notes) == 1 and "make it with eps=0.001" in report.notes[0]
    assert convert.load_keras_weights(nn.BatchNorm1D(4, eps=1e-3), norm).notes == ()


@pytest.mark.needs("tensorflow")
def test_keras_weights_that_do_not_fit():
    gru = keras.Sequential([keras.Input((6, 4)), keras.layers.GRU(5, reset_after=False)])
    with pytest.raises(errors.ShapeError, match=r"bias \(2, 15\), but next comes") as caught:
        convert.load_keras_weights(nn.GRU(4, 5), gru)
    assert "(15,)" in str(caught.value)
    dense = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3), keras.layers.Dense(2)])
    with pytest.raises(errors.ShapeError, match=r"at the end .*kernel.* is left"):
        convert.load_keras_weights(nn.Linear(4, 3), dense)
    with pytest.raises(errors.ShapeError, match="needs kernel"):
        convert.load_keras_weights(nn.Linear(4, 3), [np.zeros((3, 4), "float32")])

    class Own(trellis.Module):
        def _create_variables(self, *, device, dtype):
            return {"b": trellis.zeros(3), "a": trellis.zeros(3)}

    with pytest.raises(errors.ShapeError, match="is not known"):
        convert.load_keras_weights(Own(), [np.zeros(3, "float32"), np.ones(3, "float32")])
    own = Own()
    convert.load_keras_weights(own, {"a": np.ones(3, "float32"), "b": np.zeros(3, "float32")})
    assert_close(own.v.a, [1.0, 1.0, 1.0])
    with pytest.raises(errors.ArgumentTypeError, match="get_weights"):
        convert.load_keras_weights(nn.Linear(2, 2), 3)
