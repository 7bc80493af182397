"""array-api-strict as a backend: whatever arrays need beyond the standard fails on it.

It has no derivatives, so that those of NumPy's tape are borrowed: inside `vjp` its arrays are boxes
around NumPy's, and the functions run there. Outside, all arrays are array-api-strict's own.
"""

import builtins  # the functions below hide any, sum, max ...
import sys

import array_api_strict as strict
import numpy as np

from small_backends import ELEMENTWISE, HOST, STRUCTURAL, Box
from trellis import tree
from trellis.backend import NUMERIC, Abilities, promoted, refuse_dropping
from trellis.errors import DeviceError

NAME = "strict"
TYPES = {name: getattr(strict, name) for name in ("bool", *NUMERIC) if hasattr(strict, name)}
ABILITIES = Abilities()
Array = type(strict.asarray(0))
DType = type(strict.float32)


class Traced(Box, Array):
    """An array while a derivative is computed; a subclass, so that Python asks its operators
    first."""

    def __new__(cls, data):
        return object.__new__(cls)

    dtype = property(lambda self: TYPES[HOST.dtype_name(self.data.dtype)])

    def __getitem__(self, idx):
        return Traced(self.data[inside(idx)])


ARRAY_TYPES = (Array, Traced)


def from_numpy(x, /, *, device=None, copy=None):
    if device not in (None, "cpu"):
        raise DeviceError(f"Arrays of strict live on 'cpu'; there is no device {device!r}.")
    return strict.asarray(np.array(x, copy=copy))


def to_numpy(x, /):
    return x.value() if isinstance(x, Traced) else np.array(x)


# Derivatives --------------------------------------------------------------------------------------


def inside(x):
    """Arrays of either kind as NumPy's tape has them; other values as they are."""
    if isinstance(x, Traced):
        return x.data
    if isinstance(x, Array):
        return to_numpy(x)
    if isinstance(x, DType):
        return HOST.TYPES[x.name] if hasattr(x, "name") else HOST.TYPES[_NAMES[x]]
    if isinstance(x, (list, tuple)):
        return type(x)([inside(item) for item in x])
    if isinstance(x, dict):
        return {key: inside(item) for key, item in x.items()}
    return slice(*inside((x.start, x.stop, x.step))) if isinstance(x, slice) else x


_NAMES = {native: name for name, native in TYPES.items()}


def outside(x):
    """What comes from the tape: boxed while something is being differentiated."""
    return from_numpy(x) if isinstance(x, (np.ndarray, np.generic)) else Traced(x)


def is_traced(value):
    if isinstance(value, (list, tuple)):
        return builtins.any([is_traced(item) for item in value])
    return isinstance(value, Traced)


def vjp(fn, xs, once=False, sparse=False):
    spec = []

    def of_data(leaves):
        outputs, aux = fn([Traced(x) for x in leaves])
        parts, structure = tree.flatten(aux)
        spec[:] = structure, [isinstance(part, ARRAY_TYPES) for part in parts]
        return inside(list(outputs)), inside(parts)

    outputs, parts, pull = HOST.vjp(of_data, inside(list(xs)), once)
    structure, are_arrays = spec
    aux = [outside(x) if is_array else x for x, is_array in zip(parts, are_arrays, strict=True)]

    def back(cotangents):
        return [outside(g) for g in pull(inside(list(cotangents)))]

    return [outside(y) for y in outputs], tree.unflatten(structure, aux), back


def custom_vjp(fn, rule):
    def boxes(xs):
        return [None if x is None else Traced(x) for x in xs]

    inner = HOST.custom_vjp(
        lambda xs: inside(fn(boxes(xs))),
        lambda xs, ys, upstream: inside(rule(boxes(xs), boxes(ys), boxes(upstream))),
    )

    def call(xs):
        return [outside(y) for y in inner(inside(list(xs)))] if is_traced(xs) else fn(xs)

    return call


# Functions ----------------------------------------------------------------------------------------


def _either(name, own):
    """The framework's function, or that of the tape inside a derivative."""
    host = getattr(HOST, name)

    def call(*args, **kwargs):
        if is_traced(args) or is_traced(list(kwargs.values())):
            return outside(host(*inside(args), **inside(kwargs)))
        return own(*args, **kwargs)

    return call


def astype(x, dtype, /, *, copy=True, device=None):
    if isinstance(x, Traced):
        return outside(HOST.astype(x.data, inside(dtype), copy=copy))
    kind = TYPES.get(str(dtype), dtype)
    if "complex" in _NAMES[x.dtype] and "complex" not in _NAMES[kind]:
        raise refuse_dropping(_NAMES[x.dtype], _NAMES[kind])
    return strict.astype(x, kind, copy=copy)


def where(condition, x1, x2, /):
    kind = xp.result_type(x1, x2)
    return strict.where(condition, *[xp.asarray(x, dtype=kind) for x in (x1, x2)])


def concat(arrays, /, *, axis=0):
    kind = xp.result_type(*arrays)
    return strict.concat([astype(x, kind, copy=False) for x in arrays], axis=axis)


def _reduction(name):
    own = getattr(strict, name)

    def call(x, /, *, dtype=None, **options):
        kind = None if dtype is None else TYPES[xp.dtype_name(dtype)]
        x = astype(x, "int64") if _NAMES[x.dtype] == "bool" else x
        return own(x, dtype=kind, **options)

    return call


def take(x, indices, /, *, axis=None):
    """The standard's indices have one axis, ours any number."""
    if axis is None:
        x, axis = strict.reshape(x, (-1,)), 0
    axis = axis % len(x.shape)
    found = strict.take(x, strict.reshape(indices, (-1,)), axis=axis)
    return strict.reshape(found, (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]))


xp = sys.modules[__name__]
_own = {name: getattr(strict, name) for name in STRUCTURAL if hasattr(strict, name)}
_own |= {name: _reduction(name) for name in ("sum", "prod", "cumulative_sum", "cumulative_prod")}
_own |= {"where": where, "concat": concat, "take": take}
del _own["astype"]
_own |= promoted(xp, {name: getattr(strict, name) for name in ELEMENTWISE if hasattr(strict, name)})
for _name, _fn in _own.items():
    globals()[_name] = _either(_name, _fn)

for _sign, _name in {
    **{"add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "pow": "pow"},
    **{"floordiv": "floor_divide", "mod": "remainder", "matmul": "matmul"},
    **{"and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor"},
    **{"eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal"},
    **{"gt": "greater", "ge": "greater_equal"},
}.items():
    setattr(Traced, f"__{_sign}__", lambda x, y, name=_name: getattr(xp, name)(x, y))
    setattr(Traced, f"__r{_sign}__", lambda x, y, name=_name: getattr(xp, name)(y, x))
