"""Reading models of PyTorch."""

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path as FilePath
from typing import Any

import torch
from torch.fx import GraphModule, Node

from ..._core.dispatch import current_backend
from ..._core.errors import ArgumentTypeError, ConversionError
from ...graph import Value
from ...graph.graph import all_nodes
from ...graph.passes import is_random as is_random_call
from ..finish import finish
from ..inputs import Inputs
from ..left_open import (
    Open,
    bad_weights,
    beyond_integers,
    equal_numbers,
    everything,
    not_finite,
    not_positive,
    nowhere,
    overflow,
    singular_triangles,
    special_matrices,
    unsorted_edges,
    vectors,
)
from ..module import ConvertedModule
from ..reading import Notes, Reading
from ..rules import refuse_missing
from ..trust import errors_of
from .builder import TorchBuilder
from .capture import Captured, Position, capture, captured
from .control import CONTROL
from .files import exported_program
from .inplace import needs_functionalization
from .nests import Path, simplified, tensors_in, with_tensors
from .translate import (
    Translator,
    as_numpy,
    as_tensor,
    described,
    find_rule,
    is_assertion,
    live_nodes,
    names_of,
    source_line,
)

NEW_MEMORY = "the numbers of new memory"
_EMPTY = ("aten.empty", "aten.new_empty")
# LAPACK promises nothing for singular matrices, nor for vectors of values that are equal.
_LAPACK = (
    "cond", "det", "eig", "inv", "ldl", "lstsq", "lu", "matrix_norm", "matrix_rank", "norm", "pinv",
    "qr", "slogdet", "solve", "svd", "tensorinv", "tensorsolve", "householder_product",
)  # fmt: skip
UNDEFINED = (
    Open(NEW_MEMORY, _EMPTY, everything),
    Open(
        "the order of equal numbers",
        ("aten.topk", "aten.sort.default", "aten.argsort.default", "aten.kthvalue", "aten.median",
         "aten.nanmedian", "aten.mode", "aten.msort"),
        equal_numbers,
    ),
    Open(
        "the signs of vectors, and those of equal values",
        ("aten.linalg_eig.", "aten.linalg_eigh", "aten._linalg_eigh", "aten.linalg_svd",
         "aten._linalg_svd", "aten.linalg_qr"),
        vectors,
    ),
    Open(
        "the results for special matrices",
        (*[f"aten.{mark}linalg_{name}" for mark in ("", "_") for name in _LAPACK],
         "aten.lu", "aten.ormqr", "aten.geqrf", "aten.inverse", "aten.pinverse",
         "aten.svd", "aten.qr", "aten.logdet", "aten.slogdet", "aten.det", "aten.cholesky_"),
        special_matrices,
    ),
    Open(
        "the results for singular triangles",
        ("aten.linalg_solve_triangular", "aten.triangular_solve"),
        singular_triangles,
    ),
    Open(
        "the results for matrices without a factor",
        ("aten.linalg_cholesky", "aten.cholesky.", "aten._linalg_cholesky"),
        not_positive,
    ),
    # FFTs and oneDNN promise nothing there; one kernel multiplies with zeros of padding and of
    # masks where another leaves them out; mean and variance in one pass meet inf - inf.
    Open(
        "the results for nan and infinity",
        ("aten.fft_", "aten._fft", "aten.stft", "aten.istft", "aten.conv", "aten.slow_conv",
         "aten._convolution", "aten.scaled_dot_product_attention", "aten.upsample_",
         "aten._upsample", "aten.bilinear", "aten.gelu", "aten.var_mean", "aten.std_mean",
         "aten.linspace", "aten.layer_norm", "aten.native_layer_norm", "aten.group_norm",
         "aten.instance_norm", "aten.batch_norm", "aten.native_group_norm", "aten.histc",
         "aten.linalg_matrix_exp"),
        not_finite,
    ),
    Open("overflow", ("aten.prod", "aten.cumprod", "aten.fft_", "aten._fft"), overflow),
    Open("what lies at places that are not finite", ("aten.grid_sampler",), nowhere),
    # Casts differ from processor to processor.
    Open("integers beyond their type", ("aten.to.", "aten._to_copy"), beyond_integers),
    Open("places among nan", ("aten.searchsorted", "aten.bucketize"), unsorted_edges),
    Open("draws by such weights", ("aten.multinomial", "aten.bernoulli"), bad_weights),
)  # fmt: skip


