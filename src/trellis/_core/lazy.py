"""`import trellis` imports nothing: packages are imported when they are first used, each by itself,
and the names of the core together, when the first of them is used (`trellis/_public.py`).

`trellis.__getattr__` finds them, and says what Trellis calls the names of other libraries. It stays
for these hints although Python does not specialize look-ups in a module that has one: 10 to 50 ns
more for each `trellis.exp(x)`, as for `np.exp(x)` and `torch.exp(x)`.
"""

import sys
from importlib import import_module
from importlib.util import find_spec
from typing import Any

ROOMS = (
    "errors",
    "compilation",
    "fft",
    "gradients",
    "interchange",
    "linalg",
    "random",
    "tree",
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
    "signal",
    "mcmc",
    "distributions",
    "optimize",
    "ode",
    "sklearn",
    "debug",
    "typing",
    "testing",
    "backend",
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
    if name in ROOMS:
        return import_module(f"trellis.{name}")
    package = vars(sys.modules["trellis"])
    if name in NAMES:
        found = getattr(import_module(f"trellis.{NAMES[name]}"), name)
        return package.setdefault(name, found)  # the next look-up finds it
    # `from trellis import cli` asks for the attribute before it imports the module.
    if name.startswith("_") or find_spec(f"trellis.{name}") is not None:
        raise AttributeError(f"module 'trellis' has no attribute {name!r}")
    names = _names_of_core()
    if name not in names:
        from .._ops.hints import ours_for

        ours = ours_for(name)
        hint = "" if ours is None else f". Did you mean {ours}?"
        raise AttributeError(f"module 'trellis' has no attribute {name!r}{hint}")
    # What is there already was put there by somebody.
    package.update({key: value for key, value in names.items() if key not in package})
    return names[name]


def _names_of_core() -> dict[str, Any]:
    """What `trellis/_public.py` imports."""
    found = vars(import_module("trellis._public"))
    return {name: value for name, value in found.items() if not name.startswith("_")}


def names_of_package() -> list[str]:
    """What `dir(trellis)` shows: public names, also those of packages not imported yet."""
    here = [name for name in vars(sys.modules["trellis"]) if not name.startswith("_")]
    names = {*here, *_names_of_core(), *ROOMS, *NAMES, "__version__"}
    return sorted(names - {"TYPE_CHECKING"})
