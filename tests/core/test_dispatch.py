"""The arrays decide: which backend runs, what is refused, what the default is, and what compilers
see."""

import asyncio
import subprocess
import sys
import threading

import numpy as np
import pytest

import trellis
from conftest import BACKENDS
from trellis import errors
from trellis.testing import assert_close


def one_of_each():
    values = np.array([0.5, 1.0], "float32")
    return {name: trellis.namespace(name).from_numpy(values) for name in BACKENDS}


def run_python(program, **environment):
    """The last line that a program prints in a fresh process."""
    import os

    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip().splitlines()[-1]


# Which backend
# -------------------------------------------------------------------------------------


def test_all_four_in_one_process():
    for name, x in one_of_each().items():
        assert trellis.backend_of(x) == name
        assert trellis.namespace(x) is trellis.namespace(name)
        y = trellis.tanh(trellis.add(x, 1))
        assert_close(y, np.tanh(np.array([1.5, 2.0], "float32")), backend=name)


def test_subclasses_and_variables():
    import tensorflow as tf
    import torch

    class Special(np.ndarray):
        pass

    assert trellis.backend_of(np.zeros(2).view(Special)) == "numpy"
    assert trellis.backend_of(np.float32(1.0)) == "numpy"
    assert trellis.backend_of(torch.nn.Parameter(torch.zeros(2))) == "torch"
    assert trellis.backend_of(tf.Variable([1.0, 2.0])) == "tensorflow"
    assert_close(trellis.square(tf.Variable([1.0, 2.0])), [1.0, 4.0], backend="tensorflow")


@pytest.mark.parametrize("x", [[1.0, 2.0], "torch", 3.5, None, object()])
def test_backend_of_refuses_what_is_no_array(x):
    with pytest.raises(errors.ArgumentTypeError, match="array"):
        trellis.backend_of(x)


def test_lists_are_refused_with_advice():
    with pytest.raises(errors.ArgumentTypeError, match=r"trellis\.asarray"):
        trellis.tanh([1.0, 2.0])


def test_unknown_names_are_refused():
    with pytest.raises(errors.ArgumentError, match="numpy, jax, torch, tensorflow"):
        trellis.set_backend("theano")
    with pytest.raises(ValueError, match="theano"):
        trellis.zeros(3, backend="theano")


# Mixtures
# ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("other", BACKENDS[1:])
def test_mixed_backends_are_refused(other):
    arrays = one_of_each()
    first, second = arrays["numpy"], arrays[other]
    with pytest.raises(errors.MixedBackendsError) as caught:
        trellis.maximum(first, second)
    text = str(caught.value)
    assert "maximum()" in text and "x1 is from numpy" in text and f"x2 is from {other}" in text
    assert "to_backend(x2, 'numpy')" in text
    assert isinstance(caught.value, TypeError) and isinstance(caught.value, errors.TrellisError)
    for call in (
        lambda: trellis.where(first > 0, first, second),
        lambda: trellis.concat([first, second]),
        lambda: trellis.clip(first, second, None),
        lambda: trellis.at(first, 0).set(second[0]),
        lambda: trellis.matmul(second, first),
        lambda: trellis.add(trellis.Container(a=first), trellis.Container(a=second)),
    ):
        with pytest.raises(errors.MixedBackendsError):
            call()


def test_the_error_of_a_mixture_names_the_method_and_the_parts_of_the_object():
    from trellis import distributions

    arrays = one_of_each()
    scale = trellis.exp(arrays["torch"])
    drawn = distributions.Gamma(trellis.exp(arrays["torch"]), scale)
    with pytest.raises(errors.MixedBackendsError) as caught:
        drawn.rsample(trellis.random.key(0))
    text = str(caught.value)
    assert text.startswith("rsample() got") and "key is from numpy" in text
    assert "rate is from torch" in text


def test_python_numbers_fit_every_backend(backend, array):
    x = array([1.0, 2.0])
    assert_close(trellis.add(1, x), [2.0, 3.0], backend=backend, dtype="float32")
    assert_close(trellis.where(x > 1.5, x, 0), [0.0, 2.0], backend=backend, dtype="float32")


# The default backend
# -------------------------------------------------------------------------------


def test_using_backend(backend):
    before = trellis.current_backend()
    with trellis.using_backend(backend):
        assert trellis.current_backend() == backend
        assert_close(trellis.zeros(2), [0.0, 0.0], backend=backend, dtype="float32")
        assert_close(trellis.asarray([1, 2]), [1, 2], backend=backend)
        with trellis.using_backend("numpy"):
            assert trellis.current_backend() == "numpy"
        assert trellis.current_backend() == backend
    assert trellis.current_backend() == before


