"""Which cell of the board a test belongs to: its module, its row and its backend.

The row of a parametrised test is its name without the id of the backend, and the column is that id,
both as pytest writes them.

>>> without_word("numpy-float32", "numpy")
'float32'
>>> cell_from_node_id("tests/test_ops.py::TestUnary::test_tanh[numpy]", ["numpy"])
('tests/test_ops', 'TestUnary::test_tanh', 'numpy')
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from enum import Enum
from functools import cache, wraps
from typing import Any

import pytest
from _pytest.compat import NOTSET

from .arrays import family_of
from .columns import PLAIN
from .records import Cell

__all__ = [
    *("backend_name", "cell_from_node_id", "cell_of_item", "module_of"),
    *("remember_parametrizations", "without_word"),
]

# Node id of a test function -> the argument names of each of its parametrizations, in their order.
_parametrizations: dict[str, list[tuple[str, ...]]] = {}
# Node id of a test function -> all its calls, also those that are not selected.
_calls: dict[str, list[Any]] = {}


def remember_parametrizations() -> None:
    """Note which arguments belong to which part of a test's id: pytest itself does not keep it."""
    parametrize = pytest.Metafunc.parametrize
    if hasattr(parametrize, "__wrapped__"):
        return

    @wraps(parametrize)
    def noting(self: Any, argnames: Any, *args: Any, **kwargs: Any) -> None:
        names = argnames.split(",") if isinstance(argnames, str) else argnames
        parametrize(self, argnames, *args, **kwargs)
        # A function that is collected again has a new `Metafunc`, and its parametrizations again.
        groups = vars(self).setdefault("_board_parametrizations", [])
        groups.append(tuple(name.strip() for name in names if name.strip()))
        _parametrizations[self.definition.nodeid] = groups
        _calls[self.definition.nodeid] = self._calls
        _ranks.cache_clear()

    pytest.Metafunc.parametrize = noting  # type: ignore[method-assign]


def cell_of_item(item: pytest.Item, arguments: Sequence[str], backend: str | None = None) -> Cell:
    """The cell of a collected test.

    `arguments` are the names of backend arguments: the first one that the test has counts.
    `backend` is that of tests without one. A `board` marker may name another module or row.
    """
    module, row = _module_and_row(item.nodeid)
    column = backend or PLAIN
    callspec = getattr(item, "callspec", None)
    if callspec is not None:
        argument = next((name for name in arguments if name in callspec.params), None)
        name = row.partition("[")[0]
        found, ids = _without_backend(item, callspec, argument)
        column = found or column
        row = f"{name}[{'-'.join(ids)}]" if ids else name
    # Keywords are quick to ask; they are more than markers.
    marker = item.get_closest_marker("board") if "board" in item.keywords else None
    if marker is not None:
        module = marker.kwargs.get("module", module)
        row = marker.kwargs.get("row", row)
    return module, row, column


def _without_backend(
    item: pytest.Item, callspec: Any, argument: str | None
) -> tuple[str | None, list[str]]:
    """The name of the backend and the other ids of a parametrised test."""
    ids = list(callspec._idlist)
    params = callspec.params
    parent = item.parent.nodeid if item.parent is not None else ""
    function = f"{parent}::{getattr(item, 'originalname', '')}"
    groups = _parametrizations.get(function, [])
    if argument is not None and len(_families(params[argument])) > 1:
        argument = None  # a test of several backends at once has none of its own
    if argument is not None and (argument,) in groups and len(groups) == len(ids):
        # So it is for nearly all: the backend has an id of its own.
        place = groups.index((argument,))
        is_named = not ids[place].startswith(argument)
        if is_named and "NOTSET" not in ids and params[argument] is not NOTSET:
            return ids.pop(place), [id for id in ids if id]
    if len(groups) != len(ids):  # one is hidden: each id for itself, if that fits
        groups = [(name,) for name in params] if len(params) == len(ids) else []
    # parametrize() with an empty list makes one skipped test whose values are pytest's NOTSET.
    empty = [False] * len(groups)
    if "NOTSET" in ids:
        empty = [all(params[name] is NOTSET for name in group) for group in groups]
    backend: str | None = None
    own_place: int | None = None
    if argument is not None and params[argument] is not NOTSET:
        number = f"{argument}{callspec.indices[argument]}"  # what pytest calls a nameless object
        backend = _name_of_call(callspec, argument)
        for index, group in enumerate(groups):
            if group == (argument,):
                own_place = index
                backend = backend if ids[index] == number else ids[index]
            elif argument in group:
                ids[index] = without_word(ids[index], backend)
                empty[index] = not ids[index]
                ids[index] = _renumbered(ids[index], function, index, argument, callspec)
        if not groups:
            ids = [without_word("-".join(ids), backend)]
    rest = [
        id
        for index, id in enumerate(ids)
        if id and index != own_place and not (groups and empty[index])
    ]
    return backend, rest


