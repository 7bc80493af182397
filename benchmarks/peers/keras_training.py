"""Keras 3: one training step through `train_on_batch`, eager and compiled. The backend is in
KERAS_BACKEND."""

import os

import keras
import numpy as np
from keras import layers, ops
from serve import serve

BACKEND = os.environ["KERAS_BACKEND"]
if BACKEND == "torch":
    keras.config.set_image_data_format("channels_first")


def mlp():
    return keras.Sequential(
        [
            layers.Input((784,)),
            layers.Dense(256, "relu"),
            layers.Dense(256, "relu"),
            layers.Dense(10),
        ]
    )


def cnn():
    shape = (3, 32, 32) if BACKEND == "torch" else (32, 32, 3)
    return keras.Sequential(
        [
            layers.Input(shape),
            layers.Conv2D(16, 3, 1, activation="relu"),
            layers.Conv2D(32, 3, 2, activation="relu"),
            layers.Conv2D(64, 3, 2, activation="relu"),
            layers.GlobalAveragePooling2D(),
            layers.Dense(10),
        ]
    )


def lstm():
    return keras.Sequential([layers.Input((32, 32)), layers.LSTM(64), layers.Dense(10)])


def transformer():
    x = inputs = layers.Input((32, 64))
    for _ in range(2):
        attended = layers.MultiHeadAttention(4, 16)(x, x)
        x = layers.LayerNormalization(epsilon=1e-5)(x + attended)
        hidden = layers.Dense(64)(layers.Dense(256, "relu")(x))
        x = layers.LayerNormalization(epsilon=1e-5)(x + hidden)
    return keras.Model(
        inputs, layers.Dense(10)(layers.GlobalAveragePooling1D(data_format="channels_last")(x))
    )


def dense(w, name):
    return [w[f"{name}/w"].T, w[f"{name}/b"]]


def encoder(w, name):
    e, heads = 64, 4
    parts = []
    for i in range(3):
        rows = slice(i * e, (i + 1) * e)
        parts.append(w[f"{name}/attention/in_proj_weights"][rows].T.reshape(e, heads, e // heads))
        parts.append(w[f"{name}/attention/in_proj_bias"][rows].reshape(heads, e // heads))
    parts.append(w[f"{name}/attention/out_proj_weights"].T.reshape(heads, e // heads, e))
    parts.append(w[f"{name}/attention/out_proj_bias"])
    parts += [w[f"{name}/norm1/w"], w[f"{name}/norm1/b"]]
    parts += dense(w, f"{name}/linear1") + dense(w, f"{name}/linear2")
    return [*parts, w[f"{name}/norm2/w"], w[f"{name}/norm2/b"]]


def arranged(name, w):
    """Our weights in the order of Keras."""
    if name == "mlp":
        return dense(w, "l0") + dense(w, "l1") + dense(w, "l2")
    if name == "cnn":
        convs = [w[f"c{i}/{part}"] for i in range(3) for part in ("w", "b")]
        return convs + dense(w, "head")
    if name == "lstm":
        return [w["lstm/layer0/w"], w["lstm/layer0/r"], w["lstm/layer0/b"], *dense(w, "head")]
    return encoder(w, "e0") + encoder(w, "e1") + dense(w, "head")


def make(work, path):
    name, mode = work.split()
    stored = np.load(path)
    w = {key: stored[key] for key in stored.files}
    x, y = w.pop("__x__"), w.pop("__y__")
    if name == "cnn" and BACKEND == "torch":
        x = np.ascontiguousarray(x.transpose(0, 3, 1, 2))
    model = {"mlp": mlp, "cnn": cnn, "lstm": lstm, "transformer": transformer}[name]()
    model.set_weights(arranged(name, w))
    x, y = ops.convert_to_tensor(x), ops.convert_to_tensor(y)
    model.compile(
        optimizer=keras.optimizers.Adam(1e-3, epsilon=1e-8),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        run_eagerly=mode == "eager",
        # "auto" compiles on JAX and TensorFlow; torch has to be told.
        jit_compile=False if mode == "eager" else (True if BACKEND == "torch" else "auto"),
    )

    def step():
        return model.train_on_batch(x, y)

    losses = [float(np.asarray(step())) for _ in range(3)]
    return {"losses": losses, "compilations": compilations(step)}, step


def compilations(step):
    """How often JAX compiles in a step that has run before."""
    if BACKEND != "jax":
        return 0
    import jax

    events = []
    jax.monitoring.register_event_duration_secs_listener(
        lambda event, *_, **__: events.append(event) if "backend_compile" in event else None
    )
    for _ in range(2):
        step()
    return len(events) / 2


if __name__ == "__main__":
    serve(make)
