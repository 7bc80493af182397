"""Every public name of Trellis, once, in the group where people look for it.

A name that can be written in several ways (`trellis.grad`, `trellis.gradients.grad`) has one page,
under the way that this file prefers; the others are said there.
"""

from __future__ import annotations

import functools
import importlib
import inspect
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import trellis

# Where names are looked up, the preferred way of writing first.
MODULES = (
    "trellis.errors",
    "trellis.functional",
    "trellis.nn.init",
    "trellis.nn.adapters",
    "trellis.nn",
    "trellis.optim.schedules",
    "trellis.optim",
    "trellis.data",
    "trellis.train",
    "trellis.sklearn",
    "trellis.debug",
    "trellis.random",
    "trellis",
    "trellis.special",
    "trellis.signal",
    "trellis.distributions.bijections",
    "trellis.distributions.constraints",
    "trellis.distributions",
    "trellis.mcmc",
    "trellis.optimize",
    "trellis.ode",
    "trellis.generation",
    "trellis.linalg",
    "trellis.fft",
    "trellis.gradients",
    "trellis.compilation",
    "trellis.interchange",
    "trellis.array_api",
    "trellis.testing",
    "trellis.tree",
    "trellis.graph",
    "trellis.convert",
    "trellis.export",
    "trellis.distributed",
    "trellis.models",
)

# Group: title, and one sentence. A name goes to the first group that it matches.
GROUPS = {
    "creation": ("Creating arrays", "Arrays from numbers, shapes and other arrays."),
    "elementwise": ("Elementwise functions", "Arithmetic, comparisons, bits, special functions."),
    "reduction": ("Reductions", "Sums, means and extremes, along axes or over all elements."),
    "manipulation": ("Shapes", "Reshaping, joining, splitting, padding and moving axes."),
    "indexing": ("Indexing and updates", "Taking elements, and updates that return a new array."),
    "searching": ("Searching and sorting", "Order, positions, conditions and sets."),
    "sampled": ("Sampled functions", "Interpolation, integrals, convolution and phases."),
    "products": ("Products", "Matrix and tensor products."),
    "linalg": ("Linear algebra", "Decompositions, solvers and norms of stacks of matrices."),
    "fft": ("Fourier transforms", "Discrete Fourier transforms."),
    "special": (
        "Special functions",
        "Gamma, beta, error, Bessel and zeta functions and relatives.",
    ),
    "signal": ("Signals", "Spectra over time, windows, filters, other sampling rates."),
    "distributions": (
        "Distributions",
        "Draws, probabilities and moments, bijections and divergences.",
    ),
    "mcmc": ("Sampling", "Markov chain Monte Carlo, and whether its chains agree."),
    "solvers": ("Solvers", "Minima, roots, linear systems and differential equations."),
    "dtypes": ("Data types", "Their names, casting, promotion and the default float."),
    "backends": (
        "Backends and devices",
        "Which framework runs, where arrays are and how they are moved.",
    ),
    "array_api": (
        "Arrays for other libraries",
        "Objects around native arrays for code that is written for the Array API standard.",
    ),
    "control": ("Control flow", "Branches and loops that can be compiled."),
    "compilation": ("Compilation", "One compile for all frameworks."),
    "gradients": ("Gradients", "Derivatives of functions of arrays and pytrees."),
    "random": ("Random numbers", "Draws with a key, and draws from the seeded stream."),
    "functional": ("Functional", "Layers, activations, losses and metrics as functions."),
    "nn": ("Layers and modules", "Modules with variables of their own."),
    "init": ("Initializers", "Initial values of variables."),
    "optim": ("Optimizers", "Optimizers, the transformations they are composed of, and schedules."),
    "data": ("Data", "Batches from arrays, files and datasets, in an order that can be resumed."),
    "train": ("Training", "The training loop, metrics and checkpoints."),
    "sklearn": ("scikit-learn estimators", "Modules in pipelines and searches."),
    "debug": ("Watching a model", "Statistics of activations and gradients by module."),
    "graph": ("Graphs", "Programs as data: traced, written as source, compared call by call."),
    "convert": ("Converting models", "Models of other frameworks that run on all four."),
    "export": ("Exporting models", "Models as files for other runtimes."),
    "distributed": ("Distributed training", "Process groups and collectives."),
    "models": ("Models", "Readable models built on trellis.nn."),
    "tree": ("Pytrees", "Containers, and functions over pytrees of arrays."),
    "testing": ("Testing", "Comparing arrays in tests, on every framework."),
    "errors": ("Errors", "What Trellis raises, and the builtin error that each one extends."),
    "constants": ("Constants", "Numbers with a name."),
}

# `dtype` and `DType` would be one file on some file systems.
CLASSES_LIKE_FUNCTIONS = ("trellis.DType", "trellis.optimize.Root", "trellis.debug.Watch")

