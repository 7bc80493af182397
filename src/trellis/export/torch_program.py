"""A program as torch.export captures it, for the formats that torch writes."""

import contextlib
import inspect
import logging
import warnings
from collections.abc import Iterator
from typing import Any

import torch

from .._core import tree
from .._core.errors import ConversionError
from ..convert.module import native
from .examples import for_tracing
from .program import Program, plain


class Exportable(torch.nn.Module):
    """A program as a module of torch: its parameters are `layers.v0.w` and so on."""

    def __init__(self, program: Program, variables: str):
        super().__init__()
        self._program = program
        is_kept = variables == "parameters"
        self._v = [_Place(self, name, x, is_kept, True) for name, x in program.variables.items()]
        self._kept = [_Place(self, name, x, is_kept, False) for name, x in program.buffers.items()]
        # torch takes the names of inputs from the signature.
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        parameters = [inspect.Parameter(port.name, kind) for port in program.inputs]

        def forward(*inputs: torch.Tensor, **named: torch.Tensor) -> Any:
            given = [*inputs, *[named[port.name] for port in program.inputs[len(inputs) :]]]
            v, kept = [[place.get() for place in part] for part in (self._v, self._kept)]
            result = plain(program.call(v, kept, given))
            # An output that is an input as well has to be one of its own.
            known = {id(x) for x in (*given, *v, *kept)}
            return tree.map(lambda x: x.clone() if id(x) in known else x, result)

        forward.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        self.forward = forward


class _Place:
    """Where a tensor is kept: in a module, under a name, or here as a constant."""

    def __init__(self, root: Any, chain: str, x: Any, is_kept: bool, is_variable: bool):
        self._constant = None if is_kept else x
        if not is_kept:
            return
        *way, name = [part.replace(".", "_") for part in chain.split("/")]
        owner = root
        for part in way:
            known = dict(owner.named_children())
            part = _free(owner, part, known)
            if part not in known:
                owner.add_module(part, torch.nn.Module())
            owner = getattr(owner, part)
        self._owner, self._name = owner, _free(owner, name, {})
        if is_variable:
            can_learn = x.is_floating_point() or x.is_complex()
            x = torch.nn.Parameter(x, requires_grad=can_learn)
            owner.register_parameter(self._name, x)
        else:
            owner.register_buffer(self._name, x)

    def get(self) -> Any:
        return getattr(self._owner, self._name) if self._constant is None else self._constant


def _free(owner: Any, name: str, known: Any) -> str:
    """The name, or one like it where a module of torch has an attribute of that name."""
    while name not in known and hasattr(owner, name):
        name = f"{name}_"
    return name


def exported(program: Program, variables: str) -> tuple[Any, tuple[Any, ...], Any]:
    """The ExportedProgram, the inputs that it was traced with, and its dynamic axes."""
    module = Exportable(program, variables).train(program.training)
    inputs = [
        native(x, "torch", None) for x in for_tracing(program.example, program.axes, program.sizes)
    ]
    shapes = dynamic_shapes(program)
    try:
        with quiet():
            made = torch.export.export(module, tuple(inputs), dynamic_shapes=shapes, strict=False)
    except Exception as error:
        # Dynamo's, which has no public name.
        if type(error).__name__ != "UserError" or not program.sizes:
            raise
        names = ", ".join([repr(name) for name in program.sizes])
        raise ConversionError(
            f"torch cannot make {names} dynamic in {program.name}: {error}"
        ) from error
    for part in made.graph_module.modules():
        for node in part.graph.nodes if hasattr(part, "graph") else ():
            # Lines of source, with the directories of this machine.
            node.meta.pop("stack_trace", None)
    return made, tuple(inputs), shapes


def dynamic_shapes(program: Program) -> dict[str, Any] | None:
    """Open axes as torch names them."""
    if not program.sizes:
        return None
    dims = {name: torch.export.Dim(name, min=1) for name in program.sizes}
    return {
        port.name: {axis: dims[name] for axis, name in axes.items()}
        for port, axes in zip(program.inputs, program.axes, strict=True)
    }


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Without torch's warnings about its own code and about packages that are not used."""
    loggers = [
        logging.getLogger(name) for name in ("torch.onnx", "torch.export", "onnxscript", "onnx_ir")
    ]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
