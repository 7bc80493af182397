"""The equations of a jaxpr, one after the other, as calls of Trellis' functions."""

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import jax
import jax.export
import numpy as np

from ..._backends.jax._private import Literal
from ...graph import Value
from ..binding import call
from ..rules import Rule, Rules, refuse_missing
from ..target import number
from .builder import Equation, JaxBuilder, Jaxpr, Number, Result, Spread
from .parameters import defaults_of
from .rules_control import control_rules, inner_program, is_call
from .rules_elementwise import elementwise
from .rules_indexing import indexing_rules
from .rules_products import product_rules
from .rules_random import random_rules
from .rules_reduction import reduction_rules
from .rules_shape import shape_rules

Place: TypeAlias = tuple[int, ...]
_WHOLE: tuple[Rules, ...] = (reduction_rules, product_rules, indexing_rules)
_RAW: tuple[Rules, ...] = (shape_rules, control_rules, random_rules)
# How many operands of these must be arrays of their whole shape; the others may be numbers.
_ARRAYS_FIRST = {
    "dynamic_slice": 1, "dynamic_update_slice": 2, "pad": 1, "transpose": 1, "squeeze": 1,
    "expand_dims": 1, "tile": 1, "rev": 1, "split": 1, "slice": 1, "bitcast_convert_type": 1,
    "concatenate": 10**6, "stack": 10**6, "unstack": 1, "random_bits": 1, "random_split": 1,
    "random_fold_in": 1, "threefry2x32": 4, "random_wrap": 1, "random_unwrap": 1,
}  # fmt: skip


class Equations:
    """Walks through a jaxpr and adds its calls to a graph, those of inner programs in place."""

    def __init__(self, to: str):
        self.g = JaxBuilder(to, self.inline)
        # Which value a result of an equation became, by the places of the equations on the way.
        self.seen: dict[Place, Value] = {}
        self._way: Place = ()

    def inline(self, jaxpr: Jaxpr, args: Sequence[Any]) -> list[Any]:
        """The results of a program, whose equations are added to the builder."""
        consts = getattr(jaxpr, "consts", ())
        program: Any = getattr(jaxpr, "jaxpr", jaxpr)
        known: dict[Any, Any] = dict(zip(program.constvars, [self._constant(x) for x in consts]))
        known |= dict(zip(program.invars, args))
        outside = self.g.source, self.g.where, self.g.out, self.g.given, self._way
        for i, equation in enumerate(program.eqns):
            self._way = (*outside[-1], i)
            self._add(equation, known)
        self.g.source, self.g.where, self.g.out, self.g.given, self._way = outside
        return [_read(x, known) for x in program.outvars]

    def _add(self, equation: Equation, known: dict[Any, Any]) -> None:
        g, name = self.g, equation.primitive.name
        args = [_read(x, known) for x in equation.invars]
        g.source = name
        g.where = str(equation.source_info.name_stack)
        g.given = [result_of(x.aval) for x in equation.invars]
        g.out = [result_of(x.aval) for x in equation.outvars]
        g.notes.operations[name] += 1
        rule = _rule(name)
        assert rule is not None  # all of them were looked up before
        args = self._prepared(name, args)
        params = _plain_sizes(equation.params)
        results = call(rule, g, args, params, defaults=defaults_of(name, params))
        if elementwise.find(name) is rule and isinstance(results, Value):
            small = g.small_shape(args)
            if small is not None and small != g.out[0].shape:
                results = g.described(results, small, g.out[0].dtype)
                results = Spread(results, g.out[0].shape, g.out[0].dtype)
        if not isinstance(results, (tuple, list)):
            results = (results,)
        outs = [result_of(x.aval) for x in equation.outvars]
        for i, (variable, x, out) in enumerate(zip(equation.outvars, results, outs, strict=True)):
            if isinstance(x, Value) and x.shape is None:
                x = g.described(x, out.shape, out.dtype)
            known[variable] = x
            kept = x.small if isinstance(x, Spread) else x
            if isinstance(kept, Value):
                self.seen[(*self._way, i)] = kept

    def trace(self, closed: Jaxpr, inputs: Sequence[Any]) -> dict[str, Any]:
        """What each equation gives when JAX runs them one by one, by the names of values."""
        found: dict[str, Any] = {}
        self._run(closed, inputs, (), found)
        return found

    def _run(
        self, jaxpr: Any, inputs: Sequence[Any], way: Place, found: dict[str, Any]
    ) -> list[Any]:
        program = getattr(jaxpr, "jaxpr", jaxpr)
        known = dict(zip(program.constvars, getattr(jaxpr, "consts", ())))
        known |= dict(zip(program.invars, inputs))
        for i, equation in enumerate(program.eqns):
            args = [x.val if isinstance(x, Literal) else known[x] for x in equation.invars]
            inner = inner_program(equation.params) if is_call(equation.primitive.name) else None
            if inner is None:
                results = equation.primitive.bind(*args, **equation.params)
                if not equation.primitive.multiple_results:
                    results = [results]
            else:
                results = self._run(inner, args, (*way, i), found)
            for j, (variable, x) in enumerate(zip(equation.outvars, results, strict=True)):
                known[variable] = x
                value = self.seen.get((*way, i, j))
                if value is not None:
                    found[value.name] = _shrunk(numpy_of(x), value.shape)
        return [x.val if isinstance(x, Literal) else known[x] for x in program.outvars]

    def _prepared(self, name: str, args: list[Any]) -> list[Any]:
        g = self.g
        if elementwise.find(name) is not None:
            return g.elementwise(args)
        if any([name in rules for rules in _RAW]):
            count = _ARRAYS_FIRST.get(name, 0)
            first = [g.array(x, r.dtype) for x, r in zip(args[:count], g.given)]
            return [*first, *args[count:]]
        return [g.array(x, r.dtype) for x, r in zip(args, g.given)]

    def _constant(self, x: jax.Array) -> Any:
        array = numpy_of(x)
        if array.ndim == 0:
            return number(array)
        return self.g.constant(array)


