"""Recording a Trellis program as a graph."""

import inspect
import operator
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .. import _array, fft, linalg
from .._array import (
    casting,
    creation,
    elementwise,
    indexing,
    manipulation,
    products,
    reduction,
    searching,
    sets,
    sorting,
)  # fmt: skip
from .._core import tree
from .._core.container import Container
from .._core.dispatch import backend_of, current_backend
from .._core.dtypes import name_of
from .._core.errors import ArgumentTypeError, NotSupportedError
from .._core.tracing import pretending
from .._gradients.transforms import stop_gradient
from .._recording import RecordedArray, Recorder, recording, refuse_compilers
from .._recording.modules import modules_of
from .builder import Builder
from .calls import OPERATORS
from .graph import Graph, Value
from .kernels import kernel
from .passes import drop_unused

if TYPE_CHECKING:
    from .open_sizes import Dynamic

_FILES = (casting, creation, elementwise, indexing, manipulation, products, reduction, searching,
          sets, sorting)  # fmt: skip
_GROUPS = {"linalg": linalg, "fft": fft}
# Arrays from outside the program: its constants.
_OUTSIDE = ("asarray", "from_numpy", "from_dlpack")
_CALLED = ("checkpoint", "custom_jvp", "custom_vjp")


def traced(
    fn: Callable[..., Any], args: tuple[Any, ...], dynamic: "Dynamic | None" = None
) -> Graph:
    """`trellis.trace`."""
    if dynamic:
        from .open_sizes import traced_open

        names = _parameter_names(fn, len(args))
        return traced_open(lambda given: traced(fn, tuple(given)), names, args, dynamic)
    refuse_compilers()
    if not callable(fn):
        raise ArgumentTypeError(
            f"trace() expects a function or a module, got {type(fn).__name__}. "
            "Write trellis.trace(fn, x), not trellis.trace(fn(x))."
        )
    arrays = [x for x in tree.leaves(list(args)) if hasattr(x, "dtype")]
    modules = modules_of(fn)
    for module in modules.values():
        if not module.built:
            raise ArgumentTypeError(
                f"trace() needs the variables of {type(module).__name__}, which is not built yet. "
                "Call it once, or write module.build()."
            )
        arrays += tree.leaves(module.v)
    recorder = Tracing(backend_of(arrays[0]) if arrays else current_backend())
    given = [
        (module, *recorder.variables_of(name, module, len(modules)))
        for name, module in modules.items()
    ]
    inputs = recorder.inputs_of(fn, args)
    before = [_by_chain(buffers) for _, _, buffers in given]
    with recording(recorder, given) as frames, pretending(recorder.name):
        outputs = fn(*inputs)
    graph = recorder.builder.graph
    graph.outputs = recorder.values(outputs)
    for frame, old in zip(frames, before):
        for chain, x in _by_chain(frame.buffers).items():
            if isinstance(x, RecordedArray) and x is not old.get(chain):
                place = recorder.chains.get(id(old.get(chain)), chain)
                graph.updates[place] = x.note
    drop_unused(graph)
    return graph


