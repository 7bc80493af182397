"""What this backend uses of other packages that they do not promise, and what serves without it."""

import sys
from typing import Any


def einops_backend() -> Any:
    """The class by which einops reads arrays of NumPy: it finds backends among its subclasses.

    None where einops is not there, is just being imported, or has it no more: it then says itself
    that it does not know traced arrays. Asked for when a gradient starts, since Trellis never
    imports einops.
    """
    found = getattr(sys.modules.get("einops._backends"), "NumpyBackend", None)
    wanted = ("is_appropriate_type", "is_float_type", "framework_name")
    return found if all([hasattr(found, name) for name in wanted]) else None
