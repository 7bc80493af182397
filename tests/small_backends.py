"""Two backends as other packages would write them: with seven names, and with a few dozen.

Their arrays hold NumPy arrays but have their own classes, so that the library does not treat them
as NumPy's.
"""

import operator
from contextlib import contextmanager
from types import ModuleType

import numpy as np

import trellis
from trellis import tree
from trellis.backend import NUMERIC, Abilities, complete, register, unregister

HOST = trellis.namespace("numpy")

ELEMENTWISE = (
    *("abs", "acos", "acosh", "add", "asin", "asinh", "atan", "atan2", "atanh", "bitwise_and"),
    *("bitwise_invert", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift", "bitwise_xor"),
    *("cbrt", "ceil", "conj", "copysign", "cos", "cosh", "divide", "equal", "erf", "erfc"),
    *("erfinv", "exp", "expm1", "floor", "floor_divide", "fmod", "greater", "greater_equal"),
    *("hypot", "imag", "isfinite", "isinf", "isnan", "less", "less_equal", "log", "log10"),
    *("log1p", "log2", "logical_and", "logical_not", "logical_or", "maximum", "minimum"),
    *("multiply", "negative", "nextafter", "not_equal", "pow", "real", "remainder", "round"),
    *("sign", "signbit", "sin", "sinh", "sqrt", "subtract", "tan", "tanh", "trunc"),
    *("truncate_divide",),
)
STRUCTURAL = (
    *("astype", "where", "sum", "prod", "max", "min", "any", "cumulative_sum", "cumulative_prod"),
    *("reshape", "permute_dims", "broadcast_to", "concat", "take", "take_along_axis"),
    *("index_set", "index_add"),
)


class DType:
    """A data type of no other framework."""

    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return f"boxed.{self.name}"


TYPES = {name: DType(name) for name in ("bool", *NUMERIC)}


def lifted(fn, box):
    """A function of NumPy's backend as one of boxes."""

    def call(*args, **kwargs):
        return wrapped(fn(*unwrapped(args), **unwrapped(kwargs)), box)

    return call


def unwrapped(nest):
    if isinstance(nest, Box):
        return nest.data
    if isinstance(nest, DType):
        return HOST.as_dtype(nest.name)
    if isinstance(nest, tuple):
        return tuple(unwrapped(item) for item in nest)
    if isinstance(nest, list):
        return [unwrapped(item) for item in nest]
    if isinstance(nest, slice):
        return slice(*unwrapped((nest.start, nest.stop, nest.step)))
    return {k: unwrapped(v) for k, v in nest.items()} if isinstance(nest, dict) else nest


def wrapped(value, box):
    return box(value) if isinstance(value, HOST.ARRAY_TYPES) else value


class Box:
    """An array: a shape, a type, operators and indices."""

    __array_priority__ = 1000  # NumPy's arrays on the left leave operators to this class
    __array_ufunc__ = None

    def __init__(self, data):
        self.data = data

    shape = property(lambda self: self.data.shape)
    ndim = property(lambda self: self.data.ndim)
    dtype = property(lambda self: TYPES[HOST.dtype_name(self.data.dtype)])

    def value(self):
        return HOST.to_numpy(HOST.stop_gradient(self.data))

    def __getitem__(self, idx):
        return type(self)(self.data[unwrapped(idx)])

    def __bool__(self):
        return bool(self.value())

    def __int__(self):
        return int(self.value())

    def __index__(self):
        return operator.index(self.value()[()])

    def __float__(self):
        return float(self.value())

    def __len__(self):
        return len(self.data)

    def __hash__(self):
        return id(self)


def _operator(name, is_turned=False):
    fn = getattr(HOST, name)

    def apply(self, *others):
        args = unwrapped((self, *others))
        return type(self)(fn(*(reversed(args) if is_turned else args)))

    return apply


for _sign, _name in {
    **{"add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "pow": "pow"},
    **{"floordiv": "floor_divide", "mod": "remainder", "matmul": "matmul"},
    **{"and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor"},
}.items():
    setattr(Box, f"__{_sign}__", _operator(_name))
    setattr(Box, f"__r{_sign}__", _operator(_name, True))
for _sign, _name in {
    **{"neg": "negative", "abs": "abs", "invert": "bitwise_invert"},
    **{"eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal"},
    **{"gt": "greater", "ge": "greater_equal"},
}.items():
    setattr(Box, f"__{_sign}__", _operator(_name))


class HostBox(Box):
    """The arrays of the backend of seven names."""


class NativeBox(Box):
    """The arrays of the other one."""


def small_backend(name, box, functions=(), types=TYPES):
    """A backend with the seven names, and some functions of NumPy's as its own."""
    xp = ModuleType(name)
    xp.TYPES, xp.ARRAY_TYPES = types, (box,)
    has_64 = "int64" in types
    xp.ABILITIES = Abilities(
        is_always_64_bit=has_64, has_float64=has_64, has_complex128=has_64, has_wide_unsigned=has_64
    )

    def from_numpy(x, /, *, device=None, copy=None):
        return box(HOST.from_numpy(np.asarray(x), copy=copy))

    def to_numpy(x, /):
        return x.value()

    def vjp(fn, xs, once=False, sparse=False):
        spec = []

        def of_data(leaves):
            outputs, aux = fn([box(x) for x in leaves])
            parts, structure = tree.flatten(aux)
            spec[:] = structure, [isinstance(part, Box) for part in parts]
            return unwrapped(outputs), unwrapped(parts)

        outputs, parts, pull = HOST.vjp(of_data, unwrapped(xs), once)
        structure, are_boxes = spec
        parts = [box(x) if b else x for x, b in zip(parts, are_boxes, strict=True)]
        aux = tree.unflatten(structure, parts)
        return (
            [box(y) for y in outputs],
            aux,
            lambda cotangents: [box(g) for g in pull(unwrapped(cotangents))],
        )

    def custom_vjp(fn, rule):
        def boxes(xs):
            return [None if x is None else box(x) for x in xs]

        inner = HOST.custom_vjp(
            lambda xs: unwrapped(fn(boxes(xs))),
            lambda xs, ys, upstream: unwrapped(rule(boxes(xs), boxes(ys), boxes(upstream))),
        )
        return lambda xs: boxes(inner(unwrapped(list(xs))))

    xp.from_numpy, xp.to_numpy, xp.vjp, xp.custom_vjp = from_numpy, to_numpy, vjp, custom_vjp
    for function in functions:
        setattr(xp, function, lifted(getattr(HOST, function), box))
    complete(xp)
    return xp


class NarrowBox(Box):
    """The arrays of a backend without types of 64 bits."""


WIDE = ("int64", "uint64", "float64", "complex128")
NARROW = {name: kind for name, kind in TYPES.items() if name not in WIDE}
SMALL = {
    "boxed_host": lambda: small_backend("boxed_host", HostBox),
    "boxed_narrow": lambda: small_backend("boxed_narrow", NarrowBox, types=NARROW),
    "boxed_native": lambda: small_backend("boxed_native", NativeBox, (*ELEMENTWISE, *STRUCTURAL)),
}


@contextmanager
def registered(xp):
    """The backend is known inside the block."""
    register(xp, xp.ARRAY_TYPES)
    try:
        yield xp
    finally:
        unregister(xp.__name__)
