"""Branches and loops that compile: native control flow while tracing, plain Python otherwise.

States and operands may be any pytrees of arrays. A loop body must keep shapes and types.
"""

from collections.abc import Callable, Sequence
from typing import Any

from .._core.arrays import is_array, plain, plain_for, shape_of
from .._core.dispatch import xp_of_all, xp_of_any
from .._core.errors import ArgumentError, ArgumentTypeError, DtypeError, ShapeError
from .._core.kinds import check_callable, shown
from .._core.shapes import LARGEST, broadcast_shapes, normal_axis
from .._core.tracing import is_followed
from .._core.tree import flatten, leaves, unflatten
from .._core.tree import map as map_leaves
from .._core.typing import Array, Nest, Scalar, T


def cond(
    pred: Array | bool,
    true_fn: Callable[..., T],
    false_fn: Callable[..., T],
    /,
    *operands: object,
) -> T:
    """`true_fn(*operands)` if `pred` holds, else `false_fn(*operands)`; both return the same
    structure.

    >>> import numpy as np, trellis
    >>> trellis.cond(np.array(True), lambda x: x + 1, lambda x: x - 1, np.array([1.0, 2.0]))
    array([2., 3.])
    """
    if pred is None:
        raise ArgumentTypeError("cond() expects True, False or an array for pred, got None.")
    if not isinstance(pred, bool) and len(getattr(pred, "shape", ())) > 0:
        raise ShapeError(f"cond() expects one truth value for pred, got {shown(pred)}.")
    if is_array(pred) and "complex" in str(pred.dtype):  # type: ignore[union-attr]
        raise DtypeError("cond() expects a bool or a real number for pred, got a complex one.")
    check_callable("cond", true_fn)
    check_callable("cond", false_fn)
    result: T = xp_of_any(pred, *leaves(operands)).cond(pred, true_fn, false_fn, *operands)
    return result


def while_loop(cond_fn: Callable[[T], Any], body_fn: Callable[[T], T], init: T, /) -> T:
    """`body_fn` applied to the state, beginning with `init`, as long as `cond_fn(state)` holds.

    >>> import numpy as np, trellis
    >>> trellis.while_loop(lambda s: s["n"] < 3, lambda s: {"n": s["n"] + 1}, {"n": np.array(0)})
    {'n': np.int64(3)}
    """
    check_callable("while_loop", cond_fn)
    check_callable("while_loop", body_fn)

    def checked(state: T) -> Any:
        decision = cond_fn(state)
        if len(getattr(decision, "shape", ())) > 0:
            raise ShapeError(
                f"while_loop() expects cond_fn to return one truth value, got {shown(decision)}."
            )
        return decision

    seen: list[bool] = []

    def stepped(state: T) -> T:
        new = body_fn(state)
        if not seen:
            if not is_followed():  # torch.compile traces this once, and cannot record it
                seen.append(True)
            _check_same("while_loop", "state", leaves(state), leaves(new))
        return new

    state: T = xp_of_any(*leaves(init)).while_loop(checked, stepped, init)
    return state


def fori_loop(
    lower: int | Array, upper: int | Array, body_fn: Callable[[Any, T], T], init: T, /
) -> T:
    """`state = body_fn(i, state)` for i from `lower` up to `upper`, beginning with `init`.

    With Python integers as bounds it can be differentiated on all backends; with arrays it is a
    `while_loop`.

    >>> import numpy as np, trellis
    >>> trellis.fori_loop(0, 3, lambda i, x: x * 2 + i, np.array(1.0)).item()
    12.0
    """
    check_callable("fori_loop", body_fn)
    lower, upper = plain(lower), plain(upper)
    for bound in (lower, upper):
        if not _is_integer(bound):
            raise ArgumentTypeError(f"fori_loop() expects integers as bounds, got {shown(bound)}.")
        if isinstance(bound, int) and abs(bound) > LARGEST:
            raise ArgumentError(f"fori_loop() expects bounds below {LARGEST}, got {bound}.")
    xp = xp_of_any(lower, upper, *leaves(init))
    if isinstance(lower, int) and isinstance(upper, int):
        if upper <= lower:
            return init
        return scan(lambda state, i: (body_fn(i, state), i), init, xp.arange(lower, upper))[0]
    start = xp.asarray(lower, dtype=xp.arange(1).dtype)
    _, state = while_loop(
        lambda pair: pair[0] < upper, lambda pair: (pair[0] + 1, body_fn(*pair)), (start, init)
    )
    return state


def switch(index: int | Array, branches: Sequence[Callable[..., T]], /, *operands: object) -> T:
    """`branches[index](*operands)`; an index outside of them means the first or the last one.

    >>> import numpy as np, trellis
    >>> trellis.switch(np.array(1), [lambda x: x + 1, lambda x: x * 10], np.array([1.0, 2.0]))
    array([10., 20.])
    """
    if not isinstance(branches, (list, tuple)) or not branches:
        raise ArgumentTypeError("switch() expects a list of at least one function.")
    for branch in branches:
        check_callable("switch", branch)
    index = plain(index)
    if not _is_integer(index):
        raise ArgumentTypeError(f"switch() expects one integer as index, got {shown(index)}.")
    if isinstance(index, int):
        return branches[min(max(index, 0), len(branches) - 1)](*operands)
    return _switched(index, branches, operands)


