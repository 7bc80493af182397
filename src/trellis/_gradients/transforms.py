"""Derivatives of functions of arrays: the same transforms on four frameworks, NumPy included.

Every function here takes pytrees wherever it takes arrays. Derivatives keep the dtype and device of
what they belong to; inputs that do not influence the output get zeros; inf and nan are kept. The
conventions at kinks and ties are in the documentation's table of gradient conventions.
"""

from collections.abc import Callable, Sequence
from typing import Any

from .._core import tree
from .._core.arrays import is_array, plain
from .._core.container import Container
from .._core.dispatch import xp_of, xp_of_any
from .._core.dtypes import FLOATING, INTEGER, default_dtype, name_of
from .._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    DtypeError,
    MixedBackendsError,
    ShapeError,
)
from .._core.kinds import check_callable
from .._core.shapes import check_new_axis
from .._core.tracing import is_followed, python_compiler
from .._core.typing import Array, Backend, Nest, T

# Called with the function, the names of its leaves, and the function over those leaves.
WhenUnreached = Callable[[Callable[..., Any], Sequence[str], Callable[[list[Any]], Any]], None]


def grad(
    func: Callable[..., Any], argnums: int | Sequence[int] = 0, *, allow_unused: bool = False
) -> Callable[..., Any]:
    """The gradient of a function with a scalar output.

    There is no implicit sum: a second derivative is `grad(lambda x: sum(grad(f)(x)))`. A function
    of a model's variables that uses none of them raises, unless `allow_unused`.

    >>> import numpy as np, trellis
    >>> trellis.grad(lambda x: trellis.sum(x**3))(np.array([1.0, 2.0]))
    array([ 3., 12.])
    """
    check_callable("grad", func)
    evaluate = value_and_grad(func, argnums, allow_unused=allow_unused)

    def gradient(*args: Any, **kwargs: Any) -> Any:
        return evaluate(*args, **kwargs)[1]

    return gradient


def value_and_grad(
    func: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    *,
    allow_unused: bool = False,
) -> Callable[..., Any]:
    """The value and the gradient of a function with a scalar output, in one evaluation.

    `argnums` an int: the gradient is structured like that argument; a sequence: a tuple of
    gradients. With `has_aux` the function returns `(value, aux)` and the result is `((value, aux),
    gradients)`.

    A function of a model's variables that uses none of them raises, as a loss that calls
    `model(x)` in place of `model(x, v=v)`; with `allow_unused` its gradients are zeros.

    >>> import numpy as np, trellis
    >>> value, g = trellis.value_and_grad(lambda x: trellis.sum(x * x))(np.array([3.0, 4.0]))
    >>> float(value), g
    (25.0, array([6., 8.]))
    """
    check_callable("value_and_grad", func)
    argnums = plain(argnums)
    return differentiated(func, argnums, has_aux, None if allow_unused else raise_if_unused)


def differentiated(
    func: Callable[..., Any],
    argnums: int | Sequence[int],
    has_aux: bool,
    when_unreached: WhenUnreached | None,
) -> Callable[..., Any]:
    """`value_and_grad`, and what to do where the value leads back to none of the leaves."""
    positions = _positions(argnums)

    def evaluate(*args: Any, **kwargs: Any) -> Any:
        given = [_argument(args, n, func) for n in positions]
        xp, xs, spec = _leaves_of(given, args)

        def on_leaves(leaves: list[Any]) -> tuple[list[Any], Any]:
            chosen = tree.unflatten(spec, leaves)
            full = list(args)
            for n, part in zip(positions, chosen):
                full[n] = part
            result = func(*full, **kwargs)
            value, aux = _value_and_aux(result, func) if has_aux else (result, None)
            y = _scalar(value, xp, func)
            if y is not value:
                replaced.append(value)
            return [y], aux

        replaced: list[Any] = []
        values, aux, found = xp.value_and_grad(on_leaves, xs)
        if any([g is None for g in found]):
            if when_unreached is not None and all([g is None for g in found]):
                from .unused import names_of

                if when_unreached is not raise_if_unused or has_variables(given):
                    when_unreached(func, names_of(given, positions), on_leaves)
            found = zeros_for_none(xp, found, xs)
        gradients = tree.unflatten(spec, found)
        value = _like(replaced[-1], values[0]) if replaced else values[0]
        result = (value, aux) if has_aux else value
        return result, gradients[0] if isinstance(argnums, int) else tuple(gradients)

    return evaluate


def has_variables(arguments: object) -> bool:
    """Whether variables of a model are among them. Other inputs that do not influence the output
    have zeros for gradients."""
    items = arguments if isinstance(arguments, (list, tuple)) else [arguments]
    return any([isinstance(x, Container) for x in items])


