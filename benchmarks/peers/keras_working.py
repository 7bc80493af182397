"""Keras 3: the steps of working_sizes.py through `train_on_batch`. The backend is in
KERAS_BACKEND."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "working"))

from measured import offer, two_cores

two_cores()

import keras
import numpy as np
import sizes
from keras import layers, ops
from sizes import DEPTH, HEADS, LENGTH, WIDTH, WORDS

BACKEND = os.environ["KERAS_BACKEND"]
if BACKEND == "torch":
    keras.config.set_image_data_format("channels_first")


class Places(layers.Layer):
    def build(self, shape):
        self.w = self.add_weight(shape=(LENGTH, WIDTH))

    def call(self, x):
        return x + self.w


def gpt():
    words = layers.Input((LENGTH,), dtype="int32")
    x = Places()(layers.Embedding(WORDS, WIDTH)(words))
    for _ in range(DEPTH):
        h = layers.LayerNormalization(epsilon=1e-5)(x)
        x = x + layers.MultiHeadAttention(HEADS, WIDTH // HEADS)(h, h, use_causal_mask=True)
        h = layers.Dense(4 * WIDTH)(layers.LayerNormalization(epsilon=1e-5)(x))
        x = x + layers.Dense(WIDTH)(layers.Activation(lambda t: ops.gelu(t, approximate=False))(h))
    return keras.Model(words, layers.Dense(WORDS)(layers.LayerNormalization(epsilon=1e-5)(x)))


def resnet():
    shape = (sizes.SIDE, sizes.SIDE, 3)

    def conv(x, outputs, size, stride, name):
        if size > 1:
            x = layers.ZeroPadding2D(size // 2)(x)
        x = layers.Conv2D(outputs, size, stride, use_bias=False, name=name)(x)
        axis = 1 if BACKEND == "torch" else -1
        return layers.BatchNormalization(axis, 0.9, 1e-5, name=f"{name}_norm")(x)

    images = layers.Input((3, *shape[:2]) if BACKEND == "torch" else shape)
    x = layers.ReLU()(conv(images, sizes.STAGES[0], 7, 2, "conv"))
    # What is padded with zeros is not negative: zeros are as good as minus infinity.
    x = layers.MaxPooling2D(3, 2)(layers.ZeroPadding2D(1)(x))
    for name, before, after, stride in sizes.blocks():
        y = layers.ReLU()(conv(x, after, 3, stride, f"{name}_1"))
        y = conv(y, after, 3, 1, f"{name}_2")
        has_short = stride != 1 or before != after
        x = layers.ReLU()(y + (conv(x, after, 1, stride, f"{name}_3") if has_short else x))
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(images, layers.Dense(sizes.CLASSES, name="head")(x))


def lstm():
    return keras.Sequential(
        [
            layers.Input((sizes.TIME, sizes.CHANNELS)),
            layers.LSTM(sizes.UNITS, return_sequences=True),
            layers.LSTM(sizes.UNITS),
            layers.Dense(sizes.CLASSES),
        ]
    )


def dense(w, name):
    return [w[f"{name}/w"].T, w[f"{name}/b"]]


def norm(w, name):
    return [w[f"{name}/w"], w[f"{name}/b"]]


def arranged(name, w):
    """Our weights in the order of Keras' trainable weights."""
    if name == "gpt":
        found, shape = [w["words/w"], w["places/w"]], (HEADS, WIDTH // HEADS)
        for i in range(DEPTH):
            at = f"blocks/v{i}/"
            found += norm(w, f"{at}norm1")
            kernels, biases = w[f"{at}qkv/w"].reshape(3, -1, WIDTH), w[f"{at}qkv/b"].reshape(3, -1)
            for k, b in zip(kernels, biases):
                found += [k.T.reshape(WIDTH, *shape), b.reshape(shape)]
            found += [w[f"{at}out/w"].T.reshape(*shape, WIDTH), w[f"{at}out/b"]]
            found += norm(w, f"{at}norm2") + dense(w, f"{at}up") + dense(w, f"{at}down")
        return found + norm(w, "norm") + dense(w, "head")
    found = []
    for i in range(2):
        found += [w[f"lstm/layer{i}/{part}"] for part in "wrb"]
    return found + dense(w, "head")


def fill(name, model, w):
    if name != "resnet":
        for variable, array in zip(model.trainable_variables, arranged(name, w), strict=True):
            variable.assign(array)
        return
    # By name: a model sorts its layers by depth, so a shortcut's place in the list is anywhere.
    parts = {"conv": ("conv/w", "norm")}
    for block, *_ in sizes.blocks():
        for i, part in ((1, "conv1"), (2, "conv2"), (3, "short")):
            if f"{block}/{part}/w" in w:
                parts[f"{block}_{i}"] = (f"{block}/{part}/w", f"{block}/norm{i}")
    for layer, (filters, at) in parts.items():
        model.get_layer(layer).kernel.assign(w[filters])
        model.get_layer(f"{layer}_norm").gamma.assign(w[f"{at}/w"])
        model.get_layer(f"{layer}_norm").beta.assign(w[f"{at}/b"])
    model.get_layer("head").set_weights(dense(w, "head"))


def build(name, mode, path, variant):
    model = {"gpt": gpt, "resnet": resnet, "lstm": lstm}[name]()
    with np.load(path) as stored:
        fill(name, model, {key: stored[key] for key in stored})
    x, y = sizes.data(name)
    if name == "resnet" and BACKEND == "torch":
        x = np.ascontiguousarray(x.transpose(0, 3, 1, 2))
    x, y = ops.convert_to_tensor(x), ops.convert_to_tensor(y)
    model.compile(
        optimizer=keras.optimizers.Adam(sizes.RATE, epsilon=1e-8),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        run_eagerly=mode == "eager",
        # "auto" compiles on JAX and TensorFlow; torch has to be told.
        jit_compile=False if mode == "eager" else (True if BACKEND == "torch" else "auto"),
    )

    def step():
        model.reset_metrics()  # the loss given back is a mean since the last reset
        return np.asarray(model.train_on_batch(x, y))

    return step


if __name__ == "__main__":
    offer(build)
