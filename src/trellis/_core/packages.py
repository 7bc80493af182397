"""Backends that other packages bring, found by their entry points in the group `trellis.backends`.

    [project.entry-points."trellis.backends"]
    mlx = "trellis_mlx"

The name is that of the backend, the value a module that imports no framework and says

    NAME = "mlx"
    FRAMEWORK = "mlx.core"      # the module that a program imports to have its arrays
    DISTRIBUTION = "mlx"        # what pip installs for it
    TRELLIS_INTERFACE = 1       # the version of the interface that it was written for

    def load():
        from . import functions  # now its framework is imported

        return functions

It is read only when a name or the type of an array is unknown, and loaded only if the program has
imported FRAMEWORK, or names the backend.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from .errors import BackendNotInstalledError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "trellis.backends"
INTERFACE = 1
"""The version of the interface of backends. A function that is added to it has a default, so that a
new number means that something was changed or taken away."""


@dataclass(frozen=True)
class Description:
    """What the module of an entry point says of its backend."""

    name: str
    framework: str
    distribution: str
    package: str  # the package that brings it: "trellis-mlx 0.1"
    load: Callable[[], Any]
    problem: str = ""  # why this Trellis cannot use it

    def is_imported(self) -> bool:
        """Whether the program has imported the framework."""
        return self.framework in sys.modules

    def is_installed(self) -> bool:
        """Whether the framework could be imported; it is not imported for that."""
        return self.is_imported() or find_spec(self.framework.partition(".")[0]) is not None

    def functions(self) -> Any:
        """The module with the functions of the backend; its framework is imported for it."""
        if self.problem:
            raise BackendNotInstalledError(self.problem)
        advice = f"Run: pip install '{self.distribution}'"
        if not self.is_installed():
            raise BackendNotInstalledError(
                f"The backend {self.name!r} needs the package {self.framework}, which is not "
                f"installed. {advice}"
            )
        try:
            return self.load()
        except ImportError as error:
            raise BackendNotInstalledError(
                f"The backend {self.name!r} of {self.package} cannot be imported: {error}. {advice}"
            ) from error


@cache
def entries() -> dict[str, list["EntryPoint"]]:
    """The entry points of the group by their names; read once."""
    from importlib.metadata import entry_points  # it takes longer to import than all of this

    found: dict[str, list[EntryPoint]] = {}
    for entry in entry_points(group=GROUP):
        same = found.setdefault(entry.name, [])
        if _package(entry) not in [_package(other) for other in same]:  # twice on the path
            same.append(entry)
    return found


def names() -> tuple[str, ...]:
    """The names of the backends that packages bring; nothing is imported."""
    return tuple(sorted(entries()))


def named(name: str) -> Description | None:
    """The backend of that name, if a package brings it."""
    if name not in entries():
        entries.cache_clear()  # it may have been installed since
    found = entries().get(name)
    return None if found is None else describe(found)


def describe(found: list["EntryPoint"]) -> Description:
    """What the module of an entry point says; raises for one that cannot be used."""
    packages = [_package(entry) for entry in found]
    entry, package = found[0], packages[0]
    if len(found) > 1:
        raise BackendNotInstalledError(
            f"Several packages bring a backend called {entry.name!r}: {', '.join(packages)}. "
            "Uninstall all but one."
        )
    try:
        module = entry.load()
    except Exception as error:  # whatever is wrong with the package is what is to be said
        raise BackendNotInstalledError(
            f"The backend {entry.name!r} of {package} cannot be imported: "
            f"{type(error).__name__}: {error}"
        ) from error
    said = ("NAME", "FRAMEWORK", "DISTRIBUTION", "TRELLIS_INTERFACE", "load")
    missing = [name for name in said if not hasattr(module, name)]
    if missing:
        raise BackendNotInstalledError(
            f"The backend {entry.name!r} of {package} does not define {', '.join(missing)} in "
            f"{entry.value}."
        )
    if module.NAME != entry.name:
        raise BackendNotInstalledError(
            f"The entry point {entry.name!r} of {package} is a backend that calls itself "
            f"{module.NAME!r}; the two names must be the same."
        )
    return Description(
        entry.name,
        module.FRAMEWORK,
        module.DISTRIBUTION,
        package,
        module.load,
        _misfit(entry.name, package, module.TRELLIS_INTERFACE),
    )


def _misfit(name: str, package: str, interface: int) -> str:
    """What is to be said of a backend for another version of the interface; "" if it fits."""
    if interface == INTERFACE:
        return ""
    from .. import __version__

    older = "trellis-ml" if interface > INTERFACE else package.partition(" ")[0]
    return (
        f"The backend {name!r} of {package} is written for version {interface} of the interface "
        f"of backends; trellis-ml {__version__} has version {INTERFACE}. Run: pip install "
        f"--upgrade {older}"
    )


def imported() -> list[Description]:
    """The backends of packages whose frameworks the program has imported. One that cannot be used
    is left out: `named` says why."""
    found = []
    for same in entries().values():
        try:
            description = describe(same)
        except BackendNotInstalledError:
            continue
        if description.is_imported():
            found.append(description)
    return found


def _package(entry: "EntryPoint") -> str:
    return "its package" if entry.dist is None else f"{entry.dist.name} {entry.dist.version}"
