"""`trellis.compile` behaves alike on all four: what it compiles, how often, and what it refuses."""

import functools
import gc
import logging
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import trellis
from trellis import errors, nn

# Compilations
# ----------------------------------------------------------------------------------------


def batches(count, size=(8, 3)):
    """Fresh arrays, in turn at an address that XLA adopts memory at and at one that it does not."""
    for i in range(count):
        n = int(np.prod(size))
        memory = np.zeros(n + 17, "float32")
        start = -memory.ctypes.data % 64 // 4 + i % 2
        x = memory[start : start + n].reshape(size)
        x[:] = i
        yield x


@pytest.fixture(autouse=True)
def graphs(backend_or_none, monkeypatch):
    """On torch: no time for Inductor, which does not change what is traced; each graph is noted."""
    found = []
    if backend_or_none == "torch":
        import torch

        def note(graph, example_inputs):
            found.append(graph)
            return graph.forward

        torch._dynamo.reset()
        monkeypatch.setattr(torch, "compile", functools.partial(torch.compile, backend=note))
    return found


@pytest.fixture
def backend_or_none(request):
    return request.getfixturevalue("backend") if "backend" in request.fixturenames else None


class Counted:
    """A function and the number of its traces; Dynamo, which notes no side effects, counts
    graphs."""

    def __init__(self, fn, backend, graphs):
        self.backend, self.graphs, self.calls = backend, graphs, []
        calls = self.calls

        def counted(*args):
            calls.append(1)
            return fn(*args)

        self.fn = fn if backend == "torch" else counted

    @property
    def traces(self):
        return len(self.graphs if self.backend == "torch" else self.calls)


def arrivals(xp, backend):
    """Ways in which a batch of NumPy reaches a framework."""
    import torch

    return {
        "to_backend": lambda x: trellis.to_backend(x, backend),
        "a copy": lambda x: trellis.to_backend(x, backend, copy=True),
        "asarray": lambda x: trellis.asarray(x, backend=backend),
        "from_numpy": xp.from_numpy,
        "DLPack": lambda x: xp.from_dlpack(torch.from_numpy(x)),
        "DLPack of NumPy": xp.from_dlpack,
        "torch": lambda x: trellis.to_backend(torch.from_numpy(x), backend),
    }


def test_one_shape_is_compiled_once(backend, xp, graphs):
    """However the arrays come, aligned or not: JAX would compile again for arrays bound to a
    device."""
    if backend == "numpy":
        pytest.skip("trellis.compile runs the function itself on NumPy, each time")
    counted = Counted(lambda x: xp.sum(x * 2), backend, graphs)
    compiled = trellis.compile(counted.fn)
    ways = arrivals(xp, backend)
    for x in batches(50):
        for name, way in ways.items():
            assert float(compiled(way(x))) == pytest.approx(2 * x.sum()), name
    assert counted.traces == 1
    if backend == "jax":
        (jitted,) = compiled._by_backend.values()
        assert jitted._cache_size() == 1


def test_fit_compiles_its_step_once(backend, graphs):
    """40 steps of fresh batches, one compilation."""
    with trellis.using_backend(backend):
        trellis.seed(0)
        model = nn.Linear(3, 1)

    def loss(prediction, target):
        return trellis.mean((prediction - target) ** 2)

    counted = Counted(loss, backend, graphs)
    data = [(x, x[:, :1]) for x in batches(40)]
    # The numbers grow to 39: a larger rate would make the weights overflow.
    optimizer = trellis.optim.SGD(1e-5)
    trellis.train.fit(model, counted.fn, data, optimizer=optimizer, progress=False)
    # Without a compiler the function runs at every step.
    assert counted.traces == (40 if backend == "numpy" else 1)


# Idioms that work compiled
# ------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [2, 3])
def test_keys_are_taken_apart(backend, xp, count):
    """`k1, k2 = split(key)`, eager and compiled, gives the same numbers."""

    def draw(key):
        keys = trellis.random.split(key, count)
        parts = [*keys]
        first, *_ = keys
        assert len(parts) == count
        return trellis.random.uniform(first, (4,)), trellis.random.uniform(parts[-1], (4,))

    key = trellis.random.key(7, backend=backend)
    eager, compiled = draw(key), trellis.compile(draw)(key)
    expected = [
        trellis.random.uniform(k, (4,))
        for k in (trellis.random.split(trellis.random.key(7), count))
    ]
    for got in (eager, compiled):
        np.testing.assert_array_equal(trellis.to_numpy(got[0]), expected[0])
        np.testing.assert_array_equal(trellis.to_numpy(got[1]), expected[-1])


