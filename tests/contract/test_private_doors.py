"""What a framework does not promise stands in `_private.py` alone; everything runs without it."""

import ast
import gc
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import trellis
from trellis._backends import doors as all_doors

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "trellis"
PRIVATE = sorted(SOURCE.rglob("_private.py"))

# The wall -----------------------------------------------------------------------------------------

PACKAGES = {"torch", "jax", "jaxlib", "tensorflow", "keras", "numpy", "einops", "flax", "optree"}
# Modules without an underscore that are not promised either.
UNPROMISED = ("tensorflow.python", "tensorflow.core", "jax.extend", "jax.interpreters", "jax.lib")
OF_PYTHON = {"_fields", "_replace", "_asdict", "_make", "_getframe", "_get_running_loop"}
OF_THE_TAPE = {"_value"}  # what is in a traced array of NumPy


def is_private(name):
    return name == "__internal__" or (name.startswith("_") and not name.startswith("__"))


def names_defined(tree):
    """The private names that a file of ours gives to functions, classes, values and attributes."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            if isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"):
                yield node.attr
        elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__slots__":
            yield from [x.value for x in ast.walk(node.value) if isinstance(x, ast.Constant)]


def imported(tree):
    """What each name of a file stands for, as far as it is a module or a part of a package."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                full = alias.name if alias.asname else alias.name.partition(".")[0]
                found[alias.asname or full] = full
        elif isinstance(node, ast.ImportFrom) and not node.level:
            for alias in node.names:
                found[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return found


def refused(full):
    """Whether a dotted name of a package is one that it does not promise."""
    package, *parts = full.split(".")
    if package not in PACKAGES:
        return False
    is_hidden = any(f"{full}.".startswith(f"{prefix}.") for prefix in UNPROMISED)
    return is_hidden or any(is_private(part) for part in parts)


def is_foreign(owner, name, spaces, ours):
    """Whether an attribute is private and not ours, as far as its owner's text tells."""
    parts = [name]
    while isinstance(owner, ast.Attribute):
        parts, owner = [owner.attr, *parts], owner.value
    if isinstance(owner, ast.Name) and spaces.get(owner.id, "").partition(".")[0] in PACKAGES:
        return refused(".".join([spaces[owner.id], *parts]))
    return is_private(name) and name not in ours


def used(tree, ours):
    """The private names of others that a file uses, with the lines."""
    spaces = imported(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from [(node.lineno, x.name) for x in node.names if refused(x.name)]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            fulls = [f"{node.module}.{x.name}" for x in node.names]
            yield from [(node.lineno, full) for full in fulls if refused(full)]
        elif isinstance(node, ast.Attribute):
            if is_foreign(node.value, node.attr, spaces, ours):
                yield node.lineno, ast.unparse(node)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("getattr", "hasattr"):
            owner, name = node.args[:2]
            if isinstance(name, ast.Constant) and is_foreign(owner, name.value, spaces, ours):
                yield node.lineno, ast.unparse(node)


def test_private_names_stand_behind_the_wall():
    trees = {
        path: ast.parse(path.read_text())
        for path in SOURCE.rglob("*.py")
        # The kit's tests set attributes of modules that they define.
        if path.parent.name != "conformance" or not path.name.startswith("test_")
    }
    ours = OF_PYTHON | OF_THE_TAPE
    for path, tree in trees.items():
        ours |= set(names_defined(tree)) if path not in PRIVATE else set()
    found = [
        f"{path.relative_to(SOURCE)}:{line}: {name}"
        for path, tree in trees.items()
        if path not in PRIVATE
        for line, name in used(tree, ours)
    ]
    assert found == [], "move it into the backend's _private.py, with a public way beside it"


@pytest.mark.parametrize(
    "line",
    [
        "import torch\ntorch._foreach_add(xs, ys)",
        "import torch\ntorch._C._functorch.peek_interpreter_stack()",
        "import torch\ngetattr(torch.ops.aten, '_flash', None)",
        "import torch.nn.functional as F\nF._in_projection(x)",
        "from torch.utils import _pytree",
        "from torch._higher_order_ops.while_loop import while_loop",
        "import tensorflow as tf\ntf.__internal__.FuncGraph",
        "from tensorflow.python.eager import context",
        "import jax.extend.core as core",
        "from jax._src.array import ArrayImpl",
        "import jax\njax.extend.core.Literal",
        "x._shape_tuple()",
        "getattr(op, '_schema', None)",
    ],
)
def test_private_names_are_found(line):
    assert len(list(used(ast.parse(line), {"_ours"}))) > 0


def test_other_names_are_not_found():
    line = "import torch\ntorch.nn.Linear(2, 3)._ours\ntorch.__version__\nnest._replace(a=1)"
    assert list(used(ast.parse(line), {"_ours", "_replace"})) == []


# Without them -------------------------------------------------------------------------------------

# Cases that use private functions: values, derivatives of several orders, compiled code,
# optimizers, draws. Each is compared with its own expectation, as with the private functions. Only
# what is donated may be copied.
FILES = (
    "tests/array/test_cases.py",
    "tests/array/test_compilation.py",
    "tests/gradients/test_fused_layers.py",
    "tests/optim/test_rows.py",
    "tests/random/test_random_keys.py",
)
SHORT = """
    test_compiled and (while_loop or (scan and nests) or batch_norm and training)
    or test_what_somebody_still_holds
    or test_derivatives and (lstm or (attention and causal) or convolution)
    or Adam-float32 or AdamW-float32
    or test_gradient and (conv2d] or (batch_norm and training) or multi_head_attention] or dropout)
    or test_gamma_is_differentiable
"""
LONG = """
    cond or while_loop or scan or attention or conv2d or batch_norm or lstm or dropout
    or test_what_somebody_still_holds or test_donated or test_derivatives or float32
    or test_gamma_is_differentiable
"""
PROGRAM = """
import sys
import pytest
door, *options = sys.argv[1:]
code = pytest.main(options)
from trellis._backends import doors
is_open = [name for name, is_open in doors.known.items() if is_open]
assert doors.known and (not is_open if door == "all" else door not in is_open and is_open)
sys.exit(code)
"""


def run_with_shut(door, backend, rows, files=FILES, step=1, is_alone=False):
    rows = f"({' '.join(rows.split())}) and not memory_holds and not donated_arguments"
    chosen = "--alone" if is_alone else "--backend"
    options = [chosen, backend, "--slice", str(step), "-k", rows]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, door, *options, *files],
        cwd=ROOT,
        env={**os.environ, "TRELLIS_SHUT_DOORS": door},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def doors(backend):
    """The names of a backend's private functions."""
    tree = ast.parse((SOURCE / "_backends" / backend / "_private.py").read_text())
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [call.args[0].value for call in calls if ast.unparse(call.func) == "opened"]


WITH_DOORS = [path.parent.name for path in PRIVATE if path.parents[1].name == "_backends"]
WITH_DOORS = [backend for backend in WITH_DOORS if doors(backend)]


@pytest.fixture
def is_alone(request):
    """Whether this run has one framework only: then those that it starts have, too."""
    return request.config.getoption("--alone") is not None


@pytest.mark.parametrize("backend", WITH_DOORS)
def test_all_doors_shut(backend, is_alone):
    run_with_shut("all", backend, SHORT, is_alone=is_alone)


@pytest.mark.long
@pytest.mark.parametrize("backend", WITH_DOORS)
def test_all_doors_shut_on_more_rows(backend, is_alone):
    run_with_shut("all", backend, LONG, is_alone=is_alone)


@pytest.mark.long
@pytest.mark.parametrize(
    "door",
    [
        pytest.param(door, marks=pytest.mark.needs(backend))
        for backend in WITH_DOORS
        for door in doors(backend)
    ],
)
def test_one_door_shut(door, is_alone):
    run_with_shut(door, door.partition(".")[0], LONG, is_alone=is_alone)


@pytest.mark.long
@pytest.mark.needs("torch", "tensorflow")
@pytest.mark.parametrize(
    ("door", "file"),
    [
        ("torch.schema", "tests/convert/test_torch.py"),
        ("tensorflow.flat_call", "tests/convert/test_from_tensorflow.py"),
    ],
)
def test_readers_with_their_door_shut(door, file):
    run_with_shut(door, door.partition(".")[0], "test", [file], step=3)


def test_a_door_opens_where_its_probe_succeeds(monkeypatch):
    monkeypatch.setattr(all_doors, "known", {})
    main = threading.current_thread()
    assert all_doors.opened("here.a", threading.current_thread) is not main
    assert all_doors.opened("here.b", lambda: [].pop()) is None
    monkeypatch.setenv("TRELLIS_SHUT_DOORS", "here.a,there")
    assert all_doors.opened("here.a", lambda: 1) is None
    assert all_doors.opened("here.c", lambda: 1) == 1
    assert all_doors.opened("there.a", lambda: 1) is None
    assert [name for name, is_open in all_doors.known.items() if is_open] == ["here.c"]


# Where there is no public way ---------------------------------------------------------------------


@pytest.mark.needs("torch")
def test_loops_that_torch_cannot_compile_are_refused(monkeypatch):
    import torch

    from trellis._backends.torch import control

    monkeypatch.setattr(control, "while_loop_in_graph", None)
    double = trellis.compile(lambda x: trellis.while_loop(lambda y: y < 10, lambda y: y * 2, x))
    # Dynamo's own, with our words in it: nobody else can end a function that is being compiled.
    with pytest.raises(Exception, match=r"use trellis\.scan"):
        double(torch.tensor(1))


@pytest.mark.needs("tensorflow")
def test_what_tensorflow_does_not_hand_out_is_refused(monkeypatch):
    from trellis._backends.tensorflow import _private

    with pytest.raises(trellis.errors.NotSupportedError, match="calls a function, body,"):
        _private._public_functions_of(None)("body")
    monkeypatch.setattr(_private, "_get_context", None)
    assert not _private.has_collectives()
    with pytest.raises(trellis.errors.NotSupportedError, match="cannot connect processes"):
        _private.enable_collectives(("localhost:1",), 0)


@pytest.mark.needs("torch")
def test_donated_tensors_are_copied_where_owners_cannot_be_counted(monkeypatch):
    import torch

    from trellis._backends.torch import compilation

    assert compilation._REFERENCES > 0  # this version of Python shows them
    step = trellis.compile(lambda v: {"w": v["w"] + 1.0}, donate_argnums=0)
    v = step({"w": torch.zeros(3)})
    gc.collect()  # torch's compiler holds its first arguments for a while
    v = step(v)
    for references, is_copied in ((compilation._REFERENCES, False), (0, True)):
        monkeypatch.setattr(compilation, "_REFERENCES", references)
        before = v["w"].data_ptr()
        v = step(v)
        assert (v["w"].data_ptr() != before) is is_copied
    assert v["w"].tolist() == [4.0, 4.0, 4.0]
