"""Packages that `import trellis` leaves unloaded: each is loaded when it is first used, alone.

`trellis.__getattr__` finds them. In a module that has a `__getattr__` Python looks up every name
the slow way, 13 ns more for each `trellis.exp(x)`. So it is removed as soon as the functions and
classes of the package itself are there, which `trellis.nn` and `trellis.optim` bring; packages
that are not loaded by then are replaced by modules that load themselves.
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
    """The package of that name, or what lives in one; used as `trellis.__getattr__`."""
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
    """Add the names of packages that are loaded; after the last large one `__getattr__` goes."""
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
        for name in left:  # seven modules, now that the package above them need not run
            setattr(package, name, getattr(import_module(f"trellis.{NAMES[name]}"), name))
        vars(package).pop("__getattr__", None)  # another thread may have been quicker


def _unloaded(name: str) -> ModuleType:
    spec = find_spec(name)
    assert spec is not None, "a package of ours"
    module = module_from_spec(spec)
    module.__class__ = Unloaded
    return sys.modules.setdefault(name, module)


class Unloaded(ModuleType):
    """A package that runs when one of its names is first asked for; then it is a plain module."""

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
# One for each package: loading one may have to wait for another that it needs, as imports do.
_locks = {f"trellis.{room}": RLock() for room in ROOMS}
_loading: set[str] = set()


def _load(module: ModuleType) -> bool:
    """Run the package in this module; False while it runs, further up in this thread."""
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
                _loading.discard(name)  # also after an interrupt: the next one loads it
    return True


def names_of_package() -> list[str]:
    """What `dir(trellis)` shows: public names, also of packages that are not loaded yet."""
    here = [name for name in vars(sys.modules["trellis"]) if not name.startswith("_")]
    return sorted({*here, *ROOMS, *NAMES, "__version__"} - {"TYPE_CHECKING"})
