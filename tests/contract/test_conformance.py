"""The conformance kit as an author of a backend runs it: in a process and a folder of its own.

What the kit's tests find is for them to say, on all four backends; here is the kit itself.
"""

import json
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace

import pytest

import trellis
from kit_runs import SOURCE, kit
from small_backends import SMALL, registered
from trellis import cli
from trellis.conformance import exceptions, summary
from trellis.conformance.narrow_gradients import check_narrow_gradients
from trellis.conformance.rows import ROWS

KIT = SOURCE / "trellis" / "conformance"


def test_a_slice_from_an_empty_folder(tmp_path):
    code, text = kit(tmp_path, "numpy", "trellis.conformance", "--slice", "60")
    assert code == 0, text
    for label in summary.GROUPS.values():
        assert re.search(rf"^{label} .* green  100\.0 %", text, flags=re.M), label
    assert "257 native" in text
    assert "exceptions: 0 in no file" in text


def test_the_report_as_data(tmp_path):
    (tmp_path / "conformance.toml").write_text('[rows]\n"test_value[tanh]" = "a reason"\n')
    options = (
        "-k",
        "tanh and not arctanh and not atanh and not functional",
        "--conformance-report",
    )
    code, text = kit(tmp_path, "numpy", "trellis.conformance.test_rows", *options, "found.json")
    found = json.loads((tmp_path / "found.json").read_text())
    assert code == 1 and "XPASS(strict)" in text  # NumPy can do what the table says it cannot
    rows = found["groups"]["rows"]
    assert rows["failed"] == found["exceptions"]["a reason"] == 1 and rows["passed"] > 3
    assert found["functions"]["native"] == 257 and rows["seconds"] >= 0


def test_gradients_without_float64():
    """They are compared with NumPy's; a wrong one is found."""
    xp = SMALL["boxed_narrow"]()
    with registered(xp):
        for name in ("tanh", "matmul", "functional.layer_norm", "where"):
            check_narrow_gradients(ROWS[name], "boxed_narrow", xp.from_numpy)

        def other(x):
            return trellis.tanh(x) * (1 if trellis.backend_of(x) == "numpy" else 1.0001)

        with pytest.raises(AssertionError, match="differ"):
            check_narrow_gradients(replace(ROWS["tanh"], call=other), "boxed_narrow", xp.from_numpy)


def test_the_report_has_all_files():
    assert {path.stem for path in KIT.glob("test_*.py")} == set(summary.GROUPS)


def test_a_board_gets_a_column(tmp_path):
    pytest.importorskip("trellis_board")
    store = tmp_path / "board.sqlite"
    options = ("--slice", "200", "--board", str(store))
    code, text = kit(tmp_path, "numpy", "trellis.conformance", *options)
    assert code == 0, text
    with closing(sqlite3.connect(store)) as board:
        assert board.execute("select name from backend").fetchall() == [("numpy",)]
        found = dict(board.execute("select outcome, count(*) from result group by outcome"))
    assert found["success"] > 60
    assert "hollow" not in found


# Exceptions ---------------------------------------------------------------------------------------


def test_an_exception_that_passes_fails(tmp_path):
    (tmp_path / "conformance.toml").write_text(
        '[rows]\n"test_tier_0_types" = "it has none"\n"TYPES" = "it has none"\n'
    )
    code, text = kit(
        tmp_path, "numpy", "trellis.conformance.test_first", "-k", "tier_0 and not vjp"
    )
    assert code == 1
    assert "[XPASS(strict)] it has none" in text
    assert re.search(r"FAILED .*test_tier_0_types", text)
    assert re.search(r"FAILED .*test_tier_0_is_defined\[TYPES\]", text)
    assert "interface                     8 of    10 green   80.0 %   2 failed" in text
    assert "exceptions: 2 in " in text


