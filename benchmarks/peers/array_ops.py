"""One operation on arrays of four elements through Keras 3 (`keras.ops`), Ivy or array-api-compat.

array_ops.py keras | ivy | array-api-compat    backend
"""

import sys

import numpy as np
from serve import serve

PEER, BACKEND = sys.argv[1:3]


def native_array(x):
    if BACKEND == "torch":
        import torch

        return torch.tensor(x)
    if BACKEND == "jax":
        import jax.numpy as jnp

        return jnp.asarray(x)
    if BACKEND == "tensorflow":
        import tensorflow as tf

        return tf.constant(x)
    return np.array(x)


def through_keras(op):
    from keras import ops

    return getattr(ops, op)


def through_ivy(op):
    import ivy

    if ivy.current_backend_str() != BACKEND:
        ivy.set_backend(BACKEND)
    return getattr(ivy, op)


def through_compat(op):
    from array_api_compat import array_namespace

    def call(*xs):
        return getattr(array_namespace(*xs), op)(*xs)

    return call


FUNCTIONS = {"keras": through_keras, "ivy": through_ivy, "array-api-compat": through_compat}


def make(work, arity):
    xs = [np.linspace(0.1, 0.9, 4).astype("float32"), np.linspace(0.2, 0.8, 4).astype("float32")][
        :arity
    ]
    function = FUNCTIONS[PEER](work)
    xs = [native_array(x) for x in xs]
    if PEER == "ivy":
        import ivy

        xs = [ivy.Array(x) for x in xs]
    result = function(*xs)
    result = np.asarray(getattr(result, "data", result) if PEER == "ivy" else result)
    if arity == 1:
        (x,) = xs
        return result.tolist(), lambda: function(x)
    x, y = xs
    return result.tolist(), lambda: function(x, y)


if __name__ == "__main__":
    serve(make)
