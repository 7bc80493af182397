"""The modules that a function uses, and recorded arrays in the place of their variables."""

import functools
import sys
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any

from .._core.container import Container
from .._core.errors import TrellisError
from .._core.frames import is_installed
from ..nn import Module
from ..nn.module.call import here
from ..nn.module.node import Node
from ..nn.module.search import find_modules
from .place import Given


class _Watcher:
    """Stands where a tracker would, so that no call of a module takes the fast path and each is
    seen; it tracks nothing, being of no tree."""

    def __init__(self) -> None:
        self.root = self
        self.__node__ = Node(self)


def modules_of(fn: Callable[..., Any]) -> dict[str, Module]:
    """The roots of the trees of modules that a function can reach by its closure, its globals, its
    defaults or itself, by name."""
    found: dict[str, Module] = {}
    _search("", fn, found, set())
    return found


def _search(name: str, value: object, found: dict[str, Module], seen: set[int]) -> None:
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, Module):
        node = value.__node__
        while node.link is not None:
            node = node.link.parent
        if all([node.owner is not module for module in found.values()]):
            found[name or type(node.owner).__name__] = node.owner
    elif isinstance(value, functools.partial):
        for part in (value.func, *value.args, *value.keywords.values()):
            _search(name, part, found, seen)
    elif isinstance(value, MethodType):
        _search(name, value.__self__, found, seen)
        _search(name, value.__func__, found, seen)
    elif isinstance(value, FunctionType):
        for inner, part in _names_in(value):
            _search(inner, part, found, seen)
    elif isinstance(value, (list, tuple)):
        for part in value:
            _search(name, part, found, seen)
    elif isinstance(value, dict) and not isinstance(value, Container):
        for part in value.values():
            _search(name, part, found, seen)
    elif hasattr(value, "__wrapped__"):  # trellis.compile, functools.wraps
        _search(name, value.__wrapped__, found, seen)
    elif _is_of_user(value):
        try:
            inside = find_modules(value)
        except TrellisError:  # it holds layers of a framework
            return
        for place in inside:
            _search(place.key, place.module, found, seen)


def _names_in(fn: FunctionType) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for name, cell in zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True):
        try:
            found.append((name, cell.cell_contents))
        except ValueError:  # not assigned yet
            continue
    for name in fn.__code__.co_names:
        if name in fn.__globals__:
            value = fn.__globals__[name]
            if isinstance(value, (Module, FunctionType, list, tuple, dict)) or _is_of_user(value):
                found.append((name, value))
    return found + [("", value) for value in fn.__defaults__ or ()]


def _is_of_user(value: object) -> bool:
    """Whether an object is of a class that the user, no library, has written."""
    cls = type(value)
    home = getattr(sys.modules.get(cls.__module__), "__file__", None) or ""
    return hasattr(value, "__dict__") and bool(home) and not is_installed(home)


class given:
    """Inside the block, modules have these variables and buffers, in this thread only, and each
    call of a module is noted. The frames hold the buffers as the program leaves them."""

    def __init__(self, variables: list[tuple[Module, Container, Container]]):
        self._variables = variables

    def __enter__(self) -> list[Given]:
        watcher = _Watcher()
        self._before = here.call
        here.call = Given(watcher.__node__, None, None, self._before, watcher)
        frames: list[Given] = []
        for module, v, buffers in self._variables:
            frame = Given(module.__node__, v, buffers, here.call, watcher)
            here.call = frame
            frames.append(frame)
        return frames

    def __exit__(self, *exception: object) -> None:
        here.call = self._before
