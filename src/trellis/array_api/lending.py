"""Copies of wrapped arrays that NumPy's code was given. What it writes into such a copy is seen in
the array once the copy comes back to the namespace, as where frameworks share memory with NumPy:
SciPy fills its arguments `output=` in this way.
"""

import weakref
from typing import Any

import numpy as np

_lent: dict[int, tuple[Any, Any, Any]] = {}


def lend(copy: np.ndarray[Any, Any], owner: Any) -> None:
    """Remember that `copy` has the values of the wrapped array `owner`."""
    key = id(copy)
    forget = weakref.ref(copy, lambda _: _lent.pop(key, None))
    _lent[key] = (forget, weakref.ref(owner), owner.native)


def owner_of(copy: object) -> Any:
    """The wrapped array that a copy was made of, unless it has got other values since."""
    found = _lent.get(id(copy))
    if found is None or found[0]() is not copy:
        return None
    owner = found[1]()
    return owner if owner is not None and owner.native is found[2] else None
