"""Backends of other packages: found by entry points, loaded when they are needed, used everywhere.

The packages are files in a folder on the path, with the metadata that pip would write.
"""

import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import trellis
from trellis import errors, nn, optim
from trellis._core import dispatch, packages

HERE = Path(__file__).parents[1]
DESCRIPTION = """
    NAME = "{name}"
    FRAMEWORK = "{name}_framework"
    DISTRIBUTION = "{name}-framework"
    TRELLIS_INTERFACE = 1

    def load():
        import {name}_framework

        return {name}_framework.functions
"""
FRAMEWORK = """
    from small_backends import Box, small_backend

    class Array(Box):
        pass

    functions = small_backend("{name}", Array)
"""


def install(folder, name, description=DESCRIPTION, framework=FRAMEWORK, distribution=None):
    """A framework, and a package with a backend for it."""
    distribution = distribution or f"trellis-{name}"
    for module, text in ((f"trellis_{name}", description), (f"{name}_framework", framework)):
        text = textwrap.dedent(text).replace("{name}", name)
        if text:
            (folder / f"{module}.py").write_text(text)
    metadata = folder / f"{distribution.replace('-', '_')}-0.1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 0.1\n"
    )
    (metadata / "entry_points.txt").write_text(f"[trellis.backends]\n{name} = trellis_{name}\n")


def forget_added():
    for name in set(dispatch.loaded) - set(dispatch.BACKENDS):
        dispatch.unregister(name)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder on the path. No other package has brought a backend, also where an earlier test left
    one (the kit's `strangers`); what was loaded from the folder is forgotten at the end."""
    monkeypatch.syspath_prepend(str(tmp_path))
    packages.entries.cache_clear()
    forget_added()
    modules = set(sys.modules)
    yield tmp_path
    forget_added()
    for name in set(sys.modules) - modules:
        file = getattr(sys.modules[name], "__file__", None)
        if file is not None and Path(file).parent == tmp_path:
            del sys.modules[name]
    packages.entries.cache_clear()


def test_a_name_finds_its_package(folder):
    install(folder, "door")
    assert "door_framework" not in sys.modules
    x = trellis.asarray([1.0, 2.0], backend="door")
    assert trellis.backend_of(x) == "door"
    assert trellis.backend_of(trellis.tanh(x)) == "door"
    with trellis.using_backend("door"):
        assert trellis.backend_of(trellis.zeros(2)) == "door"
    assert trellis.to_numpy(trellis.to_backend(np.ones(2), "door")).tolist() == [1.0, 1.0]


def test_an_array_finds_its_package(folder):
    """The program has imported the framework, and nobody has named the backend."""
    install(folder, "door")
    import door_framework

    x = door_framework.Array(np.array([0.0, 1.0]))
    assert "door" not in dispatch.loaded
    assert trellis.to_numpy(trellis.exp(x)).tolist() == np.exp([0.0, 1.0]).tolist()


def test_listing_imports_no_framework(folder):
    install(folder, "door")
    info = trellis.backends("door")
    assert info in trellis.backends()
    assert (info.framework, info.distribution, info.package) == (
        "door_framework", "door-framework", "trellis-door 0.1",
    )  # fmt: skip
    assert info.is_installed and not info.is_loaded and not info.problem
    assert "door_framework" not in sys.modules
    assert info.made("svd") == info.made("linalg.svd") == "host"
    assert info.made("jvp") == "derived" and info.made("vjp") == "native"
    assert info.made("connect_ranks") == "missing"
    assert info.is_loaded and info.counts()["native"] == 4
    assert info.abilities.has_compiler is False
    with pytest.raises(errors.ArgumentError, match=r"'logsumexpp'.*Did you mean 'logsumexp'"):
        info.made("logsumexpp")


def test_nothing_is_imported_for_an_unknown_object(folder):
    install(folder, "door")
    with pytest.raises(errors.ArgumentTypeError, match=r"numpy, jax, torch, tensorflow, door"):
        trellis.tanh(object())
    with pytest.raises(errors.ArgumentError, match=r"'dor'.* door\."):
        trellis.namespace("dor")
    assert "door_framework" not in sys.modules


def test_another_version_of_the_interface_raises_with_both_numbers(folder):
    install(folder, "door", DESCRIPTION.replace("INTERFACE = 1", "INTERFACE = 2"))
    for ask in (trellis.namespace, lambda name: trellis.zeros(2, backend=name)):
        with pytest.raises(errors.BackendNotInstalledError) as caught:
            ask("door")
        said = str(caught.value)
        assert "'door' of trellis-door 0.1" in said and "--upgrade trellis-ml" in said
        assert "version 2" in said and "version 1" in said
    assert "version 2" in trellis.backends("door").problem
    import door_framework

    with pytest.raises(errors.BackendNotInstalledError, match="version 2"):
        trellis.tanh(door_framework.Array(np.ones(2)))


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (DESCRIPTION.replace('DISTRIBUTION = "{name}-framework"', ""), "not define DISTRIBUTION"),
        (DESCRIPTION.replace('NAME = "{name}"', 'NAME = "gate"'), "calls itself 'gate'"),
        ("1 / 0", "ZeroDivisionError"),
    ],
)
def test_a_broken_package_says_what_is_wrong(folder, broken, said):
    install(folder, "door", broken)
    with pytest.raises(errors.BackendNotInstalledError, match=said):
        trellis.namespace("door")
    assert said in trellis.backends("door").problem
    assert trellis.backends("numpy").is_installed  # and it stops nobody else
    with pytest.raises(errors.ArgumentTypeError, match="Expected an array"):
        trellis.tanh(object())


