"""The modules of the contract's table, and what tests of modules ask of them.

Children are made before, after and inside the constructor.
"""

import numpy as np

import trellis
from trellis.nn import Linear


class TanhNet(trellis.Module):
    def __init__(self, i, o, hidden=64, **options):
        self._linear0 = Linear(i, hidden)
        self._linear1 = Linear(hidden, hidden)
        self._linear2 = Linear(hidden, o)
        super().__init__(**options)

    def _forward(self, x):
        x = trellis.expand_dims(x, axis=0)
        x = trellis.tanh(self._linear0(x))
        x = trellis.tanh(self._linear1(x))
        x = trellis.tanh(self._linear2(x))
        return x[0, ...]


class ListNet(trellis.Module):
    def _build(self, i, o, hidden=64):
        self._layers = [Linear(i, hidden), Linear(hidden, hidden), Linear(hidden, o)]

    def _forward(self, x):
        x = trellis.expand_dims(x, axis=0)
        for layer in self._layers:
            x = trellis.tanh(layer(x))
        return x[0, ...]


class DictNet(trellis.Module):
    def __init__(self, i, o, hidden=64, **options):
        super().__init__(**options)
        self._layers = {
            "linear0": Linear(i, hidden),
            "linear1": Linear(hidden, hidden),
            "linear2": Linear(hidden, o),
        }

    def _forward(self, x):
        x = trellis.expand_dims(x, axis=0)
        x = trellis.tanh(self._layers["linear0"](x))
        x = trellis.tanh(self._layers["linear1"](x))
        return trellis.tanh(self._layers["linear2"](x))[0, ...]


class SharedLayer(trellis.Module):
    def __init__(self, c, **options):
        self._linear0 = Linear(c, c)
        self._linear1 = self._linear0
        super().__init__(**options)

    def _forward(self, x):
        return self._linear1(self._linear0(x))


class SharedWeight(trellis.Module):
    def __init__(self, c, **options):
        first = Linear(c, c)
        self._linear0 = Linear(c, c, v={"w": first.v.w, "b": first.v.b})
        self._linear1 = Linear(c, c, v={"w": first.v.w, "b": trellis.zeros_like(first.v.b)})
        super().__init__(**options)

    def _forward(self, x):
        return self._linear1(self._linear0(x))


class DoubleLinear(trellis.Module):
    def __init__(self, i, o, hidden=64, **options):
        self._l0 = Linear(i, hidden)
        self._l1 = Linear(hidden, o)
        super().__init__(**options)

    def _forward(self, x):
        return self._l1(self._l0(x))


class Nested(trellis.Module):
    def __init__(self, i, hidden=64, **options):
        self._dl0 = DoubleLinear(i, hidden, hidden)
        self._dl1 = DoubleLinear(hidden, hidden, hidden)
        super().__init__(**options)

    def _forward(self, x):
        return self._dl1(self._dl1(self._dl0(x)))


class CustomVars(trellis.Module):
    def __init__(self, i, o, **options):
        self._linear0 = Linear(i, o)
        self._linear1 = Linear(o, o)
        self._linear2 = Linear(o, o)
        super().__init__(**options)

    def _create_variables(self, *, device, dtype):
        return {"x": self._linear0.v, "y": self._linear1.v, "z": self._linear2.v}

    def _forward(self, x):
        return self._linear2(self._linear1(self._linear0(x)))


class NoneAttr(trellis.Module):
    def __init__(self, **options):
        self.some_attribute = None
        super().__init__(**options)

    def _forward(self, x):
        return x


FIXTURES = {
    cls.__name__: cls
    for cls in (
        TanhNet,
        ListNet,
        DictNet,
        SharedLayer,
        SharedWeight,
        DoubleLinear,
        Nested,
        CustomVars,
        NoneAttr,
        Linear,
    )
}


def inputs(backend, channels, batch=(1, 2), dtype="float32"):
    """Numbers from 0 to 1 along the channels, on a batch of two axes."""
    x = np.broadcast_to(np.linspace(0, 1, channels), (*batch, channels))
    return trellis.asarray(np.array(x, dtype), backend=backend)


def train(module, x, steps=10, lr=1e-3):
    losses, first = [], None
    for _ in range(steps):
        loss, grads = trellis.execute_with_gradients(
            lambda v: trellis.mean(module(x, v=v)), module.v
        )
        first = grads if first is None else first
        module.v = trellis.gradient_descent_update(module.v, grads, lr)
        losses.append(loss)
    return losses, first


def zeros_everywhere(nest):
    return all(float(trellis.max(trellis.abs(g))) == 0 for g in trellis.tree.leaves(nest))


def nonzero_everywhere(nest):
    return all(float(trellis.max(trellis.abs(g))) > 0 for g in trellis.tree.leaves(nest))
