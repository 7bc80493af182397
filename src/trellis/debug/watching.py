"""`watch`: hooks on all modules of a tree for the time of a `with` block."""

from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from .._array.interchange import to_numpy
from .._core import tree
from .._core.arrays import is_array
from .._core.dtypes import FLOATING, name_of
from .._core.errors import ArgumentTypeError
from .._core.tracing import lasts, tracing
from .._core.typing import Array
from .._gradients.transforms import bind_custom_gradient_function, stop_gradient
from .report import findings, table
from .statistics import Statistics

if TYPE_CHECKING:
    from ..nn import Module


class Watch:
    """What `watch` has seen: `activations` and `gradients` by the names of modules, `findings` in
    words, `first_nonfinite`; printed, it is a table."""

    def __init__(self, model: "Module", show: bool):
        if not (hasattr(model, "apply") and hasattr(model, "built")):
            raise ArgumentTypeError(
                f"watch() expects a trellis.Module, got {type(model).__name__}."
            )
        self._model, self._is_shown = model, show
        self.activations: dict[str, Statistics] = {}
        self.gradients: dict[str, Statistics] = {}
        self.kinds: dict[str, str] = {}
        self.first_nonfinite: str | None = None
        self.compiled_calls = 0
        self._hooked: list[Any] = []

    def __enter__(self) -> Self:
        for name, module in _named(self._model):
            if "_forward" in vars(module):  # watched already, from further out
                continue
            self.kinds[name] = type(module).__name__
            self._hooked.append(module)
            # An attribute of the instance comes before the method. Modules are looked through when
            # attributes are assigned; this is none that they should see.
            object.__setattr__(module, "_forward", _Hook(self, name, module._forward))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for module in self._hooked:
            object.__delattr__(module, "_forward")
        self._hooked = []
        if self._is_shown:
            print(self)

    @property
    def findings(self) -> list[str]:
        """What looks wrong, in sentences: dead units, norms that explode or vanish, the first value
        that is not finite, calls that could not be seen."""
        return findings(self)

    def __str__(self) -> str:
        return "\n".join([table(self), *self.findings])

    # Called by the hooks
    # --------------------------------------------------------------------------------

    def see_output(self, name: str, args: tuple[Any, ...], result: Any) -> Any:
        """Note the arrays that a module returned, and let their gradients be noted."""
        leaves = [x for x in tree.leaves(result) if _is_float(x)]
        if leaves and _values(leaves[0]) is not None:
            self.activations.setdefault(name, Statistics()).calls += 1
        return tree.map(lambda x: self._seen(name, args, x) if _is_float(x) else x, result)

    def _seen(self, name: str, args: tuple[Any, ...], x: Array) -> Any:
        values = _values(x)
        if values is None:
            self.compiled_calls += 1
            return x
        found = self.activations.setdefault(name, Statistics())
        if not found.add(values) and self.first_nonfinite is None:
            inputs = [_values(each) for each in tree.leaves(args) if _is_float(each)]
            are_bad = [each is not None and not np.isfinite(each).all() for each in inputs]
            variables = [_values(each) for _, each in self._parameters(name) if _is_float(each)]
            from_variables = any(
                [each is not None and not np.isfinite(each).all() for each in variables]
            )
            why = ", because its input is not" if any(are_bad) else ""
            why = ", because its variables are not" if not why and from_variables else why
            self._note(name, found.calls, f"the output is not finite{why}")
        return bind_custom_gradient_function(
            lambda x: x, lambda pair, upstream: self._see_gradient(name, upstream)
        )(x)

    def _see_gradient(self, name: str, gradient: Array) -> Array:
        values = _values(gradient)
        if values is None:
            self.compiled_calls += 1
            return gradient
        found = self.gradients.setdefault(name, Statistics())
        found.calls += 1
        if not found.add(values) and self.first_nonfinite is None:
            self._note(name, found.calls, "the gradient by its output is not finite")
        return gradient

    def _note(self, name: str, call: int, what: str) -> None:
        self.first_nonfinite = f"{name or '.'} ({self.kinds[name]}), call {call}: {what}"

    def _parameters(self, name: str) -> Any:
        return dict(_named(self._model))[name].parameters()


def watch(model: "Module", /, *, show: bool = True) -> Watch:
    """Statistics of what every module returns, and of the gradients by it, in a `with` block.

    At the end of the block a table is printed (unless `show=False`), and below it what looks wrong:
    units that are 0 in every example, norms that explode or vanish, the first module whose output
    or gradient is not finite. The object has the same as attributes.

    Values are read where Python runs: in eager calls, on every framework, with or without
    gradients. A compiled function runs without Python; what it computes is not seen, and the report
    says so. Switch compilation off for the block then, with `trellis.using_compilation(False)`;
    `train.fit` runs eagerly in it too.

    >>> import numpy as np, trellis
    >>> nn = trellis.nn
    >>> model = nn.Sequential(nn.Linear(2, 2, bias_initializer=nn.init.Constant(-9.0)), nn.ReLU())
    >>> x = np.ones((4, 2), "float32")
    >>> with trellis.debug.watch(model, show=False) as seen:
    ...     grads = trellis.grad(lambda v: trellis.sum(model(x, v=v)))(model.v)
    >>> seen.activations["layers_v1"].dead
    [0, 1]
    >>> seen.findings[0]
    'layers_v1 (ReLU): 2 of 2 units are dead (0 in every example).'
    """
    return Watch(model, show)


class _Hook:
    """Runs a module's own `_forward`, and shows what it returned."""

    def __init__(self, seen: Watch, name: str, forward: Any):
        self._seen, self._name, self._run = seen, name, forward

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._seen.see_output(self._name, args, self._run(*args, **kwargs))


def _named(module: Any) -> list[tuple[str, Any]]:
    """All modules of a tree with their names, parents first; the root is ""."""
    found: list[tuple[str, Any]] = []
    seen: set[int] = set()

    def visit(module: Any, name: str) -> None:
        if id(module) in seen:
            return
        seen.add(id(module))
        found.append((name, module))
        for key, child in module.__node__.children.items():
            visit(child, f"{name}/{key}" if name else key)

    visit(module, "")
    return found


def _is_float(x: Any) -> bool:
    return is_array(x) and name_of(x.dtype) in FLOATING


def _values(x: Array) -> np.ndarray | None:
    """A NumPy copy; None inside a function that is being compiled."""
    if tracing() is not None:
        return None
    kept = stop_gradient(x)
    if not lasts(kept):
        return None
    return np.asarray(to_numpy(kept))
