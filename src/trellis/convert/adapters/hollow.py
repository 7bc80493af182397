"""A model without its arrays: an adapter keeps the model, its host the arrays."""

import copy
from collections.abc import Callable, Sequence
from typing import Any

from ..._array.casting import astype, dtype
from ..._array.interchange import to_backend
from ..._core import tree
from ..._core.arrays import is_array
from ..._core.container import Container, unflatten_container
from ..._core.dispatch import backend_of
from ..._core.errors import ArgumentError, ArgumentTypeError
from ..._core.tracing import is_followed, tracing
from ..._core.typing import Backend, Device
from ..._random.stream import _current, _while_followed, key_words, stream
from ...nn import Module
from ...nn.module.queries import below
from ...nn.module.variables import keep
from ..module import NARROW, ConvertedModule, has_64_bits
from ..weights.given import check_model


class Hollow:
    """The structure of a model, and its arrays apart, moved to the framework of the host.

    `variables` and `buffers` are flat, by key path; the host keeps them and passes them to each
    call, as lists in that order.
    """

    def __init__(self, model: Module, backend: str, function: str):
        check_model(model, function)
        v, kept = model.v, model.buffers
        leaves = tree.leaves([v, kept])
        self.origin = backend_of(leaves[0]) if leaves else backend
        # What is known to the copier is not copied: only the structure of the model is.
        graphs = [m.graph for m in below(model) if isinstance(m, ConvertedModule)]
        self.training = copy.deepcopy(model, {id(each): each for each in [*leaves, *graphs]})
        self.host = backend
        _empty(self.training)
        _move_constants(self.training, self.origin, backend)
        self.evaluating = copy.deepcopy(self.training).eval()
        self.is_training = model.training
        if not model.training:
            self.training.train()
        self.variables = _flat(v, backend)
        self.buffers = _flat(kept, backend)
        self._structures = structure_of(v), structure_of(kept)
        self._types = [[str(dtype(n[chain])) for chain in n.key_chains()] for n in (v, kept)]

    def release(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The arrays, which the host keeps from now on."""
        v, kept = self.variables, self.buffers
        self.variables, self.buffers = {}, {}
        return v, kept

    def apply(self, model: Module, v: Sequence[Any], buffers: Sequence[Any], args: tuple[Any, ...],
              kwargs: dict[str, Any]) -> tuple[Any, list[Any]]:  # fmt: skip
        """What the model returns, and its new buffers."""
        of_v, of_buffers = self._structures
        kept = assembled(of_buffers, buffers)
        result, new = model.apply(assembled(of_v, v), kept, *args, **kwargs)
        if structure_of(new) != of_buffers:
            raise ArgumentError(
                "The call has made a new buffer, which the adapter cannot know of: call the model "
                "once before you convert it."
            )
        return result, [new[chain] for chain in new.key_chains()]

    def run(self, is_training: bool, v: Sequence[Any], buffers: Sequence[Any],
            args: tuple[Any, ...], kwargs: dict[str, Any],
            draw: Callable[[], Any] | None) -> tuple[Any, list[Any]]:  # fmt: skip
        """`apply`, in training or not; where the caller has opened no stream, `draw` gives the key
        that draws begin with."""
        model = self.training if is_training else self.evaluating
        if draw is None or is_stream_open():
            return self.apply(model, v, buffers, args, kwargs)
        with HostStream(draw):
            return self.apply(model, v, buffers, args, kwargs)

    def map_constants(self, fn: Callable[[Any], Any]) -> None:
        """Replace the arrays that modules keep besides their variables: another device, say."""
        for model in (self.training, self.evaluating):
            for module in below(model):
                for name, value in _arrays_in_attributes(module, self.host).items():
                    object.__setattr__(module, name, tree.map(fn, value))

    def filled(self, v: Sequence[Any], buffers: Sequence[Any], backend: str | None) -> Any:
        """A Trellis model with these arrays, by default on the framework that it came from."""
        name = self.origin if backend is None else backend
        model = copy.deepcopy(self.training)
        whole = []
        for structure, types, part in zip(self._structures, self._types, (v, buffers), strict=True):
            pairs = zip(part, types, strict=True)
            leaves = [_widened(_moved(x, name), wanted, name) for x, wanted in pairs]
            whole.append(assembled(structure, leaves))
        keep(model.__node__, whole[0])
        model.__node__.buffers = whole[1]
        _move_constants(model, self.host, name)
        return model


def _empty(model: Module) -> None:
    """Take the arrays out of a copy, and the copy out of the tree that it stood in."""
    node = model.__node__
    node.link, node.more_links = None, []
    node.v, node.buffers = Container(), Container()
    node.update_plain()


def _flat(nest: Container, backend: str) -> dict[str, Any]:
    return {chain: _moved(nest[chain], backend) for chain in nest.key_chains()}


def _moved(x: Any, backend: str) -> Any:
    """A copy in another framework; wide integers become narrow where it has no others, if they
    fit."""
    if str(dtype(x)) in NARROW and not has_64_bits(backend):
        wide = to_backend(x, "numpy")
        narrow = astype(wide, NARROW[str(dtype(x))])
        x = narrow if bool((narrow == wide).all()) else wide
    return to_backend(x, backend, copy=True)


def _widened(x: Any, wanted: str, backend: str) -> Any:
    """The type that an integer had before it was moved, where the framework has that type."""
    if wanted in NARROW and str(dtype(x)) == NARROW[wanted] and has_64_bits(backend):
        return astype(x, wanted)
    return x


# A structure is the keys of a Container and what is below each: a structure, or None for an array.
# Not that of `tree`: torch.compile cannot use one that was made before it began.


def structure_of(nest: Container) -> Any:
    return {
        key: structure_of(value) if isinstance(value, Container) else None
        for key, value in dict.items(nest)
    }


def assembled(structure: object, leaves: Sequence[Any]) -> Container:
    """The Container of that structure; leaves come in the order of its key paths."""
    remaining = list(leaves)
    remaining.reverse()
    return _assembled(structure, remaining)


def _assembled(structure: Any, remaining: list[Any]) -> Container:
    values = []
    for below_it in structure.values():
        is_leaf = below_it is None
        values.append(remaining.pop() if is_leaf else _assembled(below_it, remaining))
    return unflatten_container((tuple(structure), True), values)


# Constants
# --------------------------------------------------------------------------------------


def _move_constants(model: Module, origin: str, backend: str) -> None:
    """Arrays that modules keep besides their variables belong to the framework of these."""
    if origin == backend:
        return
    for module in below(model):
        if isinstance(module, ConvertedModule):
            module.move_constants(backend)
        else:
            for name, value in _arrays_in_attributes(module, origin).items():
                object.__setattr__(module, name, to_backend(value, backend))


def _arrays_in_attributes(module: Module, backend: str) -> dict[str, Any]:
    """Attributes that are arrays of that framework, or pytrees of nothing else."""
    found = {}
    for name, value in vars(module).items():
        leaves = tree.leaves(value) if tree.is_nest(value) else [value]
        if leaves and all([_is_array_of(x, backend) for x in leaves]):
            found[name] = value
    return found


def _is_array_of(x: object, backend: str) -> bool:
    try:
        return is_array(x) and hasattr(x, "shape") and backend_of(x) == backend
    except ArgumentTypeError:  # a module, a specification: something else that has a type
        return False


# Draws
# ------------------------------------------------------------------------------------------


class HostStream(stream):
    """Keys that come from the host's own generator, asked only if something is drawn."""

    def __init__(self, draw: Callable[[], Any], /):
        super().__init__(0)
        self._draw = draw
        self._key = self._known = None

    def _next(self, xp: Backend, device: Device | None) -> Any:
        if self._key is None:
            self._key = self._draw()
            self._known = key_words(self._key)
        return super()._next(xp, device)


def is_stream_open() -> bool:
    """Whether the caller has opened a `with trellis.random.stream` block."""
    if is_followed():
        return len(_while_followed) > 0
    here = _current.get()
    return here is not None and (here._was_tracing or tracing() is None)
