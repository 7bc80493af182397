"""The console command ``trellis``.

A sub-command is a module with three names: ``SUMMARY``, one line for the help; ``add_arguments``,
which describes its command line to an `argparse` parser; and ``run``, which does it and returns the
exit code. Such a module must load fast: it imports what it needs inside ``run``. To add a
sub-command, add a line to `COMMANDS`. A module may belong to another distribution, which need not
be installed.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from typing import Protocol, cast

from . import __version__

__all__ = ["COMMANDS", "main"]

COMMANDS = {
    "board": "trellis_board.commands",
    "convert": "trellis._commands.convert",
    "export": "trellis._commands.export",
    "inspect": "trellis._commands.inspect",
    "diverge": "trellis._commands.diverge",
    "doctor": "trellis._commands.doctor",
    "new-backend": "trellis._commands.new_backend",
    "run": "trellis.distributed.launcher",
    "verify": "trellis._commands.verify",
}


class Command(Protocol):
    """What a sub-command's module offers."""

    SUMMARY: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, arguments: argparse.Namespace) -> int: ...


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``trellis`` with these arguments, by default those of the process."""
    parser = argparse.ArgumentParser(prog="trellis", description="Trellis on the command line.")
    parser.add_argument("--version", action="version", version=f"trellis {__version__}")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, module in COMMANDS.items():
        command = _load(name, module)
        subparser = subparsers.add_parser(name, help=command.SUMMARY, description=command.SUMMARY)
        command.add_arguments(subparser)
        subparser.set_defaults(run=command.run)
    arguments = parser.parse_args(argv)
    return int(arguments.run(arguments))


def _load(name: str, module: str) -> Command:
    package = module.partition(".")[0]
    try:
        return cast(Command, importlib.import_module(module))
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        return _Missing(name, package.replace("_", "-"))


class _Missing:
    """A sub-command whose distribution is not installed: it says how to install it."""

    def __init__(self, name: str, distribution: str) -> None:
        self.name, self.distribution = name, distribution
        self.SUMMARY = f"not installed: pip install {distribution}"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("arguments", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)

    def run(self, arguments: argparse.Namespace) -> int:
        print(f"trellis {self.name} needs {self.distribution}: {self.SUMMARY}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    raise SystemExit(main())
