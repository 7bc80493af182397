"""Prints constraints: the lowest versions that pyproject.toml states, and the pins of everything
else."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
lowest = dict(
    re.fullmatch(r"([\w-]+)>=([\d.]+)", line).groups() for line in project["dependencies"]
)
for pin in (ROOT / "requirements" / "pins.txt").read_text().split():
    if pin.partition("==")[0] not in lowest:
        print(pin)
for name, version in lowest.items():
    print(f"{name}=={version}")
