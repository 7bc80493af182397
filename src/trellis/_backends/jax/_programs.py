"""Functions that are compiled once for what they compute, whichever closure is passed.

JAX identifies a loop's body by its identity, and users write a new closure at each call: outside
`jit`
every call of `scan` would compile again. Here the body is traced, which is cheap, and compiled
programs are cached by the content of the trace. Arrays that a body closes over are arguments of its
program; this includes those that are being differentiated.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import jax

from ._private import ClosedJaxpr, Jaxpr, Literal

MOST = 512  # cached programs; the least recently used one is dropped first

_programs: OrderedDict[Any, tuple[Any, ...]] = OrderedDict()


class Traced:
    """A function as its trace: `consts` are the arrays it closes over, `key` identifies what it
    computes."""

    def __init__(self, fn: Callable[..., Any], *examples: Any):
        closed, shapes = jax.make_jaxpr(fn, return_shape=True)(*examples)
        self.consts, self._jaxpr = closed.consts, closed.jaxpr
        self._spec = jax.tree_util.tree_structure(shapes)
        types = [_type(var.aval) for var in (*self._jaxpr.constvars, *self._jaxpr.invars)]
        self.key = (tuple(types), _key(self._jaxpr), self._spec)

    def call(self, consts: Any, *args: Any) -> Any:
        """The function, with these in place of the arrays it closes over."""
        leaves = jax.tree_util.tree_leaves(args)
        return jax.tree_util.tree_unflatten(
            self._spec, jax.core.eval_jaxpr(self._jaxpr, consts, *leaves)
        )


def compiled(name: str, traced: tuple[Traced, ...], make: Callable[[], Callable[..., Any]]) -> Any:
    """The program that `make` returns, or an earlier one whose functions compute the same."""
    key = (name, *[each.key for each in traced])
    found = _programs.pop(key, None)
    if found is None:
        # The traces are kept with the program: a key may hold the identity of an object of theirs,
        # which must not be reused for another one.
        found = (jax.jit(make()), traced)
        while len(_programs) >= MOST:
            _programs.popitem(last=False)
    _programs[key] = found
    return found[0]


def _key(jaxpr: Any) -> tuple[Any, ...]:
    """What a trace computes, as something that can be compared."""
    numbers: dict[Any, int] = {}

    def named(var: Any) -> Any:
        if isinstance(var, Literal):
            return (_type(var.aval), _comparable(var.val))
        return numbers.setdefault(var, len(numbers))

    for var in (*jaxpr.constvars, *jaxpr.invars):
        named(var)
    lines = []
    for eqn in jaxpr.eqns:
        given = tuple([named(var) for var in eqn.invars])
        made = tuple([(named(var), _type(var.aval)) for var in eqn.outvars])
        params = tuple([(what, _comparable(eqn.params[what])) for what in sorted(eqn.params)])
        lines.append((eqn.primitive, given, made, params))
    return (tuple(lines), tuple([named(var) for var in jaxpr.outvars]))


def _type(aval: Any) -> Any:
    return (aval.shape, str(aval.dtype), aval.weak_type) if hasattr(aval, "dtype") else str(aval)


def _comparable(value: Any) -> Any:
    """Equal for equal values only; what cannot be compared is identified by its id."""
    if isinstance(value, Jaxpr):
        return _key(value)
    if isinstance(value, ClosedJaxpr):
        # Constants of an inner function stay constants of the program.
        return (_key(value.jaxpr), tuple([id(x) for x in value.consts]))
    if isinstance(value, (tuple, list)):
        return (type(value), tuple([_comparable(item) for item in value]))
    if isinstance(value, (bool, int, float, complex)) or hasattr(value, "tobytes"):
        # By their bits: 0.0 and -0.0 are equal, and so are 1 and True.
        is_array = hasattr(value, "tobytes")
        return (type(value), value.tobytes() if is_array else repr(value))
    try:
        hash(value)
    except TypeError:
        return id(value)
    return value
