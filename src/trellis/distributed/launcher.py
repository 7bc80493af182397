"""`trellis run -n 4 train.py ...`: start the ranks of a program on this machine.

Every rank gets the environment variables of torchrun and of MPI, so programs written for those run
too. Nothing listens on another network interface than loopback, unless `--expose` is given. Each
line of output is prefixed with its rank. When a rank fails, it is named and the others are
terminated; signals are forwarded to all ranks; no process is left running.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys

from .._core.dispatch import backend_names

SUMMARY = "start a program in several processes on this machine"
_FORWARDED = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2")
_ENDING = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command line."""
    parser.add_argument(
        "-n", "--processes", type=int, default=os.cpu_count() or 1, help="how many ranks"
    )
    parser.add_argument("--backend", choices=backend_names(), help="sets TRELLIS_BACKEND")
    parser.add_argument(
        "--restarts",
        type=int,
        default=0,
        help="how many times to restart all ranks after a failure",
    )
    parser.add_argument(
        "--grace", type=float, default=5.0, help="seconds between terminating a rank and killing it"
    )
    parser.add_argument(
        "--expose",
        action="store_true",
        help="let the frameworks choose their network interfaces, and give TensorFlow's own "
        "strategies their TF_CONFIG: their servers listen on all interfaces and let anyone who "
        "connects read and write your files, so only on a private network",
    )
    parser.add_argument("-m", "--module", action="store_true", help="PROGRAM is a module")
    parser.add_argument("program", metavar="PROGRAM", help="a Python file")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="arguments of the program")


def run(arguments: argparse.Namespace) -> int:
    """Start the ranks, and return the exit code of the one that failed first, or 0."""
    from ._ranks import Ranks

    if arguments.processes < 1:
        print("trellis run: -n needs at least 1 process", file=sys.stderr)
        return 2
    if not arguments.module and not os.path.exists(arguments.program):
        print(f"trellis run: there is no file {arguments.program}", file=sys.stderr)
        return 2
    program = ["-m", arguments.program] if arguments.module else [arguments.program]
    command = [sys.executable, "-u", *program, *arguments.arguments]
    received: list[int] = []
    current: list[Ranks] = []

    def forward(number: int, frame: object) -> None:
        if signal.Signals(number).name in _ENDING:
            received.append(number)
        for ranks in current:
            ranks.send(number, is_end=signal.Signals(number).name in _ENDING)

    names = [name for name in _FORWARDED if hasattr(signal, name)]
    before = {name: signal.signal(getattr(signal, name), forward) for name in names}
    try:
        for attempt in range(arguments.restarts + 1):
            ranks = Ranks(
                command,
                arguments.processes,
                arguments.backend,
                arguments.grace,
                is_exposed=arguments.expose,
            )
            current[:] = [ranks]
            code = ranks.wait()
            if code == 0 or received or attempt == arguments.restarts:
                break
            print(f"trellis run: restart {attempt + 1} of {arguments.restarts}", file=sys.stderr)
    finally:
        current.clear()
        for name, handler in before.items():
            signal.signal(getattr(signal, name), handler)
    return 128 + received[0] if received else code