def _is_integer(x: Any) -> bool:
    """Whether `x` is one integer, as a Python number or as an array."""
    if isinstance(x, (bool, int)):
        return not isinstance(x, bool)
    return is_array(x) and "int" in str(x.dtype) and shape_of(x) == ()


def _switched(index: Any, branches: Sequence[Callable[..., T]], operands: tuple[object, ...]) -> T:
    if len(branches) == 1:
        return branches[0](*operands)
    middle = len(branches) // 2
    return cond(
        index < middle,
        lambda *xs: _switched(index, branches[:middle], xs),
        lambda *xs: _switched(index - middle, branches[middle:], xs),
        *operands,
    )


def scan(
    fn: Callable[[T, Any], tuple[T, Any]],
    init: T,
    xs: Nest | None = None,
    /,
    *,
    length: int | None = None,
    reverse: bool = False,
) -> tuple[T, Any]:
    """Run `carry, y = fn(carry, x)` over the slices of `xs` along axis 0; returns the last carry
    and all y.

    Without `xs` it takes `length` steps, and x is None. With `reverse` the last slice comes first;
    each y stays in the place of its slice.

    >>> import numpy as np, trellis
    >>> carry, ys = trellis.scan(lambda c, x: (c + x, c * x), np.array(0.0), np.array([1.0, 2.0]))
    >>> ys
    array([0., 2.])
    """
    check_callable("scan", fn)
    reverse, length = _flag("scan", reverse), _steps(length)
    arrays = leaves(xs)
    is_counted = xs is None or not arrays
    if is_counted:
        if length is None:
            raise ShapeError(
                "scan() needs at least one array in xs, or length=, to know how many steps to take."
            )
        xs = xp_of_any(*leaves(init)).arange(length)
    for x in arrays:
        if not is_array(x) or len(x.shape) == 0:
            raise ShapeError(f"scan() runs over the first axis of xs, got {shown(x)}.")
        if length is not None and x.shape[0] not in (None, length):
            raise ShapeError(f"scan() with length={length} got {x.shape[0]} slices in xs.")
    seen: list[bool] = []

    def checked(carry: T, x: Array) -> tuple[T, Any]:
        new, y = fn(carry, None if is_counted else x)
        if not seen:
            if not is_followed():  # torch.compile traces this once, and cannot record it
                seen.append(True)
            _check_same("scan", "carry", leaves(carry), leaves(new))
        return new, y

    xp = xp_of_any(*leaves((init, xs)))
    if not reverse:
        return xp.scan(checked, init, xs)

    def turned(x: Any) -> Any:
        return xp.flip(x, axis=0)

    carry, ys = xp.scan(checked, init, map_leaves(turned, xs))
    return carry, map_leaves(turned, ys)


def _steps(length: object) -> int | None:
    length = plain(length)
    if length is None:
        return None
    if not isinstance(length, int) or isinstance(length, bool) or length < 0:
        raise ArgumentTypeError(
            f"scan() expects a number of steps for length, got {shown(length)}."
        )
    return length


def _flag(function: str, reverse: object) -> bool:
    reverse = plain(reverse)
    if not isinstance(reverse, bool):
        raise ArgumentTypeError(
            f"{function}() expects True or False for reverse, got {shown(reverse)}."
        )
    return reverse


def associative_scan(
    fn: Callable[[T, T], T], xs: T, /, *, axis: int = 0, reverse: bool = False
) -> T:
    """All partial results of an associative function along an axis, in about 2 log2(n) calls of it.

    `fn(a, b)` joins many pairs at once: its arguments are slices of `xs` along `axis`, any pytrees
    of arrays. With addition it is a running sum; recurrences such as h = a * h + b can be written
    so, too.

    >>> import numpy as np, trellis
    >>> trellis.associative_scan(trellis.add, np.array([1, 2, 3, 4]))
    array([ 1,  3,  6, 10])
    """
    check_callable("associative_scan", fn)
    arrays = leaves(xs)
    if not arrays:
        raise ShapeError("associative_scan() needs at least one array in xs.")
    reverse, axis = _flag("associative_scan", reverse), plain(axis)
    if not isinstance(axis, int) or isinstance(axis, bool):
        raise ArgumentTypeError(f"An axis is an integer, got {shown(axis)}.")
    xp = xp_of_any(*arrays)
    counts = []
    for x in arrays:
        if not is_array(x) or len(x.shape) == 0:
            raise ShapeError(f"associative_scan() runs along an axis of xs, got {shown(x)}.")
        counts.append(x.shape[normal_axis(axis, len(x.shape))])
    if None in counts or len(set(counts)) != 1:
        raise ShapeError(f"associative_scan() needs one known length in all of xs, got {counts}.")

    def in_front(x: Any) -> Any:
        moved = xp.moveaxis(x, axis, 0)
        return xp.flip(moved, axis=0) if reverse else moved

    def back(x: Any) -> Any:
        return xp.moveaxis(xp.flip(x, axis=0) if reverse else x, 0, axis)

    def joined(one: T, other: T) -> T:
        """`fn` on slices along the axis where the user has it."""
        first, second = (other, one) if reverse else (one, other)
        return map_leaves(in_front, fn(map_leaves(back, first), map_leaves(back, second)))

    return map_leaves(back, _partial(xp, joined, map_leaves(in_front, xs), counts[0]))


