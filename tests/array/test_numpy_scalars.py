"""Numbers that come from NumPy: scalars count as Python numbers, Python types as data types.

On NumPy itself a scalar beside an array is an array with a type of its own. `test_bad_input.py` has
a NumPy scalar in place of every number of every good call.
"""

import ml_dtypes
import numpy as np
import pytest

import trellis
from trellis import errors, optim

X = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]


def as_scalar(number):
    kinds = {bool: np.bool_, int: np.int64, float: np.float64, complex: np.complex128}
    if isinstance(number, tuple):
        return tuple([as_scalar(n) for n in number])
    return kinds[type(number)](number)


def same(found, expected):
    """Equal in framework, type and every bit."""
    assert type(found) is type(expected)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(trellis.to_numpy(found), trellis.to_numpy(expected))


# The numbers of a call, and the call: with NumPy's scalars it answers what it does with Python's.
CALLS = {
    "full": ((3,), lambda x, b, n: trellis.full((2,), n, backend=b)),
    "full of a size": ((2,), lambda x, b, n: trellis.full(n, 1.5, backend=b)),
    "arange": ((3,), lambda x, b, n: trellis.arange(n, backend=b)),
    "arange of floats": (
        (0.0, 2.0, 0.5),
        lambda x, b, *bounds: trellis.arange(*bounds, backend=b),
    ),
    "linspace": ((0.0, 1.0, 5), lambda x, b, *bounds: trellis.linspace(*bounds, backend=b)),
    "eye": ((2, 3, 1), lambda x, b, n, m, k: trellis.eye(n, m, k=k, backend=b)),
    "zeros": (((2, 3),), lambda x, b, shape: trellis.zeros(shape, backend=b)),
    "reshape": (((3, 2),), lambda x, b, shape: trellis.reshape(x, shape)),
    "broadcast_to": (((2, 2, 3),), lambda x, b, shape: trellis.broadcast_to(x, shape)),
    "sum over an axis": ((0,), lambda x, b, axis: trellis.sum(x, axis=axis)),
    "max over axes": (((0, 1),), lambda x, b, axis: trellis.max(x, axis=axis)),
    "keepdims": ((True,), lambda x, b, flag: trellis.mean(x, axis=1, keepdims=flag)),
    "roll": ((1,), lambda x, b, n: trellis.roll(x, n)),
    "roll along an axis": ((1, 0), lambda x, b, n, axis: trellis.roll(x, n, axis=axis)),
    "repeat": ((2,), lambda x, b, n: trellis.repeat(x, n, axis=0)),
    "tile": (((2, 1),), lambda x, b, n: trellis.tile(x, n)),
    "pad": ((1,), lambda x, b, n: trellis.pad(x, n)),
    "topk": ((2,), lambda x, b, k: trellis.topk(x, k)[0]),
    "sort": ((0, True), lambda x, b, a, flag: trellis.sort(x, axis=a, descending=flag)),
    "std": ((1.0,), lambda x, b, n: trellis.std(x, correction=n)),
    "clip": ((2.0, 5.0), lambda x, b, low, high: trellis.clip(x, low, high)),
    "an index": ((1, 7.0), lambda x, b, i, v: trellis.at(x, i).set(v)),
    "several indices": (((0, 1), 7.0), lambda x, b, i, v: trellis.at(x, i).add(v)),
    "one_hot": ((4,), lambda x, b, n: trellis.one_hot(trellis.astype(x, "int32"), n)),
    "slope": ((0.1,), lambda x, b, n: trellis.functional.leaky_relu(-x, negative_slope=n)),
    "epsilon": ((0.1,), lambda x, b, n: trellis.functional.layer_norm(x, epsilon=n)),
    "random.randint": (
        (0, 10),
        lambda x, b, low, high: trellis.random.randint(key(b), (4,), low, high),
    ),
    "randint": ((0, 10), lambda x, b, low, high: trellis.randint(low, high, shape=4, seed=key(b))),
    "random.bernoulli": ((0.5,), lambda x, b, p: trellis.random.bernoulli(key(b), p, (6,))),
    "random.gamma": ((2.0,), lambda x, b, a: trellis.random.gamma(key(b), a, (3,))),
    "random_normal": (
        (1.0, 2.0),
        lambda x, b, m, s: trellis.random_normal(mean=m, std=s, shape=3, seed=key(b)),
    ),
    "fold_in": ((3,), lambda x, b, n: trellis.random.fold_in(key(b), n)),
    "argnums": ((0,), lambda x, b, n: trellis.grad(lambda y: trellis.sum(y * y), argnums=n)(x)),
    "vmap": ((1,), lambda x, b, axis: trellis.vmap(trellis.sum, in_axes=axis)(x)),
    "learning rate": ((0.1,), lambda x, b, lr: trellis.gradient_descent_update(x, x, lr)),
    "SGD": ((0.1, True), lambda x, b, lr, flag: optim.SGD(lr, 0.9, nesterov=flag).step(x, x)),
}