def _name_of_call(callspec: Any, argument: str) -> str:
    value = callspec.params[argument]
    found = _families(value)
    if len(found) == 1:
        return next(iter(found))
    return backend_name(value) or f"{argument}{callspec.indices[argument]}"


def _families(value: Any, depth: int = 3) -> set[str]:
    """The known backends that are named inside of a list or tuple."""
    if not isinstance(value, (tuple, list)) or not depth:
        return set()
    found: set[str] = set()
    for each in value[:8]:
        family = family_of(backend_name(each))
        found |= _families(each, depth - 1) | ({family} if family else set())
    return found


def _renumbered(id: str, function: str, index: int, argument: str, callspec: Any) -> str:
    """An id with its numbers counted within one backend.

    pytest numbers values without a name through the whole list of a parametrization. If the backend
    is in that list too, ``sum-args0`` of one backend and ``sum-args7`` of the next are one row.
    """
    numbered = [
        name
        for name in _parametrizations[function][index]
        if name != argument and _has_number(id, name, callspec)
    ]
    if not numbered:
        return id
    blank, place = _without_numbers(id, numbered, callspec), callspec.indices[argument]
    key = (_name_of_call(callspec, argument), blank)
    rank = _ranks(function, index, argument, tuple(numbered)).get(key, [place]).index(place)
    for name in numbered:
        id = re.sub(rf"(^|-){name}{callspec.indices[name]}(?=-|$)", rf"\g<1>{name}{rank}", id)
    return id


@cache
def _ranks(
    function: str, index: int, argument: str, numbered: tuple[str, ...]
) -> dict[tuple[str, str], list[int]]:
    """For each backend, and each id without its numbers, the places that it has in the list."""
    places: dict[tuple[str, str], list[int]] = {}
    for call in _calls[function]:
        backend = _name_of_call(call, argument)
        id = _without_numbers(without_word(call._idlist[index], backend), numbered, call)
        known = places.setdefault((backend, id), [])
        if call.indices[argument] not in known[-1:]:
            known.append(call.indices[argument])
    return {key: list(dict.fromkeys(found)) for key, found in places.items()}


def _has_number(id: str, name: str, call: Any) -> bool:
    return f"-{name}{call.indices[name]}-" in f"-{id}-"


def _without_numbers(id: str, numbered: Collection[str], call: Any) -> str:
    for name in numbered:
        id = re.sub(rf"(^|-){name}{call.indices[name]}(?=-|$)", rf"\g<1>{name}", id)
    return id


def cell_from_node_id(node_id: str, backends: Collection[str]) -> Cell:
    """The cell as far as a node id tells: for a test whose worker died before it said anything."""
    module, row = _module_and_row(node_id)
    name, bracket, ids = row.partition("[")
    ids = ids.removesuffix("]")
    if ids == "NOTSET":  # what pytest calls the test of an empty parameter list
        return module, name, PLAIN
    for backend in sorted(backends, key=len, reverse=True):
        rest = without_word(ids, backend)
        if bracket and rest != ids:
            return module, f"{name}[{rest}]" if rest else name, backend
    return module, row, PLAIN


def backend_name(value: Any) -> str:
    """The name that pytest would give to a backend, or that it has; empty if it has none.

    >>> import math
    >>> backend_name("jax"), backend_name(math), backend_name(object())
    ('jax', 'math', '')
    """
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, (Enum, int, float)):
        return str(value)
    for attribute in ("__name__", "name", "framework_name"):
        name = getattr(value, attribute, None)
        if isinstance(name, str):
            return name
    return ""


def without_word(ids: str, word: str) -> str:
    """`ids` without `word`, which must stand as a whole between dashes.

    >>> without_word("torchvision-torch", "torch")
    'torchvision'
    """
    pattern = rf"(^|-){re.escape(word)}(?=-|$)"
    return re.sub(pattern, "", ids, count=1).removeprefix("-")


def module_of(node_id: str) -> str:
    """`tests/test_ops` for everything in `tests/test_ops.py`."""
    return node_id.partition("::")[0].removesuffix(".py")


def _module_and_row(node_id: str) -> tuple[str, str]:
    file, _, row = node_id.partition("::")
    if "@" in row:  # `pytest --dist loadgroup` writes the group at the end: test_tanh[numpy]@gpu
        row = re.sub(r"@[^\[\]]*$", "", row)
    return file.removesuffix(".py"), row
