"""Which backend runs a call: the one its arrays belong to.

`_by_type` maps exact array types to backend modules. It changes only when a backend loads, never
per type seen: `torch.compile` guards on the length of such a table, so a growing one would
recompile again and again. A framework that the program has not imported cannot have arrays, so
frameworks are looked up in `sys.modules` and imported only when they are named. Backends of other
packages (`packages.py`) are looked for when a name or a type is unknown.
"""

import os
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from importlib.util import find_spec
from types import FrameType
from typing import TYPE_CHECKING, Any

from .arrays import NUMBERS
from .container import Container
from .donation import GivenAway, gone
from .errors import ArgumentError, ArgumentTypeError, BackendNotInstalledError, MixedBackendsError
from .following import is_followed, python_compiler
from .leafwise import LeafwiseBackend
from .settings import Setting

if TYPE_CHECKING:
    from .._backends.interface import Backend

BACKENDS = ("numpy", "jax", "torch", "tensorflow")

_leafwise = LeafwiseBackend("nest")
_by_type: dict[type, Any] = {Container: _leafwise, dict: _leafwise}
loaded: dict[str, Any] = {}  # the backends themselves by name, even while a recording replaces one
_added: dict[str, Any] = {}  # those of other packages: what `load` gives for their names
# Array types of backends that were added after a compiler that follows Python: its programs guard
# on the length of the first table, and would all be compiled again.
_more_types: dict[type, Any] = {}
_told: list[Callable[[Any], object]] = []
_adding = threading.RLock()
SCALAR_TYPES = (*NUMBERS, type(None))
_default: Setting[str] = Setting("trellis_backend", os.environ.get("TRELLIS_BACKEND", "numpy"))


def xp_of(x: object) -> "Backend":
    """The backend module that the array `x` belongs to."""
    try:
        return _by_type[type(x)]
    except KeyError:
        return _resolve(x)


def xp_of_pair(x1: object, x2: object) -> "Backend":
    """The one backend of two arguments, either of which may be a Python number."""
    kind = type(x1)
    if kind is type(x2):
        try:
            return _by_type[kind]
        except KeyError:
            return _resolve(x1)
    return xp_of_all(x1, x2)


def xp_of_all(*xs: object) -> "Backend":
    """The one backend of all arguments; numbers fit any; arrays of two frameworks raise."""
    found = _common(xs)
    return _resolve(xs[0]) if found is None else found


def xp_of_any(*xs: object) -> "Backend":
    """Like `xp_of_all`, but the default backend if there is no array."""
    found = _common(xs)
    return default_xp() if found is None else found


def _common(xs: tuple[Any, ...]) -> Any:
    found = None
    for x in xs:
        if type(x) not in SCALAR_TYPES:
            xp = xp_of(x)
            if found is None:
                found = xp
            elif xp is not found:
                found = _reconcile(found, xp, xs)
    return found


def default_xp() -> "Backend":
    """The module of the default backend."""
    return load(_default.get())


def named_xp(backend: str | None) -> "Backend":
    """The backend of that name; None means the default one."""
    return default_xp() if backend is None else load(backend)


def _resolve(x: object) -> "Backend":
    """The cold path: subclasses, tracers, the first array of a framework. It writes nothing."""
    cls = type(x)
    if not is_followed() and cls in _more_types:
        found: Backend = _more_types[cls]
        return found
    for base in cls.__mro__:
        if base in _by_type:
            return _by_type[base]
    if hasattr(cls, "__trellis_backend__"):  # of `array_api`: its namespace is a backend
        return x.__trellis_backend__()  # type: ignore[attr-defined,no-any-return]
    # The modules are asked, not the table: while torch.compile traces, it still sees the table as
    # it was before they were loaded.
    for name in BACKENDS:
        if name in sys.modules:
            backend = load(name)
            if issubclass(cls, backend.ARRAY_TYPES):
                return backend
    if cls is GivenAway:
        raise gone()
    if cls.__module__ != "builtins" and not is_followed():
        for added in _of_packages(cls):
            if issubclass(cls, added.ARRAY_TYPES):
                return added
    instead = "Write trellis.asarray(...) around lists and other objects first."
    if cls.__module__.startswith("autograd."):  # inside autograd.grad, whose rules are not ours
        instead = "autograd cannot differentiate Trellis functions: write trellis.grad instead."
    known = ", ".join(backend_names())
    raise ArgumentTypeError(
        f"Expected an array of {known}; got {cls.__module__}.{cls.__qualname__}. {instead}"
    )