def key(backend):
    return trellis.to_backend(trellis.random.key(5), backend)


@pytest.mark.parametrize("name", CALLS)
def test_scalars_of_numpy_are_numbers(name, backend):
    numbers, call = CALLS[name]
    x = trellis.asarray(X, backend=backend)
    same(call(x, backend, *as_scalar(numbers)), call(x, backend, *numbers))


@pytest.mark.parametrize("kind", ["float32", "float16", ml_dtypes.bfloat16])
def test_a_float_of_any_width_is_a_number(kind, backend):
    x = trellis.asarray(X, backend=backend)
    scalar = np.dtype(kind).type(0.5)
    same(trellis.multiply(scalar, trellis.multiply(x, scalar)), x * 0.25)
    zero, two = np.dtype(kind).type(0), np.dtype(kind).type(2)
    same(
        trellis.arange(zero, two, scalar, backend=backend),
        trellis.asarray([0.0, 0.5, 1.0, 1.5], backend=backend),
    )


def test_the_widest_floats_are_numbers(backend):
    x = trellis.asarray(X, backend=backend)
    same(trellis.std(x, correction=np.longdouble(1)), trellis.std(x, correction=1.0))
    if backend != "numpy":  # which has arrays of them
        same(trellis.multiply(x, np.clongdouble(2j)), trellis.multiply(x, 2j))


BINARY = ("add", "multiply", "pow", "maximum", "divide", "less", "equal")


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("number", [2, 2.0])
def test_beside_an_array(name, number, backend):
    fn, x = getattr(trellis, name), trellis.asarray(X, backend=backend)
    scalar = as_scalar(number)
    # On NumPy a scalar has a type of its own: float64.
    is_wide = backend == "numpy" and isinstance(number, float)
    wide = trellis.astype(x, "float64") if is_wide else x
    same(fn(x, scalar), fn(wide, number))
    same(fn(scalar, x), fn(number, wide))


def test_where_takes_them_on_both_sides(backend):
    x = trellis.asarray(X, backend=backend)
    found = trellis.where(x > 2, np.float32(1), x)
    same(found, trellis.where(x > 2, 1.0, x))


def test_an_integer_that_does_not_fit_is_refused(backend):
    x = trellis.asarray([1, 2], dtype="uint8", backend=backend)
    if backend == "numpy":  # there it is an array of int64
        assert trellis.add(x, np.int64(-1)).dtype == np.int64
    else:
        with pytest.raises(errors.ArgumentError, match="does not fit into uint8"):
            trellis.add(x, np.int64(-1))


def test_an_array_without_axes_is_no_number(backend):
    x = trellis.asarray(X, backend=backend)
    if backend == "numpy":
        assert trellis.multiply(x, np.array(2.0)).dtype == np.float64
    else:
        with pytest.raises(errors.MixedBackendsError):
            trellis.multiply(x, np.array(2.0))


