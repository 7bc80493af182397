"""Compilation on torch. Python values are always static: Dynamo guards on them."""

import functools
import sys
import types
import weakref
from collections.abc import Callable
from typing import Any

import torch

from ..._core import tree
from ..._core.donation import give_away, places
from ..._core.tracing import UNREACHED, pretending, python_compiler, raise_unreached
from ._long_loops import is_too_long, loops_in_graph, say_so, state, unrolled
from ._private import is_alone, run_while_tracing, running_transform


def compile_function(
    fn: Callable[..., Any],
    *,
    static_argnums: tuple[int, ...],
    static_argnames: tuple[str, ...],
    donate_argnums: tuple[int, ...] = (),
    strict: bool = False,
    carry: int | None = None,
) -> Callable[..., Any]:
    """`fn` compiled as one graph; torch.compile with fullgraph=True is always strict."""
    if carry is not None:
        called = _compiled(_carrying(fn, carry), fn)
    elif isinstance(fn, types.FunctionType) and fn.__closure__:
        # Made anew at each call of the function around it, as `fit` makes its step.
        called = _compiled(_of_its_own(fn), fn)
    else:
        called = _compiled(fn, fn)
    return _Donating(fn, donate_argnums, called) if donate_argnums else called


def _compiled(compiled_fn: Callable[..., Any], fn: Callable[..., Any]) -> Callable[..., Any]:
    """The first one compiled; `fn` is named in errors."""
    compiled = torch.compile(compiled_fn, fullgraph=True)
    # Whether all gradients by the variables are zero although the function uses them; and whether
    # it has loops that the compiler must unroll, or cannot.
    is_flat = is_unrolled = is_long = False

    @functools.wraps(fn)
    def called(*args: Any, **kwargs: Any) -> Any:
        nonlocal is_flat, is_unrolled, is_long
        if is_flat:
            return _unchecked(compiled, args, kwargs)
        if is_long:
            return _uncompiled(compiled_fn, args, kwargs)
        before = loops_in_graph["count"]
        state.is_ours = True
        try:
            return unrolled(compiled, args, kwargs) if is_unrolled else compiled(*args, **kwargs)
        except Exception as error:
            if is_too_long(error):
                is_long = True
                say_so(fn)
                return _uncompiled(compiled_fn, args, kwargs)
            # By name: importing torch._dynamo takes a second, which only compiling should cost.
            if type(error).__module__ != "torch._dynamo.exc":
                raise
            if loops_in_graph["count"] > before and not is_unrolled:
                is_unrolled = True
                return called(*args, **kwargs)
            found = _explained(fn, args, kwargs, error)
            is_flat = found is error and UNREACHED in str(error)
            if not is_flat:
                raise found from None
        finally:
            state.is_ours = False
        return _unchecked(compiled, args, kwargs)

    return called


