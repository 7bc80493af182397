"""Shapes, axes, joining and repeating; products over axes."""

import numpy as np
from hypothesis import strategies as st

from ..call import Call, Given
from ..drawing import (
    ANY,
    COMPLEX,
    NUMERIC,
    array,
    axes_of,
    axis_of,
    broadcast,
    drawn,
    options,
    pair_of_types,
    several,
    shapes,
)


@drawn("broadcast_to")
def broadcast_to(draw, op):
    whole = draw(shapes())
    x = array(draw, ANY, broadcast(draw, whole))
    return Call(op, (x, whole), expected=np.broadcast_to)


@drawn("broadcast_arrays")
def broadcast_arrays(draw, op):
    xs = [array(draw, ANY, shape) for shape in several(draw, draw(st.integers(1, 3)))]
    return Call(op, tuple(xs), expected=lambda *xs: tuple(np.broadcast_arrays(*xs)))


@drawn("concat")
def concat(draw, op):
    shape = draw(shapes(1))
    axis = draw(st.sampled_from((None, *range(-len(shape), len(shape)))))
    first, second = pair_of_types(draw, ANY)
    xs = []
    for name in (first, second, first)[: draw(st.integers(1, 3))]:
        size = list(shape)
        if axis is not None:
            size[axis] = draw(st.sampled_from((1, 2, 0, 3)))
        xs.append(array(draw, name, size))
    return Call(op, (xs,), {"axis": axis})


@drawn("stack")
def stack(draw, op):
    shape = draw(shapes())
    first, second = pair_of_types(draw, ANY)
    xs = [array(draw, name, shape) for name in (first, second)[: draw(st.integers(1, 2))]]
    return Call(op, (xs,), {"axis": axis_of(draw, len(shape) + 1)})


@drawn("unstack")
def unstack(draw, op):
    x = array(draw, ANY, draw(shapes(1)))
    return Call(op, (x,), {"axis": axis_of(draw, x.values.ndim)})


@drawn("expand_dims")
def expand_dims(draw, op):
    x = array(draw, ANY)
    return Call(op, (x, axis_of(draw, x.values.ndim + 1)), expected=np.expand_dims)


@drawn("squeeze")
def squeeze(draw, op):
    x = array(draw, ANY)
    ones = tuple(i for i, n in enumerate(x.values.shape) if n == 1)
    axes = draw(st.sampled_from((ones, ones[:1])))
    return Call(op, (x, axes), expected=np.squeeze)


@drawn("flip")
def flip(draw, op):
    x = array(draw, ANY)
    chosen = {"axis": axes_of(draw, x.values.ndim)}
    return Call(op, (x,), chosen, expected=np.flip)


@drawn("moveaxis")
def moveaxis(draw, op):
    x = array(draw, ANY, draw(shapes(1)))
    ndim = x.values.ndim
    if draw(st.booleans()):
        return Call(op, (x, axis_of(draw, ndim), axis_of(draw, ndim)), expected=np.moveaxis)
    order = tuple(draw(st.permutations(range(ndim))))
    return Call(op, (x, tuple(range(ndim)), order), expected=np.moveaxis)


@drawn("permute_dims")
def permute_dims(draw, op):
    x = array(draw, ANY)
    return Call(op, (x, tuple(draw(st.permutations(range(x.values.ndim))))), expected=np.transpose)


@drawn("matrix_transpose", "linalg.matrix_transpose")
def matrix_transpose(draw, op):
    return Call(op, (array(draw, ANY, draw(shapes(2))),), expected=lambda x: np.swapaxes(x, -1, -2))