CONSTANTS = {
    "asarray of arange": lambda x, b: trellis.add(
        trellis.asarray(np.arange(3, dtype="int32"), backend=b), x
    ),
    "asarray with a dtype": lambda x, b: trellis.asarray([1, 2, 3], dtype="float32", backend=b) + x,
    "to_backend": lambda x, b: trellis.to_backend(np.ones(3, "float32"), b) + x,
    "from_numpy": lambda x, b: trellis.namespace(b).from_numpy(np.ones(3, "float32")) + x,
    "a number of NumPy": lambda x, b: x * np.float32(2.0),
    "pi": lambda x, b: x * np.pi,
    "a root of a size": lambda x, b: x / np.sqrt(x.shape[0]),
}


@pytest.mark.parametrize("name", CONSTANTS)
def test_constants_of_numpy_inside(name, backend, array):
    """User code meets NumPy while it is traced; Dynamo traces NumPy's own calls."""
    x = array([1.0, 2.0, 4.0])
    wide = trellis.namespace("numpy").asarray([1.0, 2.0, 4.0])
    fn = CONSTANTS[name]
    expected = fn(wide, "numpy")
    compiled = trellis.compile(lambda x: fn(x, backend))(x)
    # float32 arithmetic of a few operations
    np.testing.assert_allclose(trellis.to_numpy(compiled), expected, rtol=1e-6)


CLOSED_OVER = np.arange(3.0, dtype="float32")


def test_closed_over_arrays_of_numpy(backend, array):
    x = array([1.0, 2.0, 4.0])
    compiled = trellis.compile(lambda x: trellis.asarray(CLOSED_OVER, backend=backend) + x)
    np.testing.assert_array_equal(trellis.to_numpy(compiled(x)), [1.0, 3.0, 6.0])


# Errors keep their class and their text
# --------------------------------------------------------------


def test_shape_errors_pass_through(backend, array):
    weight = array(np.ones((2, 5), "float32"))
    compiled = trellis.compile(lambda x, w: trellis.linear(x, w))
    with pytest.raises(errors.ShapeError) as caught:
        compiled(array([1.0, 2.0, 4.0]), weight)
    with pytest.raises(errors.ShapeError) as eager:
        trellis.linear(array([1.0, 2.0, 4.0]), weight)
    assert str(caught.value) == str(eager.value)


def test_shape_errors_pass_through_fit(backend):
    with trellis.using_backend(backend):
        model = nn.Linear(4, 1)
    data = [(np.ones((8, 3), "float32"), np.ones((8, 1), "float32"))]
    with pytest.raises(errors.ShapeError) as caught:
        trellis.train.fit(
            model,
            trellis.functional.mse_loss,
            data,
            optimizer=trellis.optim.SGD(0.01),
            progress=False,
        )
    assert len(str(caught.value)) < 400


def test_draws_without_a_key_are_refused(backend, array):
    compiled = trellis.compile(lambda x: x + trellis.random_normal(shape=3))
    with pytest.raises(errors.TracingError, match="without a seed"):
        compiled(array([1.0, 2.0, 4.0]))


def test_dropout_without_a_key_is_refused(backend, array):
    compiled = trellis.compile(lambda x: trellis.dropout(x, 0.5))
    with pytest.raises(errors.TracingError, match="without a seed"):
        compiled(array([1.0, 2.0, 4.0]))


def test_draws_with_a_key_are_not(backend, array):
    def draw(x, key):
        with trellis.random.stream(key):
            return trellis.dropout(x, 0.5)

    key = trellis.random.key(3, backend=backend)
    x = array(np.ones(64, "float32"))
    np.testing.assert_array_equal(
        trellis.to_numpy(trellis.compile(draw)(x, key)), trellis.to_numpy(draw(x, key))
    )


# Strict on NumPy
# --------------------------------------------------------------------------------------

BRANCHES = {
    "if": lambda x: x if trellis.sum(x) > 0 else -x,
    "if of an element": lambda x: x if x[0] > 0 else -x,
    "while": lambda x: _halved(x),
    "after where": lambda x: x if trellis.where(x > 0, x, -x)[1] > 0 else -x,
}
NUMBERS = {
    "float": lambda x: x * float(trellis.max(x)),
    "int": lambda x: x * int(trellis.max(x)),
    "item": lambda x: x * trellis.max(x).item(),
}


