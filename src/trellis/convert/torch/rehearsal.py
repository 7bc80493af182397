"""What a child process does with an archive of torch.export before this process reads it."""

from typing import Any

import torch


def run(source: str, inputs: Any, options: dict[str, Any]) -> None:
    """Load the program and run it on its own example."""
    program = torch.export.load(source)
    given = program.example_inputs
    if given:
        with torch.no_grad():
            program.module(check_guards=False)(*given[0], **(given[1] or {}))
