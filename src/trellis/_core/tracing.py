"""Which compiler is tracing a function right now, if any; asked without importing a framework."""

import sys
from contextvars import ContextVar
from types import FunctionType
from typing import Any

from .dispatch import BACKENDS, load, loaded, xp_of
from .errors import ArgumentError, ArgumentTypeError
from .following import is_followed as is_followed
from .following import python_compiler as python_compiler
from .leafwise import is_of_one_type

# A function that only runs as if a compiler traced it, and must raise in the same cases: what
# `trellis.compile` gives on NumPy, and the second run that explains an error of torch.compile.
_pretended: ContextVar[str | None] = ContextVar("trellis_tracing", default=None)


# While Python is followed, a function cannot be called again with objects that cannot be used, to
# see whether it needs the variables. So this is raised, and `trellis.compile` runs the function
# without the compiler then, which tells the two cases apart.
UNREACHED = (
    "The function has no gradient by any of its variables. Did you forget v=v? Where it uses them "
    "only in operations without a gradient (argmax, round, stop_gradient), write allow_unused=True."
)


def raise_unreached() -> None:
    """Raise while a function is traced."""
    raise ArgumentError(UNREACHED)


python_compiler["when_unreached"] = raise_unreached


def lasts(x: object) -> bool:
    """Whether a value can be kept when the running function has ended: no symbol of a compiler."""
    if not hasattr(x, "dtype") or isinstance(x, type):
        return True
    try:
        is_lasting: bool = xp_of(x).lasts(x)
    except ArgumentTypeError:  # not an array: a specification of one, a quantised weight, ...
        return True
    return is_lasting


def all_last(values: list[Any]) -> bool:
    """`lasts` of each; arrays of one type, the usual case, look for their backend once."""
    if values and hasattr(values[0], "dtype") and is_of_one_type(values):
        try:
            last = xp_of(values[0]).lasts
        except ArgumentTypeError:
            return True
        return all([last(x) for x in values])
    return all([lasts(x) for x in values])


def tracing() -> str | None:
    """The framework that is tracing a function for its compiler right now, if any."""
    if is_followed():
        return str(python_compiler["backend"])
    pretended = _pretended.get()
    if pretended is not None:
        return pretended
    for name in BACKENDS:
        # Loaded or not, without the cost of an import statement for each random number.
        if name not in loaded and name in sys.modules:
            load(name)
    for name, xp in list(loaded.items()):  # another thread may load one
        if xp.is_tracing():
            return name
    return None


def is_pretended(name: str) -> bool:
    """Whether a function runs as if the compiler of this framework traced it."""
    return _pretended.get() == name


class pretending:
    """Inside the block, in this thread or task, whatever a compiler would raise for raises."""

    def __init__(self, name: str):
        self._name = name

    def __enter__(self) -> None:
        self._token = _pretended.set(self._name)

    def __exit__(self, *exception: object) -> None:
        _pretended.reset(self._token)


def name_for_users(fn: Any) -> str:
    """The name of a function; of one that this library made, that of the user's function inside,
    such as the loss of `value_and_grad(loss)`, or that of the function which made it, such as
    `fit`, where it says so."""
    if hasattr(fn, "made_by"):
        return str(fn.made_by)
    seen, waiting = [fn], [fn]
    while waiting:
        found = waiting.pop(0)
        if not str(getattr(found, "__module__", "")).startswith("trellis."):
            return str(getattr(found, "__name__", repr(found)))
        for inner in functions_inside(found):
            if not any([inner is x for x in seen]):
                seen.append(inner)
                waiting.append(inner)
    return str(getattr(fn, "__name__", repr(fn)))


def functions_inside(fn: Any) -> list[FunctionType]:
    """The functions that a function uses from around it, without those that are not there yet."""
    found = []
    for cell in getattr(fn, "__closure__", None) or ():
        try:
            inner = cell.cell_contents
        except ValueError:  # an empty cell
            continue
        if isinstance(inner, FunctionType):
            found.append(inner)
    return found