def from_torch(
    module: torch.nn.Module | torch.export.ExportedProgram | str | os.PathLike[str],
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    to: str | None = None,
    dynamic: Mapping[str, Mapping[int, str]] | None = None,
    train: bool = False,
    verify: bool = True,
    trust: bool = False,
) -> ConvertedModule:
    """A `torch.nn.Module`, a `torch.export.ExportedProgram` or the path of its file (.pt2), as a
    module of any framework.

    `args` and `kwargs` are example arguments: their shapes, and all that are not tensors, are
    fixed. `dynamic={"ids": {0: "batch", 1: "length"}}` makes axes dynamic, by the name of the
    argument. `to` is the framework of the variables, the default one if None. With `train` dropout
    and batch normalisation behave as in training while `model.training`; otherwise the model is as
    in evaluation. `verify` compares the outputs for the example with torch's. A file is read as
    data, and one that could run code raises an error; with `trust` torch loads it all the same.

    >>> import torch, trellis
    >>> layer = torch.nn.Linear(3, 2)
    >>> model = trellis.convert.from_torch(layer, (torch.ones(4, 3),), to="numpy")
    >>> list(model.v)
    ['bias', 'weight']
    >>> model(trellis.ones((4, 3), backend="numpy")).shape
    (4, 2)
    """
    to = to or current_backend()
    if isinstance(module, (str, os.PathLike)):
        path = FilePath(module)
        module = exported_program(path, trust, verify)
        with errors_of(path, "from_torch()"):
            return from_torch(
                module, args, kwargs, to=to, dynamic=dynamic, train=train, verify=verify
            )
    if isinstance(module, torch.export.ExportedProgram):
        if args or kwargs or dynamic:
            raise ArgumentTypeError(
                "from_torch() takes no arguments for an ExportedProgram: it has its own."
            )
        found = captured(module)
    elif isinstance(module, torch.nn.Module):
        found = capture(module, args, kwargs or {}, dynamic or {}, train)
    else:
        raise ArgumentTypeError(
            "from_torch() expects a torch.nn.Module, a torch.export.ExportedProgram or the path of "
            f"one, got {type(module).__name__}."
        )
    found.program = _readable(found.program)
    notes = Notes()
    if found.left_out:
        notes.remarks.append(f"left out of the outputs: {', '.join(found.left_out)}")
    g = TorchBuilder(to, train, notes)
    reader = _Reader(found, g, dynamic or {})
    reading = reader.reading(_name(module))
    is_random = any([is_random_call(node) for node in all_nodes(reading.graph)])
    is_open = verify and reader.shows_new_memory()
    with_verification = verify and not (is_random and not train) and not is_open
    model = finish(reading, to=to, with_verification=with_verification)
    if is_open:
        notes.verified = f"not verified: torch leaves {NEW_MEMORY} undefined (torch.empty)"
    if is_random and not train:
        notes.verified = "not verified: it draws random numbers"
    if train:
        model.train()
    return model


def _name(module: torch.nn.Module | torch.export.ExportedProgram) -> str:
    return "ExportedProgram" if not isinstance(module, torch.nn.Module) else type(module).__name__


def _readable(program: torch.export.ExportedProgram) -> Any:
    """The program with operations that there are rules for: where there are none torch may take
    them apart, and where views are written into it makes them new ones."""
    missing = _missing(program.graph_module)
    if not missing and not _any_graph(program.graph_module, needs_functionalization):
        return program
    parts = torch.export.default_decompositions()
    table = {op: parts[op] for op in {node.target for node, _ in missing} if op in parts}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch about its own code
        decomposed = program.run_decompositions(table)
        missing = _missing(decomposed.graph_module)
        again = {op: parts[op] for op in {node.target for node, _ in missing} if op in parts}
        if again:  # what came out of taking apart
            decomposed = decomposed.run_decompositions(again | table)
            missing = _missing(decomposed.graph_module)
    refuse_missing(
        "torch",
        [(names_of(node.target)[-1], _place(node)) for node, _ in missing],
    )
    return decomposed


def _missing(graph_module: GraphModule) -> list[tuple[Any, Any]]:
    found = []
    for each in graph_module.modules():
        if not hasattr(each, "graph"):
            continue
        for node in live_nodes(each.graph):
            if node.op != "call_function" or is_assertion(node.target):
                continue
            name = getattr(node.target, "__name__", "")
            if name in CONTROL or name == "getitem" or find_rule(node.target) is not None:
                continue
            found.append((node, each))
    return found