def _rule(name: str) -> Rule | None:
    for rules in (elementwise, *_WHOLE, *_RAW):
        found = rules.find(name)
        if found is not None:
            return found
    return None


def refuse_unknown(jaxpr: Jaxpr) -> None:
    """Raise if there are primitives without a rule, all at once."""
    found = [
        (equation.primitive.name, line_of(equation))
        for equation in all_equations(jaxpr)
        if _rule(equation.primitive.name) is None
    ]
    refuse_missing("JAX", found)


def all_equations(jaxpr: Jaxpr) -> Iterator[Equation]:
    """The equations of a program and of the programs inside it."""
    for equation in getattr(jaxpr, "jaxpr", jaxpr).eqns:
        yield equation
        for inner in jax.tree_util.tree_leaves(
            list(equation.params.values()), is_leaf=lambda x: hasattr(x, "eqns")
        ):
            if hasattr(inner, "eqns"):
                yield from all_equations(inner)


def line_of(equation: Equation) -> str:
    """The file and line of the user's code that an equation comes from."""
    try:
        frames = equation.source_info.traceback.frames
    except AttributeError:
        return str(equation.source_info.name_stack)
    for frame in frames:
        name = frame.file_name.replace("\\", "/")
        if not any([f"/{package}/" in name for package in ("jax", "flax", "trellis/convert")]):
            return f"{name.rpartition('/')[2]}:{frame.line_num}"
    return str(equation.source_info.name_stack)


def result_of(aval: jax.core.ShapedArray) -> Result:
    """Shape and data type as Trellis names them; open sizes are strings, keys a type of theirs."""
    is_key = jax.dtypes.issubdtype(aval.dtype, jax.dtypes.prng_key)
    shape = tuple([n if isinstance(n, int) else str(n) for n in aval.shape])
    return Result(shape, "key" if is_key else aval.dtype.name)


def numpy_of(x: jax.Array) -> np.ndarray[Any, Any]:
    """A NumPy array; typed keys as the numbers in them."""
    if hasattr(x, "dtype") and jax.dtypes.issubdtype(x.dtype, jax.dtypes.prng_key):
        x = jax.random.key_data(x)
    return np.asarray(x)


def _shrunk(x: np.ndarray[Any, Any], shape: Any) -> np.ndarray[Any, Any]:
    """One element of each axis that was spread over the array."""
    if shape is None or len(shape) > x.ndim:
        return x
    x = x[(0,) * (x.ndim - len(shape))]
    return x[tuple([slice(0, 1) if n == 1 else slice(None) for n in shape])]


def _read(x: Any, known: dict[Any, Any]) -> Value | Spread | Number:
    if isinstance(x, Literal):
        array = numpy_of(x.val)
        if array.ndim == 0:
            return number(array)
    return known[x]  # type: ignore[no-any-return]


def _plain_sizes(nest: Any) -> Any:
    """Parameters with strings in the place of open sizes."""
    if isinstance(nest, dict):
        return {key: _plain_sizes(x) for key, x in nest.items()}
    if type(nest) in (tuple, list):
        return type(nest)([_plain_sizes(x) for x in nest])
    if isinstance(nest, np.generic):
        return nest.item()
    return str(nest) if jax.export.is_symbolic_dim(nest) else nest
