"""A torch module as a graph of torch's operations: `torch.export`, with tensors alone at both
ends."""

import inspect
import re
import warnings
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch

from ..._core.errors import ArgumentError, ConversionError
from ..._core.frames import is_in
from ..inputs import written
from .nests import Path, plain_in, simplified, tensors_in, with_tensors


@dataclass
class Captured:
    """An exported program, with how the arguments and outputs of the module map to it."""

    program: Any  # torch.export.ExportedProgram
    module: Any  # what to run for comparison, or None
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    names: tuple[str, ...]  # of the arguments
    tensors: list[tuple[Path, torch.Tensor]]  # one for each input of the program
    fixed: list[tuple[Path, Any]]
    structure: Any  # of the outputs: pytrees with positions of the program's outputs
    prefix: str = ""  # the prefix of the names of variables and modules
    left_out: list[str] = field(default_factory=list)
    axes: dict[str, str] = field(default_factory=dict)  # symbols of the program, by their names


class _Found:
    """What became of the outputs."""

    structure: Any = None
    left_out: list[str]


class Flat(torch.nn.Module):  # type: ignore[misc]
    """The module with tensors alone going in and out; the rest is fixed."""

    def __init__(self, module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]):
        super().__init__()
        self.module = module
        self._given = (args, kwargs)
        # torch.export sets the attributes of modules back: what is found is noted elsewhere.
        self.found = _Found()

    def forward(self, *tensors: torch.Tensor) -> Any:
        args, kwargs = with_tensors(self._given, list(tensors))
        out = self.module(*args, **kwargs)
        found: list[torch.Tensor] = []
        left_out: list[str] = []

        def keep(x: torch.Tensor) -> "Position":
            found.append(x)
            return Position(len(found) - 1)

        self.found.structure = simplified(out, keep, left_out)
        self.found.left_out = left_out
        return tuple(found)


@dataclass(frozen=True)
class Position:
    """Which of the program's outputs is here."""

    index: int


def capture(
    module: torch.nn.Module,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    dynamic: Mapping[str, Mapping[int, str]],
    train: bool,
) -> Captured:
    """Export a module for example arguments; errors say which line of the user cannot be read."""
    args, kwargs = tuple(args), dict(kwargs)
    names, paths, fixed = _named(module, args, kwargs)
    _refuse_meta(module, paths)
    flat = Flat(module, args, kwargs)
    shapes, axes = _open_axes(paths, dynamic)
    before = {path: set(dir(part)) for path, part in module.named_modules()}
    with _mode(module, train):
        program = _exported(flat, _different([x for _, x in paths]), shapes)
    _refuse_new_buffers(module, before)
    return Captured(
        program, module, args, kwargs, names, paths, fixed, flat.found.structure, "module.",
        flat.found.left_out, axes,
    )  # fmt: skip


