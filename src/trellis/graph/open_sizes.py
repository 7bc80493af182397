"""Source for arrays of sizes that are left open.

A program is traced with several sizes of its open axes. Their sources may differ in numbers only,
each of which is then written as a formula of the sizes that gives it in all of them.
"""

import ast
import io
import itertools
import keyword
import math
import re
import tokenize
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from .._array.interchange import to_backend, to_numpy
from .._core import tree
from .._core.dispatch import backend_of
from .._core.errors import ArgumentError, NotSupportedError

if TYPE_CHECKING:
    from .graph import Graph

Dynamic = Mapping[str, Mapping[int, str]]

# Two sizes for a line and a third that must lie on it; primes, so that few formulas fit by chance.
_SIZES = (11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53)
_RUNS = 3


@dataclass
class OpenAxes:
    """The open axes of the inputs of a graph, and the graphs of the program for other sizes."""

    sizes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    places: dict[str, tuple[int, int]] = field(
        default_factory=dict
    )  # a number of an input, an axis
    graphs: list["Graph"] = field(default_factory=list)


def traced_open(
    trace: Callable[[Sequence[Any]], "Graph"],
    names: Sequence[str],
    args: Sequence[Any],
    dynamic: Dynamic,
) -> "Graph":
    """The graph of a program for the example, which knows those for other sizes."""
    unknown = [name for name in dynamic if name not in names]
    if unknown:
        raise ArgumentError(
            f"trace() got dynamic axes for {unknown[0]!r}; the function was called with "
            f"{', '.join(names) or 'no arguments'}."
        )
    axes = OpenAxes()
    words = [_words(name, arg, dynamic.get(name, {})) for name, arg in zip(names, args)]
    number = 0
    example: dict[str, int] = {}
    for arg, found in zip(args, words):
        for x in [] if isinstance(arg, dict) else tree.leaves(arg):
            if not hasattr(x, "dtype"):
                continue
            for axis, word in found.items():
                axes.places.setdefault(word, (number, axis))
                size = int(x.shape[axis])
                if example.setdefault(word, size) != size:
                    raise ArgumentError(
                        f"trace() got one name, {word!r}, for axes of the sizes {example[word]} "
                        f"and {size}: axes of one name have one size."
                    )
            number += 1
    if len(example) * _RUNS > len(_SIZES):
        raise ArgumentError(f"trace() leaves at most {len(_SIZES) // _RUNS} sizes open.")
    for i, word in enumerate(example):
        axes.sizes[word] = _SIZES[i :: len(example)][:_RUNS]
    graph = trace(args)
    for run in range(_RUNS):
        axes.graphs.append(
            trace([_resized(arg, found, axes, run) for arg, found in zip(args, words)])
        )
    graph._open_axes = axes
    return graph


def _words(name: str, arg: Any, given: Mapping[int, str]) -> dict[int, str]:
    """The names of the open axes of one argument, by axes from 0."""
    if given and isinstance(arg, dict):
        raise ArgumentError(
            f"trace() leaves no sizes of variables open, such as those in {name!r}."
        )
    dims = {len(x.shape) for x in tree.leaves(arg) if hasattr(x, "dtype")} if given else set()
    found = {}
    for axis, word in given.items():
        if len(dims) != 1 or not -min(dims) <= axis < min(dims):
            raise ArgumentError(f"trace() got a dynamic axis {axis} of {name!r}, which has none.")
        if not word.isidentifier() or keyword.iskeyword(word):
            raise ArgumentError(f"{word!r} cannot be the name of a size.")
        found[axis % min(dims)] = word
    return found


def _resized(arg: Any, words: Mapping[int, str], axes: OpenAxes, run: int) -> Any:
    def resize(x: Any) -> Any:
        for axis, word in words.items() if hasattr(x, "dtype") else ():
            if x.shape[axis] == 0:
                raise ArgumentError(f"trace() needs an example whose axis {axis} is not empty.")
            indices = np.arange(axes.sizes[word][run]) % int(x.shape[axis])
            x = to_backend(np.take(to_numpy(x), indices, axis), backend_of(x))
        return x

    return tree.map(resize, arg) if words else arg


# Source -------------------------------------------------------------------------------------------


def eject_open(graph: "Graph", framework: str, name: str) -> str:
    """`Graph.to_source` with open sizes."""
    from .eject import eject

    axes = graph._open_axes
    assert axes is not None, "asked for by graphs that have them"
    texts = [eject(each, framework, name) for each in axes.graphs]
    runs = [list(tokenize.generate_tokens(io.StringIO(text).readline)) for text in texts]
    names = {token.string for token in runs[0] if token.type == tokenize.NAME}
    local = {word: _free(word, names) for word in axes.sizes}
    sizes = {local[word]: found for word, found in axes.sizes.items()}
    changes = []
    comment = ""
    for tokens in itertools.zip_longest(*runs):
        first = tokens[0]
        if any([x is None or first is None or x.type != first.type for x in tokens]):
            raise _other_calls(comment)
        if first.type == tokenize.COMMENT:
            comment = first.string
        strings = [x.string for x in tokens]
        if len(set(strings)) == 1 or first.type in (tokenize.NEWLINE, tokenize.NL):
            continue
        changes.append((first.start, first.end, _merged(first.type, strings, sizes, comment)))
    lines = texts[0].splitlines()
    for (row, begin), (last, end), text in reversed(changes):
        whole = lines[row - 1][:begin] + text + lines[last - 1][end:]
        lines[row - 1 : last] = whole.split("\n")
    return _with_sizes("\n".join(lines) + "\n", graph, name, framework, local)


