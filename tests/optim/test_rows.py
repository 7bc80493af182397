"""The rows of optimizers, transformations and schedules on every backend, in every float type.

Tolerances over 20 steps: 1e-9 of the largest value in float64, 2e-5 in float32 (two programs that
round in another order drift apart by some rounding errors a step, and Adam's first steps divide
numbers that are rounded themselves). In half precision 3 steps are compared, to 8 rounding errors
of 1.
"""

import numpy as np
import pytest

import trellis
from conftest import fresh
from optim_cases import (
    OPTIMIZERS,
    SCHEDULES,
    STEPS,
    TRANSFORMATIONS,
    gradients,
    named,
    variables,
)
from trellis import Container, optim, tree

TOLERANCE = {"float16": 8 * 2**-11, "bfloat16": 8 * 2**-8, "float32": 2e-5, "float64": 1e-9}
OPTIMIZER_ROWS, TRANSFORMATION_ROWS = named(OPTIMIZERS), named(TRANSFORMATIONS)
SCHEDULE_ROWS = named(SCHEDULES)
HALF = ("float16", "bfloat16")
_oracles = {}


def steps_in(dtype):
    return 3 if dtype in HALF else STEPS


def oracle(name, dtype):
    """Half precision is compared with float64."""
    dtype = "float64" if dtype in HALF else dtype
    if (name, dtype) not in _oracles:
        _oracles[name, dtype] = OPTIMIZER_ROWS[name].expected(dtype)
    return _oracles[name, dtype]


def cast(nest, dtype, array, xp):
    """A NumPy pytree on a backend; half precision is rounded there."""
    first = "float32" if dtype in HALF else dtype
    return tree.map(lambda x: xp.astype(array(np.asarray(x, first)), dtype), nest)


def as_float64(nest):
    """The leaves in NumPy float64."""
    wide = [
        trellis.astype(x, "float32") if str(trellis.dtype(x)) in HALF else x
        for x in tree.leaves(nest)
    ]
    return [np.asarray(trellis.to_numpy(x), "float64") for x in wide]


def assert_same(ours, theirs, tolerance):
    # Half precision is wide of the mark by its rounding of the gradients, which are about 1.
    least = 1.0 if tolerance > 1e-3 else 0.1
    for i, (xs, ys) in enumerate(zip(ours, theirs, strict=True)):
        for x, y in zip(xs, ys, strict=True):
            atol = tolerance * max(float(np.max(np.abs(y))), least)
            np.testing.assert_allclose(x, y, rtol=tolerance, atol=atol, err_msg=f"step {i}")


def assert_on(nest, dtype, backend):
    for leaf in tree.leaves(nest):
        assert trellis.dtype(leaf) == dtype
        assert trellis.backend_of(leaf) == backend


def fits(dtype, backend):
    if backend == "numpy" and dtype == "bfloat16":
        pytest.skip("NumPy has bfloat16 only through another package")


DTYPES = ["float16", "bfloat16", "float32", "float64"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", OPTIMIZER_ROWS)
def test_optimizer(name, dtype, backend, array, xp, x64):
    fits(dtype, backend)
    row, opt = OPTIMIZER_ROWS[name], OPTIMIZER_ROWS[name].make()
    count = steps_in(dtype)
    expected = oracle(name, dtype)[:count]
    found = []
    with x64():
        v = Container(cast(variables(), dtype, array, xp))
        for i in range(count):
            before = as_float64(v)
            new_v = opt.step(v, cast(gradients(i), dtype, array, xp))
            for x, y in zip(as_float64(v), before, strict=True):
                np.testing.assert_array_equal(x, y)
            v = new_v
            found.append(as_float64(v))
    is_rounded = row.rounded and dtype == "float64"
    assert_same(found, expected, 1e-6 if is_rounded else TOLERANCE[dtype])
    assert_on(v, dtype, backend)
    assert isinstance(opt.state, Container)
    assert int(opt.state.step) == count


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", TRANSFORMATION_ROWS)
def test_transformation(name, dtype, backend, array, xp, x64):
    fits(dtype, backend)
    row = TRANSFORMATION_ROWS[name]
    if row.half and dtype in HALF:
        pytest.skip(row.half)
    count = min(steps_in(dtype), 7)
    grads = [[np.asarray(g) for g in tree.leaves(gradients(i))] for i in range(count)]
    expected = row.expected(grads, [np.asarray(w) for w in tree.leaves(variables())])
    transformation = row.make()
    found = []
    with x64():
        params = Container(cast(variables(), dtype, array, xp))
        state = transformation.init(params)
        for i in range(count):
            g = Container(cast(gradients(i), dtype, array, xp))
            updates, state = transformation.update(g, state, params)
            found.append(as_float64(updates))
    assert_same(found, expected, TOLERANCE[dtype])
    assert_on(updates, dtype, backend)
    assert isinstance(state, Container)


def assert_nests(x, y, tolerance):
    assert tree.key_chains(Container(x)) == tree.key_chains(Container(y))
    assert_same([as_float64(x)], [as_float64(y)], tolerance)


@pytest.mark.parametrize("name", OPTIMIZER_ROWS)
def test_compiled_optimizer_equals_eager(name, backend, array, xp):
    opt, expected = OPTIMIZER_ROWS[name].make(), OPTIMIZER_ROWS[name].make()
    v = w = Container(cast(variables(), "float32", array, xp))
    compiled, state = fresh(backend, opt.update), opt.init(v)
    for i in range(3):
        grads = Container(cast(gradients(i), "float32", array, xp))
        v, state = compiled(v, grads, state)
        w = expected.step(w, grads)
    assert_nests(v, w, 1e-5)
    assert_nests(state, expected.state, 1e-5)


def test_compiled_transformations_equal_eager(backend, array, xp):
    """Those that no optimizer of the rows has inside, in one program."""
    names = ["clip", "clip_by_norm", "ema", "masked", "accumulate_gradients", "scale"]
    whole = optim.chain(*[TRANSFORMATION_ROWS[name].make() for name in names])
    params = Container(cast(variables(), "float32", array, xp))
    state = eager_state = whole.init(params)
    compiled = fresh(backend, whole.update)
    for i in range(3):
        grads = Container(cast(gradients(i), "float32", array, xp))
        updates, state = compiled(grads, state, params)
        expected, eager_state = whole.update(grads, eager_state, params)
        assert_nests(updates, expected, 1e-5)
    assert_nests(state, eager_state, 1e-5)
    assert max([float(np.max(np.abs(x))) for x in as_float64(updates)]) > 0


@pytest.mark.parametrize("name", SCHEDULE_ROWS)
def test_schedule(name, backend, array, x64):
    row = SCHEDULE_ROWS[name]
    schedule, formula = row.make(), row.expected
    for t in range(12):
        assert schedule(t) == pytest.approx(formula(t), rel=1e-12, abs=1e-15)
        assert isinstance(schedule(t), float)
        result = schedule(array(np.array(t, "int32")))
        assert trellis.backend_of(result) == backend
        assert trellis.dtype(result) == "float32"
        assert float(result) == pytest.approx(formula(t), rel=1e-5, abs=1e-7)
        with x64():
            result = schedule(array(np.array(t, "float64")))
            assert trellis.dtype(result) == "float64"
            assert float(result) == pytest.approx(formula(t), rel=1e-12, abs=1e-15)
    if backend != "numpy":
        result = fresh(backend, schedule)(array(np.array(5, "int32")))
        assert float(result) == pytest.approx(formula(5), rel=1e-5)