def test_full_of_an_array_without_axes_has_its_type(backend):
    same(
        trellis.full((2,), np.array(3, "int32"), backend=backend),
        trellis.asarray([3, 3], dtype="int32", backend=backend),
    )


def test_the_default_backend_makes_arrays_of_them(backend):
    with trellis.using_backend(backend):
        for made in (
            trellis.full((2,), np.int64(3)),
            trellis.arange(np.int64(3)),
            trellis.random_normal(mean=np.float64(1), shape=2),
            trellis.asarray([np.int64(1), np.int64(2)]),
        ):
            assert trellis.backend_of(made) == backend


# A function that fails is called again; what it had done to its arguments must not be done twice.


def test_arrays_that_were_changed_on_the_way_are_not_used_again(backend):
    x = trellis.asarray(X, dtype="bfloat16", backend=backend)
    found = trellis.functional.cosine_similarity(x, x, axis=np.int64(-1))
    assert trellis.dtype(found) == trellis.bfloat16
    q = trellis.ones((3, 2, 4), backend=backend)
    mask = trellis.ones((7, 7), backend=backend) > 0
    with pytest.raises(errors.ShapeError):
        trellis.functional.multi_head_attention(
            q, num_heads=np.int64(2), batch_first=False, attention_mask=mask
        )


def test_a_draw_takes_one_key_of_the_stream(backend):
    with trellis.using_backend(backend):
        trellis.seed(3)
        first = [trellis.random_uniform(low=0.0, high=2.0, shape=2) for _ in range(2)]
        trellis.seed(3)
        again = [
            trellis.random_uniform(low=np.float64(0), high=np.float64(2), shape=np.int64(2))
            for _ in range(2)
        ]
    for x, y in zip(first, again, strict=True):
        same(x, y)


# Python types -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [bool, int, float, complex])
def test_python_types_are_data_types(kind, backend):
    """Each is the type of an array made of such a number."""
    made = trellis.asarray([kind(1), kind(1)], backend=backend)
    same(trellis.ones(2, dtype=kind, backend=backend), made)
    same(trellis.full((2,), 1, dtype=kind, backend=backend), made)
    same(trellis.astype(trellis.ones(2, backend=backend), kind), made)
    assert trellis.namespace(backend).as_dtype(kind) == made.dtype


def test_float_follows_the_default(backend):
    with trellis.using_default_dtype("float16"):
        assert trellis.dtype(trellis.zeros(2, dtype=float, backend=backend)) == trellis.float16


def test_python_types_in_draws(backend):
    draw = trellis.random.randint
    same(draw(key(backend), (3,), 0, 9, dtype=int), draw(key(backend), (3,), 0, 9))
    draw = trellis.random.normal
    same(draw(key(backend), (3,), dtype=float), draw(key(backend), (3,)))
    assert trellis.isdtype(float, "real floating") and trellis.isdtype(int, "signed integer")


# Functions of one array ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["log", "exp", "tanh", "sum", "abs", "isnan", "square"])
def test_functions_of_one_array_take_a_number(name, backend):
    with trellis.using_backend(backend):
        fn = getattr(trellis, name)
        same(fn(0.5), fn(trellis.asarray(0.5)))
        same(fn(2), fn(trellis.asarray(2)))


def test_activations_and_classes_take_a_number(backend):
    with trellis.using_backend(backend):
        for name in ("relu", "gelu", "relu6", "sigmoid"):
            fn = getattr(trellis.functional, name, None) or getattr(trellis, name)
            same(fn(0.5), fn(trellis.asarray(0.5)))
        same(trellis.one_hot(2, 4), trellis.asarray([0.0, 0.0, 1.0, 0.0]))


def test_a_function_of_two_arrays_asks_for_one():
    with pytest.raises(errors.ArgumentTypeError):
        trellis.matmul(2.0, 3.0)
