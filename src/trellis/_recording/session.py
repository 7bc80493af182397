"""A recording: recording backends, their rows in the dispatch table, and what they report to."""

import threading
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from .._array.compilation import using_compilation
from .._core import dispatch, tree
from .._core.container import Container
from .._core.dispatch import load, using_backend
from .._core.errors import NotSupportedError, TracingError
from .._core.tracing import tracing
from ..nn import Module
from .array import RecordedArray
from .modules import given
from .place import Given, Places

# Functions that tell something of arrays or types and compute nothing.
_TELLING = frozenset(
    {"dtype_name", "as_dtype", "is_tracing", "is_concrete", "lasts", "layer_types", "device"}
    | {"finfo", "iinfo", "isdtype", "result_type", "can_cast", "check_leaving", "key_device"}
    | {"compile_function", "__array_namespace_info__"}
)
_GROUPS = ("linalg", "fft", "random")
_OF_THE_BACKEND = ("ABILITIES", "ARRAY_TYPES", "NAME")
_lock = threading.RLock()


class _Mine(threading.local):
    """The recorder of this thread. In the thread's own storage, which torch.compile can read: a
    compiled function in another thread goes on, after one more compilation."""

    def __init__(self) -> None:
        self.recorder: Recorder | None = None


_mine = _Mine()


