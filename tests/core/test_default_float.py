"""The default float of a library: a `with` block or a decorator, also in compiled functions."""

import threading

import pytest

import trellis
from trellis.testing import assert_close


def kinds(tree):
    return [str(trellis.dtype(x)) for x in tree]


def of_block(n):
    backend = trellis.backend_of(n)
    with trellis.using_default_dtype("float64"):
        inner = trellis.linspace(0.0, 1.0, 4, backend=backend), trellis.mean(n)
    return *inner, trellis.zeros(2, backend=backend), trellis.sqrt(n)


@trellis.using_default_dtype("float64")
def decorated(n):
    return trellis.sqrt(n), trellis.namespace(n).zeros(2), narrower(n), trellis.sqrt(n)


@trellis.using_default_dtype("bfloat16")
def narrower(n):
    return trellis.ones(2, backend=trellis.backend_of(n))


EXPECTED = [
    (of_block, ["float64", "float64", "float32", "float32"]),
    (decorated, ["float64", "float64", "bfloat16", "float64"]),
]


@pytest.mark.parametrize("is_compiled", [False, True], ids=["eager", "compiled"])
@pytest.mark.parametrize("fn, expected", EXPECTED, ids=["with", "decorator"])
def test_types(backend, array, compiled, x64, fn, expected, is_compiled):
    with x64():
        run = compiled(fn) if is_compiled else fn
        for _ in range(2):  # the second time, a compiled function is not traced
            result = run(array([1, 4, 9], "int32"))
            assert kinds(result) == expected
    assert trellis.default_dtype() == "float32"
    root = result[3] if fn is of_block else result[0]
    assert_close(root, [1.0, 2.0, 3.0], backend=backend)


def test_a_compiled_function_has_the_default_around_it(backend, array, compiled, x64):
    """Outside of the block inside it."""
    with x64():
        run = compiled(of_block)
        n = array([1, 4, 9], "int32")
        assert kinds(run(n)) == ["float64", "float64", "float32", "float32"]
        with trellis.using_default_dtype("float64"):
            # jax.jit and tf.function do not look at Python again; what is compiled anew does.
            again = run if backend in ("numpy", "torch") else compiled(lambda n: of_block(n))
            assert kinds(again(n)) == ["float64"] * 4
        assert kinds(run(n)) == ["float64", "float64", "float32", "float32"]


def test_gradients_inside(backend, array, x64):
    @trellis.using_default_dtype("float64")
    def loss(x):
        return trellis.sum(x * trellis.ones(3, backend=backend) * 2)

    with x64():
        gradient = trellis.grad(loss)(array([1.0, 2.0, 3.0], "float64"))
        assert_close(gradient, [2.0, 2.0, 2.0], dtype="float64", backend=backend)


def test_an_error_inside_leaves_the_default(backend, array, compiled, x64):
    def fails(n):
        with trellis.using_default_dtype("float64"):
            return trellis.reshape(n, (7,))

    n = array([1, 4, 9], "int32")
    for run in (fails, compiled(fails)):
        with x64(), pytest.raises(Exception):  # noqa: B017, PT011 (that of each framework)
            run(n)
        assert str(trellis.dtype(trellis.zeros(2, backend=backend))) == "float32"
        assert str(trellis.dtype(compiled(trellis.sqrt)(n))) == "float32"


def test_other_threads_are_left_alone(backend, array, x64):
    """Two threads inside of the same decorated function, one in another type, one in none."""
    n = array([1, 4, 9], "int32")
    together, found = threading.Barrier(3), {}

    def work(name, dtype):
        with x64():
            if dtype is None:
                together.wait()
                found[name] = kinds([trellis.sqrt(n)])
                together.wait()
            else:
                with trellis.using_default_dtype(dtype):
                    together.wait()
                    found[name] = kinds([trellis.sqrt(n), decorated(n)[0], trellis.sqrt(n)])
                    together.wait()

    rows = [("wide", "float64"), ("half", "float16"), ("none", None)]
    threads = [threading.Thread(target=work, args=row) for row in rows]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {
        "wide": ["float64", "float64", "float64"],
        "half": ["float16", "float64", "float16"],
        "none": ["float32"],
    }
