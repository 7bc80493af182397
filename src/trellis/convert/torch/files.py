"""Programs of torch from their files."""

from pathlib import Path
from typing import Any

import torch


def exported_program(path: Path) -> Any:
    """The ExportedProgram of an archive of torch.export."""
    return torch.export.load(path)