def _halved(x):
    while trellis.max(x) > 1:
        x = x / 2
    return x


def refusal(backend):
    """Each framework has an error of its own for a look at values; NumPy has ours."""
    if backend == "jax":
        import jax

        return jax.errors.ConcretizationTypeError
    if backend == "torch":
        import torch

        return torch._dynamo.exc.Unsupported
    if backend == "tensorflow":
        return TypeError, AttributeError, NotImplementedError
    return errors.TracingError


@pytest.mark.parametrize("name", BRANCHES)
def test_branches_on_values_are_refused(name, backend, array):
    compiled = trellis.compile(BRANCHES[name], strict=True)
    with pytest.raises(refusal(backend)):
        compiled(array([1.0, 2.0, 4.0]))


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_out_of_values(name, backend, array):
    """Refused too, but by torch, which keeps such a number in its graph and gives the right
    result."""
    compiled = trellis.compile(NUMBERS[name], strict=True)
    x = array([1.0, 2.0, 4.0])
    if backend == "torch":
        np.testing.assert_array_equal(trellis.to_numpy(compiled(x)), [4.0, 8.0, 16.0])
    else:
        with pytest.raises(refusal(backend)):
            compiled(x)


def test_strict_gives_plain_arrays(array, backend):
    def fn(x, n):
        gradient = trellis.grad(lambda x: trellis.sum(trellis.tanh(x) ** n))(x)
        parts = trellis.stack([x, gradient, trellis.where(x > 1, x, gradient)])
        return {"parts": trellis.reshape(parts, (n + 1, -1)), "total": trellis.sum(parts)}

    x = array([0.5, 1.0, 2.0])
    strict = trellis.compile(fn, static_argnums=1, strict=True)(x, 2)
    plain = fn(x, 2)
    for key in ("parts", "total"):
        assert trellis.backend_of(strict[key]) == backend
        assert type(strict[key]).__name__ != "UnreadableArray"
        np.testing.assert_allclose(
            trellis.to_numpy(strict[key]), trellis.to_numpy(plain[key]), rtol=1e-6
        )


# Giving memory away
# --------------------------------------------------------------------------------------


GONE = r"deleted|donated"


def stepped(v, x):
    return {"w": v["w"] - 0.5 * x}, trellis.sum(x)


def test_donated_arguments(backend, array):
    """Results are the same everywhere, and using a donated array raises."""
    given = trellis.compile(stepped, donate_argnums=0)
    v, x = {"w": array([4.0, 2.0, 1.0])}, array([1.0, 2.0, 3.0])
    for left in ([3.5, 1.0, -0.5], [3.0, 0.0, -2.0], [2.5, -1.0, -3.5]):
        old = v
        v, total = given(v, x)
        np.testing.assert_array_equal(trellis.to_numpy(v["w"]), np.array(left, "float32"))
        assert float(total) == 6.0
    if backend == "numpy":  # without a compiler nothing is written over
        np.testing.assert_array_equal(old["w"], np.array([3.0, 0.0, -2.0], "float32"))
    else:
        with pytest.raises(trellis.errors.ArgumentError, match=GONE):
            trellis.to_numpy(old["w"])
        with pytest.raises(trellis.errors.ArgumentError, match=GONE):
            trellis.sum(old["w"])
        with pytest.raises(Exception, match=GONE):
            given(old, x)
    with pytest.raises(trellis.errors.ArgumentError, match="argument 0 in static_argnums and in"):
        trellis.compile(stepped, static_argnums=(1, 0), donate_argnums=(0,))


@pytest.mark.parametrize("backend", ["torch", "tensorflow"])
def test_what_somebody_still_holds_is_not_written_over(backend, array):
    """JAX deletes it; here it stays as it is, also where only a view of it is left."""
    given = trellis.compile(stepped, donate_argnums=0)
    v, x = {"w": array([4.0, 2.0, 1.0])}, array([1.0, 2.0, 3.0])
    start = v["w"]
    for _ in range(3):
        v, _ = given(v, x)
    held, view = v["w"], None
    v, _ = given(v, x)
    if backend == "torch":
        view = v["w"].detach()[1:]
        v, _ = given(v, x)
        np.testing.assert_array_equal(view.numpy(), np.array([-2.0, -5.0], "float32"))
    np.testing.assert_array_equal(trellis.to_numpy(held), np.array([2.5, -1.0, -3.5], "float32"))
    np.testing.assert_array_equal(trellis.to_numpy(start), np.array([4.0, 2.0, 1.0], "float32"))