def _any_graph(graph_module: GraphModule, holds: Callable[[torch.fx.Graph], bool]) -> bool:
    return any([holds(x.graph) for x in graph_module.modules() if hasattr(x, "graph")])


def _place(node: Node) -> str:
    stack = node.meta.get("nn_module_stack") or {}
    path = [value[0] for value in stack.values()][-1:]
    return " ".join([*path, source_line(node)]).strip()


class _Reader:
    """One program on its way into a graph."""

    def __init__(self, found: Captured, g: TorchBuilder, dynamic: Mapping[str, Mapping[int, str]]):
        self._found, self._g, self._dynamic = found, g, dynamic
        self._program = found.program
        self._variables: dict[str, Any] = {}
        self._buffers: dict[str, Any] = {}
        self._aliases: dict[str, str] = {}
        self._inputs: list[Value] = []

    def reading(self, name: str) -> Reading:
        found, g, program = self._found, self._g, self._program
        translator = Translator(g, found.prefix)
        owner = program.graph_module
        known = self._placeholders()
        out = translator.read(owner.graph, owner, known)
        signature = program.graph_signature
        count = len(list(signature.output_specs)) - len(list(signature.user_outputs))
        for spec, value in zip(signature.output_specs, out):
            if spec.kind.name == "BUFFER_MUTATION" and isinstance(value, Value):
                chain = self._chain(spec.target)
                if chain in g.graph.buffers:
                    g.graph.updates[chain] = value
        users = out[count:] if count else out
        g.graph.outputs = _placed(found.structure, list(users))
        inputs = Inputs(
            found.names,
            tuple([(path, value) for (path, _), value in zip(found.tensors, self._inputs)]),
            tuple(found.fixed),
        )
        example = [as_numpy(x) for _, x in found.tensors]
        return Reading(
            name=name,
            source="torch",
            graph=g.graph,
            inputs=inputs,
            variables=self._variables,
            buffers=self._buffers,
            example=example,
            outputs=None if found.module is None else lambda: self._run(example),
            values=lambda: self._trace(translator, example),
            run=None if found.module is None else self._run,
            trace=lambda inputs: self._trace(translator, inputs),
            undefined=UNDEFINED,
            aliases=self._aliases,
            notes=g.notes,
        )

    def _chain(self, name: str) -> str:
        return name.removeprefix(self._found.prefix).replace(".", "/")

    def _placeholders(self) -> dict[Any, Any]:
        """Values for what goes into the program: parameters, buffers, constants, inputs."""
        g, program = self._g, self._program
        known: dict[Any, Any] = {}
        nodes = [n for n in program.graph.nodes if n.op == "placeholder"]
        users = iter(self._found.tensors)
        shared: dict[Any, str] = {}
        for node, spec in zip(nodes, program.graph_signature.input_specs):
            kind = spec.kind.name
            if kind == "USER_INPUT":
                if isinstance(node.meta.get("val"), torch.Tensor):
                    path, _ = next(users)
                    known[node] = self._input(node, path)
                else:
                    known[node] = node.meta.get("val")
            elif kind == "PARAMETER":
                known[node] = self._parameter(spec.target, shared)
            elif kind == "BUFFER" and spec.persistent:
                known[node] = self._buffer(spec.target, shared)
            elif kind in ("BUFFER", "CONSTANT_TENSOR"):
                tensor = self._tensor(spec.target)
                known[node] = g.constant(as_numpy(tensor), spec.target.rpartition(".")[2])
            else:
                raise ConversionError(
                    f"from_torch() cannot read an input of the kind {kind}: {spec.target}."
                )
        return known

    def _tensor(self, name: str) -> torch.Tensor:
        program = self._program
        if name in program.state_dict:
            return program.state_dict[name]
        return program.constants[name]

    def _input(self, node: Node, path: Path) -> Value:
        recorded = described(node.meta["val"])
        words = self._dynamic.get(str(path[0]) + "".join([f"[{k!r}]" for k in path[1:]]), {})
        ndim = len(recorded.shape or ())
        words = {axis % ndim: word for axis, word in words.items()}
        shape = tuple([
            size if isinstance(size, int) else words.get(i, size)
            for i, size in enumerate(recorded.shape or ())
        ])  # fmt: skip
        for axis, word in words.items():
            if isinstance(shape[axis], int):
                raise ConversionError(
                    f"from_torch() cannot make axis {axis} ({word}) of {path[0]} dynamic: the "
                    f"model works for size {shape[axis]} only."
                )
        value = self._g.input("_".join([str(key) for key in path]), shape, recorded.dtype)
        self._inputs.append(value)
        # Inside the program the sizes have torch's names, under which results mention them.
        return Value(value.name, recorded.shape, recorded.dtype)

    def _parameter(self, name: str, shared: dict[Any, str]) -> Value:
        chain, tensor = self._chain(name), self._tensor(name)
        same = _identity(tensor)
        if same in shared:
            self._aliases[chain] = shared[same]
            chain = shared[same]
        else:
            shared[same] = chain
            self._variables[chain] = as_numpy(tensor)
        recorded = described(tensor)
        value = self._g.variable(chain, recorded.shape, recorded.dtype)
        if tensor.requires_grad:
            return value
        # Frozen in torch: it stays as it is here too.
        g = self._g
        return g.noted(g.t.stop_gradient(value), recorded.shape, recorded.dtype)

    def _buffer(self, name: str, shared: dict[Any, str]) -> Value:
        chain, tensor = self._chain(name), self._tensor(name)
        recorded = described(tensor)
        self._buffers[chain] = as_numpy(tensor)
        return self._g.buffer(chain, recorded.shape, recorded.dtype)

    def _tensors(self, inputs: list[Any]) -> list[torch.Tensor]:
        return [as_tensor(x, like) for x, (_, like) in zip(inputs, self._found.tensors)]

    def _run(self, inputs: list[Any]) -> Any:
        """What the module gives for other inputs; it is afterwards as it was before."""
        found = self._found
        args, kwargs = with_tensors((found.args, found.kwargs), self._tensors(inputs))
        before = [(each, each.training) for each in found.module.modules()]
        kept = [(x, x.detach().clone()) for x in found.module.buffers()]
        try:
            if found.prefix:  # a module of the user's; a program has its mode built in
                found.module.eval()
            with torch.no_grad():
                out = found.module(*args, **kwargs)
        finally:
            for each, mode in before:
                each.training = mode
            with torch.no_grad():
                for x, value in kept:
                    x.copy_(value)
        return simplified(out, as_numpy, [])

    def shows_new_memory(self) -> bool:
        """Whether outputs depend on what was in memory before: they change with it."""
        names = _EMPTY
        if not any([name.startswith(names) for name in self._g.notes.operations]):
            return False

        class Filled(torch.fx.Interpreter):  # type: ignore[misc]
            number = 0

            def run_node(self, n: Node) -> Any:
                result = super().run_node(n)
                if n.op == "call_function" and names_of(n.target)[0].startswith(names):
                    result.fill_(self.number)
                return result

        example = [as_numpy(x) for _, x in self._found.tensors]
        outs = []
        for number in (0, 1):
            made = Filled(self._program.module(check_guards=False))
            made.number = number
            with torch.no_grad():
                outs.append(made.run(*self._tensors(example)))
        pairs = list(zip(*[[x for _, x in tensors_in(out)] for out in outs]))
        return not all([torch.equal(*[x.nan_to_num() for x in pair]) for pair in pairs])

    def _trace(self, translator: Translator, inputs: list[Any]) -> dict[str, Any]:
        """What each node gives when torch runs the program."""
        found: dict[str, Any] = {}

        class Watch(torch.fx.Interpreter):  # type: ignore[misc]
            def run_node(self, n: Node) -> Any:
                result = super().run_node(n)
                names = translator.seen.get(n.name, ())
                several = result if isinstance(result, (tuple, list)) else (result,)
                for name, each in zip(names, several):
                    if name is not None and isinstance(each, torch.Tensor):
                        found[name] = as_numpy(each)
                return result

        module = self._program.module(check_guards=False)
        with torch.no_grad():
            Watch(module).run(*self._tensors(inputs))
        return found


def _identity(tensor: torch.Tensor) -> Any:
    if tensor.numel() == 0:
        return id(tensor)
    return (tensor.data_ptr(), tuple(tensor.shape), tuple(tensor.stride()), tensor.dtype)


def _placed(structure: object, values: list[Any]) -> Any:
    if isinstance(structure, Position):
        return values[structure.index]
    if isinstance(structure, dict):
        return {key: _placed(x, values) for key, x in structure.items()}
    if isinstance(structure, (tuple, list)):
        return type(structure)([_placed(x, values) for x in structure])
    return structure