def test_using_backend_ends_with_an_error():
    with pytest.raises(KeyError), trellis.using_backend("jax"):
        raise KeyError
    assert trellis.current_backend() == "numpy"


def test_set_backend_counts_for_the_process():
    try:
        trellis.set_backend("torch")
        seen = []
        thread = threading.Thread(target=lambda: seen.append(trellis.current_backend()))
        thread.start()
        thread.join()
        assert seen == ["torch"] and trellis.current_backend() == "torch"
    finally:
        trellis.set_backend("numpy")
    assert trellis.current_backend() == "numpy"


def test_backend_argument(backend):
    assert_close(trellis.ones(2, backend=backend), [1.0, 1.0], backend=backend)
    assert_close(trellis.asarray([1.0], backend=backend), [1.0], backend=backend, dtype="float32")
    for name, x in one_of_each().items():
        assert trellis.backend_of(trellis.asarray(x)) == name
        assert_close(trellis.asarray(x, backend=backend), [0.5, 1.0], backend=backend)


@pytest.mark.needs("jax", "torch", "tensorflow")
def test_threads_have_their_own_default():
    seen = {}
    barrier = threading.Barrier(len(BACKENDS))

    def work(name):
        with trellis.using_backend(name):
            barrier.wait(timeout=60)
            seen[name] = [trellis.current_backend(), trellis.backend_of(trellis.zeros(2))]
            barrier.wait(timeout=60)
        seen[name].append(trellis.current_backend())

    threads = [threading.Thread(target=work, args=(name,)) for name in BACKENDS]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == {name: [name, name, "numpy"] for name in BACKENDS}


@pytest.mark.needs("jax")
def test_set_backend_in_a_thread_stays_there():
    seen = []

    def work():
        trellis.set_backend("jax")
        seen.append(trellis.current_backend())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == ["jax"] and trellis.current_backend() == "numpy"


def test_tasks_have_their_own_default():
    async def work(name, seen):
        trellis.set_backend(name)
        for _ in range(3):
            await asyncio.sleep(0)
            seen.append(trellis.current_backend())

    async def main():
        seen = {name: [] for name in BACKENDS}
        await asyncio.gather(*[work(name, seen[name]) for name in BACKENDS])
        return seen

    assert asyncio.run(main()) == {name: [name] * 3 for name in BACKENDS}
    assert trellis.current_backend() == "numpy"


# Fresh processes
# -----------------------------------------------------------------------------------


def test_environment_chooses_the_default(backend):
    program = "import trellis; print(trellis.backend_of(trellis.zeros(2)))"
    assert run_python(program, TRELLIS_BACKEND=backend) == backend


def test_a_framework_that_is_not_installed(backend):
    if backend == "numpy":
        assert run_python("import trellis; print(trellis.current_backend())") == "numpy"
        return
    program = f"""
import importlib.abc, sys
class Block(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.partition('.')[0] == {backend!r}:
            raise ModuleNotFoundError(name)
import importlib.util
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *a: None if name == {backend!r} else find(name, *a)
sys.meta_path.insert(0, Block())
import trellis
try:
    trellis.set_backend({backend!r})
except trellis.errors.BackendNotInstalledError as error:
    assert isinstance(error, ImportError)
    print(error)
"""
    text = run_python(program)
    assert backend in text and f"pip install 'trellis-ml[{backend}]'" in text


def test_the_first_array_of_a_framework(backend):
    """No set_backend, no namespace(): the array alone is enough, also inside a compiled
    function."""
    make = {
        "numpy": "import numpy; x = numpy.ones(2)",
        "jax": "import jax; x = jax.numpy.ones(2)",
        "torch": "import torch; x = torch.ones(2)",
        "tensorflow": "import tensorflow; x = tensorflow.ones(2)",
    }
    program = f"import trellis; {make[backend]}; print(trellis.backend_of(trellis.tanh(x)))"
    assert run_python(program) == backend


@pytest.mark.needs("torch")
def test_other_frameworks_are_not_imported():
    program = (
        "import sys, torch, trellis; trellis.tanh(torch.ones(2));"
        "print(sorted({'jax', 'tensorflow'} & set(sys.modules)))"
    )
    assert run_python(program) == "[]"


# What compilers see
# --------------------------------------------------------------------------------


