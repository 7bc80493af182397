"""The private names of other packages that this backend uses, and what happens without them."""

import sys
from typing import Any


def einops_backend() -> Any:
    """The class through which einops handles NumPy arrays: it finds backends among its subclasses.

    None if einops is not imported, is just being imported, or no longer has the class: then einops
    raises its own error for traced arrays. Called when a gradient starts, since Trellis never
    imports einops.
    """
    found = getattr(sys.modules.get("einops._backends"), "NumpyBackend", None)
    wanted = ("is_appropriate_type", "is_float_type", "framework_name")
    return found if all([hasattr(found, name) for name in wanted]) else None