def test_a_framework_that_is_not_installed(folder):
    install(folder, "door", framework="")
    assert not trellis.backends("door").is_installed
    with pytest.raises(
        errors.BackendNotInstalledError, match=r"door_framework.*pip install 'door-framework'"
    ):
        trellis.namespace("door")


def test_two_packages_with_one_name(folder):
    install(folder, "door")
    install(folder, "door", distribution="another-door")
    with pytest.raises(errors.BackendNotInstalledError, match=r"another-door 0.1.*trellis-door"):
        trellis.namespace("door")


def test_host_computation_can_be_refused(folder):
    install(folder, "door")
    x = trellis.asarray([[2.0, 0.0], [0.0, 1.0]], backend="door")
    with trellis.using_host_fallback(False):
        with pytest.raises(errors.NotSupportedError, match=r"door does not have linalg\.svd\(\)"):
            trellis.linalg.svd(x)
        assert trellis.linalg.svd(trellis.namespace("numpy").eye(2)).S.tolist() == [1.0, 1.0]
    assert trellis.to_numpy(trellis.linalg.svd(x).S).tolist() == [2.0, 1.0]


def test_everything_goes_by_the_registry(folder, tmp_path):
    install(folder, "door")

    def model_on(backend):
        trellis.seed(0)
        with trellis.using_backend(backend):
            return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))

    model = model_on("door")
    x = np.random.default_rng(0).normal(size=(8, 3)).astype("float32")
    y = x[:, :1] * 2

    def losses(backend):
        return trellis.train.fit(
            model_on(backend),
            trellis.functional.mse_loss,
            (x, y),
            optimizer=optim.Adam(lr=0.01),
            batch_size=4,
            epochs=2,
            seed=0,
            progress=False,
        ).losses

    assert losses("door") == pytest.approx(losses("numpy"), rel=1e-6)  # one arithmetic
    here = trellis.to_backend(x, "door")
    report = trellis.diverge(model, (here,), backends=("door", "numpy"))
    assert report.count == 3 and report.differences == []
    graph = trellis.trace(model, here)
    assert "np.tanh" in graph.to_source("numpy")
    with pytest.raises(errors.NotSupportedError, match=r"'door' does not say how"):
        graph.to_source("door")
    with pytest.raises(errors.ArgumentError, match=r"tensorflow, door; got 'dor'"):
        graph.to_source("dor")
    double = trellis.compile(lambda x: x * 2)
    assert trellis.backend_of(double(here)) == "door" and "door" in repr(double)