def _reconcile(xp: "Backend", other: "Backend", xs: tuple[Any, ...]) -> "Backend":
    """Containers may be mixed with arrays; two different frameworks may not."""
    nests = [m for m in (xp, other) if isinstance(m, LeafwiseBackend)]
    if nests:
        return nests[0]
    # While a recording runs (`_recording`), its arrays may meet those of its framework; wrapped
    # arrays (`array_api`) may meet native ones.
    for first, second in ((xp, other), (other, xp)):
        joined = first.joined(second) if hasattr(first, "joined") else None
        if joined is not None:
            return joined
    raise mixed_backends(xs)


def mixed_backends(xs: tuple[Any, ...]) -> MixedBackendsError:
    """The error for arrays of several frameworks; names the function and its arguments."""
    frame = sys._getframe(1)
    while frame.f_back is not None and _is_inner(frame, frame.f_back):
        frame = frame.f_back
    known = {**getattr(frame.f_locals.get("self"), "__dict__", {}), **frame.f_locals}
    names = {id(value): name for name, value in known.items()}
    kinds = [
        (names.get(id(x), f"argument {i}"), name_of(xp_of(x)))
        for i, x in enumerate(xs)
        if type(x) not in SCALAR_TYPES
    ]
    listed = ", ".join([f"{name} is from {kind}" for name, kind in kinds])
    return MixedBackendsError(
        f"{frame.f_code.co_name}() got arrays of different frameworks: {listed}. "
        f"Convert one first, for example trellis.to_backend({kinds[-1][0]}, {kinds[0][1]!r})."
    )


def _is_inner(frame: FrameType, caller: FrameType) -> bool:
    """Whether a frame is of a helper that a public function called."""
    modules = [x.f_globals.get("__name__", "") for x in (frame, caller)]
    if modules[0] == __name__:
        return True
    own = __name__.partition(".")[0] + "."
    is_private = frame.f_code.co_name[0] in "_<" or modules[0].rpartition(".")[2].startswith("_")
    return is_private and all([x.startswith(own) for x in modules])


# Loading ------------------------------------------------------------------------------------------


def load(name: str) -> "Backend":
    """The backend module of that name, imported now if need be.

    Written out with `from ... import`: that is what torch.compile can trace on a cold start. mypy
    does not see the functions that the op table makes; the contract tests compare all of them.
    """
    if name == "numpy":
        from .._backends import numpy as numpy_backend

        return numpy_backend  # type: ignore[return-value]
    if name == "jax":
        _require(name, "jax")
        from .._backends import jax as jax_backend

        return jax_backend  # type: ignore[return-value]
    if name == "torch":
        _require(name, "torch")
        from .._backends import torch as torch_backend

        return torch_backend  # type: ignore[return-value]
    if name == "tensorflow":
        _require(name, "tensorflow")
        from .._backends import tensorflow as tensorflow_backend

        return tensorflow_backend  # type: ignore[return-value]
    if name in _added:
        backend: Backend = _added[name]
        return backend
    return _load_package(name)


def _load_package(name: str) -> "Backend":
    """The backend of that name of another package."""
    from . import packages

    description = packages.named(name) if isinstance(name, str) else None
    if description is None:
        known = ", ".join(backend_names())
        raise ArgumentError(f"Unknown backend {name!r}. The backends are {known}.")
    with _adding:
        if name not in _added:
            from .._backends.complete import complete

            backend = description.functions()
            backend.NAME = name
            if "MADE" not in vars(backend):
                complete(backend)
            if _added.get(name) is not backend:  # else it has registered itself
                register(backend, backend.ARRAY_TYPES)
    found: Backend = _added[name]
    return found


def _of_packages(cls: type) -> list["Backend"]:
    """The added backends, and those of packages whose frameworks the program has imported."""
    from . import packages

    for description in packages.imported():
        if description.name not in _added:
            try:
                _load_package(description.name)
            except BackendNotInstalledError:  # of interest only to those who use its arrays
                home = cls.__module__.partition(".")[0]
                if home == description.framework.partition(".")[0]:
                    raise
    return list(_added.values())


def _require(name: str, package: str) -> None:
    if package not in sys.modules and find_spec(package) is None:
        raise BackendNotInstalledError(
            f"The backend {name!r} needs the package {package}, which is not installed. "
            f"Run: pip install 'trellis-ml[{name}]'"
        )


def imported_backends() -> list["Backend"]:
    """The backends of the frameworks that the program has imported; those of packages, if they have
    been used."""
    return [load(name) for name in BACKENDS if name in sys.modules] + list(_added.values())


