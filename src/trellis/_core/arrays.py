"""What counts as an array of some framework, and what as a number.

On NumPy a NumPy scalar is an array with a type of its own. Beside arrays of another framework, and
as an axis, a size or an option, it is the Python number that it holds. A call pays for this only
when it fails: `explain` calls again with Python numbers.
"""

from typing import Any

import numpy as np

from .typing import Backend, T

NUMBERS = (bool, int, float, complex)


def is_array(x: object) -> bool:
    """Whether `x` has a data type, rather than being one (NumPy's scalar types have the attribute
    too).

    >>> import numpy as np
    >>> is_array(np.zeros(2)), is_array(2.5), is_array(np.float32)
    (True, False, False)
    """
    return hasattr(x, "dtype") and not isinstance(x, type)


def plain(x: T) -> T:
    """A NumPy scalar as a Python number, also in tuples and lists; everything else as it is.

    >>> plain(np.int64(3)), plain((np.int64(2), 3)), plain("same")
    (3, (2, 3), 'same')
    """
    found: Any = x
    if isinstance(x, np.generic):
        found = x.item()
        if isinstance(found, np.inexact):  # a long double, whose item is itself
            found = complex(found) if isinstance(found, np.complexfloating) else float(found)
    elif holds_scalar(x):
        found = type(found)([plain(item) for item in found])
    return found


def plain_for(xp: Backend, x: T) -> T:
    """`plain`, unless NumPy itself runs the call: there a scalar is an array."""
    return x if isinstance(x, xp.ARRAY_TYPES) else plain(x)


def holds_scalar(x: object) -> bool:
    """Whether `x` is a NumPy scalar, or a tuple or list with one."""
    if type(x) in (tuple, list):
        return any([holds_scalar(item) for item in x])  # type: ignore[attr-defined]
    return isinstance(x, np.generic)


def shape_of(x: Any) -> tuple[Any, ...]:
    """The shape of an array as a tuple; that of a number is ().

    >>> shape_of(2.0), shape_of(np.ones((2, 3)))
    ((), (2, 3))
    """
    # Numbers first: torch.compile can trace no `getattr` of a number that changes between calls.
    return () if isinstance(x, NUMBERS) else tuple(getattr(x, "shape", ()))
