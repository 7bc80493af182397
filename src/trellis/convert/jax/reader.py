"""Functions of JAX as modules: `jax.make_jaxpr`, then a rule for each primitive."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.export

from ..._core.dispatch import current_backend
from ..._core.errors import ArgumentError, ArgumentTypeError, ConversionError
from ...graph import Value, drop_unused
from ...graph.passes import used_values
from ..finish import finish
from ..inputs import Inputs
from ..left_open import (
    Open,
    beyond_integers,
    not_finite,
    not_positive,
    rounding,
    rows_with_nan,
    singular_triangles,
    special_matrices,
)
from ..module import ConvertedModule
from ..reading import Reading
from . import flax
from .arguments import Leaf, array_of, leaves_of, like_leaf, names_of, plain_structure
from .builder import JaxBuilder
from .equations import Equations, numpy_of, refuse_unknown, result_of
from .rules_control import ITERATED

Dynamic = Mapping[str, Mapping[int, str]]
_UNDEFINED = (
    # XLA promises nothing for integers beyond their type, nor which zeros of padding it multiplies.
    Open("integers beyond their type", ("convert_element_type",), beyond_integers),
    # Of gelu: torch's own, which the formula is put together to, is nan at infinity. And torch
    # multiplies infinity with 0 when it adds complex numbers.
    Open("nan and infinity", ("conv_general_dilated", "erf", "complex"), not_finite),
    Open("places of nan", ("approx_top_k",), rows_with_nan),
    Open(
        "the results for special matrices",
        ("lu", "qr", "svd", "eig", "eigh", "custom_linear_solve"),
        special_matrices,
    ),
    Open("the results for singular triangles", ("triangular_solve",), singular_triangles),
    Open("the results for matrices without a factor", ("cholesky",), not_positive),
    # Conjugate gradients end there with numbers that solve nothing.
    Open("the results for matrices that are not positive definite", (ITERATED,), not_positive),
    # Special functions are as exact as their series next to zeros and poles.
    Open(
        "the last places next to zeros and poles",
        ("lgamma", "digamma", "zeta", "polygamma", "igamma", "regularized_incomplete_beta"),
        rounding,
    ),
)


def from_jax(
    fn: Callable[..., Any],
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    variables: int | Sequence[int] = 0,
    to: str | None = None,
    dynamic: Dynamic | None = None,
    verify: bool = True,
) -> ConvertedModule:
    """A function of JAX, or a model of flax, as a module of any framework.

    `args` are examples of its arguments; those numbered by `variables` become `v`, with the keys
    of their pytrees as names. Python numbers and strings among them are fixed. `dynamic` keeps axes
    of inputs open: `{"x": {0: "batch"}}`. With linen, pass `module.apply`: all collections but
    `params` become buffers. A model of nnx is passed itself, after `model.eval()`:
    `from_jax(model, (x,))`; what it changes are updates of buffers.

    >>> import jax.numpy as jnp
    >>> from trellis import convert
    >>> params = {"weight": jnp.ones((2, 3)), "bias": jnp.zeros(3)}
    >>> model = convert.from_jax(
    ...     lambda p, x: jnp.tanh(x @ p["weight"] + p["bias"]),
    ...     args=(params, jnp.array([[0.0, 0.5]])),
    ...     to="numpy",
    ... )
    >>> sorted(model.v.keys())
    ['bias', 'weight']
    """
    to = current_backend() if to is None else to
    if not callable(fn):
        raise ArgumentTypeError(
            f"from_jax() expects a function, linen's module.apply or a model of nnx, got {fn!r}."
        )
    if flax.is_nnx_module(fn):
        pure, trained, others = flax.split_nnx(fn)
        names = names_of(fn, len(args), ())
        reader = _Reader(pure, (trained, others, *args), dict(kwargs or {}), (0, 1), dynamic or {})
        reader.with_state(type(fn).__name__, names)
    else:
        reader = _Reader(fn, tuple(args), dict(kwargs or {}), variables, dynamic or {})
    return finish(reader.read(to), to=to, with_verification=verify)


def from_stateful(
    fn: Callable[..., Any],
    trained: Mapping[str, Any],
    others: Mapping[str, Any],
    args: Sequence[Any],
    *,
    name: str,
    to: str,
    dynamic: Dynamic | None = None,
    verify: bool = True,
) -> ConvertedModule:
    """A pure function `fn(trained, others, *args)` that gives its outputs and the new `others`:
    these become buffers, the others `v`."""
    reader = _Reader(fn, (trained, others, *args), {}, (0, 1), dynamic or {})
    reader.with_state(name, ["x"] if len(args) == 1 else [f"x{i}" for i in range(len(args))])
    return finish(reader.read(to), to=to, with_verification=verify)


class _Reader:
    """One conversion: what the arguments are, and what they become."""

    def __init__(
        self,
        fn: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        variables: int | Sequence[int],
        dynamic: Dynamic,
    ):
        self.name, self.fn = flax.name_of(fn), fn
        self.has_state = False
        stored = (variables,) if isinstance(variables, int) else tuple(variables)
        stored = tuple([i + len(args) if i < 0 else i for i in stored])
        names = self._names(fn, args, stored)
        if any([i >= len(args) for i in stored]):
            raise ArgumentError(
                f"from_jax() got variables={variables!r}, but {len(args)} arguments in args. "
                "Write variables=() for a function without variables."
            )
        self.args, self.kwargs, self.stored, self.names = args, kwargs, stored, names
        self.leaves = [leaves_of(name, x) for name, x in zip(names, args)]
        self.named_leaves = {name: leaves_of(name, x) for name, x in kwargs.items()}
        self.dynamic = dynamic

    def with_state(self, name: str, names: Sequence[str]) -> None:
        """The second argument is a state, whose new value the function returns after its
        outputs."""
        self.name, self.has_state = name, True
        self.names = ["v", "buffers", *names]
        self.leaves = [leaves_of(name, x) for name, x in zip(self.names, self.args)]

    @staticmethod
    def _names(fn: Callable[..., Any], args: tuple[Any, ...], stored: tuple[int, ...]) -> list[str]:
        called = flax.signature_of(fn)
        if called is not fn:  # linen's apply takes the variables first
            return ["variables", *names_of(called, len(args) - 1, ())]
        return names_of(fn, len(args), stored)

    def read(self, to: str) -> Reading:
        every = [leaf for leaves in self._groups() for leaf in leaves]
        self.arrays = [leaf for leaf in every if leaf.is_array]
        shapes = self._shapes()
        try:
            closed, out_shape = jax.make_jaxpr(self._on_arrays, return_shape=True)(*shapes)
        except jax.errors.ConcretizationTypeError as error:
            raise ConversionError(
                f"{self.name} asks for the value of an array while JAX traces it, which no "
                f"converter can follow: {str(error).splitlines()[0]} Use jax.lax.cond, or fix the "
                "argument by passing a Python number."
            ) from error
        refuse_unknown(closed)
        equations = Equations(to)
        g = equations.g
        values: list[Any] = []
        stored: dict[str, Any] = {}
        kept: dict[str, Any] = {}
        inputs: list[tuple[tuple[Any, ...], Any]] = []
        example: list[Any] = []
        for i, leaf in self._numbered():
            known = result_of(shapes[len(values)])
            shape = (*known.shape, 2) if known.dtype == "key" else known.shape
            dtype = "uint32" if known.dtype == "key" else known.dtype
            if i in self.stored:
                place, chain = self._place(i, leaf)
                array = array_of(leaf)
                (kept if place == "buffer" else stored)[chain] = array
                values.append(getattr(g, place)(chain, shape, dtype))
            else:
                value = g.input("_".join([str(key) for key in leaf.path]), shape, dtype)
                self._note_open_axes(g, value)
                inputs.append((leaf.path, value))
                example.append(array_of(leaf))
                values.append(value)
        results = [
            g.array(x, result_of(aval).dtype)
            for x, aval in zip(equations.inline(closed, values), closed.out_avals)
        ]
        tree = jax.tree_util.tree_structure(out_shape)
        graph = g.graph
        outputs = jax.tree_util.tree_unflatten(tree, results)
        if self.has_state:
            outputs, after = outputs
            for leaf in leaves_of("buffers", after):
                if leaf.value != graph.buffers.get(leaf.chain):
                    graph.updates[leaf.chain] = leaf.value
        graph.outputs = plain_structure(outputs)
        g.notes.dropped += drop_unused(graph)
        if self.has_state:  # keys of layers that draw nothing now
            used = used_values(graph)
            graph.buffers = {k: x for k, x in graph.buffers.items() if x.name in used}
            kept = {k: x for k, x in kept.items() if k in {*graph.buffers, *graph.updates}}
        fixed = [
            (leaf.path, leaf.value)
            for i, leaf in self._numbered(with_plain=True)
            if not leaf.is_array and i not in self.stored
        ]
        names = [name for i, name in enumerate(self.names) if i not in self.stored]
        return Reading(
            name=self.name,
            source="JAX",
            graph=graph,
            inputs=Inputs((*names, *self.kwargs), tuple(inputs), tuple(fixed)),
            variables=stored,
            buffers=kept,
            example=example,
            outputs=lambda: self._run(example),
            run=self._run,
            trace=lambda given: equations.trace(closed, self._given(given)),
            undefined=_UNDEFINED,
            ordinary_only="LAPACK may never return from nan"
            if {"svd", "eig", "eigh"} & set(g.notes.operations)
            else "",
            notes=g.notes,
        )

    def _groups(self) -> list[list[Leaf]]:
        return [*self.leaves, *self.named_leaves.values()]

    def _numbered(self, with_plain: bool = False) -> list[tuple[int, Leaf]]:
        """All leaves with the number of the argument that they are in."""
        return [
            (i, leaf)
            for i, leaves in enumerate(self._groups())
            for leaf in leaves
            if leaf.is_array or with_plain
        ]

    def _place(self, i: int, leaf: Leaf) -> tuple[str, str]:
        """Whether a leaf is a variable or a buffer, and its name."""
        chain = leaf.chain
        if self.has_state:
            return ("buffer" if i == 1 else "variable"), chain
        if len(self.stored) > 1:
            chain = "/".join([str(key) for key in leaf.path])
        is_float = hasattr(leaf.value, "dtype") and jax.numpy.issubdtype(
            leaf.value.dtype, jax.numpy.inexact
        )
        if flax.is_statistic(self.args[i], leaf.chain) or not is_float:
            return "buffer", chain
        return "variable", chain

    def _shapes(self) -> list[Any]:
        """What the function is traced with: shapes and types, with names for dynamic axes."""
        scope = jax.export.SymbolicScope()
        unused = set(self.dynamic)
        shapes = []
        for i, leaf in self._numbered():
            value = leaf.value
            dtype = getattr(value, "dtype", None)
            name = "_".join([str(key) for key in leaf.path])
            sizes = list(jax.numpy.shape(value))
            if i not in self.stored and name in self.dynamic:
                unused.discard(name)
                for axis, size in self.dynamic[name].items():
                    sizes[axis] = jax.export.symbolic_shape(size, scope=scope)[0]
            if dtype is None:
                dtype = jax.numpy.asarray(value).dtype
            shapes.append(jax.ShapeDtypeStruct(tuple(sizes), dtype))
        if unused:
            inputs = [leaf for i, leaf in self._numbered() if i not in self.stored]
            names = ["_".join([str(key) for key in leaf.path]) for leaf in inputs]
            raise ArgumentError(
                f"from_jax() got dynamic axes for {sorted(unused)}, but the inputs are {names}."
            )
        return shapes

    def _note_open_axes(self, g: JaxBuilder, value: Value) -> None:
        for axis, size in enumerate(value.shape or ()):
            if isinstance(size, str):
                g.open_axis(size, g.s.size(value, axis))

    def _on_arrays(self, *arrays: jax.Array) -> Any:
        """The function with its arrays in a row, everything else as in the example."""
        given = iter(arrays)
        groups = [
            [next(given) if x.is_array else x.value for x in leaves] for leaves in self._groups()
        ]
        built = [
            group[0] if len(leaves) == 1 and len(leaves[0].path) == 1 and not leaves[0].is_array
            else jax.tree_util.tree_unflatten(jax.tree_util.tree_structure(x), group)
            for x, leaves, group in zip(
                (*self.args, *self.kwargs.values()), self._groups(), groups, strict=True
            )
        ]  # fmt: skip
        count = len(self.args)
        return self.fn(*built[:count], **dict(zip(self.kwargs, built[count:])))

    def _given(self, inputs: Sequence[Any]) -> list[Any]:
        """All arrays of the function, with other inputs."""
        given = iter(inputs)
        return [
            jax.numpy.asarray(leaf.value) if i in self.stored else like_leaf(leaf, next(given))
            for i, leaf in self._numbered()
        ]

    def _run(self, inputs: Sequence[Any]) -> Any:
        out = self._on_arrays(*self._given(inputs))
        if self.has_state:
            out = out[0]
        leaves, tree = jax.tree_util.tree_flatten(out)
        arrays = [numpy_of(x) for x in leaves]
        return plain_structure(jax.tree_util.tree_unflatten(tree, arrays))
