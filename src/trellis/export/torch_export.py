"""Models as archives of torch.export."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from .._array.interchange import to_numpy
from .._core import tree
from ..convert.module import native
from .description import RECORD, Description, to_text
from .program import Dynamic, Program
from .torch_program import exported, quiet
from .verify import Runner
from .writing import Format, write

_FORMAT = Format("torch.export", ("torch",), "torch")


def to_torch_export(
    model: Any,
    args: Sequence[Any],
    path: str | os.PathLike[str],
    *,
    kwargs: Mapping[str, Any] | None = None,
    dynamic: Dynamic | None = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    variables: str = "parameters",
    training: bool = False,
    verify: bool = True,
) -> Description:
    """Write a model as an archive of `torch.export` (.pt2), which `torch.export.load` reads.

    The program takes one tensor for each input and returns what the model returns. Variables are
    parameters under their key paths with dots, `program.state_dict["layers.v0.w"]`, or constants
    of the program. The options are those of all writers: see docs/export.md.

    >>> import os, tempfile, numpy as np, torch, trellis
    >>> path = os.path.join(tempfile.mkdtemp(), "model.pt2")
    >>> model, x = trellis.nn.Linear(3, 2, backend="numpy"), np.ones((4, 3), "float32")
    >>> _ = trellis.export.to_torch_export(model, (x,), path, dynamic={"x": {0: "batch"}})
    >>> torch.export.load(path).module()(torch.ones(7, 3)).shape
    torch.Size([7, 2])
    """
    names = (input_names, output_names)
    program = Program(
        model, args, kwargs, dynamic, names, training, backend="torch", function="to_torch_export"
    )

    def save(target: Path, about: Mapping[str, Any]) -> None:
        made, _, _ = exported(program, variables)
        with quiet():
            torch.export.save(made, target, extra_files={f"{RECORD}.json": to_text(about)})

    return write(program, path, _FORMAT, variables, save=save, load=load, verify=verify)


def load(path: Path) -> Runner:
    """A file in the runtime of its format."""
    with quiet():
        module = torch.export.load(path).module()

    def run(inputs: Sequence[Any]) -> Sequence[Any]:
        with torch.no_grad():
            result = module(*[native(x, "torch", None) for x in inputs])
        return [to_numpy(x) for x in tree.leaves(result)]

    return run
