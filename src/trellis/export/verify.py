"""Verifying a file: its own runtime runs it, and the outputs are compared with the model's."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._core.errors import ConversionError
from ..convert.verify import distance, tolerance
from .examples import drawn
from .program import Program
from .signature import written_shape

# From arrays of NumPy, by the order of the inputs, to arrays of NumPy by the order of the outputs.
Runner = Callable[[Sequence[Any]], Sequence[Any]]


def verify(program: Program, run: Runner, runtime: str) -> str:
    """Compare on the example, on fresh inputs, and on inputs of other sizes where axes are open.

    Differences are relative to the largest number of an output, so that numbers near zero do not
    decide. Returns in words what was found; raises with the output that differs most.
    """
    worst = 0.0
    cases = _cases(program)
    for what, inputs in cases:
        expected = program.expected(inputs)
        try:
            found = [np.asarray(x) for x in run(_as_taken(program, inputs))]
        except Exception as error:
            shapes = ", ".join(
                [f"{p.name} {written_shape(x.shape)}" for p, x in zip(program.inputs, inputs)]
            )
            raise ConversionError(
                f"{program.name} was written, but {runtime} does not run it on {what} ({shapes}): "
                f"{error}"
            ) from error
        worst = max(worst, _compare(program, found, expected, what, runtime))
    return (
        f"verified by {runtime} on {len(cases)} inputs, largest difference {worst:.1e} of an "
        "output's scale"
    )


def _cases(program: Program) -> list[tuple[str, list[Any]]]:
    cases = [
        ("the example", program.example),
        ("fresh inputs", drawn(program.example, program.axes, program.sizes, seed=1)),
    ]
    if program.other_sizes is not None:
        sizes = ", ".join([f"{name} = {size}" for name, size in program.other_sizes.items()])
        other = drawn(program.example, program.axes, program.other_sizes, seed=2)
        cases.append((f"fresh inputs with {sizes}", other))
    return cases


def _as_taken(program: Program, inputs: Sequence[Any]) -> list[Any]:
    """The file may take narrower integers than the model."""
    pairs = zip(program.inputs, inputs, strict=True)
    return [x if x.dtype.name == port.dtype else x.astype(port.dtype) for port, x in pairs]


def _compare(
    program: Program, found: Sequence[Any], expected: Sequence[Any], what: str, runtime: str
) -> float:
    if len(found) != len(expected):
        raise ConversionError(
            f"{program.name}: {runtime} gives {len(found)} outputs where the model gives "
            f"{len(expected)}."
        )
    differences = [distance(x, y) for x, y in zip(found, expected)]
    # How far beyond what rounding makes; integers may not differ at all.
    beyond = [difference / max(tolerance(y), 1e-30) for difference, y in zip(differences, expected)]
    i = int(np.argmax(beyond))
    if beyond[i] > 1:
        shapes = ""
        if found[i].shape != expected[i].shape:
            shapes = (
                f" (shape {written_shape(found[i].shape)}, expected "
                f"{written_shape(expected[i].shape)})"
            )
        raise ConversionError(
            f"{program.name}: the output {program.outputs[i].name!r} of the file differs from the "
            f"model's by {differences[i]:.1e} of its scale on {what}, as {runtime} runs it{shapes}."
            " Nothing was written."
        )
    return max(differences)
