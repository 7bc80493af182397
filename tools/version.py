"""The version of the next release, and whether a commit is one.

python tools/version.py 0.3.0    # writes it into all files, with a section of the CHANGELOG
python tools/version.py          # says why this commit is no release; if it is one, tags it
"""

from __future__ import annotations

import datetime
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = "src/trellis/__init__.py"
PLACES = {
    SOURCE: r'(?m)^__version__ = "([\d.]+)"$',
    "CITATION.cff": r"(?m)^version: ([\d.]+)$",
}


def git(*arguments: str) -> str:
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def stated(place: str, root: Path = ROOT) -> str:
    """The version that a file states."""
    found = re.search(PLACES[place], (root / place).read_text(encoding="utf-8"))
    assert found is not None, place
    return found[1]


def numbers(version: str) -> tuple[int, ...]:
    return tuple([int(part) for part in version.split(".")])


def unreleased(root: Path = ROOT) -> str:
    """What the CHANGELOG says of the time since the last release."""
    text = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    return text.partition("\n## Unreleased\n")[2].partition("\n## ")[0].strip()


def set_version(version: str, date: str, root: Path = ROOT) -> None:
    """Write a version into all files; the lines under Unreleased become its section."""
    new, old = numbers(version), numbers(stated(SOURCE, root))
    if new <= old:
        raise SystemExit(f"{version} is not later than {stated(SOURCE, root)}")
    if not unreleased(root):
        raise SystemExit("CHANGELOG.md has no line under Unreleased: there is nothing to release")
    for place, pattern in PLACES.items():
        path = root / place
        text = path.read_text(encoding="utf-8")
        found = re.search(pattern, text)
        assert found is not None, place
        path.write_text(text[: found.start(1)] + version + text[found.end(1) :], encoding="utf-8")
    path = root / "CHANGELOG.md"
    text = path.read_text(encoding="utf-8")
    heading = f"\n## Unreleased\n\n## {version} - {date}\n"
    path.write_text(text.replace("\n## Unreleased\n", heading, 1), encoding="utf-8")


def reasons(root: Path = ROOT) -> list[str]:
    """Why the files of this tree are not those of a release."""
    version = stated(SOURCE, root)
    changes = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    found = []
    if unreleased(root):
        found.append("CHANGELOG.md has lines under Unreleased")
    if not re.search(rf"(?m)^## {re.escape(version)} - \d{{4}}-\d\d-\d\d$", changes):
        found.append(f"CHANGELOG.md has no section with a date for {version}")
    if stated("CITATION.cff", root) != version:
        found.append("CITATION.cff states another version")
    for record in (f"src/trellis/_golden/releases/{version}", f"docs/data/api-{version}.json"):
        if not (root / record).exists():
            found.append(f"{record} is missing")
    return found


def main() -> None:
    if len(sys.argv) > 1:
        set_version(sys.argv[1], datetime.date.today().isoformat())
        return
    tag, found = f"v{stated(SOURCE)}", reasons()
    if git("status", "--porcelain"):
        found.append("there are changes that are not committed")
    tagged = git("tag", "--list", tag)
    if tagged and git("rev-list", "-n", "1", tag) != git("rev-parse", "HEAD"):
        found.append(f"{tag} is another commit")
    if found:
        print("A rehearsal, and no release:\n  " + "\n  ".join(found))
    elif not tagged:
        git("tag", "--annotate", tag, "--message", f"Version {stated(SOURCE)}")
        print(f"tagged {tag}")


if __name__ == "__main__":
    main()