def _different(tensors: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    """The tensors, where one comes twice with a copy of it: torch.export would take both for one
    input."""
    found: list[torch.Tensor] = []
    for x in tensors:
        found.append(x.clone() if any([x is other for other in found]) else x)
    return tuple(found)


def _refuse_meta(module: torch.nn.Module, paths: Sequence[tuple[Path, torch.Tensor]]) -> None:
    names = [name for name, x in [*module.named_parameters(), *module.named_buffers()] if x.is_meta]
    names += [written(path) for path, x in paths if x.is_meta]
    if names:
        raise ConversionError(
            f"from_torch() cannot read {type(module).__name__}: {names[0]} is on the device "
            '"meta" and has no numbers. Write module.to_empty(device="cpu") and load its weights '
            "first, and give an example with numbers."
        )


def _refuse_new_buffers(module: torch.nn.Module, before: Mapping[str, set[str]]) -> None:
    """Raise for buffers that the module created while it was exported: they hold no numbers. They
    are taken out again."""
    for name, x in list(module.named_buffers()):
        if type(x) is torch.Tensor or isinstance(x, torch.nn.Parameter):
            continue
        path, _, last = name.rpartition(".")
        owner = module.get_submodule(path)
        if last in before.get(path, ()):
            setattr(owner, last, None)
        else:
            delattr(owner, last)
        raise ConversionError(
            f"from_torch() cannot read {type(module).__name__}: it creates its buffer {name} in "
            "its first call. Call it once with the example first: module(*args)."
        )


def captured(program: torch.export.ExportedProgram) -> Captured:
    """The same for a program that the user exported."""
    given: Any = program.example_inputs or ((), {})
    args, kwargs = tuple(given[0]), dict(given[1] or {})
    users = list(program.graph_signature.user_inputs)
    flat_names = [str(name) for name in users]
    # torch names the inputs after the arguments; nested ones get a number at the end.
    names: list[str] = []
    position = 0
    for arg in args:
        leaves = len(tensors_in(arg)) + len(plain_in(arg))
        name = flat_names[position] if position < len(flat_names) else f"x_{len(names)}"
        names.append(name if leaves == 1 else re.sub(r"_[^_]*$", "", name) or name)
        position += max(leaves, 1)
    given_by_name = dict(zip(names, args)) | kwargs
    paths = [pair for name, x in given_by_name.items() for pair in tensors_in(x, (name,))]
    fixed = [pair for name, x in given_by_name.items() for pair in plain_in(x, (name,))]
    left_out: list[str] = []
    spec = program.call_spec.out_spec
    with torch.no_grad():  # each output holds its own number: some structures are left out
        marks = spec.unflatten([torch.tensor(i) for i in range(spec.num_leaves)])
    structure = simplified(marks, lambda x: Position(int(x)), left_out)
    run = program.module(check_guards=False) if given != ((), {}) else None
    return Captured(
        program, run, args, kwargs, (*names, *kwargs), paths, fixed, structure, "", left_out
    )


def _named(module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The names of the arguments in order, where tensors are in them, and the plain values."""
    try:
        parameters = list(inspect.signature(module.forward).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    positional = [
        p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    while len(positional) < len(args):  # *args
        positional.append(f"args_{len(positional)}")
    given = dict(zip(positional, args)) | kwargs
    others = [name for name in given if name not in positional]
    paths = [pair for name, x in given.items() for pair in tensors_in(x, (name,))]
    fixed = [pair for name, x in given.items() for pair in plain_in(x, (name,))]
    return (*positional, *others), paths, fixed


def _open_axes(
    paths: Sequence[tuple[Path, torch.Tensor]], dynamic: Mapping[str, Mapping[int, str]]
) -> tuple[Any, dict[str, str]]:
    """What `torch.export` calls dynamic_shapes, for each tensor; axes of one name are one size."""
    names = {written(path) for path, _ in paths}
    for name in dynamic:
        if name not in names:
            raise ArgumentError(
                f"from_torch() got dynamic axes for {name!r}; the model has the arrays "
                f"{', '.join(sorted(names))}."
            )
    shapes = []
    for path, x in paths:
        axes = {
            axis % max(x.ndim, 1): word for axis, word in dynamic.get(written(path), {}).items()
        }
        shapes.append(dict.fromkeys(axes, torch.export.Dim.DYNAMIC) or None)
    if not dynamic:
        return None, {}
    return (tuple(shapes),), {}


def _exported(flat: Flat, tensors: tuple[torch.Tensor, ...], shapes: tuple[Any, ...] | None) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return torch.export.export(flat, tensors, dynamic_shapes=shapes, strict=False)
        except Exception as error:
            raise _explained(error, flat.module) from error


def _explained(error: Exception, module: torch.nn.Module) -> ConversionError:
    """What torch.export found, with the line of the user's code."""
    text = str(error)
    name = type(error).__name__
    place = _line_of(error)
    if "DataDependent" in name or "data-dependent" in text.lower() or "GuardOn" in name:
        return ConversionError(
            f"from_torch() cannot read {type(module).__name__}: it decides in Python by values of "
            f"tensors, which are known only when it runs{place}. Write torch.where or torch.cond "
            "there instead of `if`, and leave .item() and bool() of tensors out."
        )
    first = text.strip().splitlines()[0] if text.strip() else name
    return ConversionError(
        f"from_torch() cannot read {type(module).__name__}: torch.export raised {name}{place}: "
        f"{first[:300]}"
    )


def _line_of(error: Exception) -> str:
    """The last line outside torch that an error came through, as ' (file, line 3: `code`)'."""
    best = ""
    seen = error
    while seen is not None:
        trace = seen.__traceback__
        while trace is not None:
            frame = trace.tb_frame
            file = frame.f_code.co_filename
            if not is_in(file, "torch", "trellis") and not file.startswith("<"):
                code = _source_line(file, trace.tb_lineno)
                best = f" ({file}, line {trace.tb_lineno}{': `' + code + '`' if code else ''})"
            trace = trace.tb_next
        seen = seen.__cause__ or seen.__context__  # type: ignore[assignment]
        if best:
            break
    return best


def _source_line(file: str, number: int) -> str:
    import linecache

    return linecache.getline(file, number).strip()


@contextmanager
def _mode(module: torch.nn.Module, train: bool) -> Any:
    """Training or evaluation mode inside the block, each part as it was afterwards."""
    before = [(each, each.training) for each in module.modules()]
    try:
        module.train(train)
        yield
    finally:
        for each, mode in before:
            each.training = mode
