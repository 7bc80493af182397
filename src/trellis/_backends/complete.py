"""Adds what a backend does not define: a formula, NumPy's function, or a function that raises.

A backend calls `complete(backend)` at its end. A formula (`shared/formulas/`) is used if the
backend has all functions that it needs; it then runs on the framework and has derivatives of every
order. The remaining functions run on the host: arrays are converted to NumPy and back, and so are
their gradients, through `custom_vjp`. `MADE` says of each function which of these it is.
"""

import dis
import functools
import sys
from collections.abc import Callable, Iterable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from .._core import constants, dtypes
from .._core.abilities import Abilities
from .._core.errors import NotSupportedError
from .exports import ASKED
from .host import on_host
from .shared import formulas

_FILES = sorted(Path(formulas.__path__[0]).glob("[a-z]*.py"))
_EXTENSIONS = ("linalg", "fft", "random")
# They have no derivative and handle few numbers: formulas may use them on the host.
_FINE_ON_HOST = frozenset(
    {"arange", "empty", "eye", "linspace", "ones", "zeros"}
    | {"argsort", "nonzero", "searchsorted", "unique_all"}
)
# Their arguments are functions or lists of arrays: always formulas, also over host functions.
_NEVER_WHOLE = frozenset(
    {"asarray", "from_dlpack", "jacobian", "jvp", "scan", "value_and_grad", "vmap"}
)
# What only a framework can do.
_NEVER_ON_HOST = frozenset({"connect_ranks", "custom_vjp", "from_numpy", "to_numpy", "vjp"})


def complete(backend: Any) -> dict[str, str]:
    """Add the functions of the interface that the backend lacks; return its `MADE`.

    Seven names are enough: `TYPES`, `ARRAY_TYPES`, `ABILITIES`, `from_numpy`, `to_numpy`, `vjp` and
    `custom_vjp`. `NAME` is the last part of the module's name, if the backend does not define it.

    >>> import trellis, trellis.backend
    >>> trellis.backend.complete(trellis.namespace("numpy"))["tanh"]
    'native'
    """
    if "MADE" in vars(backend):
        done: dict[str, str] = backend.MADE
        return done
    _add_values(backend)
    missing = [key for key in asked() if not _has(backend, key)]
    backend.MADE = {key: _made(backend, key) for key in asked() if key not in missing}
    derived = _derivable(missing, backend) if missing else {}
    for key in missing:
        name = key.rpartition(".")[2]
        if key in derived:
            backend.MADE[key], function = "derived", vars(_bound(derived[key], backend))[name]
        elif name in _NEVER_ON_HOST:
            backend.MADE[key], function = "missing", _refusal(key, backend)
        else:
            backend.MADE[key], function = "host", on_host(key, backend)
        _bind(backend, key, function)
    made: dict[str, str] = backend.MADE
    return made


@functools.cache
def asked() -> list[str]:
    """The functions of the interface; those of extensions have dotted names.

    >>> from trellis.backend import asked
    >>> "tanh" in asked(), "linalg.svd" in asked()
    (True, True)
    """
    names = [name for name in ASKED[""] if name not in _EXTENSIONS and name not in _VALUES]
    dotted = [f"{room}.{name}" for room in _EXTENSIONS for name in ASKED[room]]
    return sorted(names + dotted)


_TYPES = frozenset(("bool", *dtypes.NUMERIC))
_VALUES = _TYPES | {
    *("ABILITIES", "ARRAY_TYPES", "FLOAT_DTYPES", "MADE", "NAME", "RECURRENCES", "SOURCE"),
    *("SPECIAL_KERNELS", "STEP_KERNELS", "TYPES"),
    *("e", "inf", "nan", "newaxis", "pi"),
}


def _add_values(backend: Any) -> None:
    types = {name: backend.TYPES[name] for name in dtypes.FLOATING if name in backend.TYPES}
    values: dict[str, Any] = {
        "__array_api_version__": "2025.12",
        "ABILITIES": Abilities(),
        "FLOAT_DTYPES": frozenset(types.values()),
        "NAME": backend.__name__.rpartition(".")[2],
        "SOURCE": None,
        "RECURRENCES": {},
        "SPECIAL_KERNELS": {},
        "STEP_KERNELS": {},
        **{name: getattr(constants, name) for name in ("e", "inf", "nan", "newaxis", "pi")},
        **backend.TYPES,
    }
    dtypes.remember_names(backend.TYPES)
    for room in _EXTENSIONS:
        values[room] = ModuleType(f"{backend.__name__}.{room}")
    for name, value in values.items():
        if name not in vars(backend):
            setattr(backend, name, value)


