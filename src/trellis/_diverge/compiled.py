"""What a compiler makes of a program, against the program as it is."""

from collections.abc import Callable
from typing import Any

import numpy as np

from .._array.compilation import compile
from .._array.interchange import to_backend
from .._core import tree
from .._core.container import Container
from .._core.dispatch import load
from .._core.errors import NotSupportedError
from .._recording.modules import modules_of
from ..graph import Graph, program_of, trace
from .recording import Call, Recording, moved_array


def eager_and_compiled(
    fn: Callable[..., Any], args: tuple[Any, ...], backend: str
) -> list[Recording]:
    """Two recordings: the calls one by one, and all of them in one compiled program that gives
    every intermediate value."""
    if backend == "numpy":
        raise NotSupportedError(
            "NumPy has no compiler to compare with. Name jax, torch or tensorflow in backends."
        )
    modules = modules_of(fn)
    graph = trace(fn, *args)
    v, buffers = Container(), Container()
    for name, module in modules.items():
        prefix = f"{name}/" if len(modules) > 1 else ""
        for place, found in ((v, module.v), (buffers, module.buffers)):
            for chain in found.key_chains():
                place[prefix + chain] = found[chain]
    for chain, x in _given(graph, args).items():
        v[chain] = x
    inputs = [
        x
        for arg in args
        if not isinstance(arg, dict)
        for x in tree.leaves([arg])
        if hasattr(x, "dtype")
    ]
    nodes = [node for node in graph.nodes if node.result.dtype is not None]
    whole = Graph(
        inputs=graph.inputs, nodes=graph.nodes, variables=graph.variables, buffers=graph.buffers,
        constants=graph.constants, outputs=[node.result for node in nodes],
    )  # fmt: skip
    program = program_of(whole)
    xp: Any = load(backend)
    constants = {name: xp.from_numpy(np.array(x)) for name, x in graph.constants.items()}

    def run(v: Any, buffers: Any, constants: Any, xs: Any) -> Any:
        return program(v, buffers, constants, False, *xs)

    moved = [tree.map(lambda x: moved_array(x, backend), nest) for nest in (v, buffers, inputs)]
    found = []
    for each in (run, compile(run)):
        results = each(moved[0], moved[1], constants, moved[2])
        found.append(
            Recording(
                backend,
                [
                    Call(
                        node.op.__name__,
                        node.source,
                        i,
                        *_place(node.where),
                        _chains(graph, node),
                        [np.array(to_backend(x, "numpy"))],
                    )
                    for i, (node, x) in enumerate(zip(nodes, results, strict=True))
                ],
            )
        )
    return found


def _given(graph: Graph, args: tuple[Any, ...]) -> dict[str, Any]:
    """Variables that were arguments: the leaves of dicts in their order."""
    leaves = [x for arg in args if isinstance(arg, dict) for x in tree.leaves(arg)]
    chains = list(graph.variables)[-len(leaves) :] if leaves else []
    return dict(zip(chains, leaves, strict=True))


def _place(where: str) -> tuple[str, str]:
    module, _, line = where.rpartition(", ")
    return line, module


def _chains(graph: Graph, node: Any) -> list[str]:
    from ..graph.graph import values_in

    used = {value.name for value in values_in((node.args, node.attributes))}
    return [chain for chain, value in graph.variables.items() if value.name in used]
