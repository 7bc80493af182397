"""Bounds of versions: one place states them, and what is older says so at its first use."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import trellis
from trellis import cli
from trellis._core import versions
from trellis.errors import BackendNotInstalledError

ROOT = Path(__file__).parents[2]
FRAMEWORKS = ("torch", "jax", "tensorflow")


def test_lowest_versions_are_those_of_the_extras():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    stated = {name: extras["optional-dependencies"][name][0] for name in FRAMEWORKS}
    assert {name: f"{name}>={versions.lowest(name)}" for name in FRAMEWORKS} == stated
    assert versions.lowest("no-such-package") is None


@pytest.mark.parametrize(
    ("older", "newer"),
    [("2.9.1", "2.10"), ("2.10.0+cu128", "2.13.0"), ("0.9.0.1", "0.10.2"), ("2.22.0rc0", "2.23")],
)
def test_versions_are_compared_by_their_numbers(older, newer):
    assert versions.numbers(older) < versions.numbers(newer)


def test_a_version_that_is_too_old_says_what_to_install(monkeypatch, backend):
    if backend == "numpy":
        backend = "scipy"  # any package: pip itself keeps NumPy's bound
    monkeypatch.setattr(versions, "lowest", lambda package: "99.1")
    with pytest.raises(BackendNotInstalledError) as raised:
        versions.require(backend)
    assert f"needs {backend} 99.1 or newer, and " in str(raised.value)
    assert f"pip install --upgrade '{backend}>=99.1'" in str(raised.value)


@pytest.mark.parametrize("backend", FRAMEWORKS)
def test_the_first_use_of_an_old_framework_raises(backend):
    program = f"""
import trellis, {backend}
{backend}.__version__ = "0.1"
try:
    trellis.zeros(2, backend={backend!r})
except trellis.errors.BackendNotInstalledError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert f"needs {backend} {versions.lowest(backend)} or newer, and 0.1 is" in done.stdout


def test_doctor(backend, capsys):
    assert cli.main(["doctor", "--backend", backend]) == 0
    first, line = capsys.readouterr().out.splitlines()
    assert first.startswith(f"trellis {trellis.__version__}, Python {sys.version.split()[0]}")
    assert re.fullmatch(rf"{backend} +\d.*; devices: .*; works", line)


def test_doctor_says_what_does_not_work(monkeypatch, capsys, backend):
    from trellis._commands import doctor

    def fail(name):
        raise OSError("libnothing.so: cannot open")

    monkeypatch.setattr(doctor, "_trained", fail)
    assert cli.main(["doctor", "--backend", backend]) == 1
    assert "does not work: OSError: libnothing.so" in capsys.readouterr().out
    monkeypatch.setattr(doctor, "_trained", lambda name: 0.5)
    assert cli.main(["doctor", "--backend", backend]) == 1
    assert "trains to a loss of 0.5" in capsys.readouterr().out


def test_doctor_names_versions_that_were_not_tested(monkeypatch, capsys):
    monkeypatch.setitem(versions.NEWEST_TESTED, "numpy", "1.0")
    assert cli.main(["doctor", "--backend", "numpy"]) == 0
    assert "(newer than 1.0, the newest that was tested)" in capsys.readouterr().out


def test_version_option(capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.strip() == f"trellis {trellis.__version__}"
