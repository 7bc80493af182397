"""Frameworks that tests of all backends take their expected values from, imported when first used.

A run with one framework alone can then read every test file; a test that needs an oracle says so
itself.
"""

from importlib import import_module


class _Oracle:
    def __init__(self, module):
        self._module = module

    def __getattr__(self, name):
        return getattr(import_module(self._module), name)


jax = _Oracle("jax")
keras = _Oracle("keras")
nnx = _Oracle("flax.nnx")
optax = _Oracle("optax")
tf = _Oracle("tensorflow")
torch = _Oracle("torch")
torch_functional = _Oracle("torch.nn.functional")
