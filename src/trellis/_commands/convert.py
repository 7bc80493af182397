"""`trellis convert`: a model of another framework becomes one of ours."""

import argparse
from pathlib import Path

from .._core.dispatch import backend_names
from .errors import told
from .inputs import TRUST

SUMMARY = "a model of another framework as a Trellis module: its source and weights"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command line."""
    parser.add_argument("model", help="a file: .onnx, .pt2, .keras, or a SavedModel")
    parser.add_argument(
        "--to",
        default="numpy",
        help=f"the framework to convert for: {', '.join(backend_names())}",
    )
    parser.add_argument("--source", help="write readable Trellis code to this .py file")
    parser.add_argument("--weights", help="write the weights to this .safetensors file")
    parser.add_argument("--trust", action="store_true", help=TRUST)
    parser.add_argument(
        "--no-verify", action="store_true", help="do not run the model to compare its outputs"
    )
    parser.add_argument("--name", help="the class in the source; by default that of the model")


def run(arguments: argparse.Namespace) -> int:
    """Convert, compare with the source, write what was asked for, and print the report."""

    def convert() -> None:
        from .._core.printable import printable_lines
        from .models import converted

        model = converted(
            Path(arguments.model), arguments.to, arguments.trust, not arguments.no_verify
        )
        print(printable_lines(model.report()))
        if arguments.source:
            Path(arguments.source).write_text(model.to_source(arguments.name))
            print(f"source: {arguments.source}")
        if arguments.weights:
            model.save_weights(arguments.weights)
            print(f"weights: {arguments.weights}")

    return told("convert", convert)
