"""Making a graph smaller without changing what it computes."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from .graph import Function, Graph, Node, Value, functions_in, replace_values, values_in
from .program import call

# Results larger than this are computed in each call, unless their inputs were as large.
_LARGE = 1 << 16
# Calls that may need more than this are not tried. It is far above what is kept: they may be steps
# on the way to something small.
_TRIED = 1 << 28
_MOST_AXES = 64  # longer arrays of numbers are no shapes
# Calls whose results can be larger than their arrays: by numbers among the arguments, or products.
_GROWING = frozenset(
    {"full", "zeros", "ones", "empty", "arange", "linspace", "eye", "tri", "full_like", "logspace"}
    | {"tile", "repeat", "broadcast_to", "expanded", "pad", "padded", "pad_dilated", "one_hot"}
    | {"resize", "resized", "resized_to", "resized_by", "resize_images", "interpolate", "window"}
    | {"mel_weights", "fourier", "fft", "ifft", "rfft", "irfft", "fftn", "ifftn", "rfftn", "irfftn"}
    | {"short_time_fourier", "strided", "diagonal_matrix", "diag", "bincount", "histogram", "outer"}
    | {"matmul", "einsum", "tensordot", "kron", "vecdot", "meshgrid", "convolution", "grid_sample"}
    | {"transposed_convolution", "deformed_convolution", "integer_convolution", "integer_matmul"}
    | {"conv1d", "conv2d", "conv3d", "conv_general_dilated", "max_unpool", "roi_align", "take"}
    | {"max_roi_pooled", "take_within", "take_in_batches", "gathered", "gathered_points", "index"}
    | {"gather_slices", "batch_to_space", "space_to_batch", "col2im", "fold", "unfold", "counted"}
    | {"counted_grams", "get_item", "getitem", "polyval", "vander", "scatter", "segment_sum"}
)
_PLAIN = (bool, int, float, complex, str, type(None))


def fold_constants(graph: Graph) -> int:
    """Compute, on NumPy, each call that depends on constants alone; returns how many there were.

    Plain numbers among the results (sizes, shapes) are written into the calls that use them.
    """
    known: dict[str, Any] = dict(graph.constants)
    plain: dict[str, Any] = {}
    kept: list[Node] = []
    for node in graph.nodes:
        if plain:
            node.args = replace_values(node.args, lambda x: plain.get(x.name, x))
            node.attributes = replace_values(node.attributes, lambda x: plain.get(x.name, x))
        if not _is_foldable(node, known):
            kept.append(node)
            continue
        try:
            result = call(on_numpy(node), known)
        except Exception:  # the program will say what is wrong when it runs
            kept.append(node)
            continue
        given = sum([np.asarray(known[x.name]).nbytes for x in values_in(node.args)])
        if not _can_keep(result, given):
            kept.append(node)
        elif _is_plain(result):
            plain[node.result.name] = result
        else:
            known[node.result.name] = result
    folded = len(graph.nodes) - len(kept)
    graph.nodes = kept
    graph.outputs = replace_values(graph.outputs, lambda x: plain.get(x.name, x))
    used = {x.name for node in kept for x in values_in((node.args, node.attributes))}
    used |= {x.name for x in values_in((graph.outputs, graph.updates))}
    graph.constants = {
        name: np.asarray(array)
        for name, array in known.items()
        if name in used and not isinstance(array, tuple)
    }
    return folded


def used_values(graph: Graph) -> set[str]:
    """The names of all values that calls, outputs and updates mention."""
    used = {x.name for x in values_in((graph.outputs, graph.updates))}
    for node in graph.nodes:
        used |= {x.name for x in values_in((node.args, node.attributes))}
    return used


def drop_unused(graph: Graph) -> int:
    """Remove calls whose results are not used; returns how many there were."""
    used = {x.name for x in values_in((graph.outputs, graph.updates))}
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        if node.result.name in used:
            kept.append(node)
            used |= {x.name for x in values_in((node.args, node.attributes))}
    dropped = len(graph.nodes) - len(kept)
    graph.nodes = kept[::-1]
    graph.constants = {name: x for name, x in graph.constants.items() if name in used}
    return dropped


_ELEMENTWISE = frozenset(
    {"add", "subtract", "multiply", "divide", "maximum", "minimum", "pow", "remainder"}
    | {"less", "less_equal", "greater", "greater_equal", "equal", "not_equal", "floor_divide"}
)


def inline_numbers(graph: Graph) -> int:
    """Write single numbers into the calls that use them with an array of the same data type;
    returns how many there were."""
    numbers = {
        name: array
        for name, array in graph.constants.items()
        if np.ndim(array) == 0 and np.asarray(array).dtype.kind in "fiu"
    }
    count = 0
    for node in graph.nodes:
        if node.op.__name__ not in _ELEMENTWISE or len(node.args) != 2 or node.attributes:
            continue
        for i, x in enumerate(node.args):
            other = node.args[1 - i]
            if not isinstance(x, Value) or not isinstance(other, Value):
                continue
            if x.name not in numbers or other.name in numbers:
                continue
            array = np.asarray(numbers[x.name])
            if other.dtype == array.dtype.name:
                short = array.item() if array.dtype.kind in "iu" else float(str(array[()]))
                node.args = (short, other) if i == 0 else (other, short)
                count += 1
    return count


def _is_foldable(node: Node, known: dict[str, Any]) -> bool:
    if has_functions(node) or is_random(node):
        return False
    if not all([x.name in known for x in values_in((node.args, node.attributes))]):
        return False
    return is_small(node, known)


def is_small(node: Node, known: Mapping[str, Any]) -> bool:
    """Whether a call can be tried: it needs little memory, whatever a file has written into its
    arguments."""
    sizes, numbers, shapes = [], [], []
    for x in _leaves((node.args, node.attributes)):
        x = known[x.name] if isinstance(x, Value) else x
        if isinstance(x, (np.ndarray, np.generic)):
            shapes.append(np.shape(x))
            sizes.append(max(np.size(x), 1))
            if np.size(x) <= _MOST_AXES and np.asarray(x).dtype.kind in "iuf":
                numbers += [abs(float(each)) for each in np.ravel(x)]
        elif isinstance(x, (int, float)):
            numbers.append(abs(float(x)) if abs(x) < _TRIED else _TRIED)
        elif isinstance(x, slice):
            continue
    if node.op.__name__ in _GROWING:
        # No result has more elements than all sizes and numbers multiplied.
        most = math.prod(sizes) * math.prod([1 + x for x in numbers if x > 1])
        return bool(8 * most <= _TRIED)  # also for nan
    try:
        most = math.prod(np.broadcast_shapes(*shapes))
    except ValueError:
        most = sum(sizes)
    return 8 * most <= _TRIED or most <= sum(sizes)


def _leaves(nest: object) -> Iterator[Any]:
    if isinstance(nest, (tuple, list)):
        for item in nest:
            yield from _leaves(item)
    elif isinstance(nest, dict):
        for item in nest.values():
            yield from _leaves(item)
    else:
        yield nest


def has_functions(node: Node) -> bool:
    """Whether a call has bodies of its own, as a loop."""
    return any(
        [isinstance(x, Function) for x in functions_in((*node.args, *node.attributes.values()))]
    )


def is_random(node: Node) -> bool:
    """Whether a call draws random numbers, so that each run gives another result."""
    home = node.op.__module__
    is_draw = ".random" in home or "._random" in home or home.endswith(".drawing")
    return is_draw or "dropout" in node.op.__name__ or bool(node.attributes.get("dropout_p"))


def on_numpy(node: Node) -> Node:
    """The call with NumPy as its target, where it names one."""
    if "backend" not in node.attributes:
        return node
    return Node(node.op, node.args, {**node.attributes, "backend": "numpy"}, node.result)


def _can_keep(result: object, given: int) -> bool:
    if isinstance(result, (tuple, list)):
        return all([_can_keep(x, given) for x in result])
    if isinstance(result, (np.ndarray, np.generic)):
        return result.nbytes <= max(_LARGE, given)
    return isinstance(result, _PLAIN)


def _is_plain(result: object) -> bool:
    if isinstance(result, (tuple, list)):
        return all([_is_plain(x) for x in result])
    return isinstance(result, _PLAIN)
