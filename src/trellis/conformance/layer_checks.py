"""What the tests of layer rows share."""

import pytest

import trellis
from trellis import Container, errors
from trellis.testing import assert_close

from . import vectors
from .compilers import compile_with, forget_programs
from .strangers import other_of


def check_vectors(row, xp, x64):
    """All vectors of a row that have a result or an error, in both precisions."""
    for vector in vectors.of(row):
        if "prop" not in vector:
            vectors.check(vector, xp, "float32")
            with x64(), trellis.using_default_dtype("float64"):
                vectors.check(vector, xp, "float64")


def check_types(fn, make, backend, x64):
    """Results and gradients have the dtype and the backend of the arguments; `make(dtype)` gives
    them."""
    for dtype in ("float32", "float64"):
        with x64():
            out, pull = trellis.vjp(fn, *make(dtype))
            ones = trellis.tree.map(trellis.ones_like, out)
            for leaf in trellis.tree.leaves([out, list(pull(ones))]):
                assert trellis.dtype(leaf) == dtype
                assert trellis.backend_of(leaf) == backend


def check_compiled(fn, args, backend):
    """Compiled equals eager; on NumPy `trellis.compile` runs the function itself."""
    forget_programs(backend)
    eager, compiled = fn(*args), compile_with(backend, fn)(*args)
    assert_close(compiled, trellis.tree.map(trellis.to_numpy, eager), dtype=False, backend=backend)


def check_nests(fn, first, second, rest, backend):
    """A nested call equals the calls leaf by leaf, in dicts and Containers; other keys raise."""
    alone = [trellis.tree.map(trellis.to_numpy, fn(x, *rest)) for x in (first, second)]
    for kind in (dict, Container):
        nested = fn(kind(a=first, b=kind(c=second)), *rest)
        for i, nest in enumerate(flat(nested)):
            assert type(nest) is kind and type(nest["b"]) is kind
            assert_close(nest["a"], flat(alone[0])[i], backend=backend)
            assert_close(nest["b"]["c"], flat(alone[1])[i], backend=backend)
    with pytest.raises(errors.ShapeError, match="Pytrees differ"):
        fn({"a": first}, {"b": rest[0]}, *rest[1:])


def flat(result):
    """The elements of nested tuples; anything else is one element."""
    if isinstance(result, tuple):
        return [leaf for part in result for leaf in flat(part)]
    return [result]


def check_mixed(fn, args, backend):
    """An argument of another framework is refused, and named."""
    foreign = trellis.namespace(other_of(backend)).asarray(trellis.to_numpy(args[1]))
    with pytest.raises(errors.MixedBackendsError, match=other_of(backend)):
        fn(args[0], foreign, *args[2:])


def check_raises(builtin, cases):
    """(message, call) pairs: each raises an error of the library that is also the builtin."""
    for message, call in cases:
        with pytest.raises(builtin, match=message) as raised:
            call()
        assert isinstance(raised.value, errors.TrellisError)
