"""The sub-commands that look after a store: merge, configure, runs, delete, prune, backup,
flaky."""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Callable
from pathlib import Path

__all__ = ["COMMANDS", "add_store_commands"]

_DAYS = {"d": 1, "w": 7, "m": 30, "y": 365}


def add_store_commands(command: Callable[[str, str], argparse.ArgumentParser]) -> None:
    """Describe the command lines; `command` makes a parser of one name and help."""
    new = command("merge", "merge the runs of other stores into this one")
    new.add_argument("files", nargs="+", metavar="STORE", help="stores to read")

    new = command("configure", "keep a board.toml as the settings of a project")
    new.add_argument("file", type=Path, nargs="?", default=Path("board.toml"), metavar="FILE")

    new = command("runs", "list the runs, newest first")
    new.add_argument("--branch", help="only of this branch")

    new = command("delete", "delete runs and all they recorded")
    new.add_argument("runs", nargs="+", metavar="RUN", help="the id of a run")

    new = command("prune", "delete old runs")
    new.add_argument(
        "--older-than", type=_age, required=True, metavar="AGE", help="as 90d, 12w, 6m or 2y"
    )
    new.add_argument(
        "--keep-shown",
        action="store_true",
        help="but none that a cell of the default branch still shows",
    )
    new.add_argument("--dry-run", action="store_true", help="only say what would be deleted")

    new = command("backup", "copy an SQLite store to a new file while it is in use")
    new.add_argument("to", type=Path, metavar="FILE")

    command("flaky", "list cells that are now green, now red")


def _merge(arguments: argparse.Namespace) -> int:
    from .merging import merge_store
    from .store import Store

    target = Store.open(arguments.store)
    for file in arguments.files:
        source = Store.open(file, create=False)
        taken = merge_store(source, target, arguments.project)
        source.close()
        print(f"{file}: {taken} part{'' if taken == 1 else 's'}")
    return 0


def _configure(arguments: argparse.Namespace) -> int:
    from .queries import find_project, project_names
    from .recording import project_id
    from .settings import save
    from .store import Store

    text = arguments.file.read_text(encoding="utf-8")
    with Store.open(arguments.store).writing() as connection:
        if arguments.project is None and project_names(connection):
            project = find_project(connection, None)
        else:
            project = project_id(connection, arguments.project or "default")
        settings = save(connection, project, text)
    print(
        f"{len(settings.columns)} columns, {len(settings.groups)} groups, "
        f"{len(settings.issues)} known issues"
    )
    return 0


def _runs(arguments: argparse.Namespace) -> int:
    from .branches import board_of
    from .queries import find_project, runs
    from .store import Store

    with Store.open(arguments.store, create=False).reading() as connection:
        project = find_project(connection, arguments.project)
        of = board_of(connection, project, arguments.branch) if arguments.branch else None
        for run in runs(connection, project, of=of):
            began = time.strftime("%Y-%m-%d %H:%M", time.gmtime(run.started))
            commit = (run.commit or "no commit")[:10]
            print(f"{began}  {commit:10}  {run.branch or 'no branch'}  {run.name}")
    return 0


def _delete(arguments: argparse.Namespace) -> int:
    from .queries import find_project
    from .store import Store
    from .upkeep import compact, delete_runs

    store = Store.open(arguments.store, create=False)
    with store.writing() as connection:
        project = find_project(connection, arguments.project)
        deleted = delete_runs(connection, project, arguments.runs)
    compact(store)
    print(f"{deleted} run{'' if deleted == 1 else 's'} deleted")
    return 0


def _prune(arguments: argparse.Namespace) -> int:
    from .queries import find_project
    from .store import Store
    from .upkeep import compact, delete_runs, old_runs

    store = Store.open(arguments.store, create=False)
    with store.writing() as connection:
        project = find_project(connection, arguments.project)
        before = time.time() - arguments.older_than * 86400
        old = [run.name for run in old_runs(connection, project, before, arguments.keep_shown)]
        if not arguments.dry_run:
            delete_runs(connection, project, old)
    if old and not arguments.dry_run:
        compact(store)
    verb = "would be deleted" if arguments.dry_run else "deleted"
    print(f"{len(old)} run{'' if len(old) == 1 else 's'} {verb}: {', '.join(old) or 'none'}")
    return 0


def _backup(arguments: argparse.Namespace) -> int:
    from .store import Store
    from .upkeep import backup

    backup(Store.open(arguments.store, create=False), arguments.to)
    print(f"{arguments.store} copied to {arguments.to}")
    return 0


def _flaky(arguments: argparse.Namespace) -> int:
    from .queries import backend_names, find_project, modules
    from .store import Store
    from .trouble import flaky_cells, recent_trouble

    with Store.open(arguments.store, create=False).reading() as connection:
        project = find_project(connection, arguments.project)
        backends = backend_names(connection, project)
        names = {
            test: f"{module.name}::{name}"
            for module in modules(connection, project)
            for test, name in module.tests.items()
        }
        found = flaky_cells(recent_trouble(connection, project))
    for cell in found:
        commit = ", green and red on one commit" if cell.same_commit else ""
        print(
            f"{names[cell.test_id]} [{backends[cell.backend_id]}]  turned {cell.turns} times in "
            f"{cell.results} runs, {cell.reruns} reruns{commit}, now {cell.outcome}"
        )
    print(f"{len(found)} flaky cell{'' if len(found) == 1 else 's'}")
    return 0


def _age(text: str) -> float:
    """Days, from a text such as ``90d``."""
    found = re.fullmatch(r"(\d+)([dwmy])", text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r}; expected an age such as 90d, 12w, 6m or 2y")
    return int(found.group(1)) * _DAYS[found.group(2)]


COMMANDS = {
    "merge": _merge,
    "configure": _configure,
    "runs": _runs,
    "delete": _delete,
    "prune": _prune,
    "backup": _backup,
    "flaky": _flaky,
}
