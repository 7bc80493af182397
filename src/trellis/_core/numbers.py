"""NumPy's scalars as the Python numbers they are.

On NumPy a scalar is an array with a type of its own. Beside arrays of another framework, and as an
axis, a size or an option, it is the number that it holds. A call pays for this only when it fails:
`explain` calls again with Python numbers.
"""

from collections.abc import Callable, Mapping
from inspect import BoundArguments, Signature
from typing import TYPE_CHECKING, Any

import numpy as np

from .arrays import is_array
from .kinds import described, parameters_of

if TYPE_CHECKING:
    from .._backends.interface import Backend

NUMBERS = (bool, int, float, complex)


class NumberBackend:
    """A backend for calls whose only arrays are Python numbers: makes an array of the first."""

    def __init__(self, xp: Any, group: Any = None):
        self._xp, self._group = xp, xp if group is None else group

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._group, name)
        if name in ("linalg", "fft"):
            return NumberBackend(self._xp, found)
        if not callable(found):
            return found

        def call(x: Any, *args: Any, **kwargs: Any) -> Any:
            first = self._xp.asarray(x) if type(x) in NUMBERS else x
            return found(first, *args, **kwargs)

        return call


def plain(x: Any) -> Any:
    """A NumPy scalar as a Python number, also in tuples and lists; everything else as it is.

    >>> plain(np.int64(3)), plain((np.int64(2), 3)), plain("same")
    (3, (2, 3), 'same')
    """
    if isinstance(x, np.generic):
        number = x.item()
        return float(number) if isinstance(number, np.floating) else number  # a longdouble
    if type(x) in (tuple, list) and holds_scalar(x):
        return type(x)([plain(item) for item in x])
    return x


def plain_for(xp: "Backend", x: Any) -> Any:
    """`plain`, unless NumPy itself runs the call: there a scalar is an array."""
    return x if isinstance(x, xp.ARRAY_TYPES) else plain(x)


def holds_scalar(x: object) -> bool:
    """Whether `x` is a NumPy scalar, or a tuple or list with one."""
    if type(x) in (tuple, list):
        return any([holds_scalar(item) for item in x])  # type: ignore[attr-defined]
    return isinstance(x, np.generic)


def with_python_numbers(
    fn: Callable[..., Any], arguments: Mapping[str, Any]
) -> BoundArguments | None:
    """The arguments of a call with Python numbers for NumPy scalars, and with an array for a Python
    number in place of the only array; None where there is neither.

    Where no other array is among them, a scalar in place of an array stays the array it is.
    """
    parameters = parameters_of(fn)
    words = {name: described(parameters[name].annotation) for name in arguments}
    given = dict(arguments)
    for name, value in arguments.items():
        if holds_scalar(value) and ("an array" not in words[name] or _has_array(arguments)):
            given[name] = plain(value)
    arrays = [name for name in words if "array" in words[name]]
    if len(arrays) == 1 and words[arrays[0]] == "an array" and type(given[arrays[0]]) in NUMBERS:
        from .dispatch import default_xp

        given[arrays[0]] = default_xp().asarray(given[arrays[0]])
    if all([given[name] is value for name, value in arguments.items()]):
        return None
    return BoundArguments(Signature(list(parameters.values())), given)  # type: ignore[arg-type]


def _has_array(arguments: Mapping[str, Any]) -> bool:
    values = [value for value in arguments.values() if not isinstance(value, (tuple, list))]
    for value in arguments.values():
        if isinstance(value, (tuple, list)):
            values += value
    return any([is_array(x) and not isinstance(x, np.generic) for x in values])
