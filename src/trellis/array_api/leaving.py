"""Values that leave their framework: only where no gradient and no compiled program loses them."""

from typing import Any

import numpy as np

from .._core.errors import TracingError
from .._core.typing import Backend

_CPU = 1  # in DLPack's numbers


def check_leaving(xp: Backend, x: Any, what: str) -> None:
    """Raise where `x` is being differentiated or traced."""
    xp.check_leaving(x)
    if not xp.lasts(x):
        raise TracingError(
            f"{what} would be cut off from the function that is being differentiated, mapped or "
            "compiled. Write trellis.stop_gradient(x) first, or call a function of its namespace."
        )


def dlpack(xp: Backend, x: Any, options: dict[str, Any]) -> Any:
    """The DLPack capsule of an array; what its framework does not know how to export, such as a
    copy, is exported by NumPy."""
    check_leaving(xp, x, "The memory of x")
    given = {name: value for name, value in options.items() if value is not None}
    x = np.asarray(x) if isinstance(x, np.generic) else x  # NumPy's results without axes
    here, there = x.__dlpack_device__(), given.get("dl_device")
    if there is not None and tuple(there) == tuple(here):
        del given["dl_device"]  # it is there: not every framework knows the option
    try:
        return x.__dlpack__(**given)
    except (AttributeError, BufferError, NotImplementedError, RuntimeError, TypeError, ValueError):
        if {here[0], there[0] if there else here[0]} != {_CPU} or given.get("copy") is False:
            raise
        version = {name: given[name] for name in ("max_version",) if name in given}
        return np.array(xp.to_numpy(x)).__dlpack__(**version)
