"""How programs of foreign functions are compared with their source, on inputs that conversion did
not see.

A program is a function and the kinds of its inputs. A kind draws ordinary numbers, from which the
program is converted, and the hard ones on which it is tried.
"""

import warnings
from dataclasses import dataclass

import numpy as np

import trellis
from converted_checks import native, weights
from trellis import errors, tree

# Numbers that are treated apart somewhere: limits, halves, those next to them, and those that
# overflow a product or an exponential. None is subnormal: TensorFlow and XLA take these for zero.
HARD = [
    float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5,
    0.49999997, -0.49999997, 0.99999994, 1e-30, -1e-30, 1e-36, 8e37, -8e37, 1e10, -1e10,
    8388609.0, 88.0, -88.0, 104.0, -104.0, 3.0, -3.0, 2.0, -2.0, 7.25, -7.25, 0.1, -0.1,
]  # fmt: skip
HARD_INTEGERS = [0, 1, -1, 2, -2, 7, -7, 31, 127, -128, 2**31 - 1, -(2**31)]


@dataclass(frozen=True)
class Kind:
    """A kind of input: `draw` gives ordinary numbers, `hard` one array for each other try."""

    draw: object
    hard: object

    def example(self, place):
        return self.draw(np.random.default_rng(10 * place))

    def tries(self, place):
        """Those of the argument at a place, so that no two arguments are the same."""
        rngs = [np.random.default_rng(seed + 10 * place) for seed in (1, 2)]
        return [self.draw(rngs[0]), *self.hard(rngs[1])]


def each(*shape, low=-2.0, high=2.0, dtype="float32", only=lambda x: True):
    """Numbers that are looked at one by one: all hard ones, or `only` some, in several orders."""

    def draw(rng):
        return rng.uniform(low, high, size=shape).astype(dtype)

    def hard(rng):
        count, numbers = int(np.prod(shape)), [x for x in HARD if only(x)]
        return [
            np.resize(rng.permutation(numbers), count).reshape(shape).astype(dtype)
            for _ in range(6)
        ]

    return Kind(draw, hard)


def real(*shape, low=-2.0, high=2.0, dtype="float32"):
    """Numbers that are taken together: one hard trait at a time, since sums of very large and
    small numbers depend on their order."""

    def draw(rng):
        return rng.uniform(low, high, size=shape).astype(dtype)

    def with_some(rng, *numbers):
        x = draw(rng).reshape(-1)
        for number in numbers:
            x[rng.integers(x.size)] = number
        return x.reshape(shape)

    def hard(rng):
        return [
            rng.integers(-1, 2, size=shape).astype(dtype),  # ties
            np.where(rng.random(shape) < 0.5, 0.0, -0.0).astype(dtype),
            np.zeros(shape, dtype),
            -np.abs(draw(rng)),
            np.sort(draw(rng).reshape(-1)).reshape(shape),
            with_some(rng, np.nan),
            with_some(rng, np.nan, np.nan, np.inf),
            with_some(rng, np.inf, np.inf),
            with_some(rng, -np.inf, np.inf, 0.0, -0.0),
            # Of one sign: where large numbers cancel, the rest depends on the order of the sum.
            (np.abs(draw(rng)) + 0.5).astype(dtype) * np.asarray(1e15, dtype),
            (np.abs(draw(rng)) + 0.5).astype(dtype) * np.asarray(1e-15, dtype),
        ]

    return Kind(draw, hard)


def plain(*shape, low=-2.0, high=2.0, dtype="float32"):
    """Numbers of a domain outside of which the source is not defined, or not the same everywhere;
    the row says which."""

    def draw(rng):
        return rng.uniform(low, high, size=shape).astype(dtype)

    return Kind(draw, lambda rng: [draw(rng) for _ in range(3)])


def whole(*shape, low=0, high=5, dtype="int32", hard=()):
    """Integers between two bounds: indices, counts, ties."""

    def draw(rng):
        return rng.integers(low, high, size=shape).astype(dtype)

    def others(rng):
        count = int(np.prod(shape))
        found = [draw(rng) for _ in range(4)]
        for _ in range(6 if len(hard) else 0):
            found[_ % 4] = np.resize(rng.permutation(hard), count).reshape(shape).astype(dtype)
        return found

    return Kind(draw, others)


