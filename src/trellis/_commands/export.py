"""`trellis export`: a model becomes a file that other systems run."""

import argparse
from pathlib import Path
from typing import Any

from .errors import told
from .inputs import HELP, TRUST, Input, parsed

SUMMARY = "a model as an ONNX, torch.export, StableHLO, SavedModel or TFLite file, verified"
_SUFFIXES = {
    ".onnx": "onnx",
    ".pt2": "torch_export",
    ".stablehlo": "stablehlo",
    ".tflite": "tflite",
    "": "saved_model",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command line."""
    parser.add_argument(
        "model",
        help="package.module:name of a module or function, or a file of another framework: .onnx, "
        ".pt2, .keras, a SavedModel",
    )
    parser.add_argument("output", help="where to write; its suffix decides the format")
    parser.add_argument("--to", choices=sorted(_SUFFIXES.values()), help="the format")
    parser.add_argument(
        "--input", dest="inputs", action="append", default=[], type=parsed, help=HELP
    )
    parser.add_argument("--weights", help="a file of weights to load into the model first")
    parser.add_argument("--variables", choices=("parameters", "constants"))
    parser.add_argument("--trust", action="store_true", help=TRUST)
    parser.add_argument(
        "--backend", default="numpy", help="the framework that the model is made and compared on"
    )


def run(arguments: argparse.Namespace) -> int:
    """Write the file and print what was found."""
    return told("export", lambda: print(_exported(arguments)))


def _exported(arguments: argparse.Namespace) -> Any:
    from .. import export, using_backend
    from ..errors import ArgumentError
    from .models import converted, named

    suffix = Path(arguments.output).suffix
    format = arguments.to or _SUFFIXES.get(suffix)
    if format is None:
        raise ArgumentError(
            f"{suffix!r} is not the suffix of a format; write one of "
            f"{', '.join([s for s in _SUFFIXES if s])}, or pass --to."
        )
    inputs: list[Input] = arguments.inputs
    if ":" in arguments.model and not Path(arguments.model).exists():
        with using_backend(arguments.backend):
            model = named(arguments.model)
    else:
        model = converted(Path(arguments.model), arguments.backend, arguments.trust)
        inputs = inputs or _inputs_of(Path(arguments.model))
    if not inputs:
        raise ArgumentError("Describe the inputs of the model: --input 'x=float32[batch,8,8,1]'.")
    if arguments.weights:
        model.load_weights(arguments.weights)
    options: dict[str, Any] = {}
    if arguments.variables and format != "tflite":
        options["variables"] = arguments.variables
    if any([each.name or each.open_axes() for each in inputs]):
        names = [each.name or f"input_{i}" for i, each in enumerate(inputs)]
        options["input_names"] = names
        options["dynamic"] = {
            name: each.open_axes() for name, each in zip(names, inputs) if each.open_axes()
        }
    args = tuple([each.example(i) for i, each in enumerate(inputs)])
    return getattr(export, f"to_{format}")(model, args, arguments.output, **options)


def _inputs_of(path: Path) -> list[Input]:
    """The inputs that a file declares, by their names."""
    from ..export.description import describe

    found = []
    for port in describe(path).inputs:
        shape = tuple([f"axis_{i}" if s is None else s for i, s in enumerate(port.shape)])
        found.append(Input(port.name, port.dtype, shape, 2))
    return found
