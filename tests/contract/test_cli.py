"""The console command, with and without the distributions that add to it."""

import sys

import pytest

from trellis import cli


def test_the_board_answers_when_it_is_installed(capsys):
    pytest.importorskip("trellis_board")
    with pytest.raises(SystemExit) as left:
        cli.main(["board", "markdown", "--help"])
    assert left.value.code == 0
    assert "one Markdown table per module" in capsys.readouterr().out


def test_a_missing_distribution_is_named(monkeypatch, capsys):
    monkeypatch.setitem(cli.COMMANDS, "board", "no_such_board.commands")
    assert cli.main(["board", "html", "--store", "b.sqlite"]) == 2
    assert "pip install no-such-board" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        cli.main(["--help"])
    assert "pip install no-such-board" in capsys.readouterr().out


def test_an_error_inside_a_command_is_not_taken_for_a_missing_one(monkeypatch, tmp_path):
    (tmp_path / "broken_board.py").write_text("import no_such_thing")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setitem(cli.COMMANDS, "board", "broken_board")
    with pytest.raises(ModuleNotFoundError, match="no_such_thing"):
        cli.main(["board"])
    sys.modules.pop("broken_board", None)