def truth(*shape):
    def draw(rng):
        return rng.random(shape) < 0.5

    return Kind(
        draw, lambda rng: [draw(rng), np.zeros(shape, bool), np.ones(shape, bool), draw(rng)]
    )


def matrix(*shape, kind="general", dtype="float32"):
    """Matrices that have an inverse: "general", "definite" or "lower" ones."""

    def draw(rng):
        a = rng.normal(size=shape).astype(dtype)
        n = shape[-1]
        if kind == "definite":
            a = a @ np.swapaxes(a, -1, -2) + n * np.eye(n, dtype=dtype)
        elif kind == "lower":
            a = np.tril(a, -1) + 2 * np.eye(n, dtype=dtype)
        elif shape[-1] == shape[-2]:
            a = a + 2 * np.eye(n, dtype=dtype)
        return a.astype(dtype)

    return Kind(draw, lambda rng: [draw(rng) for _ in range(3)])


def cplx(*shape):
    def draw(rng):
        return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype("complex64")

    return Kind(draw, lambda rng: [draw(rng) for _ in range(3)])


def tries_of(kinds):
    """Inputs for all arguments, one list for each try; those with fewer tries repeat theirs."""
    columns = [kind.tries(i) for i, kind in enumerate(kinds)]
    count = max([len(column) for column in columns])
    return [[column[i % len(column)] for column in columns] for i in range(count)]


@dataclass(frozen=True)
class Row:
    """A program, and what is known of it."""

    fn: object
    kinds: tuple
    refused: str = ""  # the operation that the error names
    wide: str = ""  # the operation that needs 64 bits, which JAX has only if asked for
    # Of a result relative to itself (elementwise), or to the largest of its array.
    tolerance: float = 2e-5
    # Results below this are compared as if they were this large: where a function crosses zero,
    # its last places come from cancellation.
    floor: float = 0.0
    gradient: bool = True
    gradient_tolerance: float = 1e-4
    why: str = ""  # the reason for a kind, tolerance or flag that is not the usual one
    is_left_out: object = None  # tells tries that the source leaves open


def row(fn, *kinds, **options):
    return Row(fn, kinds, **options)


def arrays_of(nest):
    found = []
    for x in tree.leaves(nest):
        x = x if isinstance(x, (np.ndarray, np.generic)) else trellis.to_numpy(x)
        found.append(np.asarray(x))
    return found


def difference(found, expected, row):
    """In words where two lists of arrays differ, or "" if they do not."""
    if len(found) != len(expected):
        return f"{len(found)} results, expected {len(expected)}"
    by_element = all([k.hard.__qualname__.startswith("each.") for k in row.kinds])
    for i, (x, y) in enumerate(zip(found, expected)):
        if x.shape != y.shape:
            return f"result {i} has shape {x.shape}, expected {y.shape}"
        if y.size == 0:
            continue
        if y.dtype.kind in "iub":
            if not np.array_equal(x, y):
                at = np.argwhere(np.asarray(x != y))[0]
                return f"result {i} at {at}: {x[tuple(at)]}, expected {y[tuple(at)]}"
            continue
        kind = "complex128" if y.dtype.kind == "c" else "float64"
        a, b = x.astype(kind), y.astype(kind)
        parts = [(a.real, b.real), (a.imag, b.imag)] if kind == "complex128" else [(a, b)]
        for p, q in parts:
            special = ~np.isfinite(q)
            same = np.where(special | ~np.isfinite(p), (p == q) | (np.isnan(p) & np.isnan(q)), True)
            if not same.all():
                at = tuple(np.argwhere(~same)[0])
                return f"result {i} at {at}: {p[at]}, expected {q[at]}"
            p, q = np.where(special, 0, p), np.where(special, 0, q)
            scale = np.abs(q) if by_element else np.abs(q).max()
            tiny = 1.2e-38 / row.tolerance  # what lies below is zero in some frameworks
            error = np.abs(p - q) / np.maximum(np.maximum(scale, row.floor), tiny)
            if error.max() > row.tolerance:
                at = tuple(np.unravel_index(np.argmax(error), error.shape))
                return f"result {i} at {at}: {p[at]}, expected {q[at]}, off by {error[at]:.1e}"
    return ""


