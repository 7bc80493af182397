"""What makes a release: builds that can be repeated, from tools with hashes."""

from __future__ import annotations

import importlib.util
import re
import zipfile
from pathlib import Path

import pytest

from .helpers import missing

ROOT = Path(__file__).parents[3]
if not (ROOT / "tools" / "release.py").exists():
    pytest.skip("the tools for releases are not part of a distribution", allow_module_level=True)
SPEC = importlib.util.spec_from_file_location("release", ROOT / "tools" / "release.py")
release = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(release)


@pytest.mark.parametrize("name", ["build", "sbom", "board"])
def test_every_requirement_has_a_hash_and_the_version_of_the_pins(name):
    text = (ROOT / "requirements" / f"{name}.txt").read_text()
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert "http" not in "".join(lines), "no address of a registry"
    pins = (ROOT / "requirements" / "pins.txt").read_text().lower().replace("_", "-").splitlines()
    pinned = dict(line.split("==") for line in pins if "==" in line)
    entries = re.split(r"\n(?=\S)", "\n".join(lines))
    assert entries
    for entry in entries:
        package, version = re.match(r"([\w.-]+)==([\w.]+)", entry).groups()
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", entry), package
        assert pinned.get(package.lower(), version) == version
    assert "torch" not in text


def test_two_builds_of_the_board_are_equal(tmp_path, monkeypatch):
    monkeypatch.setenv("REPOSITORY_URL", "https://code.example/trellis/")
    for tool in ("build", "hatchling"):
        if importlib.util.find_spec(tool) is None:
            missing(tool)
    built = []
    for name, world in release.WORLDS.items():
        source = tmp_path / name
        release.export(source)
        built.append(tmp_path / f"{name} built")
        release.build(source / "packages/board", built[-1], "1700000000", world)
    names = sorted(file.suffix for file in built[0].iterdir())
    assert names == [".gz", ".whl"]
    assert release.differing(*built) == []
    wheel = next(built[0].glob("*.whl"))
    with zipfile.ZipFile(wheel) as files:
        (name,) = [name for name in files.namelist() if name.endswith("METADATA")]
        told = files.read(name).decode()
    assert "Project-URL: Source, https://code.example/trellis\n" in told
    assert "Project-URL: Issues, https://code.example/trellis/issues\n" in told
    for name, file in (
        ("Documentation", "packages/board/docs/board.md"),
        ("Changelog", "CHANGELOG.md"),
    ):
        assert f"Project-URL: {name}, https://code.example/trellis/blob/HEAD/{file}\n" in told
        assert (ROOT / file).is_file()
    text = release.board_requirements(wheel)
    own = re.match(r"trellis-board==[\d.]+ \\\n    --hash=sha256:[0-9a-f]{64}\n", text)
    assert own
    assert "sqlalchemy==" in text


def test_a_build_that_differs_is_found(tmp_path):
    for folder, content in (("a", b"1"), ("b", b"2")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.whl").write_bytes(content)
        (tmp_path / folder / "same").write_bytes(b"")
    (tmp_path / "a" / "more").touch()
    assert release.differing(tmp_path / "a", tmp_path / "b") == ["more", "x.whl"]
