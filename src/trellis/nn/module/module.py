"""`Module`: variables with names, a forward function, and children that are modules too."""

from collections.abc import Mapping, Sequence
from inspect import Signature, signature
from types import AsyncGeneratorType, CoroutineType, GeneratorType
from typing import Any, Self, TypeVar

from ..._core import repeating
from ..._core.container import Container
from ..._core.dispatch import backend_of, xp_of
from ..._core.errors import (
    ArgumentError,
    MixedBackendsError,
    NotSupportedError,
    TrellisError,
)
from ..._core.typing import Device, DTypeLike, Nest
from ..._gradients.transforms import stop_gradient
from ..._gradients.with_grads import are_grads_on, grads_stack, using_grads
from ..._gradients.with_grads import with_grads as grads_wanted
from . import build
from .around import forward
from .buffers import (
    are_buffers_given,
    buffers,
    check_lasting_buffer,
    set_buffer,
    set_buffers,
)
from .call import Call, here
from .draw import Drawing
from .foreign import ForeignNames
from .node import Node, as_container, way_up
from .queries import TreeQueries
from .repeating import NotedModules
from .search import find_modules, holds_modules
from .state import Saving
from .summary import Summary
from .track import Tracker
from .variables import are_constant, check_lasting, set_variables, variables, variables_in

BUILD_MODES = ("on_init", "explicit", "on_call")

M = TypeVar("M")

repeating.makers.append(NotedModules)

# What runs only after the call that made it.
_LATER = (GeneratorType, CoroutineType, AsyncGeneratorType)


class _ModuleType(type):
    """Runs what has to wait until a whole constructor is done: its very last line may add a
    child."""

    def __call__(cls: type[M], *args: Any, **kwargs: Any) -> M:  # type: ignore[misc]
        backend, dtype = kwargs.get("backend"), kwargs.get("dtype")
        if kwargs.get("v") is not None:
            found = build.backend_and_dtype(kwargs["v"])
            backend, dtype = backend or found[0], found[1] if dtype is None else dtype
        with build.surroundings(backend, dtype, kwargs.get("device")):
            module: Any = type.__call__(cls, *args, **kwargs)
        node: Node = module.__node__
        node.is_constructing = False
        if node.is_built:
            build.settle_given(node)
            if not node.stores_vars:
                node.v = None
                node.update_plain()
        return module  # type: ignore[no-any-return]

    @property
    def __signature__(cls) -> Signature:
        """The arguments of the constructor, which `__call__` would hide from help() and editors."""
        whole = signature(cls.__init__)  # type: ignore[misc]
        return whole.replace(parameters=list(whole.parameters.values())[1:])