@pytest.mark.parametrize("backend", ["torch", "tensorflow"])
def test_donated_memory_holds_the_results(backend, array):
    given = trellis.compile(stepped, donate_argnums=0)
    v, x = {"w": array([4.0, 2.0, 1.0])}, array([1.0, 2.0, 3.0])

    def address(y):
        return y.data_ptr() if backend == "torch" else y._numpy().__array_interface__["data"][0]

    v, _ = given(v, x)  # the first ones may share memory with others
    gc.collect()  # and torch's compiler holds its first arguments for a while
    v, _ = given(v, x)
    before = address(v["w"])
    for _ in range(3):
        v, _ = given(v, x)
        assert address(v["w"]) == before
    np.testing.assert_array_equal(trellis.to_numpy(v["w"]), np.array([1.5, -3.0, -6.5], "float32"))


def test_donated_arrays_come_back_in_other_places(backend, array):
    """Results that are the arguments themselves, or views of them, in another order."""

    def moved(v):
        turned = trellis.matrix_transpose(v["b"])
        return {"a": turned, "b": v["a"] * 2, "c": v["c"]}, v["a"][0]

    given = trellis.compile(moved, donate_argnums=0)
    v = {"a": array([[0.0, 1.0], [2.0, 3.0]]), "b": array([[4.0, 5.0], [6.0, 7.0]])}
    v["c"] = array([8.0])
    a, b = np.array([[0.0, 1.0], [2.0, 3.0]]), np.array([[4.0, 5.0], [6.0, 7.0]])
    for _ in range(3):
        v, row = given(v)
        np.testing.assert_array_equal(trellis.to_numpy(row), a[0])
        a, b = b.T, a * 2
        np.testing.assert_array_equal(trellis.to_numpy(v["a"]), a)
        np.testing.assert_array_equal(trellis.to_numpy(v["b"]), b)
        np.testing.assert_array_equal(trellis.to_numpy(v["c"]), np.array([8.0]))


@pytest.mark.parametrize("backend", ["torch", "tensorflow"])
def test_a_call_that_fails_to_compile_gives_nothing_away(backend, array):
    def wrong(v):
        return {"w": trellis.reshape(v["w"], (7,))}

    v = {"w": array([4.0, 2.0, 1.0])}
    with pytest.raises(errors.ArgumentError, match="reshape"):
        trellis.compile(wrong, donate_argnums=0)(v)
    np.testing.assert_array_equal(trellis.to_numpy(v["w"]), np.array([4.0, 2.0, 1.0], "float32"))


def test_gradients_through_a_function_that_takes_memory(backend, array):
    """The old values are needed again, so nothing is written over; the derivative is -w / 2."""
    given = trellis.compile(stepped, donate_argnums=0)
    w, x = array([4.0, 2.0, 1.0]), array([1.0, 2.0, 3.0])
    gradient = trellis.grad(lambda x: trellis.sum(w * given({"w": w * 1}, x)[0]["w"]))(x)
    np.testing.assert_array_equal(trellis.to_numpy(gradient), np.array([-2.0, -1.0, -0.5]))