class Recorder:
    """Sees each call of a program that runs on one backend. What it does with them is said by
    `saw`, `leaving` and `is_concrete` of the classes below it."""

    moves = False  # whether arrays of other frameworks are brought to this one

    def __init__(self, name: str):
        self.name = name
        # The module itself: while another thread records, `load` returns its recording backend.
        load(name)
        self.xp: Any = dispatch.loaded[name]
        self.places = Places()
        self.is_paused = False  # inside functions that are differentiated or looped over
        self.backend = RecordingBackend(self, self.xp)

    # To be written by subclasses ------------------------------------------------------------------

    def saw(self, name: str, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any],
            result: object) -> Any:  # fmt: skip
        """A call was made; returns its result, with recorded arrays in it."""
        raise NotImplementedError

    def leaving(self, x: RecordedArray, how: str) -> Any:
        """The values of an array are about to be used outside the program."""
        return x.native

    def is_concrete(self) -> bool:
        """Whether the library may look at values."""
        return True

    def higher(
        self, name: str, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """A call that was given functions: one call, whose inner ones are not seen."""
        return self._run(name, fn, args, kwargs)

    # The ways in ----------------------------------------------------------------------------------

    def call(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of a function of the backend."""
        fn: Any = self.xp
        for part in name.split("."):
            fn = getattr(fn, part)
        if any([is_function(x) for x in (*args, *kwargs.values())]):
            return self.higher(name, fn, args, kwargs)
        return self._run(name, fn, args, kwargs)

    def operate(self, op: Callable[..., Any], *args: Any) -> Any:
        """An operator."""
        return self._run(op.__name__.strip("_"), op, args, {})

    def native_call(
        self, name: str, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """A function of the framework itself."""
        return self._run(name, fn, args, kwargs)

    def attribute(self, x: RecordedArray, name: str) -> Any:
        """An attribute or a method of the framework's array."""
        found = getattr(x.native, name)
        if not callable(found):
            return self._run(f"array.{name}", lambda y: getattr(y, name), (x,), {})
        if name in ("item", "tolist", "numpy"):
            return getattr(self.leaving(x, f".{name}()"), name)
        return lambda *args, **kwargs: self.native_call(
            f"array.{name}", lambda y, *a, **k: getattr(y, name)(*a, **k), (x, *args), kwargs
        )

    def _run(self, name: str, fn: Any, args: Any, kwargs: Any) -> Any:
        result = fn(*self.natives(args), **self.natives(kwargs))
        if result is None or result is NotImplemented or self.is_paused:
            return result
        return self.saw(name, fn, args, kwargs, result)

    # In and out of recorded arrays ----------------------------------------------------------------

    def natives(self, nest: Any) -> Any:
        """The pytree with the framework's own arrays in it."""
        if isinstance(nest, RecordedArray):
            return nest.native
        if isinstance(nest, tuple):
            items = [self.natives(item) for item in nest]
            return type(nest)(*items) if hasattr(nest, "_fields") else tuple(items)
        if isinstance(nest, list):
            return [self.natives(item) for item in nest]
        if isinstance(nest, dict):
            return tree.map(self.natives, nest)
        if isinstance(nest, slice):
            return slice(*self.natives((nest.start, nest.stop, nest.step)))
        if is_function(nest):
            return self._paused(nest)
        if self.moves and hasattr(nest, "dtype") and not isinstance(nest, type):
            return self._brought(nest)
        return nest

    def recorded(self, nest: object, wrap: Callable[[Any], RecordedArray]) -> Any:
        """The pytree with `wrap(array)` in the place of arrays of the framework."""
        if isinstance(nest, self.xp.ARRAY_TYPES):
            return wrap(nest)
        if isinstance(nest, (tuple, list)):
            items = [self.recorded(item, wrap) for item in nest]
            return type(nest)(*items) if hasattr(nest, "_fields") else type(nest)(items)
        if isinstance(nest, dict):
            return tree.map(lambda leaf: self.recorded(leaf, wrap), nest)
        if is_function(nest):
            return lambda *args, **kwargs: self._run("function", nest, args, kwargs)
        return nest

    def _paused(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        def plain(*args: Any, **kwargs: Any) -> Any:
            before, self.is_paused = self.is_paused, True
            try:
                return self.natives(fn(*args, **kwargs))
            finally:
                self.is_paused = before

        return plain

    def _brought(self, x: Any) -> Any:
        """An array of another framework in this one, past the recording backends."""
        if isinstance(x, self.xp.ARRAY_TYPES):
            return x
        for other in dispatch.loaded.values():
            if isinstance(x, other.ARRAY_TYPES):
                return self.xp.from_numpy(other.to_numpy(x))
        return x


def is_function(x: object) -> bool:
    """Whether an argument is a function to be called, no data type or array."""
    return callable(x) and not hasattr(x, "dtype") and not isinstance(x, type)


class RecordingBackend:
    """A row of the dispatch table while a recording runs. Threads that take no part get the
    backend itself."""

    def __init__(self, recorder: Recorder, native: Any, group: str = ""):
        self._recorder, self._native, self._group = recorder, native, group
        # A group may be a module of any name: that of a package need not be inside its backend's.
        own = getattr(recorder.xp, group, None) if group else recorder.xp
        self._is_own = native is own
        self.__name__ = native.__name__

    def __getattr__(self, name: str) -> Any:
        if _mine.recorder is None:
            return getattr(self._native, name)
        found = getattr(self._native, name)
        recorder = self._recorder
        if not recorder.moves and not self._is_own:
            return found
        if name in _GROUPS and not self._group:
            return RecordingBackend(recorder, found, name)
        if not callable(found) or isinstance(found, type):
            is_moved = recorder.moves and not self._group and name not in _OF_THE_BACKEND
            return getattr(recorder.xp, name) if is_moved else found
        if name in _TELLING:
            return self._telling(name, found)
        if name == "to_numpy":
            return lambda x, /: recorder.xp.to_numpy(
                recorder.leaving(x, "a NumPy array") if isinstance(x, RecordedArray) else x
            )
        full = f"{self._group}.{name}" if self._group else name
        return lambda *args, **kwargs: recorder.call(full, args, kwargs)

    def _telling(self, name: str, found: Any) -> Any:
        recorder = self._recorder
        owner = getattr(recorder.xp, self._group) if self._group else recorder.xp

        def tell(*args: Any, **kwargs: Any) -> Any:
            if name in ("is_concrete", "lasts") and isinstance(args[0], RecordedArray):
                return recorder.is_concrete()
            return getattr(owner, name)(*recorder.natives(args), **recorder.natives(kwargs))

        return tell

    def joined(self, other: object) -> Any:
        """The backend of a call that has arrays of this one and of another one, if there is any."""
        recorder = self._recorder
        is_ours = _mine.recorder is recorder and isinstance(other, RecordingBackend)
        return recorder.backend if is_ours and recorder.moves else None


def refuse_compilers() -> None:
    """Raise while a compiler traces: there are no values to look at."""
    compiler = tracing()
    if compiler is not None:
        raise TracingError(
            f"A recording looks at the values of a running program; {compiler} is compiling one "
            "now. Call it outside the compiled function."
        )


class recording:
    """Inside the block, in this thread, calls go through the recorder; modules have the given
    variables and buffers. One recording at a time: another thread waits until it ends."""

    def __init__(self, recorder: Recorder, variables: list[tuple[Module, Container, Container]]):
        self._recorder, self._variables = recorder, variables

    def __enter__(self) -> list[Given]:
        refuse_compilers()
        if _mine.recorder is not None:
            raise NotSupportedError(
                "A recorded function cannot start a recording of its own: take the inner "
                "trellis.trace() or trellis.diverge() out of it."
            )
        with ExitStack() as stack:
            _lock.acquire()
            stack.callback(_lock.release)
            stack.enter_context(_rows(self._recorder))
            stack.enter_context(using_backend(self._recorder.name))
            stack.enter_context(using_compilation(False))
            frames = stack.enter_context(given(self._variables))
            self._stack = stack.pop_all()
        return frames

    def __exit__(self, *exception: object) -> None:
        self._recorder.places.forget()
        self._stack.close()


class _rows:
    """Puts recording backends into the table and takes them out again."""

    def __init__(self, recorder: Recorder):
        self._recorder = recorder

    def __enter__(self) -> None:
        recorder = self._recorder
        self._natives = dict(dispatch.loaded)
        backends = {
            name: recorder.backend if name == recorder.name else RecordingBackend(recorder, native)
            for name, native in self._natives.items()
        }
        by_native = {id(native): backends[name] for name, native in self._natives.items()}
        self._before = [
            (table, cls, row)
            for table in (dispatch._by_type, dispatch._more_types)
            for cls, row in table.items()
            if id(row) in by_native
        ]
        _mine.recorder = recorder
        for name, backend in backends.items():
            dispatch.stand_in(name, backend)
        for table, cls, row in self._before:
            table[cls] = by_native[id(row)]
        dispatch._by_type[RecordedArray] = recorder.backend

    def __exit__(self, *exception: object) -> None:
        dispatch._by_type.pop(RecordedArray, None)
        for table, cls, row in self._before:
            table[cls] = row
        for name, native in self._natives.items():
            dispatch.stand_in(name, native)
        _mine.recorder = None
