"""The sub-command ``trellis diverge``: record a run to a file, and compare two such files."""

import argparse
import sys

from .._core.printable import printable_lines

SUMMARY = "find the first call in which two runs of a program differ"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command line."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    record = actions.add_parser("record", help="run a function and record the result of each call")
    record.add_argument("program", help="file.py:name of a function that takes no arguments")
    record.add_argument("file", help="where to write the recording (safetensors)")
    record.add_argument("--backend", help="the framework to run it on")
    record.add_argument("--gradients", action="store_true", help="gradients of each call too")
    compare = actions.add_parser("compare", help="compare recordings, the first with the others")
    compare.add_argument("files", nargs="+", metavar="FILE", help="two recordings or more")
    compare.add_argument(
        "--tolerance", type=float, help="allowed difference, relative to the scale"
    )
    compare.add_argument("--svg", help="draw the difference along the calls into this file")


def run(arguments: argparse.Namespace) -> int:
    """Do it; 0 if nothing differs, 1 if something does, 2 for a mistake in the arguments."""
    from .._core.errors import TrellisError

    try:
        return _record(arguments) if arguments.action == "record" else _compare(arguments)
    except (TrellisError, OSError) as error:
        print(f"trellis diverge: {printable_lines(error)}", file=sys.stderr)
        return 2


def _record(arguments: argparse.Namespace) -> int:
    import runpy

    from .._diverge.recording import record

    path, _, name = arguments.program.rpartition(":")
    if not path or not name:
        print("trellis diverge: write the program as file.py:function", file=sys.stderr)
        return 2
    space = runpy.run_path(path)
    if name not in space:
        print(f"trellis diverge: {path} has no {name}", file=sys.stderr)
        return 2
    made = record(space[name], backend=arguments.backend, gradients=arguments.gradients)
    made.save(arguments.file)
    print(f"{len(made.calls)} calls on {made.backend} written to {arguments.file}")
    return 0


def _compare(arguments: argparse.Namespace) -> int:
    from .._diverge.recording import load_recording
    from .._diverge.report import compare

    if len(arguments.files) < 2:
        print("trellis diverge: compare needs two recordings or more", file=sys.stderr)
        return 2
    found = [load_recording(path) for path in arguments.files]
    report = compare(found, tolerance=arguments.tolerance, labels=list(arguments.files))
    print(printable_lines(str(report)))
    if arguments.svg:
        report.draw(arguments.svg)
    return 0 if report.is_same else 1
