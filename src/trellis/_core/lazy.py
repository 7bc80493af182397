"""The upper rooms open when one of them is first entered: `import trellis` alone stays as light as
its base.

Then all open and the door is taken away: in a module with a `__getattr__` Python looks every name
up the slow way, which would cost each `trellis.exp(x)` another 50 ns.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

ROOMS = (
    "functional",
    "nn",
    "optim",
    "train",
    "graph",
    "convert",
    "generation",
    "models",
    "export",
    "distributed",
)
# Names of the package itself that live in one of them.
NAMES = {
    "Module": "nn",
    "conv1d": "functional",
    "conv1d_transpose": "functional",
    "conv2d": "functional",
    "conv2d_transpose": "functional",
    "conv3d": "functional",
    "conv3d_transpose": "functional",
    "conv_general_dilated": "functional",
    "conv_general_transpose": "functional",
    "depthwise_conv2d": "functional",
    "dropout": "functional",
    "generate": "generation",
    "linear": "functional",
    "lstm_update": "functional",
    "multi_head_attention": "functional",
    "scaled_dot_product_attention": "functional",
    "trace": "graph",
    "diverge": "_diverge",
    "adam_step": "optim.functions",
    "adam_update": "optim.functions",
    "gradient_descent_update": "optim.functions",
    "lamb_update": "optim.functions",
    "lars_update": "optim.functions",
    "optimizer_update": "optim.functions",
}

_is_opening = False  # rooms enter each other while they open


def enter(name: str) -> Any:
    """The room of that name, or what lives in one; used as the package's `__getattr__`."""
    global _is_opening
    if name not in ROOMS and name not in NAMES:
        raise AttributeError(f"module 'trellis' has no attribute {name!r}")
    is_first, _is_opening = not _is_opening, True
    if is_first:
        try:
            _open_all(sys.modules["trellis"])
        finally:
            _is_opening = False  # also after an interrupt: the next one who enters opens the rest
    if name in ROOMS:
        return import_module(f"trellis.{name}")
    return getattr(import_module(f"trellis.{NAMES[name]}"), name)


def _open_all(package: ModuleType) -> None:
    for room in ROOMS:
        import_module(f"trellis.{room}")
    for each, room in NAMES.items():
        setattr(package, each, getattr(import_module(f"trellis.{room}"), each))
    package.__dict__.pop("__getattr__", None)  # another thread may have been quicker


def names_of_package() -> list[str]:
    """What `dir(trellis)` shows: public names, those behind doors not opened yet among them."""
    here = [name for name in vars(sys.modules["trellis"]) if not name.startswith("_")]
    return sorted({*here, *ROOMS, *NAMES, "__version__"} - {"TYPE_CHECKING"})
