"""Building a module: its variables are made, its children found, and all put into one tree."""

import contextlib
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..._array.casting import dtype as dtype_of
from ..._core import tree
from ..._core.container import Container
from ..._core.dispatch import backend_of, using_backend
from ..._core.dtypes import FLOATING, default_dtype, name_of, using_default_dtype
from ..._core.errors import ArgumentError, MixedBackendsError, ShapeError
from ..._core.settings import Setting
from ..._core.typing import Device, DTypeLike
from .buffers import buffers, set_buffers
from .node import Link, Node, Path
from .search import Found, find_modules
from .share import differences, joined, prune_duplicates, shared_below
from .variables import check_lasting, keep, set_variables, stored_variables

if TYPE_CHECKING:
    from .module import Module

# The device on which modules inside a module that was given one are made.
_device: Setting[Device] = Setting("trellis_nn_device", None)

# Several threads may make the first call of a module that builds then: one of them builds it.
one_at_a_time = threading.RLock()


@contextlib.contextmanager
def surroundings(backend: str | None, dtype: DTypeLike, device: Device) -> Iterator[None]:
    """What modules and variables made inside take where nothing else is said."""
    with contextlib.ExitStack() as stack:
        if backend is not None:
            stack.enter_context(using_backend(backend))
        if dtype is not None:
            stack.enter_context(using_default_dtype(name_of(dtype)))
        if device is not None:
            stack.enter_context(_device.using(device))
        yield


def backend_and_dtype(*nests: Any) -> tuple[str | None, str | None]:
    """The backend of the first array and the dtype of the first float array in the pytrees."""
    backend, dtype = None, None
    for leaf in tree.leaves(nests):
        if hasattr(leaf, "dtype") and hasattr(leaf, "shape"):
            backend = backend_of(leaf) if backend is None else backend
            found = str(dtype_of(leaf))
            if dtype is None and found in FLOATING:
                dtype = found
    return backend, dtype


def build(
    node: Node,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    from_call: bool,
    device: Device,
    dtype: DTypeLike,
) -> None:
    """The steps of `Module.build`, in the order of its docstring."""
    owner = node.owner
    given = None if node.pending is None else node.pending[0]
    backend, found_dtype = backend_and_dtype(given, *((args, kwargs) if from_call else ()))
    backend = backend if node.backend is None else node.backend
    dtype = _first_said(dtype, node.dtype, found_dtype)
    device = _first_said(device, node.device, _device.get())
    use_given_args = bool(args or kwargs) and not from_call
    build_args, build_kwargs = (
        (args, kwargs) if use_given_args else (node.build_args, node.build_kwargs)
    )
    with surroundings(backend, dtype, device):
        has_all = owner._build(*build_args, **build_kwargs)
        created = owner._create_variables(
            device=device, dtype=default_dtype() if dtype is None else name_of(dtype)
        )
        check_lasting(node, created, "v")
        node.v = Container({} if created is None else created)
        _build_explicit_children(owner)
        collect(node)
        settle_given(node)
        if has_all is False and from_call:
            owner._forward(*args, **kwargs)
            collect(node)
            settle_given(node)
    _check_parts(node)
    node.is_built = True
    node.update_plain()
    if not node.is_training:
        owner.train(False)
    if node.link is not None:
        collect(node.link.parent)


def _check_parts(node: Node) -> None:
    """Parts that were made elsewhere keep their variables: refuse them where the module was asked
    to be of another backend."""
    if node.backend is None:
        return
    v = stored_variables(node)
    for chain in v.key_chains():
        found = backend_of(v[chain])
        if found != node.backend:
            raise MixedBackendsError(
                f"{type(node.owner).__name__}(backend={node.backend!r}) got a submodule whose "
                f"variable {chain!r} is from {found}. Create it with backend={node.backend!r} "
                f"as well, or everything inside `with trellis.using_backend({node.backend!r})`."
            )


def _first_said(*choices: Any) -> Any:
    said = [choice for choice in choices if choice is not None]
    return said[0] if said else None


def _build_explicit_children(owner: "Module") -> None:
    for found in find_modules(owner):
        if not found.module.built and found.module.__node__.build_mode == "explicit":
            found.module.build()