class Tracing(Recorder):
    """Records every call as a node."""

    def __init__(self, name: str):
        super().__init__(name)
        self.builder = Builder(_array)
        self.chains: dict[int, str] = {}
        self._constants: dict[int, tuple[Any, Value]] = {}

    # Inputs ---------------------------------------------------------------------------------------

    def variables_of(self, name: str, module: Any, count: int) -> tuple[Container, Container]:
        """The variables and buffers of a module as recorded arrays."""
        prefix = f"{name}/" if count > 1 else ""
        v = tree.map_with_key_chains(
            lambda chain, x: self._stored(self.builder.variable, prefix + chain, x), module.v
        )
        buffers = tree.map_with_key_chains(
            lambda chain, x: self._stored(self.builder.buffer, prefix + chain, x), module.buffers
        )
        return Container(v), Container(buffers)

    def inputs_of(self, fn: Callable[..., Any], args: tuple[Any, ...]) -> list[Any]:
        """The arguments with recorded arrays in them."""
        names = _parameter_names(fn, len(args))
        made: list[Any] = []
        for name, arg in zip(names, args, strict=True):
            if isinstance(arg, dict):
                prefix = "" if name == "v" else f"{name}/"
                made.append(
                    tree.map_with_key_chains(
                        lambda chain, x, prefix=prefix: self._stored(
                            self.builder.variable, prefix + chain, x
                        ),
                        arg,
                    )
                )
            elif tree.is_nest(arg):
                made.append(tree.map(lambda x, name=name: self._input(name, x), arg))
            else:
                made.append(self._input(name, arg))
        return made

    def _stored(self, make: Callable[..., Value], chain: str, x: Any) -> Any:
        if not hasattr(x, "dtype"):
            return x
        while chain in self.builder.graph.variables or chain in self.builder.graph.buffers:
            chain += "_"
        made = RecordedArray(x, self, make(chain, *self._known(x)))
        self.chains[id(made)] = chain
        return made

    def _input(self, name: str, x: Any) -> Any:
        if not hasattr(x, "dtype"):
            return x
        return RecordedArray(x, self, self.builder.input(name, *self._known(x)))

    def _known(self, x: Any) -> tuple[tuple[int, ...], str]:
        return tuple([int(n) for n in x.shape]), self.xp.dtype_name(x.dtype)

    # Calls ----------------------------------------------------------------------------------------

    def saw(self, name: str, fn: Any, args: Any, kwargs: Any, result: Any) -> Any:  # fmt: skip
        if name.rpartition(".")[2] in _OUTSIDE and isinstance(result, self.xp.ARRAY_TYPES):
            found = [x for x in args if isinstance(x, RecordedArray)]
            if not found:
                return RecordedArray(result, self, self._constant(result))
            name, args, kwargs = "astype", (found[0], result.dtype), {}
        if name in ("astype", "to_device") and args[0].dtype == result.dtype:
            return args[0]
        place = self.places.find()
        self.builder.source = place.public or name
        self.builder.where = ", ".join([text for text in (place.module, place.where) if text])
        op = fn if fn in OPERATORS or fn is operator.getitem else _public(name)
        options = {k: self.values(x) for k, x in kwargs.items() if k != "device"}
        value = self.builder.call(op, *self.values(args), **options)
        return self._described(value, result)

    def _described(self, value: Value, result: object) -> Any:
        if isinstance(result, self.xp.ARRAY_TYPES):
            value = self.builder.described(value, *self._known(result))
            return RecordedArray(result, self, value)
        if isinstance(result, (tuple, list)):
            items = [
                self._described(self.builder.call(operator.getitem, value, i), x)
                for i, x in enumerate(result)
            ]
            is_named = hasattr(result, "_fields")
            return type(result)(*items) if is_named else type(result)(items)
        return result

    def values(self, nest: Any) -> Any:
        """The pytree as arguments of a node."""
        if isinstance(nest, RecordedArray):
            return nest.note
        if isinstance(nest, (tuple, list)):
            items = [self.values(item) for item in nest]
            return items if isinstance(nest, list) else tuple(items)
        if isinstance(nest, dict):
            return {key: self.values(item) for key, item in nest.items()}
        if isinstance(nest, slice):
            return slice(*self.values((nest.start, nest.stop, nest.step)))
        if isinstance(nest, self.xp.ARRAY_TYPES):
            return self._constant(nest)
        if nest is None or nest is Ellipsis or type(nest) in (bool, int, float, complex, str):
            return nest
        if isinstance(nest, (bool, int, float, complex)):
            return nest.real if isinstance(nest, int) else type(nest).__mro__[1](nest)
        return name_of(nest)  # a data type

    def _constant(self, x: Any) -> Value:
        if id(x) not in self._constants:
            known = self.builder.constant(self.xp.to_numpy(x))
            self._constants[id(x)] = (x, replace(known, dtype=self.xp.dtype_name(x.dtype)))
        return self._constants[id(x)][1]

    # What raises ----------------------------------------------------------------------------------

    def is_concrete(self) -> bool:
        return False

    def leaving(self, x: RecordedArray, how: str) -> Any:
        raise NotSupportedError(
            f"trace() found a program that reads the values of an array as {how}, at "
            f"{self.places.find().where}: results that depend on them would be the same for all "
            "inputs. Use trellis.where, or move this out of the traced function."
        )

    def native_call(
        self, name: str, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        raise NotSupportedError(
            f"trace() found {name} at {self.places.find().where}, a function of the framework "
            "itself. Use the Trellis function instead: a graph contains only Trellis functions."
        )

    def higher(
        self, name: str, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        if name == "scan":
            return self._unrolled(*args)
        if name in _CALLED:
            return args[0]
        raise NotSupportedError(
            f"trace() found {name} at {self.places.find().where}, whose arguments are functions. A "
            "graph contains only forward computations without branches: trace the inner function "
            "itself, and differentiate or loop over its source in its framework."
        )

    def _unrolled(self, fn: Callable[..., Any], init: Any, xs: Any) -> Any:
        """A loop of known length, unrolled step by step."""
        steps = int(tree.leaves(xs)[0].shape[0])
        carry, ys = init, []
        for t in range(steps):
            carry, y = fn(carry, tree.map(lambda x, t=t: x[t], xs))
            ys.append(y)
        stacked = tree.map(lambda *rows: self.call("stack", (list(rows),), {"axis": 0}), *ys)
        return carry, stacked


def _public(name: str) -> Callable[..., Any]:
    """The function that represents a call of the backend in a graph."""
    group, _, last = name.rpartition(".")
    if group in _GROUPS:
        return getattr(_GROUPS[group], last)  # type: ignore[no-any-return]
    if name == "stop_gradient":
        return stop_gradient
    found = kernel(name)
    for file in _FILES if found is None else ():
        found = found or getattr(file, name, None)
    if found is None:
        raise NotSupportedError(f"trace() cannot record {name} in a graph.")
    return found


def _by_chain(nest: Any) -> dict[str, Any]:
    return {} if not nest else {chain: nest[chain] for chain in nest.key_chains()}


def _parameter_names(fn: Callable[..., Any], count: int) -> list[str]:
    forward = getattr(fn, "_forward", fn)
    try:
        parameters = list(inspect.signature(forward).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    names = [p.name for p in parameters if p.kind in kinds][:count]
    return names + [f"x{i}" for i in range(len(names), count)]
