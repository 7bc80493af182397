"""A model of another library against its port: by node where it was converted, by module where it
was written by hand."""

from typing import Any

import numpy as np

from .. import convert
from .._array.interchange import to_numpy
from .._core import tree
from .._core.dispatch import backend_of, current_backend
from .._core.errors import ArgumentTypeError, NotSupportedError
from ..convert.finish import readings
from ..convert.module import ConvertedModule, native
from ..graph import Node, run
from ..nn import Module
from ..nn.module.call import Call as ModuleCall
from ..nn.module.call import here
from .recording import Call, Recording, moved_array


def foreign_and_own(source: object, own: Any, args: tuple[Any, ...]) -> list[Recording]:
    """Two recordings: the foreign model's, and that of its conversion or port."""
    if not hasattr(source, "register_forward_hook"):
        raise NotSupportedError(
            "diverge(model, converted, args) compares a torch.nn.Module with its port, got "
            f"{type(source).__name__}. Conversions of other sources are compared call by call "
            "when they are made: convert.from_jax(..., verify=True) names the first difference."
        )
    if isinstance(own, ConvertedModule):
        return _by_node(source, own, args)
    if isinstance(own, Module):
        return _by_module(source, own, args)
    raise ArgumentTypeError(
        f"diverge(model, converted, args) expects a module of Trellis in the second place, got "
        f"{type(own).__name__}."
    )


def _by_node(source: object, own: ConvertedModule, args: tuple[Any, ...]) -> list[Recording]:
    backend = _backend_of(own)
    with readings() as found:
        convert.from_torch(source, args, to=backend, verify=False)
    reading = found[0]
    assert reading.values is not None, "the reader of torch can run its source"
    expected = reading.values()
    ones: list[Call] = []
    twos: list[Call] = []

    def see(node: Node, result: object) -> None:
        name = node.result.name
        if name not in expected or not hasattr(result, "dtype"):
            return
        known = {value.name: chain for chain, value in own.graph.variables.items()}
        chains = [known[x.name] for x in node.args if getattr(x, "name", None) in known]
        about = (node.op.__name__, node.source, len(ones), "", node.where, chains)
        ones.append(Call(*about, [np.asarray(expected[name])]))
        twos.append(Call(*about, [np.array(to_numpy(result))]))

    run(own.graph, own.values_of([native(x, backend, None) for x in reading.example]), see)
    return [Recording("torch", ones), Recording(backend, twos)]


def _by_module(source: Any, own: Module, args: tuple[Any, ...]) -> list[Recording]:
    backend = _backend_of(own)
    theirs: dict[str, list[Any]] = {}
    handles = []
    for name, part in source.named_modules():

        def keep(part: object, inputs: object, output: object, name: str = name) -> None:
            theirs.setdefault(name, []).append(_arrays(output))

        handles.append(part.register_forward_hook(keep))
    try:
        theirs_out = source(*args)
    finally:
        for handle in handles:
            handle.remove()
    theirs.setdefault("", [_arrays(theirs_out)])
    mine: list[tuple[str, list[Any]]] = []
    with _watched(own, mine):
        own(*[moved_array(x.detach(), backend) if hasattr(x, "detach") else x for x in args])
    ones: list[Call] = []
    twos: list[Call] = []
    for name, arrays in mine:
        if theirs.get(name):
            path, number = name or type(own).__name__, len(ones)
            ones.append(Call("module", "", number, "", path, [], theirs[name].pop(0)))
            twos.append(Call("module", "", number, "", path, [], arrays))
    if len(ones) < 2 and len(mine) > 1:
        raise ArgumentTypeError(
            "diverge(model, port, args) compares modules of the same path, and finds none: the "
            f"model has {', '.join([n for n in theirs if n][:8])}; the port "
            f"{', '.join([n for n, _ in mine if n][:8])}. Name the attributes alike."
        )
    return [Recording("torch", ones), Recording(backend, twos)]


class _Watch:
    """Takes the place of a tracker: it is passed what each module of a tree returns."""

    def __init__(self, root: Module, found: list[tuple[str, list[Any]]]):
        self.root, self._found = root, found

    def enter(self, module: Module) -> None:
        return None

    def leave(self, entry: object) -> None:
        return None

    def record(self, module: Module, result: object) -> None:
        self._found.append((_torch_path(module), _arrays(result)))


class _watched:
    """Inside the block, what the modules of a tree return is noted in the list."""

    def __init__(self, root: Module, found: list[tuple[str, list[Any]]]):
        self._root, self._found = root, found

    def __enter__(self) -> None:
        self._before = here.call
        watch = _Watch(self._root, self._found)
        here.call = ModuleCall(self._root.__node__, None, None, self._before, watch)

    def __exit__(self, *exception: object) -> None:
        here.call = self._before


def _torch_path(module: Module) -> str:
    """The place of a module as torch writes it: layers.0.attention."""
    names: list[str] = []
    node = module.__node__
    while node.link is not None:
        names = [
            key[1:] if key[:1] == "v" and key[1:].isdigit() else key for key in node.link.path
        ] + names
        node = node.link.parent
    return ".".join(names)


def _arrays(nest: object) -> list[Any]:
    found = tree.leaves([nest]) if not hasattr(nest, "dtype") else [nest]
    return [
        np.array(to_numpy(x.detach() if hasattr(x, "detach") else x))
        for x in found
        if hasattr(x, "dtype")
    ]


def _backend_of(module: Module) -> str:
    leaves = [x for x in tree.leaves(module.v) if hasattr(x, "dtype")]
    return backend_of(leaves[0]) if leaves else current_backend()