def _partial(xp: Any, fn: Callable[[T, T], T], xs: T, count: int) -> T:
    """All partial results along axis 0: those of pairs first, then the ones between them."""
    if count < 2:
        return xs
    firsts = map_leaves(lambda x: x[: count - 1 : 2], xs)
    pairs = fn(firsts, map_leaves(lambda x: x[1::2], xs))
    odd = _partial(xp, fn, pairs, count // 2)
    between = map_leaves(lambda x: x[: (count - 1) // 2], odd)
    later = map_leaves(lambda x: x[2::2], xs)
    even = fn(between, later) if count > 2 else None
    columns = [leaves(tree) for tree in (xs, odd, even)]
    woven = []
    for i, (x, y) in enumerate(zip(columns[0], columns[1], strict=True)):
        starts = x[:1] if even is None else xp.concat([x[:1], columns[2][i]], axis=0)
        both = xp.stack([starts[: count // 2], y], axis=1)
        flat = xp.reshape(both, (count // 2 * 2, *tuple(x.shape)[1:]))
        woven.append(flat if count % 2 == 0 else xp.concat([flat, starts[-1:]], axis=0))
    return unflatten(flatten(xs)[1], woven)


def apply_where(
    condition: Array,
    args: Array | Sequence[Array | Scalar],
    f1: Callable[..., Array],
    f2: Callable[..., Array] | None = None,
    /,
    *,
    fill_value: Array | Scalar | None = None,
) -> Array:
    """`f1(*args)` where a condition holds, elsewhere `f2(*args)` or `fill_value`.

    Each function sees only arguments for which it was chosen: the elements of the others are
    replaced by one that was. So 1 / x where x is not 0 gives no warning, and its gradient is right,
    which that of `where(x == 0, 0, 1 / x)` is not. The functions work element by element.

    >>> import numpy as np, trellis
    >>> x = np.array([0.0, 2.0, 4.0])
    >>> trellis.apply_where(x != 0, x, lambda x: 1 / x, fill_value=0.0)
    array([0.  , 0.5 , 0.25])
    """
    if (f2 is None) == (fill_value is None):
        raise ArgumentTypeError("apply_where() expects either f2 or fill_value, and not both.")
    for fn in (f1,) if f2 is None else (f1, f2):
        check_callable("apply_where", fn)
    values = list(args) if isinstance(args, (list, tuple)) else [args]
    if not is_array(condition):
        raise ArgumentTypeError(
            f"apply_where() expects an array of bools as condition, got {shown(condition)}."
        )
    xp = xp_of_all(condition, *values)
    if xp.dtype_name(condition.dtype) != "bool":
        raise DtypeError("apply_where() expects an array of bools as condition.")
    numbers = [x if is_array(x) else xp.asarray(x, device=xp.device(condition)) for x in values]
    broadcast_shapes(*[shape_of(x) for x in (condition, *numbers)], function="apply_where")
    mask, *numbers = xp.broadcast_arrays(condition, *numbers)
    first = f1(*_chosen(xp, mask, numbers))
    if f2 is None:
        broadcast_shapes(shape_of(first), shape_of(fill_value), function="apply_where")
        return xp.where(mask, first, plain_for(xp, fill_value))
    return xp.where(mask, first, f2(*_chosen(xp, xp.logical_not(mask), numbers)))


def _chosen(xp: Any, mask: Any, arrays: list[Any]) -> list[Any]:
    """The arrays with the first element that the mask chooses in place of those it does not.

    It counts as a constant: where nothing is chosen, it is any element, whose derivative may be
    nan.
    """
    flat = xp.reshape(mask, (-1,))
    if flat.shape[0] == 0:
        return arrays
    place = xp.reshape(xp.argmax(xp.astype(flat, "int32")), (1,))
    found = []
    for x in arrays:
        chosen = xp.take(xp.reshape(x, (-1,)), place)
        found.append(xp.where(mask, x, xp.stop_gradient(chosen)))
    return found


def _check_same(function: str, what: str, before: list[Any], after: list[Any]) -> None:
    """A compiled loop needs one type for its state; the first step shows whether it has one."""
    for old, new in zip(before, after, strict=False):
        is_same = tuple(getattr(old, "shape", ())) == tuple(getattr(new, "shape", ()))
        if is_array(old) and is_array(new):
            is_same = is_same and old.dtype == new.dtype
        if not is_same:
            raise ShapeError(
                f"{function}() needs a {what} that keeps its shape and dtype, got {shown(old)} "
                f"and then {shown(new)}."
            )
