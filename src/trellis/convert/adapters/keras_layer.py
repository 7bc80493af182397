"""A Trellis model as a layer of Keras 3, on whichever backend Keras runs."""

from typing import Any

import keras

from ..._array.casting import astype
from ..._core.errors import NotSupportedError
from ...nn import Module
from .hollow import Hollow

_BACKENDS = ("tensorflow", "jax", "torch")


class KerasLayer(keras.layers.Layer):
    """A Keras layer that computes what a Trellis model computes; see `as_keras_layer`."""

    def __init__(self, model: Module, seed: int | None = None, **options: Any):
        super().__init__(**options)
        backend = keras.backend.backend()
        if backend not in _BACKENDS:
            raise NotSupportedError(
                f"as_keras_layer() knows Keras on {', '.join(_BACKENDS)}, and this one runs on "
                f"{backend}. Set KERAS_BACKEND before Keras is imported."
            )
        self._hollow = Hollow(model, backend, "as_keras_layer")
        v, kept = self._hollow.release()
        self._v = [self._weight(chain, x, True) for chain, x in v.items()]
        self._kept = [self._weight(chain, x, False) for chain, x in kept.items()]
        self.seed_generator = keras.random.SeedGenerator(seed)
        self.built = True

    def _weight(self, chain: str, x: Any, can_learn: bool) -> Any:
        dtype = keras.backend.standardize_dtype(x.dtype)
        is_float = dtype.startswith(("float", "bfloat", "complex"))
        # Keras keeps slashes for itself, and torch, where Keras runs on it, dots.
        weight = self.add_weight(
            shape=tuple(x.shape),
            initializer="zeros",
            dtype=dtype,
            trainable=can_learn and is_float,
            name=chain.replace("/", "__").replace(".", "_"),
        )
        weight.assign(x)
        return weight

    def call(self, x: Any, *more: Any, training: bool | None = None, **kwargs: Any) -> Any:
        v = [keras.ops.convert_to_tensor(weight.value) for weight in self._v]
        before = [keras.ops.convert_to_tensor(weight.value) for weight in self._kept]
        result, after = self._hollow.run(bool(training), v, before, (x, *more), kwargs, self._key)
        for weight, old, new in zip(self._kept, before, after, strict=True):
            if new is not old:
                weight.assign(new)
        return _plain(result)

    def _key(self) -> Any:
        """A Trellis key from Keras' generator, which advances with every draw."""
        return astype(self.seed_generator.next(), "uint32")

    def to_trellis(self, backend: str | None = None) -> Any:
        """A Trellis model with the weights as they are now."""
        v, kept = [[weight.numpy() for weight in part] for part in (self._v, self._kept)]
        return self._hollow.filled(v, kept, backend).train(self._hollow.is_training)


def _plain(result: Any) -> Any:
    """Keras knows plain dicts, not Containers."""
    if isinstance(result, dict):
        return {key: _plain(value) for key, value in dict.items(result)}
    if type(result) in (list, tuple):
        return type(result)([_plain(value) for value in result])
    return result