def outcome(row, backend, convert, run, gradient):
    """ "right", "refused: " and the error, or what is wrong.

    `convert(fn, example, backend, verify)` gives the model, `run(fn, inputs)` what the source
    computes and `gradient(fn, inputs, weights)` the gradients that it takes.
    """
    example = [kind.example(i) for i, kind in enumerate(row.kinds)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of NumPy, about the hard numbers
        try:
            # One target is enough to see that verification does not raise for a right one; without
            # it, types that JAX lacks raise when the model runs.
            model = convert(row.fn, example, backend, backend == "numpy" or bool(row.wide))
        except (errors.NotSupportedError, errors.ConversionError, errors.DtypeError) as error:
            return f"refused: {error}"
        for number, inputs in enumerate(tries_of(row.kinds)):
            if row.is_left_out is not None and row.is_left_out(*inputs):
                continue
            expected = [np.asarray(x) for x in run(row.fn, inputs)]
            found = arrays_of(model(*native(inputs, backend)))
            wrong = difference(found, expected, row) or _types(found, expected, backend)
            if wrong:
                return f"wrong on try {number}: {wrong}"
        return gradients_of(row, model, backend, gradient)


def _types(found, expected, backend):
    narrow = {"int64": "int32", "uint64": "uint32", "float64": "float32", "complex128": "complex64"}
    for i, (x, y) in enumerate(zip(found, expected)):
        wanted = y.dtype.name
        if backend == "jax":  # without 64 bits, unless the user turns them on
            wanted = narrow.get(wanted, wanted)
        if x.dtype.name != wanted:
            return f"result {i} is {x.dtype.name}, expected {wanted}"
    return ""


def gradients_of(row, model, backend, gradient):
    """Gradients at other ordinary inputs, of all results with cosines as weights."""
    inputs = [kind.tries(i)[0] for i, kind in enumerate(row.kinds)]
    places = [i for i, x in enumerate(inputs) if x.dtype.kind == "f"]
    if not places or not row.gradient:
        return "right"
    outs = arrays_of(model(*native(inputs, backend)))
    if not any([x.dtype.kind in "fc" for x in outs]):
        return "right"
    expected = gradient(row.fn, inputs, places)
    arrays = native(inputs, backend)

    def loss(chosen):
        given = list(arrays)
        for i, x in zip(places, chosen):
            given[i] = x
        total = 0.0
        for out in tree.leaves(model(*given)):
            kind = str(trellis.dtype(out))
            if "float" in kind or "complex" in kind:
                w = trellis.namespace(backend).from_numpy(weights(tuple(out.shape)))
                w = trellis.astype(w, kind.replace("complex64", "float32"))
                part = trellis.abs(out) if "complex" in kind else out
                total = total + trellis.sum(part * w)
        return total

    found = trellis.grad(loss)([arrays[i] for i in places])
    loose = Row(row.fn, (), tolerance=row.gradient_tolerance, floor=1e-3)
    by_array = Row(row.fn, (real(1),), tolerance=loose.tolerance, floor=loose.floor)
    wrong = difference(arrays_of(found), [np.asarray(x) for x in expected], by_array)
    return f"wrong gradient: {wrong}" if wrong else "right"


class Table(dict):
    """Programs by name."""

    def add(self, prefix, **rows):
        self.update({f"{prefix}.{name}": made for name, made in rows.items()})

    def unary(self, prefix, names, kind, module, **options):
        for name in names.split():
            self[f"{prefix}.{name}"] = row(getattr(module, name), kind, **options)

    def binary(self, prefix, names, kind, module, **options):
        for name in names.split():
            self[f"{prefix}.{name}"] = row(getattr(module, name), kind, kind, **options)

    def without_reason(self):
        """The names of rows that are not the usual ones and do not say why."""
        usual = Row(None, ())
        options = ("tolerance", "floor", "gradient_tolerance", "gradient", "is_left_out")
        return [
            name
            for name, each in self.items()
            if [option for option in options if getattr(each, option) != getattr(usual, option)]
            and not (each.why or each.refused)
        ]


def check_row(row, backend, convert, run, gradient):
    """Assert that a program is right on a backend, or refused as its row says."""
    found = outcome(row, backend, convert, run, gradient)
    refused = row.wide if row.wide and backend == "jax" else row.refused
    if refused:
        assert found.startswith("refused: ") and refused in found, found
    else:
        assert found == "right", found
