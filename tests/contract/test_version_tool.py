"""`tools/version.py`: the version of a release, and whether a tree is one."""

import importlib.util
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
spec = importlib.util.spec_from_file_location("version_tool", ROOT / "tools" / "version.py")
tool = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tool)

CHANGES = """# Changelog

## Unreleased

### Added
- A thing.

## 0.2.0 - 2026-11-17

- Older.
"""


@pytest.fixture
def tree(tmp_path):
    """The files that state a version, at 0.2.0, and a line since then."""
    for place in tool.PLACES:
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / place, tmp_path / place)
        text = (tmp_path / place).read_text(encoding="utf-8")
        old = tool.stated(place, tmp_path)
        (tmp_path / place).write_text(text.replace(old, "0.2.0"), encoding="utf-8")
    (tmp_path / "CHANGELOG.md").write_text(CHANGES, encoding="utf-8")
    return tmp_path


def test_a_version_is_set_everywhere(tree):
    tool.set_version("0.3.0", "2027-01-02", tree)
    assert [tool.stated(place, tree) for place in tool.PLACES] == ["0.3.0", "0.3.0"]
    changes = (tree / "CHANGELOG.md").read_text(encoding="utf-8")
    assert "## Unreleased\n\n## 0.3.0 - 2027-01-02\n\n### Added\n- A thing.\n" in changes
    assert tool.unreleased(tree) == ""


def test_a_release_has_its_section_and_its_records(tree):
    assert "CHANGELOG.md has lines under Unreleased" in tool.reasons(tree)
    tool.set_version("0.3.0", "2027-01-02", tree)
    records = ["src/trellis/_golden/releases/0.3.0", "docs/data/api-0.3.0.json"]
    assert tool.reasons(tree) == [f"{record} is missing" for record in records]
    for record in records:
        (tree / record).mkdir(parents=True)
    assert tool.reasons(tree) == []
    (tree / "CITATION.cff").write_text("\nversion: 0.2.0\n")
    assert tool.reasons(tree) == ["CITATION.cff states another version"]


@pytest.mark.parametrize("version", ["0.2.0", "0.1.9"])
def test_versions_only_rise(tree, version):
    with pytest.raises(SystemExit, match=r"not later than 0\.2\.0"):
        tool.set_version(version, "2027-01-02", tree)


def test_nothing_is_not_released(tree):
    tool.set_version("0.3.0", "2027-01-02", tree)
    with pytest.raises(SystemExit, match="nothing to release"):
        tool.set_version("0.4.0", "2027-01-02", tree)
