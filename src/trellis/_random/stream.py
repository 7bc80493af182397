"""The source of keys for draws without a seed: one stream for the process, or for a `with` block.

A stream is a key and a counter; its n-th key is the hash of both. The global one runs on Python
integers, so taking a key costs nothing on any backend. In a forked process (a worker of a data
loader) each stream continues with its own key: the hash of the parent's key and the number of the
fork.
"""

import os
import threading
from contextvars import ContextVar, Token
from typing import Any

from .._core import repeating
from .._core.dispatch import xp_of
from .._core.dtypes import name_of
from .._core.errors import ArgumentError, ArgumentTypeError, TracingError
from .._core.threefry import MASK, Words, fold_in_words, seed_words, threefry
from .._core.tracing import is_followed, tracing
from .._core.typing import Array, Backend, Device, Seed


class _GlobalStream:
    """The process-wide stream. The lock keeps threads from repeating a counter."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # Until it is seeded, no two processes draw the same numbers.
        self._key: Words = seed_words(int.from_bytes(os.urandom(8), "big"))
        self._count = 0
        self._forks = 0

    def reset(self, key: Words) -> None:
        with self._lock:
            self._key, self._count, self._forks = key, 0, 0

    def next(self) -> Words:
        with self._lock:
            key, count = self._key, self._count
            self._count += 1
        return threefry(key, (count >> 32 & MASK, count & MASK))

    def before_fork(self) -> None:
        with self._lock:
            self._forks += 1

    def in_child(self) -> None:
        # Another thread of the parent, which does not exist here, may have held the lock.
        self._lock = threading.Lock()
        self._key, self._count, self._forks = _words_of_child(self._key, self._forks), 0, 0


GLOBAL = _GlobalStream()
_current: ContextVar["stream | None"] = ContextVar("trellis_stream", default=None)
# torch.compile cannot trace context variables, but it can trace a list that is left as it was
# found.
_while_followed: list["stream"] = []


class stream:
    """Supply keys to code that draws without naming a seed, inside a `with` block.

    It replaces the global stream there, for this thread or task, and nothing else: the n-th draw of
    the block takes the key `fold_in(key, n)`. It is pure, so it is the way to draw inside a
    compiled function: open the block inside the function and pass the key as an argument. The body
    of a `scan` or `while_loop` is traced once: fold the step number into the key there.

    >>> import trellis
    >>> key = trellis.random.key(7)
    >>> with trellis.random.stream(key):
    ...     x = trellis.random_uniform(shape=3)
    >>> with trellis.random.stream(key):
    ...     y = trellis.random_uniform(shape=3)
    >>> bool((x == y).all())
    True
    """

    def __init__(self, key: int | Array, /):
        self._key: int | Array | None = key
        # A key whose value is known can be used by all backends; a traced one only by its own.
        self._known = key_words(key)
        self._count = 0
        self._forks = 0
        self._token: Token[stream | None] | None = None
        self._outer: stream | None = None
        self._was_tracing = False

    def __enter__(self) -> "stream":
        if is_followed():
            _while_followed.append(self)
        else:
            self._was_tracing = tracing() is not None
            self._outer = _current.get()
            self._token = _current.set(self)
        return self

    def __exit__(self, *exception: object) -> None:
        if is_followed():
            _while_followed.pop()
        elif self._token is not None:
            _current.reset(self._token)
            self._outer = None

    def _next(self, xp: Backend, device: Device | None) -> "Words | Array":
        count = self._count
        self._count = count + 1
        words = self._known
        if words is not None:
            return fold_in_words(words, count)
        return xp.random.fold_in(as_key(self._key, xp, device), count)


# Forks
# -----------------------------------------------------------------------------------------------


def _words_of_child(key: Words, fork: int) -> Words:
    """The key with which a forked process continues; no draw of the parent uses it."""
    return threefry(threefry(key, (MASK, MASK)), (fork >> 32 & MASK, fork & MASK))


def _before_fork() -> None:
    GLOBAL.before_fork()
    here = _current.get()
    while here is not None:
        here._forks += 1
        here = here._outer


def _in_child() -> None:
    GLOBAL.in_child()
    here = _current.get()
    while here is not None:
        if here._known is not None:
            here._known, here._count = _words_of_child(here._known, here._forks), 0
            here._forks = 0
        here = here._outer


if hasattr(os, "register_at_fork"):  # not on Windows, which has no forks
    os.register_at_fork(before=_before_fork, after_in_child=_in_child)


# The next key
# ----------------------------------------------------------------------------------------


def next_key(xp: Backend, device: Device | None = None) -> Array:
    """The key of the next draw that names no seed, as an array of the backend `xp`."""
    if is_followed():
        if not _while_followed:
            raise _frozen_draw(str(tracing()))
        return as_key(_while_followed[-1]._next(xp, device), xp, device)
    return as_key(_taken(_current.get(), tracing(), xp, device), xp, device)


def _taken(
    here: stream | None, framework: str | None, xp: Backend, device: Device | None
) -> Words | Array:
    if framework is not None and (here is None or not here._was_tracing):
        raise _frozen_draw(framework)
    return GLOBAL.next() if here is None else here._next(xp, device)


def _frozen_draw(framework: str) -> TracingError:
    return TracingError(
        f"A draw without a seed inside a function compiled by {framework} would be made once, "
        "while tracing, and then repeat the same numbers for ever.\n"
        "    wrong:  f = compile(lambda x: x + trellis.random_normal(shape=3))\n"
        "    right:  def f(x, key):\n"
        "                with trellis.random.stream(key):\n"
        "                    return x + trellis.random_normal(shape=3)\n"
        "Hand a new key to every call, or name a seed: trellis.random_normal(shape=3, seed=key)."
    )


# Draws that are made again
# --------------------------------------------------------------------------------


class _NotedDraws(repeating.Noted):
    """The keys that a function took at its first run, for a function that runs again."""

    def __init__(self) -> None:
        self.here, self.framework = _current.get(), tracing()
        self.keys: list[Words | Array] = []

    def enter(self, is_first: bool) -> stream:
        return _Again(self).__enter__()

    def leave(self, entered: stream) -> None:
        entered.__exit__()


class _Again(stream):
    """Gives the keys that were noted, in their order, and notes those beyond.

    Whether a draw would be frozen was decided by what was traced around the function: what traces
    it in order to run it again does so at each call.
    """

    def __init__(self, noted: _NotedDraws):
        super().__init__(0)
        self._noted = noted

    def __enter__(self) -> stream:
        super().__enter__()
        self._was_tracing = True
        return self

    def _next(self, xp: Backend, device: Device | None) -> Words | Array:
        noted, count = self._noted, self._count
        self._count = count + 1
        if count == len(noted.keys):
            noted.keys.append(_taken(noted.here, noted.framework, xp, device))
        return noted.keys[count]


repeating.makers.append(_NotedDraws)


# Seeds
# -----------------------------------------------------------------------------------------------


def as_key(seed: Seed | Words, xp: Backend, device: Device | None = None) -> Any:
    """The key of a seed, on the backend `xp`: the next one of the stream for None."""
    if seed is None:
        return next_key(xp, device)
    if isinstance(seed, tuple):
        return xp.random.make_key(*seed, device)
    if is_key(seed):
        return seed
    words = known_words(seed)
    if words is None:
        return xp.random.key_of_seed(seed)
    return xp.random.make_key(*words, device)


def is_key(x: Any) -> bool:
    """Whether `x` is a key: a uint32 array of shape (2,), or one of JAX's typed keys."""
    dtype = None if isinstance(x, int) else getattr(x, "dtype", None)
    if dtype is None:
        return False
    name = name_of(dtype)
    return name.startswith("key<") or (name == "uint32" and tuple(x.shape) == (2,))


