"""An interrupt while a framework's backend loads, at whatever point, leaves a process that
works."""

import os
import subprocess
import sys
from pathlib import Path

import trellis

# Ends the import again and again: once in each line of the files that make a backend known, and in
# some lines of the others. Then it uses what the last import has left.
PROGRAM = """
import sys
import numpy as np
import {framework}
import trellis

name = "{name}"
met = set()

def interrupt(frame, event, argument):
    file, line = frame.f_code.co_filename, frame.f_lineno
    if "trellis" not in file or f"_backends/{{name}}" not in file.replace("\\\\", "/"):
        return None
    is_door = file.endswith(("__init__.py", "_register.py"))
    is_due = event == "line" and (file, line) not in met and (is_door or line % 60 == 0)
    if is_due and (is_door or frame.f_code.co_name == "<module>"):
        met.add((file, line))
        raise KeyboardInterrupt(f"{{file}}:{{line}}")
    return interrupt

sys.settrace(interrupt)
count = 0
while True:
    try:
        trellis.namespace(name)
        break
    except KeyboardInterrupt:
        count += 1
        sys.settrace(interrupt)
sys.settrace(None)
assert count > 40, count

x = trellis.asarray(np.ones((3, 2), "float32"), backend=name)
assert trellis.namespace(x) is trellis.namespace(name)
assert float(trellis.sum(trellis.tanh(x))) > 4
with trellis.using_backend(name):
    module = trellis.nn.Linear(2, 1)
loss, grads = trellis.value_and_grad(lambda v: trellis.mean(module(x, v=v) ** 2))(module.v)
assert type(grads) is trellis.Container
assert np.isfinite(float(loss))
if name == "torch":
    from torch.utils import _pytree
    assert len(_pytree.tree_leaves(module.v)) == 2
if name == "jax":
    import jax
    assert len(jax.tree_util.tree_leaves(module.v)) == 2
print("interrupts:", count)
"""


def run(program):
    source = str(Path(trellis.__file__).parent.parent)
    return subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": source, "TF_CPP_MIN_LOG_LEVEL": "2"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_interrupts_while_a_backend_loads(backend):
    found = run(PROGRAM.format(name=backend, framework=backend))
    assert found.returncode == 0, found.stderr[-3000:]
    assert "interrupts:" in found.stdout


ENTERING = """
import sys
import numpy as np
import trellis

met = set()

def interrupt(frame, event, argument):
    file, line = frame.f_code.co_filename.replace("\\\\", "/"), frame.f_lineno
    if event == "line" and file.endswith(("_core/lazy.py", "nn/__init__.py", "train/__init__.py")):
        if (file, line) not in met:
            met.add((file, line))
            raise KeyboardInterrupt
    return interrupt if "trellis/" in file else None

sys.settrace(interrupt)
count = 0
while True:
    try:
        layer, fit = trellis.nn.Linear, trellis.train.fit
        break
    except KeyboardInterrupt:
        count += 1
        sys.settrace(interrupt)
sys.settrace(None)
assert count > 20, count
assert layer(2, 1)(np.ones((1, 2), "float32")).shape == (1, 1)
assert trellis.Module is trellis.nn.Module
assert trellis.train.fit is fit
print("interrupts:", count)
"""


def test_interrupts_while_the_upper_packages_load():
    found = run(ENTERING)
    assert found.returncode == 0, found.stderr[-3000:]
    assert "interrupts:" in found.stdout
