"""Packages that `import trellis` does not import: each is imported by itself when first used.

`trellis.__getattr__` finds them, and says what Trellis calls the names of other libraries. It stays
for these hints although Python does not specialize look-ups in a module that has one: 10 to 50 ns
more for each `trellis.exp(x)`, as for `np.exp(x)` and `torch.exp(x)`.
"""

import sys
from importlib import import_module
from importlib.util import find_spec
from typing import Any

ROOMS = (
    "functional",
    "nn",
    "optim",
    "data",
    "train",
    "graph",
    "convert",
    "generation",
    "models",
    "export",
    "distributed",
    "array_api",
    "special",
    "mcmc",
    "distributions",
    "optimize",
    "ode",
    "sklearn",
    "debug",
)
# Names of `trellis` itself that are defined in one of them.
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
    "linear": "functional",
    "lstm_update": "functional",
    "multi_head_attention": "functional",
    "scaled_dot_product_attention": "functional",
    "adam_step": "optim.functions",
    "adam_update": "optim.functions",
    "gradient_descent_update": "optim.functions",
    "lamb_update": "optim.functions",
    "lars_update": "optim.functions",
    "optimizer_update": "optim.functions",
}


def enter(name: str) -> Any:
    """The package of that name, or a name defined in one; used as `trellis.__getattr__`."""
    if name not in ROOMS and name not in NAMES:
        # `from trellis import testing` asks for the attribute before it imports the module.
        if name.startswith("_") or find_spec(f"trellis.{name}") is not None:
            raise AttributeError(f"module 'trellis' has no attribute {name!r}")
        from .._ops.hints import ours_for

        ours = ours_for(name)
        hint = "" if ours is None else f". Did you mean {ours}?"
        raise AttributeError(f"module 'trellis' has no attribute {name!r}{hint}")
    room = import_module(f"trellis.{NAMES.get(name, name)}")
    if name in ROOMS:
        return room
    found = getattr(room, name)
    setattr(sys.modules["trellis"], name, found)  # the next look-up finds it
    return found


def names_of_package() -> list[str]:
    """What `dir(trellis)` shows: public names, also those of packages not imported yet."""
    here = [name for name in vars(sys.modules["trellis"]) if not name.startswith("_")]
    return sorted({*here, *ROOMS, *NAMES, "__version__"} - {"TYPE_CHECKING"})