def raise_if_unused(
    func: Callable[..., Any], names: Sequence[str], on_leaves: Callable[[list[Any]], Any]
) -> None:
    if is_followed():
        python_compiler["when_unreached"]()
        return
    from .unused import check_use

    check_use(func, names, on_leaves)


def zeros_for_none(xp: Backend, gradients: list[Any], xs: list[Any]) -> list[Any]:
    return [xp.zeros_like(x) if g is None else g for g, x in zip(gradients, xs, strict=True)]


def vjp(func: Callable[..., Any], *primals: object) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    """The output of `func(*primals)`, and the map from a cotangent to one gradient per primal.

    The cotangent has the structure, shapes and dtypes of the output. The map may be called
    repeatedly.

    >>> import numpy as np, trellis
    >>> out, pull = trellis.vjp(lambda x, y: x * y, np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    >>> pull(np.array([1.0, 1.0]))
    (array([3., 4.]), array([1., 2.]))
    """
    check_callable("vjp", func)
    xp, xs, spec = _leaves_of(list(primals), primals)
    out_specs: list[Any] = []

    def on_leaves(leaves: list[Any]) -> tuple[list[Any], Any]:
        outputs, out_spec = tree.flatten(func(*tree.unflatten(spec, leaves)))
        out_specs.append(out_spec)
        return [_float_output(y, xp, func) for y in outputs], None

    ys, _, pull = xp.vjp(on_leaves, xs)
    out_spec = out_specs[-1]

    def pull_back(cotangent: Nest, /) -> tuple[Any, ...]:
        gs = _like_outputs(cotangent, ys, out_spec, xp)
        return tuple(tree.unflatten(spec, pull(gs)))

    return tree.unflatten(out_spec, ys), pull_back


def jvp(
    func: Callable[..., Any], primals: tuple[Any, ...], tangents: tuple[Any, ...]
) -> tuple[Any, Any]:
    """The output of `func(*primals)` and its derivative in the direction of `tangents`.

    >>> import numpy as np, trellis
    >>> trellis.jvp(trellis.square, (np.array([3.0]),), (np.array([1.0]),))
    (array([9.]), array([6.]))
    """
    check_callable("jvp", func)
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise ArgumentTypeError("jvp() expects a tuple of primals and a tuple of tangents.")
    xp, xs, spec = _leaves_of(list(primals), primals)
    columns, _ = tree.align((list(primals), list(tangents)))
    ts = [_tangent(t, x, xp) for t, x in zip(columns[1], xs, strict=True)]
    out_specs: list[Any] = []

    def on_leaves(leaves: list[Any]) -> tuple[list[Any], Any]:
        outputs, out_spec = tree.flatten(func(*tree.unflatten(spec, leaves)))
        out_specs.append(out_spec)
        return [_float_output(y, xp, func) for y in outputs], None

    ys, pushed, _ = xp.jvp(on_leaves, xs, ts)
    return tree.unflatten(out_specs[-1], ys), tree.unflatten(out_specs[-1], pushed)


def jac(func: Callable[[Any], Any], *, mode: str = "reverse") -> Callable[[Any], Any]:
    """The Jacobian of a function of one argument: shape `out.shape + in.shape`.

    For an output pytree O and an input pytree I the result has structure O with structure I at each
    leaf. `mode="forward"` costs one pass per input element instead of one per output element.

    >>> import numpy as np, trellis
    >>> trellis.jac(lambda x: x * x)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """
    check_callable("jac", func)
    if mode not in ("reverse", "forward"):
        raise ArgumentError(f"jac() knows the modes 'reverse' and 'forward', not {mode!r}.")

    def jacobian(x: Array, /) -> Any:
        xp, xs, spec = _leaves_of(x, (x,))
        out_specs: list[Any] = []

        def on_leaves(leaves: list[Any]) -> list[Any]:
            outputs, out_spec = tree.flatten(func(tree.unflatten(spec, leaves)))
            out_specs.append(out_spec)
            return [_float_output(y, xp, func) for y in outputs]

        rows = xp.jacobian(on_leaves, xs) if mode == "reverse" else _forward_rows(xp, on_leaves, xs)
        return tree.unflatten(out_specs[-1], [tree.unflatten(spec, list(row)) for row in rows])

    return jacobian


