"""A Trellis model inside the training loops of other libraries: as a torch module, a Keras layer, a
flax module, a JAX function. The arrays are copied to the framework of that library (the host); the
original model does not change. `to_trellis()` of each returns a Trellis model with the current
weights.
"""

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ..._core.dispatch import load
from ..._core.errors import BackendNotInstalledError
from ...nn import Module

if TYPE_CHECKING:
    from .flax_module import FlaxModule
    from .jax_function import JaxFunction
    from .keras_layer import KerasLayer
    from .torch_module import TorchModule


def as_torch_module(model: Module, /) -> "TorchModule":
    """A real `torch.nn.Module` that computes what a Trellis model computes.

    Its Parameters are the variables, under their key paths ("layers/v0/w"), its buffers the
    buffers: optimizers, `state_dict`, `train()` and `eval()`, `deepcopy`, `torch.compile` and
    DistributedDataParallel treat it as any other. Dropout draws from torch's generator,
    `torch.manual_seed`, unless the call is inside a `with trellis.random.stream(key):` block.

    >>> import torch, trellis
    >>> from trellis import convert
    >>> module = convert.as_torch_module(trellis.nn.Linear(4, 2, backend="numpy"))
    >>> [name for name, _ in module.named_parameters()]
    ['b', 'w']
    >>> module(torch.ones(3, 4)).sum().backward()
    >>> module.w.grad.shape
    torch.Size([2, 4])
    """
    load("torch")  # says what to install
    from .torch_module import TorchModule

    return TorchModule(model)


def as_jax(model: Module, /) -> "tuple[dict[str, Any], JaxFunction]":
    """A model as parameters and a pure function of JAX: `(params, fn)`, `y = fn(params, x)`.

    `params` is a pytree of plain dicts, for `jax.grad`, `jax.jit` and optax. The initial buffers,
    such as running means, are `fn.buffers`; a call that updates them takes them and returns the new
    ones, `y, buffers = fn(params, x, buffers=buffers)`. `key=` is the key from which dropout draws;
    `training=` chooses the mode, that of the model unless given. `fn.to_trellis(params)` is a model
    again.

    >>> import jax, trellis
    >>> from trellis import convert
    >>> params, fn = convert.as_jax(trellis.nn.Linear(4, 2, backend="numpy"))
    >>> grads = jax.grad(lambda p, x: fn(p, x).sum())(params, jax.numpy.ones((3, 4)))
    >>> jax.tree.map(lambda g: g.shape, grads)
    {'b': (2,), 'w': (2, 4)}
    """
    load("jax")
    from .jax_function import JaxFunction

    fn = JaxFunction(model)
    return fn.params, fn


def as_flax(model: Module, /, *, rngs: Any = None) -> "FlaxModule":
    """A `flax.nnx.Module` that computes what a Trellis model computes.

    Its Params are the variables, in `module.v` by their names, its BatchStats the buffers;
    `module.train()` and `module.eval()` choose the mode. Dropout draws from the stream "dropout" of
    `rngs`, an `nnx.Rngs`, or from `trellis.random.stream(key)` around the call.

    >>> import jax, trellis
    >>> from flax import nnx
    >>> from trellis import convert
    >>> module = convert.as_flax(trellis.nn.Linear(4, 2, backend="numpy"))
    >>> module(jax.numpy.ones((3, 4))).shape
    (3, 2)
    >>> nnx.state(module, nnx.Param)["v"]["w"].shape
    (2, 4)
    """
    load("jax")
    _require("flax", "as_flax")
    from .flax_module import FlaxModule

    return FlaxModule(model, rngs)


def as_keras_layer(
    model: Module, /, *, seed: int | None = None, name: str | None = None
) -> "KerasLayer":
    """A layer of Keras 3 that computes what a Trellis model computes, on Keras' own backend.

    Its `trainable_weights` are the variables, its `non_trainable_weights` the buffers, called
    "layers__v0__w" and so on. The mode is Keras' argument `training`. Dropout draws from a
    `keras.random.SeedGenerator(seed)`, so `keras.utils.set_random_seed` decides where no seed is
    given.

    >>> import keras, numpy as np, trellis
    >>> from trellis import convert
    >>> layer = convert.as_keras_layer(trellis.nn.Linear(4, 2, backend="numpy"))
    >>> keras.Sequential([layer])(np.ones((3, 4), "float32")).shape
    TensorShape([3, 2])
    >>> [weight.name for weight in layer.trainable_weights]
    ['b', 'w']
    """
    _require("keras", "as_keras_layer")
    from .keras_layer import KerasLayer

    return KerasLayer(model, seed, **({} if name is None else {"name": name}))


def _require(package: str, function: str) -> None:
    if find_spec(package) is None:
        raise BackendNotInstalledError(
            f"{function}() needs the package {package}, which is not installed. "
            f"Run: pip install {package}"
        )