def model(x):
    y = trellis.tanh(trellis.add(x, 1))
    return trellis.sum(trellis.where(y > 0.5, y, 0.0))


def test_torch_compiles_once():
    import torch
    from torch._dynamo.testing import CompileCounter

    arrays = one_of_each()
    for x in arrays.values():
        model(x)
    torch._dynamo.reset()
    counter = CompileCounter()
    compiled = torch.compile(model, backend=counter, fullgraph=True)
    with torch._dynamo.config.patch(error_on_recompile=True):
        results = []
        for _ in range(3):
            results.append(compiled(arrays["torch"]))
            for x in arrays.values():
                model(x)
    assert counter.frame_count == 1
    assert_close(results[-1], model(arrays["numpy"]), backend="torch")


@pytest.mark.needs("torch")
def test_torch_compiles_from_a_cold_start():
    """The first array that Trellis ever sees may come inside a compiled function."""
    program = (
        "import torch, trellis\n"
        "fn = torch.compile(lambda x: trellis.tanh(x), backend='eager', fullgraph=True)\n"
        "print(float(fn(torch.zeros(2)).sum()))"
    )
    assert run_python(program) == "0.0"


def test_jax_traces_once():
    import jax

    arrays = one_of_each()
    traces = []

    def counted(x):
        traces.append(type(x))
        return model(x)

    compiled = jax.jit(counted)
    for _ in range(3):
        result = compiled(arrays["jax"])
        for x in arrays.values():
            model(x)
    assert len(traces) == 1
    assert_close(result, model(arrays["numpy"]), backend="jax")


def test_tensorflow_traces_once(recwarn):
    import tensorflow as tf

    arrays = one_of_each()
    traces = []

    def counted(x):
        traces.append(type(x))
        return model(x)

    compiled = tf.function(counted)
    for _ in range(3):
        result = compiled(arrays["tensorflow"])
        for x in arrays.values():
            model(x)
    assert len(traces) == 1
    assert_close(result, model(arrays["numpy"]), backend="tensorflow")
    assert [w for w in recwarn.list if "AutoGraph" in str(w.message)] == []


def test_the_table_does_not_grow():
    from trellis._core import dispatch

    for name in BACKENDS:
        trellis.namespace(name)
    before = len(dispatch._by_type)
    for x in one_of_each().values():
        model(x)

    class Special(np.ndarray):
        pass

    model(np.ones(2).view(Special))
    assert len(dispatch._by_type) == before


def test_dispatch_looks_up_and_no_more(monkeypatch):
    """The warm path is one look-up: the cold path is not entered for arrays of a loaded backend."""
    from trellis._core import dispatch

    arrays = one_of_each()
    monkeypatch.setattr(dispatch, "_resolve", lambda x: pytest.fail("cold path"))
    for name, x in arrays.items():
        assert dispatch.xp_of(x) is trellis.namespace(name)
        assert dispatch.xp_of_pair(x, x) is trellis.namespace(name)


def test_names_shown_are_the_public_ones():
    shown = dir(trellis)
    assert {"abs", "nn", "optim", "Container", "seed", "__version__"} <= set(shown)
    assert [name for name in shown if name.startswith("_") and name != "__version__"] == []


def test_named_results_of_containers_stay_named(xp, array):
    """Each field is a Container, and its leaves are those of the arrays alone."""
    xs = trellis.Container(a=array([[2.0, 0.0], [0.0, 1.0]]), b=array([[3.0]]))
    found = trellis.linalg.eigh(xs)
    assert found._fields == trellis.linalg.eigh(xs.a)._fields
    assert_close(found.eigenvalues.a, trellis.linalg.eigh(xs.a).eigenvalues, rtol=0, atol=0)
    assert trellis.to_numpy(found.eigenvalues.b).tolist() == [3.0]
    parts = trellis.unstack(trellis.Container(a=array([1.0, 2.0]), b=array([3.0, 4.0])))
    assert type(parts) is type(trellis.unstack(array([1.0, 2.0]))) and len(parts) == 2
    assert float(parts[1].b) == 4.0


def test_the_package_of_a_backend_that_is_not_loaded(monkeypatch):
    from trellis._core import dispatch

    for name in BACKENDS:
        assert dispatch.module_of(name) == f"trellis._backends.{name}"
    monkeypatch.setattr(dispatch, "loaded", {})
    for name in BACKENDS:
        assert dispatch.module_of(name) == f"trellis._backends.{name}"
