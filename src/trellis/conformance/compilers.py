"""The compilers of the frameworks, in the form that never falls back to Python."""

import sys
from collections.abc import Callable
from typing import Any

import trellis


def compile_with(
    backend: str, fn: Callable[..., Any], autograph: bool = True, open_sizes: bool = False
) -> Any:
    """`fn` under the compiler of a backend.

    `trellis.compile` for all but three: torch's own code generator would take seconds for each row,
    and TensorFlow rewrites the source of all that is called, unless `autograph` is False, which
    finds what it cannot rewrite. Without a compiler the function runs, and must change nothing.

    torch decides by what it compiled before whether sizes and numbers are constants or symbols:
    here `open_sizes` decides, so that no test depends on those that ran before it.
    """
    trellis.namespace(backend)
    framework: Any = sys.modules.get(backend)
    if backend == "jax":
        return framework.jit(fn)
    if backend == "torch":
        return framework.compile(fn, backend="eager", fullgraph=True, dynamic=open_sizes)
    if backend == "tensorflow":
        return framework.function(fn, autograph=autograph)
    return trellis.compile(fn)


def fresh(backend: str, fn: Callable[..., Any]) -> Any:
    """Compiled anew: Dynamo counts the compilations of one function over all tests."""
    forget_programs(backend)
    return compile_with(backend, fn)


def forget_programs(backend: str) -> None:
    """Dynamo limits how often one function is compiled, over all tests of a process."""
    if backend == "torch" and "torch" in sys.modules:
        framework: Any = sys.modules["torch"]
        framework.compiler.reset()


def one_program(backend: str, fn: Callable[..., Any]) -> Any:
    """`fn` as one program on JAX, which would compile each of its operations alone; else itself.

    For what is about numbers; that every operation runs alone too is for `test_rows` to say.
    """
    return compile_with(backend, fn) if backend == "jax" else fn
