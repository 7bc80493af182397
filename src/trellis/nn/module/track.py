"""Watching a call: what the modules below return, in which order, and whether that is expected."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..._array.interchange import to_numpy
from ..._core import tree
from ..._core.arrays import is_array
from ..._core.container import Container
from ..._core.errors import ArgumentError, KeyChainError, ShapeError
from ..._core.typing import Array
from ..._gradients.transforms import stop_gradient
from .queries import below
from .variables import variables

if TYPE_CHECKING:
    from .module import Module


class Tracker:
    """The record of one call; the calls inside it find it there."""

    def __init__(
        self,
        root: "Module",
        *,
        with_rets: bool,
        with_order: bool,
        expected: Mapping[str, Any] | None,
        depth: int | None,
        selected: Sequence[Any] | None,
    ):
        self.root = root
        self.rets: Container | None = Container(alphabetical_keys=False) if with_rets else None
        self.order: Container | None = Container(alphabetical_keys=False) if with_order else None
        self.depth = depth
        self.selected = None if selected is None else [id(module) for module in selected]
        self.expected = {} if expected is None else _by_module_key(expected, below(root))
        self._entry = self.order  # where the modules called next are noted; None below a leaf
        self._calls: dict[tuple[int, int], int] = {}

    def is_tracked(self, module: "Module") -> bool:
        if self.selected is not None:
            return id(module) in self.selected
        return self.depth is None or module.mod_depth() <= self.depth

    # The order
    # -------------------------------------------------------------------------------------

    def enter(self, module: "Module") -> Any:
        """Note the beginning of a call; returns what `leave` needs."""
        before = self._entry
        if before is None:
            return None
        link = module.__node__.link
        is_root = module is self.root or link is None
        name = type(module).__name__ if is_root or link is None else link.key
        if self._is_leaf(module):
            flat = Container(alphabetical_keys=False)
            for chain, x in variables(module.__node__).flat("__").items():
                flat[chain] = as_record(x)
            before[self._numbered(before, module, name)] = flat
            self._entry = None
        elif is_root or self._leads_to_tracked(module):
            key = self._numbered(before, module, name)
            before[key] = self._entry = Container(alphabetical_keys=False)
        else:
            self._entry = None
        return before

    def leave(self, before: Any) -> None:
        self._entry = before

    def _numbered(self, entry: Container, module: "Module", name: str) -> str:
        call = (id(entry), id(module))
        number = self._calls[call] = self._calls.get(call, -1) + 1
        return f"{name}_{number}"

    def _is_leaf(self, module: "Module") -> bool:
        if self.selected is not None:
            return id(module) in self.selected
        return module.mod_height() == 0 or module.mod_depth() == self.depth

    def _leads_to_tracked(self, module: "Module") -> bool:
        return self.selected is None or any([id(m) in self.selected for m in below(module)])

    # The returns
    # -----------------------------------------------------------------------------------

    def record(self, module: "Module", ret: Any) -> None:
        """Note what a module returned, and compare it with what is expected of it."""
        if self.rets is None or module is self.root or not self.is_tracked(module):
            return
        key = module.get_mod_key()
        noted = tree.map(as_record, ret) if tree.is_nest(ret) else as_record(ret)
        if key not in self.rets:
            self.rets[key] = []
        self.rets[key].append(noted)
        if id(module) in self.expected:
            _check(key, len(self.rets[key]) - 1, noted, self.expected[id(module)])


def as_record(x: Array) -> Any:
    """A NumPy copy of an array, also of one that is being differentiated; other values stay."""
    if not hasattr(x, "dtype"):
        return x
    return to_numpy(stop_gradient(x)).copy()


def _by_module_key(expected: Mapping[str, Any], modules: list[Any]) -> dict[int, Any]:
    """The expectations by the identity of the module that a key, with or without spaces, names."""
    by_key = {}
    for module in modules:
        key = module.get_mod_key()
        by_key[key] = by_key[key.strip()] = id(module)
    unknown = [key for key in expected if key not in by_key]
    if unknown:
        known = [key for key in by_key if key == key.strip()]
        raise KeyChainError(
            f"expected_submod_rets names {unknown}, which are not modules; the modules are {known}."
        )
    return {by_key[key]: expected[key] for key in expected}


def _check(key: str, call: int, ret: Any, expectation: Any) -> None:
    is_detailed = isinstance(expectation, dict)
    wanted = expectation["val"] if is_detailed else expectation
    count = wanted.shape[0] if is_array(wanted) else len(wanted)
    if call >= count:
        raise ArgumentError(
            f"{key.strip()} was called {call + 1} times, but expected_submod_rets has "
            f"{count} entries for it; write one for each call, None where it is not to be "
            "checked."
        )
    wanted = wanted[call, ...] if is_array(wanted) else wanted[call]
    if wanted is None:
        return
    atol = _tolerance(expectation, "atol", call, 1e-8) if is_detailed else 1e-8
    rtol = _tolerance(expectation, "rtol", call, 1e-5) if is_detailed else 1e-5
    found, want = tree.leaves(ret), _leaves_like(ret, wanted)
    if len(found) != len(want):
        raise ShapeError(
            f"Call {call} of {key.strip()} returned {len(found)} arrays, but {len(want)} are "
            "expected."
        )
    for x, e in zip(found, want, strict=True):
        _compare(f"Call {call} of {key.strip()}", x, e, atol, rtol)


def _tolerance(expectation: Any, name: str, call: int, default: float) -> float:
    value = expectation.get(name)
    if isinstance(value, (list, tuple)):
        value = value[call]
    return default if value is None else value


def _leaves_like(ret: object, wanted: object) -> list[Any]:
    """One array out of nested lists of numbers, where one array was returned."""
    return tree.leaves(wanted) if tree.is_nest(ret) else [wanted]


def _compare(where: str, x: Any, expected: Any, atol: float, rtol: float) -> None:
    from ..._array.creation import asarray

    e = as_record(asarray(expected) if not hasattr(expected, "dtype") else expected)
    x = asarray(x, backend="numpy")
    if x.shape != e.shape:
        raise ShapeError(
            f"{where} returned shape {x.shape}, expected {e.shape}:\n{x}\ninstead of\n{e}"
        )
    is_bool = x.dtype.kind == "b" or e.dtype.kind == "b"
    a, b = (x, e) if is_bool else (x.astype("complex128"), e.astype("complex128"))
    # Equal first: the difference of two infinities is not a number.
    is_close = (a == b) if is_bool else (a == b) | (abs(a - b) <= atol + rtol * abs(b))
    if not is_close.all():
        raise ArgumentError(
            f"{where} differs from what was expected (atol={atol}, rtol={rtol}):\n"
            f"{x}\ninstead of\n{e}"
        )
