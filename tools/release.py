"""Build the distributions of a commit twice, and keep them only if both are byte for byte equal.

`make release` runs this with what is in requirements/build.txt, and nothing else. Whoever builds
the same commit gets the same files, and so can check that a release contains what git contains.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
DISTRIBUTIONS = (".", "packages/board")
# What must not matter: time zone, order of sets, permissions of new files, name of the folder.
WORLDS = {
    "first": {"TZ": "UTC", "PYTHONHASHSEED": "1", "umask": "022"},
    "second one": {"TZ": "Asia/Kathmandu", "PYTHONHASHSEED": "2", "umask": "077"},
}


def git(*arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(ROOT), *arguments], check=True, stdout=subprocess.PIPE)
    return done.stdout.decode().strip()


def export(folder: Path) -> None:
    """Write the files of the commit, and no others, to `folder`."""
    archive = folder.with_suffix(".tar")
    git("archive", "--format=tar", f"--output={archive}", "HEAD")
    with tarfile.open(archive) as file:
        file.extractall(folder, filter="data")


def build(source: Path, out: Path, epoch: str, world: dict[str, str]) -> None:
    """Build sdist and wheel of the distribution in `source`."""
    environment = {**os.environ, "SOURCE_DATE_EPOCH": epoch, **world}
    subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(source)],
        check=True,
        env=environment,
        umask=int(environment.pop("umask"), base=8),
        stdout=subprocess.DEVNULL,
    )


def differing(one: Path, other: Path) -> list[str]:
    """The names of files that are not the same in both folders."""
    names = {file.name for folder in (one, other) for file in folder.iterdir()}
    return sorted(name for name in names if _content(one / name) != _content(other / name))


def _content(file: Path) -> bytes | None:
    return file.read_bytes() if file.exists() else None


def board_requirements(wheel: Path) -> str:
    """The requirements of a CI job that runs the board, all with their hashes."""
    name, version = wheel.name.split("-")[:2]
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    needs = (ROOT / "requirements" / "board.txt").read_text()
    lines = [line for line in needs.splitlines() if not line.startswith("#")]
    own = f"{name.replace('_', '-')}=={version} \\\n    --hash=sha256:{digest}"
    return "\n".join([own, *lines]) + "\n"


def main(out: Path) -> None:
    """Build into `out`; it must not exist."""
    if changes := git("status", "--porcelain"):
        print(f"not part of the release, because not committed:\n{changes}", file=sys.stderr)
    epoch = git("log", "-1", "--format=%ct")
    with tempfile.TemporaryDirectory() as folder:
        built = []
        for name, world in WORLDS.items():
            source = Path(folder) / name
            export(source)
            built.append(Path(folder) / f"{name} built")
            for distribution in DISTRIBUTIONS:
                build(source / distribution, built[-1], epoch, world)
        if different := differing(*built):
            raise SystemExit(f"two builds of one commit differ: {', '.join(different)}")
        out.mkdir()
        for file in sorted(built[0].iterdir()):
            (out / file.name).write_bytes(file.read_bytes())
    (wheel,) = out.glob("trellis_board-*.whl")
    (out / "board-requirements.txt").write_text(board_requirements(wheel))
    for file in sorted(out.iterdir()):
        print(f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
