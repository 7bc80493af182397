"""The sub-command ``trellis verify``: does this installation compute what the releases recorded?"""

import argparse
import sys

SUMMARY = "compare this installation with the numbers that each release recorded"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command line."""
    parser.add_argument(
        "--backend",
        action="append",
        metavar="NAME",
        help="the framework to verify, may be given several times; all installed ones without it",
    )
    parser.add_argument(
        "--release", metavar="VERSION", help="the vectors of one version; all stored ones without"
    )


def run(arguments: argparse.Namespace) -> int:
    """Do it; 0 if nothing differs, 1 if something does, 2 for a mistake in the arguments."""
    from .._core.errors import TrellisError
    from .._golden.release import read_release, releases
    from .._golden.verify import installed_backends, verify

    try:
        backends = arguments.backend or installed_backends()
        versions = [arguments.release] if arguments.release else releases()
        stored = [read_release(version) for version in versions]
        reports = [verify(each, backend) for each in stored for backend in backends]
    except TrellisError as error:
        print(f"trellis verify: {error}", file=sys.stderr)
        return 2
    return 0 if all([report.is_same for report in reports]) else 1
