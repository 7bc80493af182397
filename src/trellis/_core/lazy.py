"""Packages that `import trellis` does not import: each is imported by itself when first used.

`trellis.__getattr__` finds them. In a module with a `__getattr__`, Python looks up every name more
slowly: 13 ns more for each `trellis.exp(x)`. So it is removed once all functions and classes of
`trellis` itself are defined, that is after `trellis.nn` is imported. Packages that are not imported
by then are replaced by modules that import themselves.
"""

import sys
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from threading import RLock
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
    found = getattr(room, name) if name in NAMES else room
    _settle(sys.modules["trellis"])
    return found


def _settle(package: ModuleType) -> None:
    """Add the names of imported packages; after the last large package, remove `__getattr__`."""
    left = []
    for name, home in NAMES.items():
        if hasattr(sys.modules.get(f"trellis.{home}"), name):
            setattr(package, name, getattr(sys.modules[f"trellis.{home}"], name))
        else:
            left.append(name)
    if {NAMES[name] for name in left} <= {"optim.functions"}:
        for room in ROOMS:
            if room not in vars(package):
                setattr(package, room, _unloaded(f"trellis.{room}"))
        for name in left:  # seven modules: their package is not run for them
            setattr(package, name, getattr(import_module(f"trellis.{NAMES[name]}"), name))
        vars(package).pop("__getattr__", None)  # another thread may have done it


def _unloaded(name: str) -> ModuleType:
    spec = find_spec(name)
    assert spec is not None, "a package of ours"
    module = module_from_spec(spec)
    module.__class__ = Unloaded
    return sys.modules.setdefault(name, module)


class Unloaded(ModuleType):
    """A package that is imported when a name of it is first used; then it is a plain module."""

    def __getattr__(self, name: str) -> Any:
        is_asked_of_all = name.startswith("__") and name != "__all__"  # by inspect, unittest, ...
        if is_asked_of_all or not _load(self):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return getattr(self, name)

    def __dir__(self) -> list[str]:
        return list(dir(self) if _load(self) else super().__dir__())

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        _load(self)
        return _namespace.__get__(self)  # type: ignore[no-any-return]


_namespace: Any = vars(ModuleType)["__dict__"]
# One for each package: importing one may have to wait for another that it needs.
_locks = {f"trellis.{room}": RLock() for room in ROOMS}
_loading: set[str] = set()


def _load(module: ModuleType) -> bool:
    """Import the package into this module; False if this thread is importing it already."""
    name = module.__name__
    with _locks[name]:
        if name in _loading:
            return False
        if type(module) is Unloaded:
            _loading.add(name)
            try:
                module.__spec__.loader.exec_module(module)  # type: ignore[union-attr]
                module.__class__ = ModuleType  # type: ignore[assignment]
            finally:
                _loading.discard(name)  # also after an interrupt: the next use tries again
    return True


def names_of_package() -> list[str]:
    """What `dir(trellis)` shows: public names, also those of packages not imported yet."""
    here = [name for name in vars(sys.modules["trellis"]) if not name.startswith("_")]
    return sorted({*here, *ROOMS, *NAMES, "__version__"} - {"TYPE_CHECKING"})