def test_a_compiled_function_calls_one_that_takes_memory(backend, array):
    given = trellis.compile(stepped, donate_argnums=0)
    outer = trellis.compile(lambda w, x: given({"w": w * 1}, x)[0]["w"] + 1)
    found = outer(array([4.0, 2.0, 1.0]), array([1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(trellis.to_numpy(found), np.array([4.5, 2.0, 0.5], "float32"))


@pytest.mark.parametrize("backend", ["tensorflow"])
def test_donation_in_many_threads(backend, array):
    """Each call takes its own tensors out again."""
    given = trellis.compile(stepped, donate_argnums=0)
    x = array([1.0, 1.0, 1.0])

    def run(start):
        v = {"w": array([start, start, start])}
        for _ in range(20):
            v, _ = given(v, x)
        return trellis.to_numpy(v["w"]).tolist()

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(run, [100.0 * i for i in range(8)]))
    assert found == [[100.0 * i - 10] * 3 for i in range(8)]


# Switching it off
# --------------------------------------------------------------------------------------


def test_compilation_is_switched_off(backend, array):
    seen = []

    def look(x):
        seen.append(float(x[0]))  # no compiler would let this pass
        return x * 2

    compiled = trellis.compile(look)
    with trellis.using_compilation(False):
        for value in (1.0, 5.0):
            result = compiled(array([value]))
            np.testing.assert_array_equal(trellis.to_numpy(result), [2 * value])
    assert seen == [1.0, 5.0]


def test_the_environment_switches_it_off():
    program = (
        "import trellis, numpy as np\n"
        "f = trellis.compile(lambda x: x + trellis.random_normal(shape=3))\n"
        "print(f(np.zeros(3)).shape)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env={"TRELLIS_COMPILE": "0", "PATH": "", "PYTHONPATH": ":".join(sys.path)},
    )
    assert done.stdout.strip() == "(3,)", done.stderr


def test_a_loop_takes_a_state_of_any_layout(array, compiled):
    """Every second element of an array: PyTorch's own loop wants one layout throughout."""

    def count(x, n):
        return trellis.while_loop(lambda s: s[1] > 0, lambda s: (s[0] + 1, s[1] - 1), (x[::2], n))

    x, n = array(np.arange(4, dtype="float32")), array(np.array(3, "int32"))
    found = compiled(count)(x, n)[0]
    np.testing.assert_array_equal(trellis.to_numpy(found), [3.0, 5.0])


# A line while the compiler takes long -------------------------------------------------------------


class Waiting(logging.Handler):
    """Notes lines, and lets a function wait for the first one."""

    def __init__(self):
        super().__init__()
        self.lines, self.came = [], threading.Event()

    def emit(self, record):
        self.lines.append(record.getMessage())
        self.came.set()


@pytest.fixture
def lines():
    handler = Waiting()
    logging.getLogger("trellis").addHandler(handler)
    yield handler
    logging.getLogger("trellis").removeHandler(handler)


# Dynamo cannot follow the waiting; what says the line is the same for all.
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.needs(name)) for name in ("jax", "tensorflow")]
)
def test_a_slow_first_call_says_so_once(name, lines, monkeypatch):
    monkeypatch.setattr(trellis._array.compilation, "PATIENCE", 0.001)

    def slow(x):
        lines.came.wait(60)  # until the line has come, or the test has failed
        return x * 2

    x = trellis.ones((2,), backend=name)
    run = trellis.compile(slow)
    run(x)
    run(x)
    assert len(lines.lines) == 1
    assert f"the first call of slow(), which {name} compiles" in lines.lines[0]


def test_the_line_names_the_function_of_the_user():
    from trellis._core.tracing import name_for_users
    from trellis.train._step import evaluation_step

    def my_loss(v):
        return trellis.sum(v)

    assert name_for_users(my_loss) == "my_loss"
    assert name_for_users(trellis.value_and_grad(my_loss)) == "my_loss"
    assert name_for_users(trellis.vmap(trellis.grad(my_loss))) == "my_loss"
    step = evaluation_step(trellis.nn.Identity(), my_loss, {}, is_compiled=False)
    assert name_for_users(step) == "evaluate"

    def later(v):
        return not_there_yet(v)

    later.__module__ = "trellis.x"
    assert name_for_users(later) == "later"
    not_there_yet = my_loss


def test_nothing_is_said_where_nothing_is_slow(backend, lines):
    trellis.compile(lambda x: x * 2)(trellis.ones((2,), backend=backend))
    assert lines.lines == []


INSIDE_BRANCHES = {
    "loop": (
        lambda x: trellis.while_loop(lambda s: trellis.sum(s) < 10.0, lambda s: 2 * s, x),
        [4.0, 8.0],
    ),
    "gradient": (trellis.grad(lambda x: trellis.sum(x**3)), [3.0, 12.0]),
    "vectors": (
        lambda x: trellis.abs(trellis.linalg.eigh(trellis.diag(x)).eigenvectors[:, 1]) * x,
        [0.0, 2.0],
    ),
}


@pytest.mark.parametrize("name", INSIDE_BRANCHES)
def test_branches_with_transforms_and_loops(name, backend, array):
    branch, expected = INSIDE_BRANCHES[name]

    def step(x):
        return trellis.cond(trellis.sum(x) > 0, branch, lambda x: -x, x)

    compiled, x = trellis.compile(step), array(np.array([1.0, 2.0], "float32"))
    for run in (step, compiled):
        # One rounding of the eigenvector.
        np.testing.assert_allclose(trellis.to_numpy(run(x)), expected, rtol=1e-6)
        np.testing.assert_array_equal(trellis.to_numpy(run(-x)), [1.0, 2.0])