class Module(TreeQueries, Saving, Summary, Drawing, ForeignNames, metaclass=_ModuleType):
    """The base class of layers and models.

    A subclass assigns other modules to attributes, returns variables of its own from
    `_create_variables`, and computes in `_forward`. All variables of the tree are found in `v`, a
    Container named after the attributes. A call with `v=` is a pure function of these variables, in
    any number of threads, ready for `trellis.grad`, `execute_with_gradients` and the compilers.

    Extra arguments of the constructor go to `_build`. `build_mode` decides when the variables are
    created: "on_init" in the constructor, "explicit" when `build()` is called, "on_call" at the
    first
    call. `v` gives the variables, with `with_partial_v` some of them; with `store_vars=False` the
    module keeps none and every call needs `v=`. Modules made inside the constructor take over its
    `backend`, `dtype` and `device`.

    >>> import numpy as np, trellis
    >>> class Scale(trellis.Module):
    ...     def _create_variables(self, *, device, dtype):
    ...         return {"factor": trellis.full((1,), 3.0, dtype=dtype, device=device)}
    ...     def _forward(self, x):
    ...         return x * self.v.factor
    >>> module = Scale()
    >>> module(np.array([1.0, 2.0], "float32"))
    array([3., 6.], dtype=float32)
    >>> module(np.array([1.0, 2.0]), v={"factor": np.array([10.0])})
    array([10., 20.])
    """

    def __new__(cls, *args: object, **kwargs: object) -> Self:
        # Here and not in __init__: a subclass may assign children before it calls
        # super().__init__().
        module = object.__new__(cls)
        object.__setattr__(module, "__node__", Node(module))
        return module

    def __init__(
        self,
        *args: Any,
        v: Mapping[str, Any] | None = None,
        buffers: Mapping[str, Any] | None = None,
        build_mode: str = "on_init",
        store_vars: bool = True,
        with_partial_v: bool = False,
        training: bool = True,
        dtype: DTypeLike | None = None,
        device: Device | None = None,
        backend: str | None = None,
        **kwargs: Any,
    ):
        if build_mode not in BUILD_MODES:
            raise ArgumentError(
                f"build_mode must be one of {', '.join(BUILD_MODES)}, got {build_mode!r}."
            )
        node = self.__node__
        node.build_mode, node.stores_vars, node.is_training = build_mode, store_vars, training
        node.build_args, node.build_kwargs = args, kwargs
        node.dtype, node.device, node.backend = dtype, device, backend
        if v is not None:
            node.pending = (as_container(v, "v"), with_partial_v)
        if build_mode == "on_init":
            self.build()
        if buffers is not None:
            set_buffers(node, as_container(buffers, "buffers").copy())

    # To be written by subclasses
    # -------------------------------------------------------------------

    def _build(self, *args: Any, **kwargs: Any) -> bool | None:
        """Create child modules here, if not in the constructor. Return False if some are built at
        the first call."""
        return True

    def _create_variables(self, *, device: Device, dtype: DTypeLike) -> Mapping[str, Any] | None:
        """The variables of this module itself, as a dict or Container."""
        return {}

    def _forward(self, *args: Any, **kwargs: Any) -> Any:
        """What a call computes."""
        raise NotSupportedError(
            f"{type(self).__name__} does not define what a call computes: write its method "
            "_forward(self, x)."
        )

    # Building
    # --------------------------------------------------------------------------------------

    @property
    def built(self) -> bool:
        """Whether the variables have been created."""
        return self.__node__.is_built

    def build(
        self,
        *args: Any,
        from_call: bool = False,
        device: Device | None = None,
        dtype: DTypeLike | None = None,
        **kwargs: Any,
    ) -> Container:
        """Create the variables and return them.

        `_build` runs, then `_create_variables`; the variables of the modules in the attributes are
        added, a name that both have raises; the constructor's `v` takes its place; arrays that
        occur twice are kept once. If `_build` returned False and the build comes from a call,
        `_forward` runs once, so that the remaining children build too. A module that is built
        already stays as it is, and one in the mode "on_call" waits for its first call.
        """
        node = self.__node__
        with build.one_at_a_time:
            if node.is_built or (node.build_mode == "on_call" and not from_call):
                return Container() if node.v is None and node.link is None else variables(node)
            build.build(node, args, kwargs, from_call, device, dtype)
            v = variables(node)
            if not node.stores_vars and not node.is_constructing:
                node.v = None
                node.update_plain()
            return v

    def __setattr__(self, name: str, value: object) -> None:
        node = self.__node__
        if not node.is_built:
            object.__setattr__(self, name, value)
            return
        is_new, before = name not in self.__dict__, self.__dict__.get(name)
        object.__setattr__(self, name, value)
        if name not in self.__dict__:
            return
        try:
            if holds_modules(value) or holds_modules(before):
                build.collect(node)
        except TrellisError:
            if is_new:
                object.__delattr__(self, name)
            else:
                object.__setattr__(self, name, before)
            raise

    # Variables
    # -------------------------------------------------------------------------------------

    @property
    def v(self) -> Container:
        """The variables of this module and all modules below; in a call with `v=` those given to
        it.

        `child.v` is `module.v.child`. Assigning replaces them, for the parents too, without a check
        of the structure; shared arrays stay shared. Inside a function that is being compiled it
        raises: pass the variables to the call instead.
        """
        node, call = self.__node__, here.call
        if call is None:
            if node.v is not None:
                return node.v
        elif call.node is node and call.v is not None:
            return call.v
        return variables_in(call, node)

    @v.setter
    def v(self, new: Mapping[str, Any]) -> None:
        set_variables(self.__node__, new)

    @property
    def duplicates(self) -> dict[str, str]:
        """Where shared arrays are kept: {key path that was pruned from `v`: key path in `v`}."""
        return dict(self.__node__.duplicates)

    # Buffers
    # ---------------------------------------------------------------------------------------

    @property
    def buffers(self) -> Container:
        """State without gradients, such as running means, of this module and all modules below."""
        return buffers(self.__node__)

    @buffers.setter
    def buffers(self, new: Mapping[str, Any]) -> None:
        node = self.__node__
        if not are_buffers_given(node):
            check_lasting(node, as_container(new, "buffers"), "buffers")
        set_buffers(node, new)

    def register_buffer(self, name: str, value: Nest) -> None:
        """Add a buffer, or replace its value. Gradients do not flow into it.

        Inside a compiled function a new value cannot be kept on the module: there, call
        `module.apply(v, buffers, ...)`, which returns the new buffers.
        """
        kept = stop_gradient(value) if hasattr(value, "dtype") else value
        node = self.__node__
        if not are_buffers_given(node):
            check_lasting_buffer(node, name, kept)
        set_buffer(node, name, kept)

    # Modes and devices
    # -----------------------------------------------------------------------------

    @property
    def training(self) -> bool:
        """Whether layers such as dropout and batch normalisation behave as in training."""
        node, run = self.__node__, here.run
        return node.is_training if run is None else run.is_training(node)

    @training.setter
    def training(self, mode: bool) -> None:
        self.__node__.is_training = mode

    def train(self, mode: bool = True) -> Self:
        """Set `training` here and in all modules below; returns the module."""
        self.__node__.is_training = mode
        children = self.__node__.children
        for child in (
            children.values() if self.built else [found.module for found in find_modules(self)]
        ):
            child.train(mode)
        return self

    def eval(self) -> Self:
        """`train(False)`."""
        return self.train(False)

    # Calling
    # ---------------------------------------------------------------------------------------

    def __call__(
        self,
        *args: Any,
        v: Mapping[str, Any] | None = None,
        buffers: Mapping[str, Any] | None = None,
        with_grads: bool | None = None,
        track_submod_rets: bool = False,
        submod_depth: int | None = None,
        submods_to_track: "Sequence[Module] | None" = None,
        track_submod_call_order: bool = False,
        expected_submod_rets: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> Any:
        """Run `_forward`.

        `v` and `buffers` replace those of the whole tree during this call only, in this thread
        only. `with_grads=False` makes the variables constants; None asks `trellis.with_grads()`.
        `track_submod_rets` records what the modules below return in `submod_rets`,
        `track_submod_call_order` the order of their calls in `submod_call_order`;
        `expected_submod_rets` compares the returns with others. `submod_depth` and
        `submods_to_track` limit what is recorded.
        """
        node = self.__node__
        around = here.call
        is_on = not grads_stack.is_overridden or are_grads_on()
        is_tracking = (
            track_submod_rets or track_submod_call_order or expected_submod_rets is not None
        )
        if (
            v is None
            and buffers is None
            and with_grads is None
            and node.is_plain
            and not is_tracking
            and (around is None or around.tracker is None)
            and is_on
        ):
            if node.link is None:
                _check_backend(node, node.v if around is None else variables(node), args)
            return self._forward(*args, **kwargs)
        if not node.is_built:
            self.build(*args, from_call=True, **kwargs)
        call = Call(
            node,
            v if v is None or type(v) is Container else as_container(v, "v"),
            None if buffers is None else as_container(buffers, "buffers").copy(),
            around,
        )
        if not is_tracking:
            return self._run_forward(call, args, kwargs, is_on, with_grads)
        call.tracker = Tracker(
            self,
            with_rets=track_submod_rets or expected_submod_rets is not None,
            with_order=track_submod_call_order,
            expected=expected_submod_rets,
            depth=submod_depth,
            selected=submods_to_track,
        )
        try:
            return self._run_forward(call, args, kwargs, is_on, with_grads)
        finally:
            node.submod_rets, node.submod_call_order = call.tracker.rets, call.tracker.order
            node.update_plain()

    def apply(
        self,
        v: Mapping[str, Any] | None,
        buffers: Mapping[str, Any] | None,
        /,
        *args: Any,
        **kwargs: Any,
    ) -> tuple[Any, Container]:
        """A call that is pure in its buffers too; returns `(output, new buffers)`.

        Nothing on the module changes, so this is the form for compiled functions that train layers
        with running statistics. None means the module's own variables or buffers.

        >>> import numpy as np, trellis
        >>> norm = trellis.nn.BatchNorm1D(2)
        >>> y, new_buffers = norm.apply(norm.v, norm.buffers, np.ones((3, 2), "float32"))
        >>> float(new_buffers.mean[0]) > float(norm.buffers.mean[0])
        True
        """
        if not self.built:
            self.build(*args, from_call=True, **kwargs)
        given = None if v is None else as_container(v, "v")
        kept = self.buffers if buffers is None else as_container(buffers, "buffers")
        call = Call(self.__node__, given, kept.copy(), here.call)
        result = self._run_forward(call, args, kwargs, are_grads_on(), None)
        assert call.buffers is not None, "a call keeps the buffers that it was given"
        return result, call.buffers

    def _run_forward(
        self,
        call: Call,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        is_on: bool,
        with_grads: bool | None,
    ) -> Any:
        """`_forward` inside a call that was given something, or is watched."""
        node, tracker = call.node, call.tracker
        if tracker is not None and way_up(node, tracker.root.__node__) is None:
            tracker = None  # a module of another tree
        if tracker is None and not node.is_plain:
            node.submod_rets = node.submod_call_order = None
            node.update_plain()
        is_wanted = is_on if with_grads is None else grads_wanted(with_grads=with_grads)
        here.call = call
        entry = None
        try:
            if not is_wanted and not are_constant(node):
                call.v, call.is_constant = stop_gradient(variables(node)), True
            if node.link is None:
                _check_backend(node, variables(node) if call.v is None else call.v, args)
            elif not node.stores_vars:
                variables(node)
            entry = None if tracker is None else tracker.enter(self)
            if is_wanted and not is_on:
                with using_grads(True):  # the modules below ask the stack
                    result = forward(self, len(node.arounds), args, kwargs)
            else:
                result = forward(self, len(node.arounds), args, kwargs)
        finally:
            here.call = call.outer
            if tracker is not None:
                tracker.leave(entry)
        if type(result) in _LATER:
            raise NotSupportedError(
                f"{type(self).__name__}._forward gives a {type(result).__name__}, which runs after "
                "the call and would not see the variables passed to it. Return a list, or write a "
                "generator that calls the module."
            )
        if tracker is not None:
            tracker.record(self, result)
        return result

    # What a tracked call has left
    # --------------------------------------------------------------------

    @property
    def submod_rets(self) -> Container:
        """What the modules below returned in the last call, if that was tracked: NumPy arrays."""
        rets = self.__node__.submod_rets
        return Container(alphabetical_keys=False) if rets is None else rets

    @property
    def submod_call_order(self) -> Container:
        """Which modules the last call entered, in order, if that was tracked, with their
        variables."""
        order = self.__node__.submod_call_order
        return Container(alphabetical_keys=False) if order is None else order


def _check_backend(node: Node, v: Nest, args: tuple[Any, ...]) -> None:
    """Raise for inputs of another framework than the variables, which operators might silently
    mix."""
    if len(args) == 0 or not hasattr(args[0], "shape"):
        return
    leaf = v
    while isinstance(leaf, dict):
        if len(leaf) == 0:
            return
        leaf = list(dict.values(leaf))[0]  # noqa: RUF015 (compilers trace this form)
    if type(leaf) is type(args[0]) or not hasattr(leaf, "shape"):
        return
    if xp_of(args[0]) is not xp_of(leaf):
        mine, given = backend_of(leaf), backend_of(args[0])
        raise MixedBackendsError(
            f"{type(node.owner).__name__} has variables from {mine}, but its input is from "
            f"{given}. "
            f"Write trellis.to_backend(x, {mine!r}), or make the module with backend={given!r}."
        )
