"""One `compile` for all frameworks: jax.jit, torch.compile(fullgraph=True), tf.function."""

import functools
import logging
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from .._core import tree
from .._core.dispatch import xp_of, xp_of_any
from .._core.errors import ArgumentError
from .._core.kinds import check_arguments
from .._core.leafwise import is_of_one_type
from .._core.settings import Setting
from .._core.tracing import name_for_users, python_compiler

PATIENCE = 10.0
"""Seconds of a first call until a line says that it compiles."""

_LOG = logging.getLogger("trellis")  # without a handler, warnings go to standard error

_is_on: Setting[bool] = Setting(
    "trellis_compilation",
    os.environ.get("TRELLIS_COMPILE", "1").lower() not in ("0", "false", "off"),
)


class Compiled:
    """A function that is compiled for each framework whose arrays it is called with; see
    `compile`."""

    def __init__(self, fn: Callable[..., Any], options: dict[str, Any]):
        functools.update_wrapper(self, fn)
        self._fn = fn
        self._options = options
        self._by_backend: dict[str, Callable[..., Any]] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        # Inside torch.compile it is compiled with the function that calls it.
        if not _is_on.get() or python_compiler["is_compiling"]():
            return self._fn(*args, **kwargs)
        leaves, spec = tree.flatten((args, kwargs))
        if leaves and hasattr(leaves[0], "dtype") and is_of_one_type(leaves):
            xp = xp_of(leaves[0])
        else:
            xp = xp_of_any(*[x for x in leaves if hasattr(x, "dtype")])
        compiled = self._by_backend.get(xp.__name__)
        if compiled is None:
            compiled = self._by_backend[xp.__name__] = xp.compile_function(
                self._fn, **self._options
            )
            if xp.ABILITIES.has_compiler:
                with said_when_slow(self._fn, xp.__name__.rpartition(".")[2]):
                    return self(*args, **kwargs)
        if hasattr(compiled, "on_leaves"):  # flattening the pytrees once is enough
            return compiled.on_leaves(leaves, spec, args, kwargs)
        return compiled(*args, **kwargs)

    def __repr__(self) -> str:
        done = [name.rpartition(".")[2] for name in self._by_backend]
        name = getattr(self._fn, "__name__", self._fn)
        return f"<compiled {name!s} for {', '.join(done) or 'nothing yet'}>"


@contextmanager
def said_when_slow(fn: Callable[..., Any], backend: str) -> Iterator[None]:
    """Say once, in one line, that the first call of a function still compiles after some time."""
    name = name_for_users(fn)
    timer = threading.Timer(
        PATIENCE,
        _LOG.warning,
        (
            f"trellis: the first call of {name}(), which {backend} compiles, has taken "
            f"{PATIENCE:g} seconds so far. Calls with the same shapes and dtypes will not compile "
            "again; TRELLIS_COMPILE=0 runs without the compiler.",
        ),
    )
    timer.daemon = True  # a program that ends does not wait for it
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def compile(
    fn: Callable[..., Any],
    *,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
    donate_argnums: int | Sequence[int] = (),
    strict: bool = False,
) -> Compiled:
    """The same function, compiled by the framework of the arrays it is called with.

    `jax.jit` on JAX, `torch.compile(fullgraph=True)` on torch, `tf.function` on TensorFlow; on
    NumPy, which has no compiler, the function itself. Arguments and results may be pytrees. It
    is compiled once for each set of shapes and dtypes, and again for each value of a static
    argument. Called with the arrays of another framework later, it compiles for that one too.

    On NumPy too, a draw without a key and a new value of a buffer or variable raise `TracingError`,
    as under every compiler. With `strict`, Python code that depends on values, such as `if x > 0:`,
    raises there too. It costs time, so it is for tests.

    A step that returns new weights keeps the old ones in memory while it runs. `donate_argnums`
    names arguments, by position, that the caller will not use again: results may be written over
    their arrays. JAX deletes donated arrays. On torch and TensorFlow they are removed from the
    dicts and lists that held them, and an array with another reference keeps its values. Using a
    donated array raises an error. On NumPy, which has no compiler, nothing changes.

    To debug with prints and breakpoints, switch compilation off: `TRELLIS_COMPILE=0` in the
    environment, or `with trellis.using_compilation(False):`.

    >>> import numpy as np, trellis
    >>> double = trellis.compile(lambda x: x * 2)
    >>> double(np.array([1.0, 2.0]))
    array([2., 4.])
    """
    check_arguments(compile, locals())
    nums = (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums)
    names = (static_argnames,) if isinstance(static_argnames, str) else tuple(static_argnames)
    given = (donate_argnums,) if isinstance(donate_argnums, int) else tuple(donate_argnums)
    both = sorted({*nums} & {*given})
    if both:
        raise ArgumentError(
            f"compile() got argument {both[0]} in static_argnums and in donate_argnums: a static "
            "argument is a Python value, whose memory no result can use. Name it in one of the two."
        )
    options = {"static_argnums": nums, "static_argnames": names, "donate_argnums": given}
    return Compiled(fn, {**options, "strict": strict})


def using_compilation(is_on: bool, /) -> AbstractContextManager[None]:
    """Switch `trellis.compile` on or off inside a `with` block, for this thread or task only.

    Switched off, compiled functions run as plain Python on every framework, `train.fit` included.

    >>> import numpy as np, trellis
    >>> f = trellis.compile(lambda x: x + 1)
    >>> with trellis.using_compilation(False):
    ...     f(np.array([1.0]))
    array([2.])
    """
    return _is_on.using(bool(is_on))
