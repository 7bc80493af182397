"""The public names that a golden file may call: computations on arrays, and nothing else.

No name here reads a file, starts a process or takes text as code, so a file can do nothing that its
arguments do not say.
"""

import importlib
from typing import Any

from .._core.errors import ArgumentError

# As a user writes them after `trellis.`; the empty one is the package itself.
MODULES = (
    "",
    "distributions",
    "distributions.bijections",
    "distributions.constraints",
    "fft",
    "functional",
    "linalg",
    "mcmc",
    "nn",
    "nn.init",
    "ode",
    "optim",
    "optim.schedules",
    "optimize",
    "random",
    "signal",
    "special",
)
# Where the functions of the package itself are defined.
_HOMES = ("trellis._array.", "trellis._core.dtypes", "trellis._random.", "trellis.optim.functions")

# It changes what later calls do.
_WITHHELD = {"distributions.register_kl"}


def resolve(path: str) -> Any:
    """What a name stands for: "linalg.qr" is `trellis.linalg.qr`."""
    module, _, name = path.rpartition(".")
    if module not in MODULES or name.startswith("_") or path in _WITHHELD:
        raise ArgumentError(f"A golden file cannot name {path!r}: it is not public.")
    value = getattr(importlib.import_module(f"trellis.{module}".rstrip(".")), name, None)
    home = getattr(value, "__module__", None) or type(value).__module__
    if not home.startswith("trellis.") or (not module and not home.startswith(_HOMES)):
        raise ArgumentError(
            f"A golden file names trellis.{path}, which this version does not have, or which is "
            "not a computation on arrays."
        )
    return value
