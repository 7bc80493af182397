"""Functions of backends that are not public: a traced graph contains them where a public function
calls them. Their arguments are those of `_backends/interface.py`; the numbers
of a convolution or a window are plain tuples.
"""

from collections.abc import Callable
from typing import Any

from .._backends.interface import Kernels
from .._backends.shared.convolution import ConvSpec, TransposedConvSpec
from .._backends.shared.windows import WindowSpec
from .._core import tree
from .._core.dispatch import xp_of_any

_SPECS: dict[str, Any] = {
    "conv": ConvSpec,
    "conv_transpose": TransposedConvSpec,
    "max_pool": WindowSpec,
}
NAMES = (
    *[name for name in vars(Kernels) if not name.startswith("_")],
    *["index_set", "index_add", "index_multiply", "index_min", "index_max", "update_slice"],
)


class Kernel:
    """A function of the backend of its arguments."""

    def __init__(self, name: str, module: str = __name__):
        self.__name__ = name
        self.__module__ = module

    def __call__(self, *args: Any, **options: Any) -> Any:
        arrays = [x for x in tree.leaves(list(args)) if hasattr(x, "dtype")]
        if self.__name__ in _SPECS:
            # The specification comes right after the arrays.
            args = tuple([_SPECS[self.__name__](*x) if isinstance(x, tuple) else x for x in args])
        owner: Any = xp_of_any(*arrays)
        owner = owner.random if self.__module__.endswith(".random") else owner
        return getattr(owner, self.__name__)(*args, **options)


_kernels = {name: Kernel(name) for name in NAMES}


def kernel(name: str) -> Callable[..., Any] | None:
    """The kernel of that name."""
    if name.startswith("random."):
        return Kernel(name.removeprefix("random."), f"{__name__}.random")
    return _kernels.get(name)


def __getattr__(name: str) -> Any:
    if name in _kernels:
        return _kernels[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
