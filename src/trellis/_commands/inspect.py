"""`trellis inspect`: what is in a file."""

import argparse
from functools import partial

from .errors import told

SUMMARY = "what is in a model file or a file of weights, without running its code"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command line."""
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="ONNX, torch.export (.pt2), torch.save (.pt), StableHLO, SavedModel, TFLite, "
        "safetensors",
    )


def run(arguments: argparse.Namespace) -> int:
    """Print a description of each file."""
    return max([told("inspect", partial(_show, file)) for file in arguments.files])


def _show(file: str) -> None:
    from ..export.description import describe

    print(describe(file))