@drawn("reshape")
def reshape(draw, op):
    x = array(draw, ANY)
    n = x.values.size
    targets = [(n,), (1, n), x.values.shape[::-1]] + ([(-1,), (n, -1)] if n else [])
    if n % 2 == 0 and n:
        targets += [(2, -1), (n // 2, 2)]
    return Call(op, (x, draw(st.sampled_from(targets))), expected=np.reshape)


@drawn("roll")
def roll(draw, op):
    x = array(draw, ANY)
    axis = axes_of(draw, x.values.ndim)
    count = len(axis) if isinstance(axis, tuple) else 1
    shift = tuple(draw(st.integers(-4, 4)) for _ in range(count))
    if not isinstance(axis, tuple):
        shift = shift[0]
    return Call(op, (x, shift), {"axis": axis}, expected=np.roll)


@drawn("repeat")
def repeat(draw, op):
    x = array(draw, ANY)
    axis = axis_of(draw, x.values.ndim) if x.values.ndim and draw(st.booleans()) else None
    size = x.values.size if axis is None else x.values.shape[axis]
    how = draw(st.sampled_from(("number", "array")))
    counts = draw(st.integers(0, 3))
    if how == "array":
        counts = Given(np.array([draw(st.integers(0, 2)) for _ in range(size)], "int64"))
    # The length of the result depends on the values of an array of counts.
    return Call(op, (x, counts), {"axis": axis}, expected=np.repeat, compiled=how == "number")


@drawn("tile")
def tile(draw, op):
    x = array(draw, ANY)
    times = tuple(draw(st.lists(st.integers(0, 2), max_size=4)))
    return Call(op, (x, times), expected=np.tile)


@drawn("sliding_window")
def sliding_window(draw, op):
    x = array(draw, ANY, draw(shapes(1, empty=False)))
    axis = axis_of(draw, x.values.ndim)
    window = draw(st.integers(1, x.values.shape[axis]))
    return Call(op, (x, window), {"axis": axis, **options(draw, step=(1, 2))})


@drawn("pad")
def pad(draw, op):
    mode = draw(st.sampled_from(("constant", "constant", "edge", "reflect", "wrap")))
    x = array(draw, ANY, draw(shapes(0 if mode == "constant" else 1, empty=mode == "constant")))
    most = 3 if mode in ("constant", "edge") else 1
    # Not farther than there are elements to take: what repeated reflection gives is checked by
    # rows.
    if mode == "reflect" and min(x.values.shape, default=1) < 2:
        most = 0
    pairs = [(draw(st.integers(0, most)), draw(st.integers(0, most))) for _ in x.values.shape]
    width = draw(st.sampled_from((pairs, most))) if pairs else most
    chosen = {"mode": mode}
    if mode == "constant" and draw(st.booleans()):
        chosen["constant_values"] = draw(st.sampled_from((1, 0, 2)))
    return Call(op, (x, width), chosen, expected=np.pad if pairs else None)


@drawn("tril", "triu")
def triangle(draw, op):
    x = array(draw, ANY, draw(shapes(2)), kind="special")
    chosen = options(draw, k=(0, 1, -1, 2, -3))
    return Call(op, (x,), chosen, expected=getattr(np, op))


@drawn("meshgrid")
def meshgrid(draw, op):
    count = draw(st.integers(1, 3))
    first, second = pair_of_types(draw, NUMERIC)
    names = (first, second, first)[:count]
    xs = [array(draw, name, draw(shapes(1, 1))) for name in names]
    return Call(op, tuple(xs), options(draw, indexing=("ij", "xy")))


@drawn("astype")
def astype(draw, op):
    x = array(draw, ANY, kind=draw(st.sampled_from(("plain", "positive"))))
    source = x.values.dtype.name
    target = draw(st.sampled_from(ANY))
    whole = x.values.dtype.kind in "biu"
    if target in COMPLEX or source not in COMPLEX:
        # Numbers that the target cannot hold are undefined in C, and each framework's own.
        if target.startswith("uint") and not whole:
            x = array(draw, source, x.values.shape, "positive")
        return Call(op, (x, target))
    return Call(op, (x, "complex64"))


@drawn("zeros_like", "ones_like", "full_like")
def like(draw, op):
    x = array(draw, ANY)
    chosen = options(draw, dtype=ANY)
    args = (x, draw(st.sampled_from((1, 0, 2)))) if op == "full_like" else (x,)
    return Call(op, args, chosen)


# Products ------------------------------------------------------------------------------


@drawn("matmul", "linalg.matmul")
def matmul(draw, op):
    first, second = pair_of_types(draw, ANY)
    n, k, m = (draw(st.sampled_from((2, 3, 1, 0))) for _ in range(3))
    batches = [batch[:2] for batch in several(draw, 2)]
    left = draw(st.sampled_from(((k,), (n, k), (*batches[0], n, k))))
    right = draw(st.sampled_from(((k,), (k, m), (*batches[1], k, m))))
    args = (array(draw, first, left), array(draw, second, right))
    oracle = np.matmul if first == second else None
    return Call(op, args, expected=oracle, units=64)


@drawn("vecdot", "linalg.vecdot")
def vecdot(draw, op):
    first, second = pair_of_types(draw, ANY)
    shape = draw(shapes(1))
    other = (*broadcast(draw, shape[:-1]), shape[-1])
    args = (array(draw, first, shape), array(draw, second, other))
    return Call(op, args, expected=np.vecdot if first == second else None, units=64)


@drawn("tensordot", "linalg.tensordot")
def tensordot(draw, op):
    first, second = pair_of_types(draw, ANY)
    shared = draw(shapes(0, 2))
    left, right = draw(shapes(0, 1)), draw(shapes(0, 1))
    x, y = array(draw, first, left + shared), array(draw, second, shared + right)
    axes = len(shared)
    if draw(st.booleans()):
        axes = (list(range(len(left), len(left) + axes)), list(range(axes)))
    oracle = np.tensordot if first == second else None
    return Call(op, (x, y), {"axes": axes}, expected=oracle, units=64)


SUBSCRIPTS = {
    "ij,jk->ik": ("ij", "jk"),
    "ij->ji": ("ij",),
    "ij->": ("ij",),
    "ii->i": ("ii",),
    "ii": ("ii",),
    "bij,bjk->bik": ("bij", "bjk"),
    "i,j->ij": ("i", "j"),
    "ij,ij->i": ("ij", "ij"),
    "i,ij,j->": ("i", "ij", "j"),
    "...i,...i->...": ("bi", "bi"),
    "...ij->...ji": ("bij",),
    "ij,k->": ("ij", "k"),
}


@drawn("einsum")
def einsum(draw, op):
    text = draw(st.sampled_from(list(SUBSCRIPTS)))
    sizes = {letter: draw(st.sampled_from((2, 3, 1, 0))) for letter in "bijk"}
    first, second = pair_of_types(draw, ANY)
    names = (first, second, first)
    xs = [
        array(draw, name, [sizes[letter] for letter in letters])
        for name, letters in zip(names, SUBSCRIPTS[text], strict=False)
    ]
    oracle = np.einsum if first == second else None
    return Call(op, (text, *xs), expected=oracle, units=64)