def _has(backend: Any, key: str) -> bool:
    room, _, name = key.rpartition(".")
    return name in vars(getattr(backend, room) if room else backend)


def _made(backend: Any, key: str) -> str:
    """How a function is made that the backend defines. One that runs on the host in most cases says
    so: `fn.made = "host"`."""
    room, _, name = key.rpartition(".")
    return str(getattr(vars(getattr(backend, room) if room else backend)[name], "made", "native"))


def _bind(backend: Any, key: str, function: Any) -> None:
    room, _, name = key.rpartition(".")
    setattr(getattr(backend, room) if room else backend, name, function)


def _refusal(key: str, backend: Any) -> Callable[..., Any]:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise NotSupportedError(
            f"The backend {backend.NAME} does not have {key}(). Use another backend for this: "
            'trellis.to_backend(x, "numpy").'
        )

    return refuse


# Formulas -----------------------------------------------------------------------------------------


def _derivable(missing: Iterable[str], backend: Any) -> dict[str, Path]:
    """The formulas whose functions are all available: {name: file of the formula}."""
    found: dict[str, tuple[Path, set[str]]] = {}
    for file in _FILES:
        room = f"{file.stem}." if file.stem in _EXTENSIONS else ""
        wanted = [key for key in missing if room == key[: -len(key.rpartition(".")[2])]]
        text = file.read_text("utf-8") if wanted else ""
        wanted = [key for key in wanted if key.rpartition(".")[2] in text]
        space = vars(_bound(file, backend)) if wanted else {}
        for key in wanted:
            function = space.get(key.rpartition(".")[2])
            if isinstance(function, FunctionType):
                found[key] = file, _needs(function)
    while True:
        known = {*backend.MADE, *found, *_FINE_ON_HOST, *_VALUES}
        unmet = [
            key
            for key, (_, needs) in found.items()
            if key not in _NEVER_WHOLE and not needs <= known
        ]
        if not unmet:
            return {key: file for key, (file, _) in found.items()}
        for key in unmet:
            del found[key]


def _bound(file: Path, backend: Any) -> ModuleType:
    """A file of formulas as a separate module, whose `xp` is the backend."""
    name = f"{formulas.__name__}.{file.stem}_on_{backend.NAME}"
    found = sys.modules.get(name)
    if found is None or vars(found)["xp"] is not backend:
        spec = spec_from_file_location(name, file)
        assert spec is not None and spec.loader is not None, "a file of Python has a loader"
        found = module_from_spec(spec)
        sys.modules[name] = found
        spec.loader.exec_module(found)
        vars(found)["xp"] = backend
    return found


def formulas_for(backend: Any, file: str) -> ModuleType:
    """The formulas of one file, such as "convolution", for arrays of a backend.

    For a function that is the framework's own for some types, and a formula for others.

    >>> import numpy as np, trellis, trellis.backend
    >>> activation = trellis.backend.formulas_for(trellis.namespace("numpy"), "activation")
    >>> activation.relu(np.array([-1.0, 2.0]))
    array([0., 2.])
    """
    return _bound(Path(formulas.__path__[0], f"{file}.py"), backend)


@functools.cache
def _needs(function: FunctionType) -> set[str]:
    """The functions of `xp` that a formula calls, directly or through helpers in `shared`."""
    names: set[str] = set()
    helpers, waiting = {function}, [function.__code__]
    space = function.__globals__
    while waiting:
        code = waiting.pop()
        waiting += [inner for inner in code.co_consts if isinstance(inner, CodeType)]
        steps = list(dis.get_instructions(code))
        for i, step in enumerate(steps):
            is_pair = step.opname.startswith("LOAD_FAST_")  # Python 3.13 loads two at once
            value = step.argval[-1] if is_pair and isinstance(step.argval, tuple) else step.argval
            if step.opname.startswith("LOAD_") and value == "xp":
                name = str(steps[i + 1].argval)
                name = f"{name}.{steps[i + 2].argval}" if name in _EXTENSIONS else name
                names |= {name} & {*ASKED[""], *asked()}
            elif step.opname == "LOAD_GLOBAL":
                helper = space.get(step.argval) or _of_helpers(helpers, str(step.argval))
                if isinstance(helper, FunctionType) and helper not in helpers:
                    if helper.__module__.startswith(f"{__package__}.shared"):
                        helpers.add(helper)
                        waiting.append(helper.__code__)
    return names


def _of_helpers(helpers: set[FunctionType], name: str) -> Any:
    """The value of a name in the files of the helpers found so far."""
    for helper in helpers:
        if name in helper.__globals__:
            return helper.__globals__[name]
    return None