def known_words(seed: object) -> Words | None:
    """The key words of an integer seed whose value is known now; None for a traced one."""
    if isinstance(seed, bool):
        raise _not_a_seed(seed)
    if not isinstance(seed, int):
        seed = _known_integer(seed)
        if seed is None:
            return None
    if not 0 <= seed < 2**64:
        raise ArgumentError(f"A seed must be at least 0 and below 2**64, got {seed}.")
    return seed_words(seed)


def _known_integer(seed: Any) -> int | None:
    if not hasattr(seed, "dtype") or tuple(getattr(seed, "shape", (1,))) != ():
        raise _not_a_seed(seed)
    xp = xp_of(seed)
    if not xp.isdtype(seed.dtype, "integral"):
        raise _not_a_seed(seed)
    return int(seed) if xp.is_concrete(seed) else None


def _not_a_seed(seed: object) -> ArgumentTypeError:
    kind = f"{type(seed).__name__} array" if hasattr(seed, "dtype") else type(seed).__name__
    return ArgumentTypeError(
        "A seed is an integer from 0 up, or a key made with trellis.random.key(...); got "
        f"{seed!r} ({kind})."
    )


def key_words(seed: Seed) -> Words | None:
    """The words of a seed or key whose value is known now; None for a traced one."""
    if not is_key(seed):
        return known_words(seed)
    xp = xp_of(seed)
    if not xp.is_concrete(seed):
        return None
    upper, lower = xp.to_numpy(xp.random.as_raw_key(seed)).tolist()
    return upper, lower


def seed_array(seed: Seed | Words) -> Any:
    """The seed if it is an array that decides the backend, a key or a traced integer; else None."""
    if seed is None or isinstance(seed, (int, tuple)):
        return None
    if is_key(seed):
        return seed
    return seed if known_words(seed) is None else None
