"""The sub-commands that look after a store: merge, configure, runs, delete, prune, backup,
restore, flaky, query, score, capabilities."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

from .ages import seconds_of
from .questions import PRESETS

__all__ = ["COMMANDS", "add_store_commands"]


def add_store_commands(command: Callable[[str, str], argparse.ArgumentParser]) -> None:
    """Describe the command lines; `command` makes a parser of one name and help."""
    new = command("merge", "merge the runs of other stores into this one")
    new.add_argument(
        "files",
        nargs="+",
        metavar="STORE",
        help="stores to read, or the journals that sessions which died left beside them",
    )

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

    new = command("backup", "copy a store to a new SQLite file while it is in use")
    new.add_argument("to", type=Path, metavar="FILE")

    new = command("restore", "copy a backup into a new, empty store: a file or a database")
    new.add_argument("backup", type=Path, metavar="FILE")

    command("flaky", "list cells that are now green, now red")

    new = command(
        "query", "list the rows that a question asks for: 'torch:failure and jax:success'"
    )
    new.add_argument("question", nargs="?", default="", help="default: all rows")
    new.add_argument("--branch", help="the board of this branch; default: the default branch")
    new.add_argument("--preset", choices=sorted(PRESETS), help="a question that everybody asks")
    new.add_argument("--count", action="store_true", help="only say how many there are")
    new.add_argument("--fail-if-any", action="store_true", help="exit 1 if there is one")

    new = command("capabilities", "which function works on which backend, as a table")
    new.add_argument("names", nargs="+", metavar="NAME", help="a group, or a pattern of modules")
    new.add_argument("--json", action="store_true", help="for the docs of a project: all in a file")

    new = command("score", "tests green on all backends, and cells green on each; by group")
    new.add_argument("--branch", help="the board of this branch; default: the default branch")
    new.add_argument(
        "--strict",
        action="store_true",
        help="exit 1 below the target of board.toml, and if a module could not be imported",
    )


def _merge(arguments: argparse.Namespace) -> int:
    from .merging import merge_store
    from .store import Store

    target = Store.open(arguments.store)
    for file in arguments.files:
        if file in arguments.only_journals and not Path(file).is_file():
            print(f"{file}: 0 parts")  # the journal told nothing that could be recorded
            continue
        source = Store.open(file, create=False)
        taken = merge_store(source, target, arguments.project)
        source.close()
        print(f"{file}: {taken} part{'' if taken == 1 else 's'}")
    return 0


def _configure(arguments: argparse.Namespace) -> int:
    from .queries import find_project, project_names
    from .recording import project_id
    from .settings import save
    from .standing import keep_standing
    from .store import Store

    text = arguments.file.read_text(encoding="utf-8")
    with Store.open(arguments.store).writing() as connection:
        if arguments.project is None and project_names(connection):
            project = find_project(connection, None)
        else:
            project = project_id(connection, arguments.project or "default")
        settings = save(connection, project, text)
        keep_standing(connection, project)  # columns may have come or gone
    print(
        f"{len(settings.columns)} columns, {len(settings.groups)} groups, "
        f"{len(settings.issues)} known issues"
    )
    return 0


def _runs(arguments: argparse.Namespace) -> int:
    from .branches import board_of
    from .queries import died_at, find_project, runs
    from .store import Store
    from .texts import on_one_line

    with Store.open(arguments.store, create=False).reading() as connection:
        project = find_project(connection, arguments.project)
        of = board_of(connection, project, arguments.branch) if arguments.branch else None
        found = runs(connection, project, of=of)
        died = died_at(connection, [run.id for run in found])
        for run in found:
            began = time.strftime("%Y-%m-%d %H:%M", time.gmtime(run.started))
            commit = (run.commit or "no commit")[:10]
            told = f"{began}  {commit:10}  {run.branch or 'no branch'}  {run.name}"
            print(on_one_line(told) + (f"  died at {died[run.id]} %" if run.id in died else ""))
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


def _restore(arguments: argparse.Namespace) -> int:
    from .store import Store
    from .upkeep import copy_store

    source = Store.open(arguments.backup, create=False)
    copied = copy_store(source, Store.open(arguments.store))
    source.close()
    print(f"{copied} results restored from {arguments.backup} to {arguments.store}")
    return 0


def _flaky(arguments: argparse.Namespace) -> int:
    from .queries import backend_names, find_project, modules
    from .settings import read_settings
    from .store import Store
    from .texts import on_one_line
    from .trouble import flaky_cells, recent_trouble

    with Store.open(arguments.store, create=False).reading() as connection:
        project = find_project(connection, arguments.project)
        backends = backend_names(connection, project)
        settings = read_settings(connection, project)
        names = {
            test: (module.name, name)
            for module in modules(connection, project)
            for test, name in module.tests.items()
        }
        found = flaky_cells(recent_trouble(connection, project))
    for cell in found:
        commit = ", green and red on one commit" if cell.same_commit else ""
        name = f"{'::'.join(names[cell.test_id])} [{backends[cell.backend_id]}]"
        owner = settings.owner(*names[cell.test_id])
        days = max(0, int((time.time() - cell.since) // 86400))
        print(
            on_one_line(
                f"{name}  turned {cell.turns} times in {cell.results} runs, {cell.reruns} reruns"
                f"{commit}, now {cell.outcome}, since {days} day{'' if days == 1 else 's'}, "
                f"{f'owner {owner}' if owner else 'no owner'}"
            )
        )
    print(f"{len(found)} flaky cell{'' if len(found) == 1 else 's'}")
    return 0


def _query(arguments: argparse.Namespace) -> int:
    from .queries import find_project
    from .rows import matching_rows
    from .spans import spans
    from .store import Store
    from .texts import on_one_line

    asked = [PRESETS[arguments.preset]] if arguments.preset else []
    asked += [arguments.question] if arguments.question else []
    question = " ".join(f"({each})" for each in asked)
    with Store.open(arguments.store, create=False).reading() as connection:
        project = find_project(connection, arguments.project)
        found = matching_rows(connection, project, question, arguments.branch)
    for row in [] if arguments.count else found:
        outcomes = {column: cell.outcome for column, cell in row.cells.items()}
        cells = " ".join(f"{column}:{outcome}" for column, outcome in outcomes.items())
        never = "".join(f" {column}:never" for column in sorted(row.never))
        told = "".join(f"  {family} {words}" for family, words in spans(outcomes).items())
        print(on_one_line(f"{row.module}::{row.test}  {cells}{never}{told}"))
    print(f"{len(found)} row{'' if len(found) == 1 else 's'}")
    return 1 if arguments.fail_if_any and found else 0


def _score(arguments: argparse.Namespace) -> int:
    from .branches import board_of
    from .broken import broken_modules, told
    from .layout import score
    from .queries import died_at, find_project, runs
    from .rows import board_rows, column_labels, joint_score
    from .settings import read_settings
    from .store import Store
    from .texts import on_one_line

    with Store.open(arguments.store, create=False).reading() as connection:
        project = find_project(connection, arguments.project)
        settings = read_settings(connection, project)
        labels = column_labels(connection, project, arguments.branch)
        rows = board_rows(connection, project, arguments.branch)
        broken = broken_modules(connection, project, arguments.branch)
        newest = runs(connection, project, 1, board_of(connection, project, arguments.branch))
        died = died_at(connection, [run.id for run in newest])
    joint = joint_score(rows)
    target = f", target {settings.target:g} %" if settings.target else ""
    print(f"{_share(*joint)}  green on all backends{target}")
    for column, label in labels.items():
        found = score(row.cells[column].outcome for row in rows if column in row.cells)
        print(on_one_line(f"{_share(found.green, found.of)}  {label}"))
    for group in settings.groups:
        of_group = joint_score(row for row in rows if row.group == group.name)
        print(on_one_line(f"{_share(*of_group)}  green on all backends: {group.name}"))
    for percent in died.values():
        print(
            f"the newest run died at {percent} %: cells that it did not reach show older runs, "
            "or that it died"
        )
    if broken:
        print(on_one_line(told(broken)))
    missed = settings.target is not None and 100 * joint.green < settings.target * joint.of
    return 1 if arguments.strict and (missed or broken) else 0


def _capabilities(arguments: argparse.Namespace) -> int:
    import json

    from .capabilities import as_markdown, read_table, to_json

    tables = {n: read_table(arguments.store, n, arguments.project) for n in arguments.names}
    if arguments.json:
        print(json.dumps(to_json(tables), indent=1, ensure_ascii=False))
    else:
        print("\n\n".join(as_markdown(table) for table in tables.values()))
    return 0


def _share(green: int, of: int) -> str:
    """A share in percent, rounded down: 100 means all."""
    percent = f"{1000 * green // of / 10:5.1f} %" if of else "      —"
    return f"{percent}  {green:>6} of {of:<6}"


def _age(text: str) -> float:
    """Days, from a text such as ``90d``."""
    seconds = seconds_of(text)
    if seconds is None:
        raise argparse.ArgumentTypeError(f"{text!r}; expected an age such as 90d, 12w, 6m or 2y")
    return seconds / 86400


COMMANDS = {
    "merge": _merge,
    "configure": _configure,
    "runs": _runs,
    "delete": _delete,
    "prune": _prune,
    "backup": _backup,
    "restore": _restore,
    "flaky": _flaky,
    "query": _query,
    "score": _score,
    "capabilities": _capabilities,
}