def test_an_exception_that_fails_is_counted(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text('[rows]\n"test_tier_0_types" = "no types"\n')
    code, text = kit(
        tmp_path,
        "bare",
        *("trellis.conformance.test_first", "-k", "tier_0_types", "--conformance", str(file)),
        path=[package(tmp_path / "site", "bare")],
    )
    assert code == 0, text
    assert "interface                     0 of     1 green    0.0 %   1 exceptions" in text


def test_an_unknown_name_fails(tmp_path):
    (tmp_path / "conformance.toml").write_text('[rows]\n"tanh: nowhere" = "a slip"\n')
    code, text = kit(tmp_path, "numpy", "trellis.conformance", "--collect-only", "-q")
    assert code == 4
    assert "no test or row is called tanh: nowhere" in text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[rows]\n"tanh" = ""\n', "'tanh' needs a reason"),
        ('[rows]\n"tanh" = 3\n', "'tanh' needs a reason, got 3"),
        ('[tests]\n"tanh" = "no"\n', r"unknown tests; it has one table, \[rows\]"),
        ("[rows\n", "is no TOML file"),
    ],
)
def test_a_wrong_file_is_refused(text, message, tmp_path):
    path = tmp_path / "conformance.toml"
    path.write_text(text)
    with pytest.raises(pytest.UsageError, match=message):
        exceptions.read(path)


def test_mistakes_on_the_command_line(tmp_path):
    code, text = kit(tmp_path, "nowhere", "trellis.conformance.test_first")
    assert code == 4 and "Unknown backend 'nowhere'" in text
    code, text = kit(
        tmp_path, "numpy", "trellis.conformance.test_first", "--conformance", "nowhere.toml"
    )
    assert code == 4 and "there is no file nowhere.toml" in text


# The skeleton -------------------------------------------------------------------------------------


def package(folder, name, framework="numpy"):
    """The skeleton of a backend, and the metadata that pip would write for it."""
    assert cli.main(["new-backend", name, "--framework", framework, "--out", str(folder)]) == 0
    metadata = folder / "src" / f"trellis_{name}-0.1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: trellis-{name}\nVersion: 0.1.0\n"
    )
    (metadata / "entry_points.txt").write_text(f"[trellis.backends]\n{name} = trellis_{name}\n")
    return folder / "src"


def test_the_skeleton_runs_and_says_what_is_missing(tmp_path, capsys):
    place = package(tmp_path / "trellis-toy", "toy")
    assert "--backend toy" in capsys.readouterr().out
    assert (tmp_path / "trellis-toy/.github/workflows/conformance.yml").is_file()
    code, text = kit(tmp_path, "toy", "trellis.conformance", path=[place])
    assert code == 1
    assert "tier 0 first" in text
    for words in ("TYPES lacks what everything needs", "NotImplementedError: from_numpy"):
        assert words in text
    assert "test_value" not in text
    assert f"exceptions: 0 in {place}/trellis_toy/conformance.toml" in text


def test_the_skeleton_can_be_built(tmp_path):
    """As pip would install it, without the network."""
    pytest.importorskip("hatchling")
    package(tmp_path / "trellis-toy", "toy")
    command = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-build-isolation"]
    command += ["--quiet", "--disable-pip-version-check", "--target", str(tmp_path / "site")]
    subprocess.run([*command, str(tmp_path / "trellis-toy")], check=True, capture_output=True)
    site = tmp_path / "site"
    assert (site / "trellis_toy" / "conformance.toml").is_file()
    entries = (site / "trellis_toy-0.1.0.dist-info" / "entry_points.txt").read_text()
    assert "[trellis.backends]\ntoy = trellis_toy" in entries


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["Toy"], "no name of a backend"),
        (["torch"], "torch comes with Trellis"),
        (["toy", "--framework", "a b"], "no name of a module"),
        (["toy", "--out", "."], "cannot be written"),
    ],
)
def test_mistakes_of_new_backend(arguments, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["new-backend", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