def collect(node: Node) -> None:
    """Search the attributes again and put the variables of the tree together; no array changes."""
    old = stored_variables(node)
    gone = {id(module): module for module in node.children.values()}
    own = {key: value for key, value in dict.items(old) if key not in node.heads}
    found = [f for f in find_modules(node.owner) if not _is_above(f.module.__node__, node)]
    v = Container(own)
    parts = []
    for path, _, module in found:
        gone.pop(id(module), None)
        part = stored_variables(module.__node__) if module.built else Container()
        parts.append(part)
        if len(part):
            _place(v, path, part, own, node.owner)
    check_lasting(node, v, "v")
    for module in gone.values():
        _detach(node, module.__node__)
    v, node.duplicates = prune_duplicates(v, own)
    keep(node, v)
    node.heads = {f.path[0] for f, part in zip(found, parts, strict=True) if len(part)}
    _attach(node, found, parts)
    node.update_plain()
    if node.is_built:
        settle_given(node)
    if node.link is not None and node.is_built:
        collect(node.link.parent)


def _is_above(candidate: Node, node: Node) -> bool:
    above: Node | None = node
    while above is not None:
        if above is candidate:
            return True
        above = None if above.link is None else above.link.parent
    return False


def _place(v: Container, path: Path, part: Container, own: dict[str, Any], owner: "Module") -> None:
    if path[0] in own:
        raise ArgumentError(
            f"{type(owner).__name__} has two variables named {path[0]!r}: one that "
            "_create_variables returns, and those of a module in an attribute of that name. Rename "
            "one of them."
        )
    chain = "/".join(path)
    if chain in v:
        raise ArgumentError(
            f"{type(owner).__name__} has two attributes whose variables are named {chain!r} (one "
            "leading underscore does not count). Rename one of them."
        )
    v[chain] = part


def _attach(node: Node, found: list[Found], parts: list[Container]) -> None:
    node.children = {}
    for (path, key, module), part in zip(found, parts, strict=True):
        child = module.__node__
        node.children[key] = module
        link = _link_to(node, child, path, key)
        link.path, link.key, link.is_bare = path, key, len(part) == 0
        link.shared = shared_below(path, node.duplicates)
        if child.link is link and len(child.buffers):
            set_buffers(child, child.buffers)
            child.buffers = Container()
        elif child.link is not link and len(module.buffers):
            buffers(node, for_writing=True)["/".join(path)] = module.buffers
        if child.is_built:
            child.v = None
        child.update_plain()


def _detach(node: Node, child: Node) -> None:
    """A module that no attribute holds any more takes its variables and buffers along."""
    links = [link for link in child.links() if link.parent is not node]
    if child.link is not None and child.link.parent is node:
        v, kept = stored_variables(child), child.owner.buffers
        buffers(node, for_writing=True).pop("/".join(child.link.path), None)
        child.v, child.buffers = (v, kept) if not links else (None, Container())
    child.link, child.more_links = (links[0], links[1:]) if links else (None, [])


def _link_to(node: Node, child: Node, path: Path, key: str) -> Link:
    """The link from the child to this parent, made now if there is none."""
    for link in child.links():
        if link.parent is node:
            return link
    link = Link(node, path, key)
    if child.link is None:
        child.link = link
    else:
        child.more_links.append(link)
    return link


def settle_given(node: Node) -> None:
    """Put the constructor's `v` in its place, unless children may still come and change the
    answer."""
    if node.pending is None:
        return
    given, is_partial = node.pending
    v = stored_variables(node)
    wrong = differences(given, v, is_partial)
    if wrong and (node.is_constructing or _has_unbuilt(node.owner)):
        return
    if wrong:
        raise ShapeError(
            f"The variables given to {type(node.owner).__name__} do not fit: {'; '.join(wrong)}."
            + ("" if is_partial else " To give only some of them, write with_partial_v=True.")
        )
    filled = given.copy()
    if is_partial:
        filled = v.copy()
        for chain in given.key_chains():
            filled[chain] = given[chain]
    own = [key for key in dict.keys(v) if key not in node.heads]
    v, newer = prune_duplicates(filled, own)
    node.duplicates = joined(node.duplicates, newer)
    for module in node.children.values():
        for link in module.__node__.links():
            if link.parent is node:
                link.shared = shared_below(link.path, node.duplicates)
    set_variables(node, v)
    node.pending = None


def _has_unbuilt(module: "Module") -> bool:
    return any(
        [not child.built or _has_unbuilt(child) for child in module.__node__.children.values()]
    )
