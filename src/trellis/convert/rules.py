"""Rules: each translates one foreign operation into Trellis calls. One table for each source."""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from .._core.errors import NotSupportedError
from .._ops import TABLE
from .._ops.record import Op

# `rule(g, *args, **attributes)` adds calls to the graph `g` and returns the value, or values, that
# stand for the results.
Rule = Callable[..., Any]

_own: dict[str, Rule] = {}  # those of users, for any source


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Add the rule for an operation that Trellis does not know, before converting a model that has
    it.

    The name is the source's own: `"myns::op"` for torch (with or without the overload), the
    domain and type `"my.domain::Op"` for ONNX, the name of the primitive for JAX, of the op for
    TensorFlow. The function gets the graph, then the arguments of the operation; what it calls on
    the graph becomes part of the model.

    >>> from trellis import convert
    >>> @convert.rule("myns::double")
    ... def double(g, x):
    ...     return g.t.multiply(x, 2.0)
    """

    def add(fn: Rule) -> Rule:
        for name in names:
            _own[name] = fn
        return fn

    return add


class Rules:
    """The rules for one source: `@rules("aten.tanh.default")` adds one, for one name or several."""

    def __init__(self) -> None:
        self._table: dict[str, Rule] = {}

    def __call__(self, *names: str) -> Callable[[Rule], Rule]:
        def add(fn: Rule) -> Rule:
            for name in names:
                self._table[name] = fn
            return fn

        return add

    def add_named(self, source: str, form: str, make: Callable[[Op], Rule]) -> None:
        """A rule for each record of the op table that names operations of this source; those that
        have one of their own keep it."""
        for op in TABLE.values():
            for name in op.reads.get(source, "").split():
                self._table.setdefault(form.format(name), make(op))

    def find(self, *names: str) -> Rule | None:
        """The rule under the first of these names that has one; those of users come first."""
        for table in (_own, self._table):
            for name in names:
                if name in table:
                    return table[name]
        return None

    def __iter__(self) -> Any:
        return iter(self._table)


def refuse_missing(source: str, missing: Iterable[tuple[str, str]]) -> None:
    """Raise if there are operations without a rule, given as pairs of name and place: all at once,
    so that users need not find them one by one."""
    counts: Counter[str] = Counter()
    places: dict[str, str] = {}
    for name, where in missing:
        counts[name] += 1
        places.setdefault(name, where)
    if not counts:
        return
    lines = [
        f"  {name} ({count} times{', first at ' + places[name] if places[name] else ''})"
        for name, count in counts.most_common()
    ]
    first = counts.most_common(1)[0][0]
    raise NotSupportedError(
        f"This {source} model has {len(counts)} operations that Trellis has no rule for:\n"
        + "\n".join(lines)
        + f'\nAdd one with @convert.rule("{first}"), or remove it from the model.'
    )
