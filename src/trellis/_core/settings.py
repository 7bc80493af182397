"""A setting with a process-wide value that a thread or an async task can override for itself."""

import sys
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, ContextDecorator, ExitStack, contextmanager
from contextvars import ContextVar
from typing import Any, Generic, TypeVar

from . import repeating
from .following import is_followed

T = TypeVar("T")

_all: list["Setting[Any]"] = []


class Setting(Generic[T]):
    """In the main program `set` applies to the whole process; in a thread or a task only there.

    >>> colour = Setting("colour", "green")
    >>> with colour.using("red"):
    ...     colour.get()
    'red'
    >>> colour.get()
    'green'
    """

    # torch.compile cannot read context variables. While the setting is not overridden it reads
    # plain
    # attributes, and guards them; the torch backend declares `_look_up` a constant of the compiled
    # function, and its argument is there to be guarded. A `with` block inside a compiled function
    # is kept in `_traced`, for settings whose reader torch.compile replaces by `while_traced`: to
    # look there at every call would cost 50 ns.

    def __init__(self, name: str, default: T, is_traceable: bool = False):
        self._process_wide = default
        self._here: ContextVar[_Override[T] | None] = ContextVar(name, default=None)
        self._overrides: set[int] = set()
        self.is_overridden = False  # by any thread or task
        self._latest: T | None = None
        self._traced = _Traced() if is_traceable else None
        # An override may be freed, by the garbage collector, while another one is being noted.
        self._lock = threading.RLock()
        _all.append(self)

    def get(self) -> T:
        if self.is_overridden:
            return self._look_up(self._latest)
        return self._process_wide

    def _look_up(self, latest: T | None) -> T:
        here = self._here.get()
        return self._process_wide if here is None else here.value

    def set(self, value: T) -> None:
        # A thread started later does not inherit context variables in Python 3.11, yet a caller who
        # sets
        # a default in the main program expects worker threads to follow it.
        in_main_program = threading.current_thread() is threading.main_thread()
        if in_main_program and not _in_event_loop() and self._here.get() is None:
            self._process_wide = value
        else:
            self.set_here(value)

    def set_here(self, value: T) -> None:
        """Set it for this thread or task only, also in the main program."""
        self._here.set(_Override(self, value))

    def unset_here(self) -> None:
        """Undo `set_here` for this thread or task."""
        self._here.set(None)

    def while_traced(self) -> T:
        """`get`, in a function that torch.compile traces."""
        value: T | None = None if self._traced is None else self._traced.value
        return self.get() if value is None else value

    @contextmanager
    def using(self, value: T) -> Iterator[None]:
        if self._traced is not None and is_followed():
            outer = self._traced.value
            self._traced.value = value
            try:
                yield
            finally:
                self._traced.value = outer
            return
        before = self._here.get()
        token = self._here.set(_Override(self, value))
        try:
            yield
        finally:
            self._here.reset(token)
            self._latest = None if before is None else before.value

    def _note(self, override: "_Override[T]", is_alive: bool) -> None:
        with self._lock:
            if is_alive:
                self._latest = override.value
                self._overrides.add(id(override))
            else:
                self._overrides.discard(id(override))
            self.is_overridden = len(self._overrides) > 0


class Using(AbstractContextManager[None], ContextDecorator):
    """What `using` returns: for a `with` block, or a decorator."""


class _Traced(threading.local):
    """The value of a `with` block in a function that is being traced; None outside of one."""

    def __init__(self) -> None:
        # In each thread: compiled functions guard on whether it is an attribute of the object.
        self.value: Any = None


class _Override(Generic[T]):
    """A value for one thread or task; it ends with that thread or task, or with its `with`
    block."""

    __slots__ = ("_setting", "value")

    def __init__(self, setting: Setting[T], value: T):
        self._setting = setting
        self.value = value
        setting._note(self, True)

    def __del__(self) -> None:
        self._setting._note(self, False)


def _in_event_loop() -> bool:
    # A program that runs a loop has imported asyncio; importing it here would cost every user 40
    # ms.
    asyncio = sys.modules.get("asyncio")
    return asyncio is not None and asyncio._get_running_loop() is not None


class _NotedSettings(repeating.Noted):
    """The values of all settings, for a function that runs again."""

    def __init__(self) -> None:
        self._values = [(setting, setting.get()) for setting in _all]

    def enter(self, is_first: bool) -> ExitStack:
        stack = ExitStack()
        for setting, value in self._values:
            if setting.get() != value:
                stack.enter_context(setting.using(value))
        return stack

    def leave(self, entered: ExitStack) -> None:
        entered.close()


repeating.makers.append(_NotedSettings)
