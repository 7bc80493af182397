"""Which arrays fit the variables and buffers of a module, and loading them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from ..._array.casting import astype, dtype
from ..._array.creation import asarray
from ..._array.device import device as device_of
from ..._core.container import Container
from ..._core.dispatch import backend_of, xp_of
from ..._core.dtypes import COMPLEX, FLOATING, INTEGER
from ..._core.errors import ArgumentError, ShapeError
from ..._core.typing import Array
from ...nn import Module
from ...nn.module.buffers import buffers, set_buffers
from ...nn.module.node import Node
from ...nn.module.share import shape
from ...nn.module.variables import set_variables, stored_variables
from .naming import some_of
from .report import WeightsReport

# Types of the arrays must be equal; may be cast if values only get rounded; are not compared.
Types = Literal["equal", "cast", "any"]


class Found:
    """The arrays that were found for a module, by key path: `{path: (name there, array)}`.

    A second name of a shared array is accepted, and must hold the same values.
    """

    def __init__(self, node: Node):
        self.arrays: dict[str, tuple[str, Any]] = {}
        self._places = _second_places(node)

    def place(self, chain: str) -> str:
        """The key path under which the array is kept."""
        return self._places.get(chain, chain)

    def is_second(self, chain: str) -> bool:
        """Whether this is a second key path of a shared array."""
        return chain in self._places

    def add(self, chain: str, name: str, x: Array) -> None:
        chain = self.place(chain)
        first, known = self.arrays.setdefault(chain, (name, x))
        if known is not x and not is_equal(known, x):
            raise ArgumentError(
                f"{first!r} and {name!r} are one array here, {chain!r}, but differ there; skip one "
                "of them with names={...: None}."
            )


def _second_places(node: Node) -> dict[str, str]:
    """The key paths of shared arrays: {second path: path in `v`}."""
    found = dict(node.duplicates)
    for child, path in node.places():
        head = "/".join(path)
        for other, kept in _second_places(child.__node__).items():
            found.setdefault(f"{head}/{other}", f"{head}/{kept}")
    return {other: _followed(kept, found) for other, kept in found.items()}


def _followed(chain: str, places: Mapping[str, str]) -> str:
    while chain in places:
        chain = places[chain]
    return chain


def is_equal(x: Array, y: Array) -> bool:
    return shape(x) == shape(y) and bool((x == y).all())


def compare(
    found: Found, unexpected: Sequence[str], state: Container, types: Types
) -> tuple[WeightsReport, dict[str, Any]]:
    """The report of what fits, and the NumPy arrays that fit, by key path."""
    chains = state.key_chains()
    missing = [chain for chain in chains if chain not in found.arrays]
    report = WeightsReport(missing=tuple(missing), unexpected=tuple(unexpected))
    arrays = {}
    for chain in [chain for chain in chains if chain in found.arrays]:
        name, x = found.arrays[chain]
        there, here = str(dtype(x)), str(dtype(state[chain]))
        if shape(x) != shape(state[chain]):
            report.wrong_shape[chain] = (shape(x), shape(state[chain]))
            continue
        if there != here and types != "any":
            if types == "equal" or not _can_become(x, there, here):
                report.wrong_dtype[chain] = (there, here)
                continue
            report.cast[chain] = (there, here)
            x = astype(x, here)
        arrays[chain] = x
        report.matched[chain] = name
    return report, arrays


def _can_become(x: Array, there: str, here: str) -> bool:
    """Floats can become floats; integers only types that keep their values."""
    for kind in (FLOATING, COMPLEX):
        if there in kind and here in kind:
            return True
    return there in INTEGER and here in INTEGER and is_equal(astype(astype(x, here), there), x)


def like(x: Array, model: Array) -> Any:
    """A NumPy array in the framework, on the device and in the memory order of another array."""
    new = asarray(x, backend=backend_of(model), device=device_of(model), copy=True)
    return xp_of(model).laid_like(new, model)


def put(module: Module, arrays: Mapping[str, Any], made: Callable[[Any, Any], Any] = like) -> None:
    """Set these arrays of a module; `made(new, old)` is the array that replaces `old`."""
    node = module.__node__
    v, kept = stored_variables(node).copy(), buffers(node).copy()
    for nest in (v, kept):
        for chain in nest.key_chains():
            if chain in arrays:
                nest[chain] = made(arrays[chain], nest[chain])
    set_variables(node, v)
    if len(kept):
        set_buffers(node, kept)


def put_fitting(
    module: Module,
    report: WeightsReport,
    arrays: Mapping[str, Any],
    source: str,
    refusal: Callable[[], str] | None,
    advice: str = "",
) -> WeightsReport:
    """Load what fits. If all must fit, `refusal` words the error; None: a part will do. `advice`
    says what to do where nothing fits."""
    if refusal is not None and not report.is_complete:
        raise ShapeError(refusal())
    chains = module.state_dict().key_chains()
    if not report.matched and chains and refusal is None:
        raise ArgumentError(
            f"Nothing of {source} fits: it has "
            f"{some_of([*report.unexpected, *report.wrong_shape])}, and the module has "
            f"{some_of(chains)}. {advice or 'Pass names= to match them.'}"
        )
    put(module, arrays)
    return report