def test_data_types_may_have_any_name(folder):
    """FLOAT32 and the like, as some frameworks write them."""
    loud = """
    from small_backends import HOST, TYPES, Box, DType, small_backend

    types = {key: DType(f"TYPE_{key}".upper()) for key in TYPES}

    class Array(Box):
        dtype = property(lambda self: types[HOST.dtype_name(self.data.dtype)])

    functions = small_backend("{name}", Array, types=types)
    """
    install(folder, "loud", framework=loud)
    x = trellis.asarray([1.0, 2.0], dtype="float32", backend="loud")
    assert x.dtype.name == "TYPE_FLOAT32" and str(trellis.dtype(x)) == "float32"
    model = nn.Linear(2, 1, backend="loud")
    gradient = trellis.grad(lambda v: trellis.sum(model(x[None], v=v)))(model.v)
    assert trellis.to_numpy(gradient.w).tolist() == [[1.0, 2.0]]
    assert optim.Adam(lr=0.1).step(model.v, gradient).w.dtype is x.dtype


def test_source_of_a_package(folder):
    """Expressions of its table, and functions of its portable file."""
    spelled = """
    from pathlib import Path

    from trellis.backend import Dialect, Source
    from small_backends import Box, small_backend

    class Array(Box):
        pass

    functions = small_backend("{name}", Array)
    functions.SOURCE = Source(
        Dialect("np", {"np": "import numpy as np"}, "{0}.astype({1})", "np.array({0}, {1})", "{0}"),
        {"tanh": "np.tanh(x)", "multiply": "np.multiply(x1, x2)"},
        Path(__file__).with_name("portable.py"),
    )
    """
    install(folder, "door", framework=spelled)
    (folder / "portable.py").write_text("def cbrt(x):\n    return np.sign(x) * abs(x) ** (1 / 3)\n")
    x = trellis.asarray([1.0, -8.0], backend="door")
    text = trellis.trace(lambda x: trellis.tanh(trellis.cbrt(x)) * 2, x).to_source("door")
    space = {}
    exec(text, space)
    assert "np.tanh(cbrt_)" in text
    np.testing.assert_allclose(
        space["forward"](np.array([1.0, -8.0])), np.tanh([1.0, -2.0]) * 2, rtol=1e-15
    )
    with pytest.raises(errors.NotSupportedError, match=r"'door'.*no equivalent for: exp"):
        trellis.trace(trellis.exp, x).to_source("door")


def test_the_command_line_knows_it(folder):
    install(folder, "door")
    import os

    path = os.pathsep.join([str(folder), str(HERE), *sys.path])
    environment = {**os.environ, "PYTHONPATH": path}

    def trellis_command(*arguments):
        command = [sys.executable, "-m", "trellis.cli", *arguments]
        return subprocess.run(command, env=environment, capture_output=True, text=True).stdout

    assert "door" in trellis_command("run", "--help")
    assert "by trellis-door 0.1; devices" in trellis_command("doctor", "--backend", "door")
    program = folder / "program.py"
    program.write_text("import trellis\nprint(trellis.backend_of(trellis.zeros(2)))\n")
    assert "door" in trellis_command("run", "-n", "1", "--backend", "door", str(program))


@pytest.mark.needs("torch")
def test_torch_compiles_nothing_again(folder):
    """Neither when a package is loaded, nor when its arrays are used."""
    import torch

    count = []

    def backend(module, example):
        count.append(1)
        return module.forward

    def program(x, y):
        z = trellis.where(x > 0, trellis.tanh(x), trellis.maximum(y, 0.5))
        return z + trellis.sum(x) + trellis.asarray(3.0, backend="torch") + F.gelu(x)

    F = trellis.functional
    torch._dynamo.reset()
    x, y = torch.ones(3), torch.zeros(3)
    trellis.tanh(x)
    install(folder, "door")
    compiled = torch.compile(program, backend=backend, fullgraph=True)
    expected = compiled(x, y)
    before = len(count)
    boxed = trellis.asarray([1.0], backend="door")
    assert trellis.backend_of(trellis.tanh(boxed)) == "door"
    assert torch.equal(compiled(x, y), expected)
    assert (before, len(count)) == (1, 1)
