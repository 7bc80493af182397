"""`trellis.backends`: which backends there are, and what each can do."""

import sys
from collections import Counter
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal, overload

from .dispatch import BACKENDS, backend_names, load, loaded
from .errors import ArgumentError, BackendNotInstalledError

if TYPE_CHECKING:
    from .abilities import Abilities


@dataclass(frozen=True)
class BackendInfo:
    """What is known of one backend; see `trellis.backends`."""

    name: str
    framework: str
    """The module that a program imports to have its arrays."""
    distribution: str
    """What pip installs for it."""
    package: str
    """The package that brings the backend, with its version."""
    problem: str = ""
    """Why it cannot be used, if its package is at fault."""

    @property
    def is_installed(self) -> bool:
        """Whether its framework could be imported; it is not imported for that."""
        return self.framework in sys.modules or find_spec(self._top()) is not None

    @property
    def is_loaded(self) -> bool:
        """Whether the program has used it."""
        return self.name in loaded

    @property
    def version(self) -> str:
        """The version of the framework that is installed, "" for none."""
        from importlib.metadata import PackageNotFoundError, packages_distributions, version

        top = self._top()
        try:
            return version(top)
        except PackageNotFoundError:  # brought by a package of another name, as by tensorflow-cpu
            needed = self.distribution.partition("[")[0]
            names = packages_distributions().get(top, [])
            names += [needed] if needed != "trellis-ml" else []
        for name in names:
            try:
                return version(name)
            except PackageNotFoundError:
                continue
        return ""

    @property
    def abilities(self) -> "Abilities":
        """What the framework can do beyond single functions; it is imported for that."""
        return load(self.name).ABILITIES

    def made(self, function: str) -> Literal["native", "derived", "host", "missing"]:
        """How a function of the library is done: by the framework's own function, by a formula over
        others of its functions, on NumPy, or not at all. The framework is imported for that.

        >>> import trellis
        >>> trellis.backends("numpy").made("linalg.svd")
        'native'
        """
        from .._ops import TABLE
        from .spelling import meant

        made = load(self.name).MADE
        name = function.removeprefix("functional.")
        for key in (name, *[f"{group}.{name}" for group in ("linalg", "fft", "random")]):
            if key in made:
                return made[key]  # type: ignore[return-value]
        if name in TABLE:  # written once over others
            return "derived"
        close = meant(name, [*made, *TABLE], {})
        hint = "" if close is None else f" Did you mean {close!r}?"
        raise ArgumentError(f"There is no function {function!r} that a backend could have.{hint}")

    def counts(self) -> dict[str, int]:
        """How many functions are native, derived, host and missing.

        >>> import trellis
        >>> trellis.backends("numpy").counts()["host"]
        0
        """
        found = Counter(load(self.name).MADE.values())
        return {how: found[how] for how in ("native", "derived", "host", "missing")}

    def _top(self) -> str:
        return self.framework.partition(".")[0]


@overload
def backends() -> list[BackendInfo]: ...


@overload
def backends(name: str, /) -> BackendInfo: ...


def backends(name: str | None = None, /) -> list[BackendInfo] | BackendInfo:
    """The backends, those that other packages bring among them; with a name, that one.

    No framework is imported, until you ask what one can do: `abilities`, `made` and `counts`.

    >>> import trellis
    >>> [info.name for info in trellis.backends()][:4]
    ['numpy', 'jax', 'torch', 'tensorflow']
    >>> trellis.backends("numpy").is_installed
    True
    """
    if name is None:
        return [_info(each) for each in backend_names()]
    if name not in backend_names():
        load(name)  # says what there is
    return _info(name)


def _info(name: str) -> BackendInfo:
    from .. import __version__
    from . import packages

    if name in BACKENDS:
        needed = name if name == "numpy" else f"trellis-ml[{name}]"
        return BackendInfo(name, name, needed, f"trellis-ml {__version__}")
    try:
        found = packages.named(name)
    except BackendNotInstalledError as error:
        return BackendInfo(name, name, name, "", str(error))
    if found is None:  # registered by the program itself
        home = str(loaded[name].__name__)
        return BackendInfo(name, home, name, home)
    return BackendInfo(name, found.framework, found.distribution, found.package, found.problem)