def _forward_rows(
    xp: Backend, on_leaves: Callable[[list[Any]], list[Any]], xs: list[Any]
) -> list[list[Any]]:
    """Columns of the Jacobian by directional derivatives, one per input element."""
    columns: list[list[list[Any]]] = []
    for i, x in enumerate(xs):
        size = _size(x)
        directions = xp.reshape(xp.eye(size, dtype=x.dtype, device=xp.device(x)), (size, *x.shape))
        columns.append([])
        for k in range(size):
            ts = [directions[k, ...] if j == i else xp.zeros_like(z) for j, z in enumerate(xs)]
            columns[i].append(xp.jvp(lambda leaves: (on_leaves(leaves), None), xs, ts)[1])
    outputs = len(columns[0][0])
    return [
        [
            xp.reshape(
                xp.stack([pushed[o] for pushed in columns[i]], axis=-1),
                (*columns[i][0][o].shape, *x.shape),
            )
            for i, x in enumerate(xs)
        ]
        for o in range(outputs)
    ]


def hessian(func: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The second derivatives of a scalar function: structure I of structure I for an input pytree
    I.

    >>> import numpy as np, trellis
    >>> trellis.hessian(lambda x: trellis.sum(x**3))(np.array([1.0, 2.0]))
    array([[ 6.,  0.],
           [ 0., 12.]])
    """
    check_callable("hessian", func)
    return jac(grad(func))


def vmap(
    func: Callable[..., Any], in_axes: int | Sequence[int | None] | None = 0, out_axes: int = 0
) -> Callable[..., Any]:
    """Map a function over an axis of its arguments; None marks an argument that is not mapped.

    The leaves of a nested argument share its entry. JAX, torch and TensorFlow vectorise; on NumPy
    it is a loop, with its cost.

    >>> import numpy as np, trellis
    >>> trellis.vmap(lambda a, b: trellis.sum(a * b))(np.ones((3, 2)), np.ones((3, 2)))
    array([2., 2., 2.])
    """
    check_callable("vmap", func)
    in_axes, out_axes = plain(in_axes), plain(out_axes)
    for axis in [out_axes, *(in_axes if isinstance(in_axes, (list, tuple)) else [in_axes])]:
        if axis is not None and (isinstance(axis, bool) or not isinstance(axis, int)):
            raise ArgumentTypeError(f"vmap() maps over an axis by its number, got {axis!r}.")

    def mapped(*args: Any) -> Any:
        entries = [in_axes] * len(args) if not isinstance(in_axes, Sequence) else list(in_axes)
        if len(entries) != len(args):
            raise ShapeError(f"vmap() has {len(entries)} in_axes for {len(args)} arguments.")
        leaves, spec = tree.flatten(list(args))
        axes: list[int | None] = []
        for entry, arg in zip(entries, args, strict=True):
            axes += [entry] * len(tree.leaves(arg))
        xp = xp_of_any(*leaves)
        leaves = [xp.asarray(x) if isinstance(x, (int, float)) else x for x in leaves]
        size = _mapped_size(leaves, axes)
        out_specs: list[Any] = []

        def on_leaves(rows: list[Any]) -> list[Any]:
            outputs, out_spec = tree.flatten(func(*tree.unflatten(spec, rows)))
            out_specs.append(out_spec)
            for y in outputs:
                check_new_axis(out_axes, len(getattr(y, "shape", ())))
            return [xp.asarray(y) if isinstance(y, (int, float)) else y for y in outputs]

        ys = xp.vmap(on_leaves, leaves, axes, [out_axes], size)
        return tree.unflatten(out_specs[-1], list(ys))

    return mapped


def _mapped_size(leaves: list[Any], axes: list[int | None]) -> int:
    sizes = []
    for x, axis in zip(leaves, axes, strict=True):
        if axis is not None:
            if not -len(x.shape) <= axis < len(x.shape):
                raise ShapeError(f"vmap() over axis {axis} of an array of shape {tuple(x.shape)}.")
            sizes.append(int(x.shape[axis]))
    if not sizes:
        raise ShapeError("vmap() needs at least one mapped axis; in_axes are all None.")
    if len(set(sizes)) > 1:
        raise ShapeError(f"vmap() got different sizes along the mapped axes: {sizes}.")
    return sizes[0]


def stop_gradient(x: T, /) -> T:
    """The same values, cut off from every gradient; takes any pytree.

    >>> import numpy as np, trellis
    >>> trellis.grad(lambda x: trellis.sum(trellis.stop_gradient(x) * x))(np.array([1.0, 2.0]))
    array([1., 2.])
    """
    if tree.is_nest(x):
        stopped: T = tree.map(stop_gradient, x)
        return stopped
    if isinstance(x, (bool, int, float, complex)):
        return x
    result: T = xp_of(x).stop_gradient(x)
    return result


def bind_custom_gradient_function(
    func: Callable[[Any], Any], custom_grad_func: Callable[[tuple[Any, Any], Any], Any]
) -> Callable[[Any], Any]:
    """`func` with another derivative: `custom_grad_func((x, y), upstream)` is the gradient by `x`.

    `upstream` has the structure of `y = func(x)`, the gradient that of `x`. The custom gradient may
    be differentiated itself, so second derivatives follow its formula; `func` need not be
    differentiable.

    >>> import numpy as np, trellis
    >>> f = trellis.bind_custom_gradient_function(trellis.floor, lambda xy, upstream: upstream)
    >>> trellis.grad(lambda x: trellis.sum(f(x) * 2))(np.array([1.5]))
    array([2.])
    """
    for fn in (func, custom_grad_func):
        check_callable("bind_custom_gradient_function", fn)

    def bound(x: Array, /) -> Any:
        leaves, spec = tree.flatten(x)
        xp = xp_of_any(*leaves)
        out_specs: list[Any] = []

        def forward(xs: list[Any]) -> list[Any]:
            outputs, out_spec = tree.flatten(func(tree.unflatten(spec, xs)))
            if not out_specs:
                out_specs.append(out_spec)
            return outputs

        def backward(xs: list[Any], ys: list[Any], upstream: list[Any]) -> list[Any]:
            out_spec = out_specs[-1]
            pair = (tree.unflatten(spec, xs), tree.unflatten(out_spec, ys))
            given = custom_grad_func(pair, tree.unflatten(out_spec, upstream))
            return _checked_gradients(given, xs, spec)

        ys = xp.custom_vjp(forward, backward)(leaves)
        return tree.unflatten(out_specs[-1], list(ys))

    return bound


def _checked_gradients(given: object, xs: list[Any], spec: tree.Structure) -> list[Any]:
    expected = tree.unflatten(spec, xs)
    if tree.is_nest(expected) != tree.is_nest(given):
        raise ShapeError("The custom gradient has another structure than the input it belongs to.")
    columns, _ = (
        tree.align((expected, given)) if tree.is_nest(expected) else ([[expected], [given]], None)
    )
    for x, g in zip(columns[0], columns[1], strict=True):
        if tuple(getattr(g, "shape", ())) != tuple(x.shape):
            raise ShapeError(
                f"The custom gradient has shape {tuple(getattr(g, 'shape', ()))}, its input "
                f"{tuple(x.shape)}."
            )
    # A wrapped array (`array_api`) is a pytree of one native array.
    return [tree.leaves(g)[0] if is_array(g) else g for g in columns[1]]


# Inputs and outputs -------------------------------------------------------------------------------


def _positions(argnums: int | Sequence[int]) -> tuple[int, ...]:
    numbers = tuple(argnums) if isinstance(argnums, (list, tuple)) else (argnums,)
    for n in numbers:
        if isinstance(n, bool) or not isinstance(n, int):
            raise ArgumentTypeError(
                f"argnums names arguments by their places, integers from 0 on; got {argnums!r}."
            )
    return numbers


def _argument(args: tuple[Any, ...], n: int, func: Callable[..., Any]) -> Any:
    if not isinstance(n, int) or not -len(args) <= n < len(args):
        raise ArgumentTypeError(
            f"argnums {n} does not name a positional argument of {_name(func)}(): it was called "
            f"with {len(args)}."
        )
    return args[n]


def _leaves_of(chosen: Any, others: Any) -> tuple[Any, list[Any], tree.Structure]:
    """The backend, the leaves as differentiable floats, and the structure around them."""
    leaves, spec = tree.flatten(chosen)
    if leaves and is_array(leaves[0]):
        # Most often all are float arrays of one type: then there is nothing to look for.
        kind, xp = type(leaves[0]), xp_of(leaves[0])
        if all([type(x) is kind and x.dtype in xp.FLOAT_DTYPES for x in leaves]):
            return xp, leaves, spec
    arrays = [x for x in leaves if is_array(x)]
    if not arrays:
        arrays = [x for x in tree.leaves(list(others)) if is_array(x)][:1]
    xp = xp_of_any(*arrays)
    return xp, [differentiable_leaf(x, xp) for x in leaves], spec


def differentiable_leaf(x: Array, xp: Backend) -> Any:
    """A float array to differentiate by; integers become the default float; others raise."""
    if isinstance(x, (bool, complex)):
        raise DtypeError(
            f"Cannot differentiate with respect to {x!r}: only floats have derivatives."
        )
    if isinstance(x, (int, float)) and not is_array(x):
        return xp.asarray(x, dtype=default_dtype())
    if not is_array(x):
        raise ArgumentTypeError(
            f"Cannot differentiate with respect to {type(x).__name__}; expected arrays, numbers or "
            "pytrees of them."
        )
    if x.dtype in xp.FLOAT_DTYPES:
        return x
    name = name_of(x.dtype)
    if name in INTEGER:
        return xp.astype(x, default_dtype())
    raise DtypeError(
        f"Cannot differentiate with respect to an array of dtype {name}; write astype(x, "
        "'float32') first"
        + (", or differentiate by real and imaginary parts." if name.startswith("complex") else ".")
    )


def _like(returned: object, value: Any) -> Any:
    """The value of a function that returned an array around it (`array_api`), or a number."""
    spec = tree.structure(returned)
    return value if not is_array(returned) else tree.unflatten(spec, [value])


def _value_and_aux(result: object, func: Callable[..., Any]) -> tuple[Any, Any]:
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        raise ShapeError(f"With has_aux=True, {_name(func)}() must return a pair (value, aux).")
    return result[0], result[1]


def _float_output(y: Any, xp: Backend, func: Callable[..., Any]) -> Any:
    """A float array of the same backend; anything else has no derivative here."""
    if isinstance(y, (int, float)) and not is_array(y):
        return xp.asarray(y, dtype=default_dtype())
    if not is_array(y):
        raise ArgumentError(
            f"{_name(func)}() returned {type(y).__name__}, which cannot be differentiated; "
            "expected arrays."
        )
    if xp_of(y) is not xp:
        parts = tree.leaves(y)
        if parts[0] is not y:  # wrapped: see `array_api`
            return _float_output(parts[0], xp, func)
        raise MixedBackendsError(
            f"{_name(func)}() was called with {_short(xp)} arrays but returned one of "
            f"{_short(xp_of(y))}: the gradient is lost there. Stay in one framework inside a "
            "function that is differentiated."
        )
    if y.dtype not in xp.FLOAT_DTYPES:
        raise ArgumentError(
            f"{_name(func)}() returned an array of dtype {name_of(y.dtype)}; only "
            f"{', '.join(FLOATING)} outputs can be differentiated."
        )
    return y


def _scalar(value: object, xp: Backend, func: Callable[..., Any]) -> Any:
    if tree.is_nest(value):
        raise ShapeError(
            f"{_name(func)}() returned a {type(value).__name__}; a gradient needs one scalar. "
            "Return the sum of the parts, or use has_aux=True, execute_with_gradients or jac."
        )
    y = _float_output(value, xp, func)
    if _size(y) != 1:
        raise ShapeError(
            f"{_name(func)}() returned an array of shape {tuple(y.shape)}; a gradient needs a "
            "scalar. Write trellis.sum(...) or trellis.mean(...) around the result, or use jac."
        )
    return y


def _size(x: Array) -> int:
    size = 1
    for n in x.shape:
        size *= int(n)
    return size


def _like_outputs(cotangent: Nest, ys: list[Any], spec: tree.Structure, xp: Backend) -> list[Any]:
    """The cotangent's leaves, checked against the outputs they belong to."""
    expected = tree.unflatten(spec, ys)
    if tree.is_nest(cotangent) != tree.is_nest(expected):
        raise ShapeError("The cotangent needs the structure of the output.")
    if not tree.is_nest(expected):
        return [_tangent(cotangent, ys[0], xp)]
    columns, _ = tree.align((expected, cotangent))
    return [_tangent(g, y, xp) for g, y in zip(columns[1], ys, strict=True)]


def _tangent(t: Any, x: Any, xp: Backend) -> Any:
    if isinstance(t, (int, float)) and not is_array(t) and len(x.shape) == 0:
        return xp.full_like(x, t)
    if not is_array(t) or tuple(t.shape) != tuple(x.shape) or t.dtype != x.dtype:
        got = f"{name_of(t.dtype)} of shape {tuple(t.shape)}" if is_array(t) else repr(t)
        raise ShapeError(
            f"A tangent or cotangent must match its array: expected {name_of(x.dtype)} of shape "
            f"{tuple(x.shape)}, got {got}."
        )
    if xp_of(t) is not xp:
        raise MixedBackendsError(
            f"The arrays are of {_short(xp)}, a tangent or cotangent is of {_short(xp_of(t))}; "
            f"convert it with trellis.to_backend(x, {_short(xp)!r})."
        )
    return t


def _short(xp: Backend) -> str:
    return xp.NAME


def _name(func: Callable[..., Any]) -> str:
    return getattr(func, "__name__", type(func).__name__)
