"""Models as StableHLO, serialised by jax.export."""

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.export

from .._array.casting import dtype
from .._array.interchange import to_numpy
from .._core import tree
from .._core.files import read_arrays, write_arrays
from .description import Description, to_text
from .program import Dynamic, Program, plain
from .trailer import with_trailer
from .verify import Runner
from .writing import Format, write

_WIDE = ("float64", "complex128")

_FORMAT = Format("StableHLO", ("jax", "jaxlib"), "jax")


def to_stablehlo(
    model: Any,
    args: Sequence[Any],
    path: str | os.PathLike[str],
    *,
    kwargs: Mapping[str, Any] | None = None,
    dynamic: Dynamic | None = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    variables: str = "constants",
    training: bool = False,
    platforms: Sequence[str] | None = None,
    verify: bool = True,
) -> Description:
    """Write a model as StableHLO in the form of `jax.export`, which `jax.export.deserialize` reads.

    Variables are constants of the program. With `variables="parameters"` they are its first
    argument, a dict by key path, and are stored in a second file, "model.stablehlo.safetensors" for
    "model.stablehlo". `platforms` names the platforms to compile for, such as `("cpu", "cuda")`: by
    default the current one. Inputs with 64 bits need JAX's x64 mode when
    the program is called; integers of 64 bits become narrower unless there are 64-bit floats. The
    other options are those of all writers: see docs/export.md.

    >>> import os, pathlib, tempfile, numpy as np, jax, trellis
    >>> path = os.path.join(tempfile.mkdtemp(), "model.stablehlo")
    >>> model, x = trellis.nn.Linear(3, 2, backend="numpy"), np.ones((4, 3), "float32")
    >>> _ = trellis.export.to_stablehlo(model, (x,), path, dynamic={"x": {0: "batch"}})
    >>> program = jax.export.deserialize(bytearray(pathlib.Path(path).read_bytes()))
    >>> program.call(np.ones((7, 3), "float32")).shape
    (7, 2)
    """
    with _precision(model, args, kwargs):
        names = (input_names, output_names)
        program = Program(
            model, args, kwargs, dynamic, names, training, backend="jax", function="to_stablehlo"
        )

        def save(target: Path, about: Mapping[str, Any]) -> None:
            content = _serialized(program, variables, platforms)
            target.write_bytes(with_trailer(content, to_text(about)))
            if variables == "parameters":
                arrays = {name: to_numpy(x) for name, x in _arguments(program).items()}
                write_arrays(weights_path(target), arrays)

        return write(program, path, _FORMAT, variables, save=save, load=load, verify=verify)


def weights_path(path: Path) -> Path:
    """The file of the variables that are arguments of a program."""
    return path.with_name(f"{path.name}.safetensors")


def _arguments(program: Program) -> dict[str, Any]:
    return {**program.variables, **program.buffers}


def _serialized(program: Program, variables: str, platforms: Sequence[str] | None) -> bytes:
    v, kept = list(program.variables), list(program.buffers)
    arrays = _arguments(program)

    def with_constants(*inputs: jax.Array) -> Any:
        return plain(program.call([arrays[n] for n in v], [arrays[n] for n in kept], inputs))

    def with_parameters(given: Mapping[str, Any], *inputs: jax.Array) -> Any:
        return plain(program.call([given[n] for n in v], [given[n] for n in kept], inputs))

    scope = jax.export.SymbolicScope()
    specs: list[Any] = []
    for port in program.inputs:
        sizes = [
            jax.export.symbolic_shape(size, scope=scope)[0] if isinstance(size, str) else size
            for size in port.shape
        ]
        specs.append(jax.ShapeDtypeStruct(tuple(sizes), port.dtype))
    fn = with_constants
    if variables == "parameters":
        fn = with_parameters
        specs.insert(0, {n: jax.ShapeDtypeStruct(x.shape, x.dtype) for n, x in arrays.items()})
    fn.__name__ = program.name
    with _without_places():
        made = jax.export.export(jax.jit(fn), platforms=platforms)(*specs)
        return bytes(made.serialize())


@contextlib.contextmanager
def _without_places() -> Iterator[None]:
    """Without the directories of this machine, which JAX notes with every operation."""
    option = "jax_hlo_source_file_canonicalization_regex"
    before = getattr(jax.config, option)
    jax.config.update(option, ".*")
    try:
        yield
    finally:
        jax.config.update(option, before)


def load(path: Path) -> Runner:
    """A file in the runtime of its format."""
    made = jax.export.deserialize(bytearray(path.read_bytes()))
    given = []
    if weights_path(path).exists():
        given.append(read_arrays(weights_path(path))[0])

    def run(inputs: Sequence[Any]) -> Sequence[Any]:
        return [to_numpy(x) for x in tree.leaves(made.call(*given, *inputs))]

    return run


def _precision(model: Any, args: Any, kwargs: Any) -> Any:
    """JAX with 64-bit types, if the model has 64-bit floats."""
    nests = [args, kwargs or {}, getattr(model, "v", None), getattr(model, "buffers", None)]
    leaves = [x for x in tree.leaves(nests) if hasattr(x, "dtype") and hasattr(x, "shape")]
    if not any([str(dtype(x)) in _WIDE for x in leaves]):
        return contextlib.nullcontext()
    return jax.enable_x64(True)
