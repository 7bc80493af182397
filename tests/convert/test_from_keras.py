"""Keras models on all frameworks: Keras itself says what comes out."""

import os
import subprocess
import sys

import numpy as np
import pytest

import trellis
from converted_checks import GRADIENTS, OUTPUTS, gradients, native, weights, worst, worst_gradient
from trellis import convert, errors

tf = pytest.importorskip("tensorflow")
keras = pytest.importorskip("keras")
from keras import layers  # noqa: E402

pytestmark = pytest.mark.needs("tensorflow")


def normal(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype("float32")


def ids(*shape, seed=0):
    return np.random.default_rng(seed).integers(0, 11, size=shape).astype("int32")


def mlp():
    return keras.Sequential(
        [
            layers.Input((6,)),
            layers.Dense(8, activation="gelu"),
            layers.BatchNormalization(),
            layers.Dense(8, activation="silu"),
            layers.LayerNormalization(),
            layers.Dropout(0.5),
            layers.Dense(3, activation="softmax"),
        ]
    )


def cnn():
    return keras.Sequential(
        [
            layers.Input((12, 12, 3)),
            layers.Conv2D(8, 3, padding="same", strides=2, activation="relu"),
            layers.BatchNormalization(),
            layers.DepthwiseConv2D(3, depth_multiplier=2),
            layers.MaxPooling2D(2, padding="same"),
            layers.SeparableConv2D(6, 3, padding="same", activation="hard_swish"),
            layers.AveragePooling2D(2, padding="same"),
            layers.Conv2DTranspose(4, 3, strides=2, padding="same"),
            layers.GroupNormalization(2),
            layers.GlobalAveragePooling2D(),
            layers.Dense(3),
        ]
    )


def lines():
    """Layers along one axis, and reshaping ones."""
    return keras.Sequential(
        [
            layers.Input((10, 4)),
            layers.Conv1D(6, 3, padding="causal", dilation_rate=2),
            layers.PReLU(),
            layers.MaxPooling1D(2),
            layers.Permute((2, 1)),
            layers.UpSampling1D(2),
            layers.ZeroPadding1D(1),
            layers.Flatten(),
            layers.Reshape((7, -1)),
            layers.TimeDistributed(layers.Dense(5)),
            layers.GlobalMaxPooling1D(),
        ]
    )


def recurrent():
    return keras.Sequential(
        [
            layers.Input((5, 6)),
            layers.LSTM(4, return_sequences=True),
            layers.Bidirectional(layers.GRU(3, return_sequences=True)),
            layers.SimpleRNN(4),
            layers.Dense(3),
        ]
    )


def masked():
    x = layers.Input((7,), dtype="int32")
    h = layers.Embedding(11, 8, mask_zero=True)(x)
    return keras.Model(x, layers.Dense(2)(layers.LSTM(4)(h)))


def attention():
    x = layers.Input((7,), dtype="int32")
    h = layers.Embedding(11, 8)(x)
    h = layers.Add()([h, layers.MultiHeadAttention(2, 4)(h, h, use_causal_mask=True)])
    return keras.Model(x, layers.Dense(2)(layers.LayerNormalization()(h)))


def two_inputs():
    x, y = layers.Input((4,), name="x"), layers.Input((3,), name="y")
    h = layers.Concatenate()([layers.Dense(5)(x), y])
    return keras.Model([x, y], {"sum": layers.Dense(2)(h), "product": layers.Multiply()([h, h])})


MODELS = {
    "mlp": (mlp, normal(3, 6)),
    "cnn": (cnn, normal(2, 12, 12, 3)),
    "lines": (lines, normal(2, 10, 4)),
    "recurrent": (recurrent, normal(2, 5, 6)),
    "masked": (masked, ids(3, 7)),
    "attention": (attention, ids(2, 7)),
    "two inputs": (two_inputs, [normal(3, 4), normal(3, 3)]),
}
SIZE = 32
APPLICATIONS = {
    "ResNet50V2": 1 / 64,
    "MobileNetV3Small": 1.0,
    "MobileNetV3Large": 1.0,
    "EfficientNetV2B0": 1.0,
    "DenseNet121": 1 / 255,
    "ConvNeXtTiny": 1.0,
}


def made(build):
    """A model whose statistics, scales and biases are not zeros and ones."""
    keras.utils.set_random_seed(0)
    model = build()
    draws = np.random.default_rng(0)
    for variable in model.variables:
        name, shape = variable.path.rpartition("/")[2], variable.shape
        if name in ("gamma", "moving_variance"):
            variable.assign(draws.uniform(0.5, 1.5, size=shape))
        elif name in ("beta", "bias", "moving_mean", "alpha"):
            variable.assign(0.2 * draws.normal(size=shape) + 0.1)
    return model


def check(model, x, backend, compiled):
    found = convert.from_keras(model, (x,), to=backend, verify=False)
    with tf.GradientTape() as tape:
        outs = tf.nest.flatten(model(x, training=False))
        loss = tf.add_n([tf.reduce_sum(y * weights(y.shape)) for y in outs])
    trained = model.trainable_weights
    wanted = tape.gradient(loss, [v.value for v in trained])
    run = lambda v, x: found(x, v=v)  # noqa: E731
    run = compiled(run) if backend == "jax" else run
    out = trellis.tree.leaves(run(found.v, native(x, backend)))
    assert worst(out, [y.numpy() for y in outs]) <= OUTPUTS
    assert sorted(found.graph.variables) == sorted([v.path for v in trained])
    wanted = {v.path: tf.convert_to_tensor(y).numpy() for v, y in zip(trained, wanted)}
    assert worst_gradient(gradients(found, (x,), backend, compiled), wanted) <= GRADIENTS


@pytest.mark.parametrize("name", MODELS)
def test_models(backend, name, compiled):
    build, x = MODELS[name]
    check(made(build), x, backend, compiled)


@pytest.mark.long
@pytest.mark.parametrize("name", APPLICATIONS)
def test_applications(backend, name, compiled):
    shape = (SIZE, SIZE, 3)
    make = getattr(keras.applications, name)
    model = made(lambda: make(weights=None, input_shape=shape, classes=10))
    x = np.random.default_rng(1).uniform(0, 255, size=(2, *shape)).astype("float32")
    check(model, x * np.float32(APPLICATIONS[name]), backend, compiled)


def test_batches_are_open(backend):
    model = made(attention)
    found = convert.from_keras(model, to=backend)
    x = ids(5, 7, seed=1)
    assert worst(found(native(x, backend)), model(x).numpy()) <= OUTPUTS
    with pytest.raises(errors.ShapeError, match="converted for x"):
        found(native(ids(5, 6), backend))
    fixed = convert.from_keras(model, (ids(2, 7),), to=backend, dynamic={})
    with pytest.raises(errors.ShapeError, match="converted for x"):
        fixed(native(x, backend))


def test_open_lengths(backend):
    model = made(
        lambda: keras.Sequential([layers.Input((None, 6)), layers.GRU(4, return_sequences=True)])
    )
    found = convert.from_keras(model, (normal(2, 3, 6),), to=backend)
    x = normal(4, 8, 6, seed=1)
    assert worst(found(native(x, backend)), model(x).numpy()) <= OUTPUTS


def test_names_and_source():
    found = convert.from_keras(made(mlp), to="numpy")
    assert [chain.rpartition("/")[2] for chain in found.graph.buffers] == [
        "moving_mean",
        "moving_variance",
    ]
    source = found.to_source()
    for name in ("F.gelu", "F.silu", "F.batch_norm", "F.layer_norm", "F.softmax"):
        assert name in source
    assert "Keras" in found.report() and "verified, largest" in found.report()


def test_compiled(backend, compiled):
    model, x = made(recurrent), normal(2, 5, 6)
    found = convert.from_keras(model, (x,), to=backend)
    out = compiled(lambda v, x: found(x, v=v))(found.v, native(x, backend))
    assert worst(out, model(x).numpy()) <= OUTPUTS


def test_training(backend):
    """Batch norm with the statistics of the batch, which move; dropout that drops."""
    model = made(
        lambda: keras.Sequential([layers.Input((6,)), layers.BatchNormalization(momentum=0.9)])
    )
    x = normal(8, 6) * 2 + 1
    found = convert.from_keras(model, (x,), to=backend, train=True)
    found.train()
    out = found(native(x, backend))
    assert worst(out, model(x, training=True).numpy()) <= OUTPUTS  # moves Keras' statistics too
    for variable in model.non_trainable_weights:
        assert worst(found.buffers[variable.path], variable.numpy()) <= OUTPUTS

    dropping = keras.Sequential([layers.Input((400,)), layers.Dropout(0.25)])
    found = convert.from_keras(dropping, to=backend, train=True)
    x = np.ones((2, 400), "float32")
    kept = trellis.to_numpy(found(native(x, backend)))
    assert set(np.unique(kept)) == {0.0, np.float32(1 / 0.75)}
    assert 0.6 < (kept > 0).mean() < 0.9  # 800 draws with 0.75: ten standard deviations
    assert "Random numbers are Trellis' own" in found.report()


def test_examples_are_asked_for():
    class Own(keras.Model):
        def call(self, x):
            return x * 2.0

    with pytest.raises(errors.ArgumentError, match="needs args"):
        convert.from_keras(Own(), to="numpy")
    found = convert.from_keras(Own(), (normal(2, 3),), to="numpy")
    assert worst(found(normal(4, 3)), normal(4, 3) * 2) == 0
    with pytest.raises(errors.ArgumentTypeError, match="Keras model or layer"):
        convert.from_keras(3, to="numpy")


def test_source_computes_the_same(backend):
    model, x = made(cnn), normal(2, 12, 12, 3)
    found = convert.from_keras(model, (x,), to=backend)
    space = {}
    exec(found.to_source("Network"), space)
    again = space["Network"](backend=backend, v=found.v, buffers=found.buffers)
    assert worst(again(native(x, backend)), model(x).numpy()) <= OUTPUTS


@pytest.mark.long
@pytest.mark.parametrize("library", ["jax", "torch"])
def test_keras_on_other_backends(library):
    """Keras runs on one backend in a process, so that each has its own."""
    program = """
import numpy as np
import keras
from trellis import convert

x = np.random.default_rng(0).normal(size=(2, 6)).astype("float32")
layers = [keras.layers.Dense(4, "gelu"), keras.layers.BatchNormalization()]
model = keras.Sequential([keras.layers.Input((6,)), *layers, keras.layers.Dense(3, "softmax")])
found = convert.from_keras(model, (x,), to="numpy")
expected = keras.ops.convert_to_numpy(model(x))
assert np.abs(found(x) - expected).max() < 1e-6, found(x) - expected
print(sorted(found.graph.variables))
"""
    environment = {**os.environ, "KERAS_BACKEND": library, "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.count("kernel") == 2 and done.stdout.count("gamma") == 1