def _merged(kind: int, strings: list[str], sizes: dict[str, tuple[int, ...]], at: str) -> str:
    if kind == tokenize.NUMBER:
        values = [ast.literal_eval(text) for text in strings]
        found = _formula(values, sizes)
        if found is None:
            raise NotSupportedError(
                f"to_source() cannot leave {', '.join(sizes)} open: {at or 'a constant'} needs the "
                f"numbers {', '.join(strings)} for three sizes, of which no formula is known."
            )
        return found
    pieces = [re.split(r"(\d+)", text) for text in strings]
    if kind == tokenize.STRING and strings[0].startswith('"""'):  # the shapes of the inputs
        if len({len(each) for each in pieces}) == 1:
            merged = [
                each[0] if len(set(each)) == 1 else str(_formula([int(x) for x in each], sizes))
                for each in zip(*pieces)
            ]
            return "".join(merged)
    raise _other_calls(at)


def _other_calls(comment: str) -> NotSupportedError:
    return NotSupportedError(
        "to_source() cannot leave these sizes open: for other sizes the program makes other "
        f"calls, first near {comment.strip('# ') or 'its beginning'}. A scan is unrolled, Python's "
        "branches are decided by the sizes of the trace, and an array of NumPy of that size is a "
        "constant. Fix the size, or make such arrays by Trellis' functions."
    )


def _formula(values: Sequence[Any], sizes: Mapping[str, tuple[int, ...]]) -> str | None:
    """An expression of the sizes that gives all of the values."""
    known = {name: list(found) for name, found in sizes.items()}
    for one, other in itertools.combinations_with_replacement(sizes, 2):
        known[f"{one} * {other}"] = [a * b for a, b in zip(sizes[one], sizes[other])]
    if all([type(x) is int for x in values]):
        for name, found in list(known.items()):
            if name in sizes:
                for k in range(2, 17):
                    known[f"({name} // {k})"] = [x // k for x in found]
                    known[f"(-(-{name} // {k}))"] = [-(-x // k) for x in found]
        for name, found in known.items():
            slope, rest = divmod(values[1] - values[0], found[1] - found[0] or 1)
            base = values[0] - slope * found[0]
            if rest == 0 and slope and values[2] == slope * found[2] + base:
                text = name if slope == 1 else f"{slope} * {name}"
                text += f" + {base}" if base > 0 else f" - {-base}" if base else ""
                return text if text.isidentifier() else f"({text})"
        return None
    forms: list[tuple[str, Callable[[float, int], float]]] = [
        ("{0!r} / ({1})", lambda v, s: v * s),
        ("{0!r} * ({1})", lambda v, s: v / s),
        ("{0!r} / ({1}) ** 0.5", lambda v, s: v * math.sqrt(s)),
    ]
    for name, found in known.items():
        for form, fn in forms:
            parts = [fn(v, s) for v, s in zip(values, found)]
            # Each was rounded once or twice when the program was traced.
            if all([math.isclose(part, parts[0], rel_tol=1e-15 * 4) for part in parts]):
                nearest = round(parts[0]) if abs(parts[0] - round(parts[0])) < 1e-12 else parts[0]
                return f"({form.format(float(nearest), name)})"
    return None


def _free(word: str, names: set[str]) -> str:
    while word in names:
        word += "_size"
    return word


def _with_sizes(
    text: str, graph: "Graph", name: str, framework: str, local: Mapping[str, str]
) -> str:
    """The program with a line for each size at its beginning."""
    axes = graph._open_axes
    assert axes is not None
    functions = [each for each in ast.parse(text).body if isinstance(each, ast.FunctionDef)]
    function = next(each for each in functions if each.name == name)
    parameters = [each.arg for each in function.args.args][-len(graph.inputs) :]
    made = []
    for word, (number, axis) in axes.places.items():
        size = f"{parameters[number]}.shape[{axis}]"
        if framework == "tensorflow":  # in a tf.function it may not be known
            size = f"tf.shape({parameters[number]})[{axis}] if {size} is None else {size}"
        made.append(f"    {local[word]} = {size}")
    lines = text.splitlines()
    after = function.body[0].end_lineno or 1
    return "\n".join([*lines[:after], *made, *lines[after:]]) + "\n"
