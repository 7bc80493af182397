"""``python -m trellis_board.manual FOLDER`` copies the manual and the recipes into a folder."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
FOLDERS = ("docs", "recipes", "action")


def main(arguments: Sequence[str]) -> int:
    """Copy all files; what is there already is not overwritten."""
    if len(arguments) != 1:
        print("expected one folder: python -m trellis_board.manual FOLDER", file=sys.stderr)
        return 2
    # In a checkout they are beside the sources, in a wheel they are here.
    root = HERE if (HERE / "docs").is_dir() else HERE.parents[2]
    target = Path(arguments[0])
    for folder in FOLDERS:
        for file in sorted((root / folder).rglob("*")):
            to = target / file.relative_to(root)
            if not file.is_file() or "__pycache__" in file.parts:
                continue
            if to.exists():
                print(f"{to} is there already: left as it is", file=sys.stderr)
                continue
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, to)
            print(to)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
