"""Comparing a compiled program with the same program without compilation.

A compiled program that gives every intermediate value is not the one that people run: the compiler
fuses less where values must be kept. (On JAX, a * b + c in one kernel rounds once, and twice where
a * b is asked for too.) So the program is compiled twice: with all values, for the calls, and with
its outputs alone, for what it returns. If only the second one differs, a bisection finds the first
call that differs when it is the only output.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from .._array.compilation import compile
from .._core import tree
from .._core.container import Container
from .._core.dispatch import load, other_names, using_backend
from .._core.errors import NotSupportedError
from .._recording.modules import modules_of
from ..graph import Graph, Node, program_of, trace
from ..graph.graph import values_in
from .recording import Call, Recording, as_numpy, moved_array
from .report import Report, compare


def with_compiler(
    fn: Callable[..., Any], args: tuple[Any, ...], backend: str, tolerance: float | None
) -> Report:
    """The report on the plain and the compiled program of one framework."""
    if not load(backend).ABILITIES.has_compiler:
        raise NotSupportedError(
            f"{backend} has no compiler to compare with. Name another one in backends: "
            f"{other_names(backend)}."
        )
    program = _Program(fn, args, backend)
    values = [node.result for node in program.nodes]
    plain = program.run(values)
    ones = program.calls(program.nodes, plain)
    twos = program.calls(program.nodes, program.run(values, is_compiled=True))
    outputs = list(values_in(program.graph.outputs))
    for calls, is_compiled in ((ones, False), (twos, True)):
        found = program.run(outputs, is_compiled=is_compiled)
        calls.append(Call("return", "", -1, "", "", [], found))
    labels = [backend, f"{backend} compiled"]
    report = compare(
        [Recording(backend, ones), Recording(backend, twos)], tolerance=tolerance, labels=labels
    )
    if [found.call.op for found in report.differences] == ["return"]:
        report.remarks.append(_searched(program, plain, tolerance, labels))
    return report


def _searched(
    program: "_Program", plain: list[Any], tolerance: float | None, labels: list[str]
) -> str:
    """The first call that differs when its result alone is asked for."""

    def difference(i: int) -> Report:
        node = program.nodes[i]
        one = program.calls([node], [plain[i]])
        two = program.calls([node], program.run([node.result], is_compiled=True))
        pair = [Recording(program.backend, one), Recording(program.backend, two)]
        return compare(pair, tolerance=tolerance, labels=labels)

    low, high = 0, len(program.nodes) - 1
    while low < high:
        middle = (low + high) // 2
        if difference(middle).is_same:
            low = middle + 1
        else:
            high = middle
    found = difference(low).differences
    if not found:
        return "no call differs by itself: the compiler's fusions add up"
    found[0].number = low
    return f"no call differs while all values are kept; alone, the first is {found[0]}"


class _Program:
    """A traced program, and all that it needs, on one framework."""

    def __init__(self, fn: Callable[..., Any], args: tuple[Any, ...], backend: str):
        self.backend = backend
        self.xp: Any = load(backend)
        self.graph = trace(fn, *args)
        self.nodes = [node for node in self.graph.nodes if node.result.dtype is not None]
        modules = modules_of(fn)
        v, buffers = Container(), Container()
        for name, module in modules.items():
            prefix = f"{name}/" if len(modules) > 1 else ""
            for place, found in ((v, module.v), (buffers, module.buffers)):
                for chain in found.key_chains():
                    place[prefix + chain] = found[chain]
        given = [x for arg in args if isinstance(arg, dict) for x in tree.leaves(arg)]
        chains = list(self.graph.variables)[-len(given) :] if given else []
        for chain, x in zip(chains, given, strict=True):
            v[chain] = x
        arrays = [
            x
            for arg in args
            if not isinstance(arg, dict)
            for x in tree.leaves([arg])
            if hasattr(x, "dtype")
        ]
        self._held = [
            tree.map(lambda x: moved_array(x, backend), nest) for nest in (v, buffers, arrays)
        ]
        self._constants = {
            name: self.xp.from_numpy(np.array(x)) for name, x in self.graph.constants.items()
        }

    def run(self, outputs: list[Any], is_compiled: bool = False) -> list[Any]:
        """The values asked for, as NumPy arrays."""
        graph = self.graph
        whole = Graph(
            inputs=graph.inputs,
            nodes=graph.nodes,
            variables=graph.variables,
            buffers=graph.buffers,
            constants=graph.constants,
            outputs=outputs,
        )
        program = program_of(whole)

        def run(v: Any, buffers: Any, constants: Any, xs: Any) -> Any:
            return program(v, buffers, constants, False, *xs)

        v, buffers, xs = self._held
        made = compile(run) if is_compiled else run
        with using_backend(self.backend):  # for calls that have no array to go by
            results = made(v, buffers, self._constants, xs)
        return [as_numpy(self.xp, x) for x in results]

    def calls(self, nodes: list[Node], results: list[Any]) -> list[Call]:
        """Nodes and their results as calls of a recording."""
        made = []
        for i, (node, x) in enumerate(zip(nodes, results, strict=True)):
            module, _, line = node.where.rpartition(", ")
            used = {value.name for value in values_in((node.args, node.attributes))}
            chains = [c for c, value in self.graph.variables.items() if value.name in used]
            made.append(Call(node.op.__name__, node.source, i, line, module, chains, [x]))
        return made