def _uncompiled(fn: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """The call without the compiler; what a compiler would raise for raises."""
    state.has_left = True
    try:
        with pretending("torch"):
            return fn(*args, **kwargs)
    finally:
        state.has_left = False


def _unchecked(compiled: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """The call of a function whose gradients are zeros on purpose."""
    python_compiler["when_unreached"] = bool
    try:
        return compiled(*args, **kwargs)
    finally:
        python_compiler["when_unreached"] = run_while_tracing(raise_unreached)


# Donated arguments --------------------------------------------------------------------------------


class _Donating:
    """`fn` with its results written over the tensors of some arguments.

    A tensor that may share its memory is copied first: one that is not a result of the last call
    (it may be a memory-mapped file or a NumPy array), and one to which, or to a view of which,
    there are other references. Where derivatives are recorded, which need the old values, `plain`
    is called: the same without donation.
    """

    def __init__(self, fn: Callable[..., Any], argnums: tuple[int, ...], plain: Callable[..., Any]):
        self._argnums, self._plain = argnums, plain
        self._overwriting = _compiled(_overwriting(fn, argnums), fn)
        self._last: dict[int, weakref.ref[Any]] = {}  # the tensors of the last call's results

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        leaves, spec = tree.flatten((args, kwargs))
        return self.on_leaves(leaves, spec, args, kwargs)

    def on_leaves(self, leaves: list[Any], spec: Any, args: Any, kwargs: Any) -> Any:
        """The call for arguments that are already flattened."""
        if torch.compiler.is_compiling() or _is_recorded(leaves):
            return self._plain(*args, **kwargs)
        last, is_copied = self._last, False
        for i in places(spec, self._argnums):
            x = leaves[i]
            is_last = id(x) in last and last[id(x)]() is x
            if is_last and sys.getrefcount(x) == _REFERENCES and is_alone(x):
                continue
            if isinstance(x, torch.Tensor):
                leaves[i], is_copied = x.detach().clone(), True
        given, kw = tree.unflatten(spec, leaves) if is_copied else (args, kwargs)
        results = self._overwriting(*given, **kw)
        for n in self._argnums:
            if n < len(args):
                give_away(args[n])
        tensors = [y for y in tree.leaves(results) if isinstance(y, torch.Tensor)]
        self._last = {id(y): weakref.ref(y) for y in tensors}
        return results


def _references() -> int:
    """The reference count of a tensor that only the caller's pytree, the list of leaves and a local
    name hold: it depends on the version of Python. 0, so that all are copied, if the count does not
    show another owner.
    """
    leaves = tree.flatten([torch.zeros(1)])[0]
    nest = list(leaves)
    x = leaves[0]
    alone = sys.getrefcount(x)
    nest.append(x)
    return alone if sys.getrefcount(x) == alone + 1 else 0


_REFERENCES = _references()


def _is_recorded(leaves: list[Any]) -> bool:
    if running_transform() is not None:
        return True
    tensors = [x for x in leaves if isinstance(x, torch.Tensor)]
    return torch.is_grad_enabled() and any([x.requires_grad for x in tensors])


def _overwriting(fn: Callable[..., Any], argnums: tuple[int, ...]) -> Callable[..., Any]:
    def called(*args: Any, **kwargs: Any) -> Any:
        results, spec = tree.flatten(fn(*args, **kwargs))
        olds = tree.leaves([args[n] for n in argnums if n < len(args)])
        return tree.unflatten(spec, _overwritten(olds, results))

    return _of_its_own(called)


def _overwritten(olds: list[Any], news: list[Any]) -> list[Any]:
    """Each new tensor in the memory of an old one of its shape and dtype: the first with the first,
    as for a step that returns new weights.
    """
    free: dict[Any, list[Any]] = {}
    for x in olds:
        if isinstance(x, torch.Tensor):
            free.setdefault((*x.shape, x.dtype, x.device), []).append(x)
    pairs = []
    for y in news:
        is_tensor = isinstance(y, torch.Tensor)
        same = free.get((*y.shape, y.dtype, y.device)) if is_tensor else None
        x = same.pop(0) if same else None
        # A result may be a view of an old tensor: all are copies before the first is written.
        pairs.append((x, y.clone() if is_tensor and x is not y else y))
    return [y if x is None or x is y else x.copy_(y) for x, y in pairs]


def _carrying(fn: Callable[..., Any], carry: int) -> Callable[..., Any]:
    """The new values are written over the old ones: inductor then changes only what is new."""

    def called(*args: Any) -> Any:
        results = fn(*args)
        return (*results[:-1], _written(args[carry], results[-1]))

    return _of_its_own(called)


def _of_its_own(fn: Any) -> Callable[..., Any]:
    """Dynamo limits the compilations of one code object: with a copy, each function has its own."""
    code, name, defaults = fn.__code__.replace(), fn.__name__, fn.__defaults__
    copied = types.FunctionType(code, fn.__globals__, name, defaults, fn.__closure__)
    copied.__kwdefaults__ = fn.__kwdefaults__
    return copied


def _written(old: Any, new: Any) -> Any:
    if isinstance(new, dict):
        return type(new)({key: _written(old[key], value) for key, value in new.items()})
    if isinstance(new, (list, tuple)):
        parts = [_written(a, b) for a, b in zip(old, new, strict=True)]
        return type(new)(*parts) if hasattr(new, "_fields") else type(new)(parts)
    if old is new or old.shape != new.shape or old.dtype is not new.dtype or old.ndim < 2:
        return new
    return old.copy_(new)


def _explained(
    fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], error: Exception
) -> Exception:
    """Raises the error of the function itself, if there is one, in place of Dynamo's long
    report."""
    try:
        with pretending("torch"), torch.no_grad():
            fn(*args, **kwargs)
    except Exception as own:
        return own
    return error


def for_many_calls(fn: Callable[..., Any], args: list[Any]) -> Callable[..., Any]:
    """The function itself: eager calls need no compilation here."""
    return fn