def imported_names() -> list[str]:
    """The names of the backends whose frameworks the program has imported."""
    from . import packages

    found = [name for name in BACKENDS if name in sys.modules]
    found += [each.name for each in packages.imported()]
    return list(dict.fromkeys([*found, *_added]))


def backend_names() -> tuple[str, ...]:
    """The names of all backends, loaded or not, those of packages among them."""
    from . import packages

    return tuple(dict.fromkeys((*BACKENDS, *packages.names(), *_added)))


def module_of(name: str) -> str:
    """The package that a backend is, which need not be loaded."""
    known = loaded.get(name)
    package = __package__.rpartition(".")[0]
    return f"{package}._backends.{name}" if known is None else str(known.__name__)


def other_names(name: str) -> str:
    """The other backends, for a message that sends its reader to one of them."""
    return " or ".join([other for other in backend_names() if other != name])


def name_of(backend: object) -> str:
    """The name of a backend."""
    return str(backend.NAME)  # type: ignore[attr-defined]


def register(backend: object, types: tuple[type, ...]) -> None:
    """Called by a backend when it loads, with the exact types of its arrays.

    A backend of a package need not call it: it is called when the backend is first used.
    """
    name = name_of(backend)
    table = _by_type
    if name not in BACKENDS:
        _added[name] = backend
        if python_compiler["backend"]:
            table = _more_types
    for cls in types:
        table[cls] = backend
    loaded[name] = backend
    for tell in _told:
        tell(backend)


def tell_of_backends(tell: Callable[[Any], object]) -> None:
    """Call `tell(backend)` for each backend that is loaded, now and later: for what must be there
    before a compiler traces."""
    _told.append(tell)
    for backend in list(loaded.values()):
        tell(backend)


def unregister(name: str) -> None:
    """Forget a backend of another package."""
    backend = loaded.pop(name)
    del _added[name]
    for table in (_by_type, _more_types):
        for cls in [cls for cls, row in table.items() if row is backend]:
            del table[cls]


def stand_in(name: str, backend: object) -> None:
    """From now on `load` gives `backend` for this name: a recording, or the backend again."""
    if name in _added:
        _added[name] = backend
    else:
        setattr(sys.modules[loaded[name].__name__.rpartition(".")[0]], name, backend)


# Public -------------------------------------------------------------------------------------------


def backend_of(x: object, /) -> str:
    """The name of the framework that `x` belongs to.

    >>> import numpy as np, trellis
    >>> trellis.backend_of(np.zeros(3))
    'numpy'
    """
    if isinstance(x, str) or type(x) in SCALAR_TYPES:
        raise ArgumentTypeError(
            f"backend_of() expects an array, got {x!r} of type {type(x).__name__}."
        )
    return name_of(xp_of(x))


def namespace(x: object, /, *, api_version: str | None = None) -> "Backend":
    """The Array API namespace of one backend, by name or by one of its arrays.

    Args:
        x: The name of a backend, or an array.
        api_version: The version of the standard that the caller is written for, such as "2024.12".
            The namespace is always that of the newest version; one that is newer still raises.

    >>> import trellis
    >>> xp = trellis.namespace("numpy", api_version="2024.12")
    >>> xp.sum(xp.ones(3)).item(), xp.__array_api_version__
    (3.0, '2025.12')
    """
    xp: Backend = load(x) if isinstance(x, str) else xp_of(x)
    return xp if api_version is None else of_version(xp, api_version)


def of_version(xp: Any, api_version: str | None) -> Any:
    """What `x.__array_namespace__(api_version=...)` returns: `xp`, if it is not older than that."""
    known = xp.__array_api_version__
    is_known = isinstance(api_version, str) and "2021.12" <= api_version <= known
    if api_version is not None and not is_known:
        raise ArgumentError(
            f"The namespace is of version {known} of the Array API standard, and of those before "
            f"it, got {api_version!r}."
        )
    return xp


def set_backend(name: str, /) -> None:
    """Choose the backend of calls without arrays. In the main program it applies to the whole
    process; in a thread or an async task only there.

    >>> import trellis
    >>> trellis.set_backend("numpy")
    >>> trellis.current_backend()
    'numpy'
    """
    load(name)
    _default.set(name)


def current_backend() -> str:
    """The name of the backend of calls without arrays.

    >>> import trellis
    >>> trellis.current_backend()
    'numpy'
    """
    return _default.get()


def using_backend(name: str, /) -> AbstractContextManager[None]:
    """Choose the default backend inside a `with` block, for this thread or task only.

    >>> import trellis
    >>> with trellis.using_backend("numpy"):
    ...     trellis.backend_of(trellis.zeros(2))
    'numpy'
    """
    load(name)
    return _default.using(name)