# By the module that a name is written with, then by the file that defines it.
_BY_MODULE = {
    "trellis.errors": "errors",
    "trellis.functional": "functional",
    "trellis.nn.init": "init",
    "trellis.nn.adapters": "nn",
    "trellis.nn": "nn",
    "trellis.optim.schedules": "optim",
    "trellis.optim": "optim",
    "trellis.data": "data",
    "trellis.train": "train",
    "trellis.random": "random",
    "trellis.sklearn": "sklearn",
    "trellis.debug": "debug",
    "trellis.linalg": "linalg",
    "trellis.fft": "fft",
    "trellis.special": "special",
    "trellis.signal": "signal",
    "trellis.distributions.bijections": "distributions",
    "trellis.distributions.constraints": "distributions",
    "trellis.distributions": "distributions",
    "trellis.mcmc": "mcmc",
    "trellis.optimize": "solvers",
    "trellis.ode": "solvers",
    "trellis.gradients": "gradients",
    "trellis.compilation": "compilation",
    "trellis.interchange": "backends",
    "trellis.array_api": "array_api",
    "trellis.testing": "testing",
    "trellis.tree": "tree",
    "trellis.graph": "graph",
    "trellis.convert": "convert",
    "trellis.export": "export",
    "trellis.distributed": "distributed",
    "trellis.models": "models",
}
_BY_FILE = {
    "border": "backends",
    "casting": "dtypes",
    "compilation": "compilation",
    "lazily": "compilation",
    "constants": "constants",
    "container": "tree",
    "control": "control",
    "creation": "creation",
    "diagonals": "manipulation",
    "device": "backends",
    "dispatch": "backends",
    "dtypes": "dtypes",
    "elementwise": "elementwise",
    "functions": "gradients",
    "host_fallback": "backends",
    "installed": "backends",
    "_programs": "graph",
    "indexing": "indexing",
    "interchange": "backends",
    "manipulation": "manipulation",
    "products": "products",
    "reduction": "reduction",
    "searching": "searching",
    "seeded": "random",
    "segments": "indexing",
    "sets": "searching",
    "signals": "sampled",
    "sorting": "searching",
    "statistics": "reduction",
}


@dataclass
class Name:
    """A public name: how it is written, what it is, and the address of its page."""

    path: str  # as a user writes it, "trellis.functional.gelu"
    value: Any
    group: str
    also: list[str] = field(default_factory=list)

    @property
    def short(self) -> str:
        """Its line in the list of its group.

        >>> Name("trellis.functional.gelu", None, "functional").short
        'gelu'
        """
        return self.path.rpartition(".")[2]

    @property
    def page(self) -> str:
        """The page, from the folder of all pages.

        >>> Name("trellis.linalg.qr", None, "linalg").page
        'reference/linalg.qr.md'
        """
        ending = "-class" if self.path in CLASSES_LIKE_FUNCTIONS else ""
        return f"reference/{self.path.removeprefix('trellis.')}{ending}.md"

    @property
    def sentence(self) -> str:
        """The first paragraph of the docstring; of data, what it is."""
        if isinstance(self.value, (int, float, type(None))) and not inspect.isclass(self.value):
            return f"The number {self.value!r}." if self.value is not None else "An axis of size 1."
        text = inspect.getdoc(self.value) or ""
        if not callable(self.value) and not inspect.isclass(self.value):
            if type(self.value).__doc__ == self.value.__doc__:
                return f"`{self.value}`."
        return " ".join(text.partition("\n\n")[0].split())


def modules() -> list[ModuleType]:
    """The public modules that this version has."""
    found = []
    for name in MODULES:
        try:
            found.append(importlib.import_module(name))
        except ModuleNotFoundError as error:
            if error.name != name:
                raise
    return found


def public(module: ModuleType) -> dict[str, Any]:
    """What a user may write after the module's name, modules themselves left out."""
    names = [name for name in dir(module) if not name.startswith("_") and name.isidentifier()]
    if module.__name__ == "trellis.optim.schedules":  # a file, whose imports are its own
        names = [name for name in names if _home(getattr(module, name)) == module.__name__]
    found = {}
    for name in names:
        try:
            value = getattr(module, name)
        except ImportError:  # a reader or writer whose framework is not there
            continue
        if not inspect.ismodule(value):
            found[name] = value
    return found


def _home(value: Any) -> str:
    return getattr(value, "__module__", None) or ""


def written_as() -> list[tuple[str, Any]]:
    """Each way of writing each public name, and what it stands for."""
    found = []
    for module in modules():
        found += [(f"{module.__name__}.{name}", value) for name, value in public(module).items()]
    return found


@functools.cache
def all_names() -> list[Name]:
    """Every public name once, sorted by group and alphabet."""
    by_identity: dict[Any, Name] = {}
    for path, value in written_as():
        # Numbers are equal to other numbers: a constant is known by its name.
        identity = id(value) if callable(value) else (path.rpartition(".")[2], repr(value)[:80])
        if identity in by_identity:
            by_identity[identity].also.append(path)
        else:
            by_identity[identity] = Name(path, value, group_of(path, value))
    order = list(GROUPS)
    return sorted(
        by_identity.values(), key=lambda name: (order.index(name.group), name.short.lower())
    )


def group_of(path: str, value: Any) -> str:
    """The group of a name; it is an error if no rule knows it.

    >>> group_of("trellis.tanh", trellis.tanh), group_of("trellis.nn.Linear", trellis.nn.Linear)
    ('elementwise', 'nn')
    """
    module = path.rpartition(".")[0]
    if module in _BY_MODULE:
        return _BY_MODULE[module]
    defined = getattr(value, "__module__", "") or ""
    if defined.startswith("trellis._gradients"):
        return "gradients"
    if isinstance(value, (int, float, type(None))):
        return "constants"
    if path == "trellis.generate":
        return "models"
    if defined.startswith("trellis."):
        stem = defined.rpartition(".")[2]
        if stem in _BY_FILE:
            return _BY_FILE[stem]
    if isinstance(value, trellis.DType):
        return "dtypes"
    raise LookupError(f"no group for {path}: add its file to _BY_FILE in {__file__}")


def pages() -> dict[str, str]:
    """From each way of writing a name to its page."""
    found = {}
    for name in all_names():
        for path in (name.path, *name.also):
            found[path] = name.page
    return found
