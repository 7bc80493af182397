"""The sub-commands of ``trellis-board``."""

from __future__ import annotations

import argparse
import datetime
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from . import __version__, store_commands
from .store_commands import add_store_commands

if TYPE_CHECKING:
    from .store import Store

__all__ = ["SUMMARY", "add_arguments", "main", "run"]

_LARGEST_FILE = 256_000_000
_BROKEN_PIPE = 141  # as of a command that the signal has ended
SUMMARY = "the conformance board: which behaviour works on which backend"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command line of ``trellis-board``."""
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    def command(name: str, help: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=help, description=help)
        added.set_defaults(board_command=name)
        # What a matrix of jobs left becomes one store, so there a name may be taken for granted.
        store = os.environ.get("BOARD_STORE", "board.sqlite" if name == "merge" else None)
        added.add_argument(
            "--store",
            default=store,
            # A search runs tests; a store only spares it those commits that it knows.
            required=store is None and name != "bisect",
            help="an SQLite file or a postgresql:// URL (or set BOARD_STORE)",
        )
        added.add_argument("--project", help="the project, where the store has several")
        return added

    new = command("markdown", "write one Markdown table per module")
    new.add_argument("--module", help="only this module")
    new.add_argument("--branch", help="only this branch; default: the default branch")
    new.add_argument("--like", help="in the tables of this other project of the store")
    new.add_argument("--out", type=Path, help="a folder; without it, tables are printed")

    new = command("import", "read Markdown tables or JUnit XML as runs")
    new.add_argument("files", nargs="+", type=Path, metavar="FILE")
    new.add_argument("--module", help="name of the table's module; default: its file name")
    new.add_argument("--at", type=_time, help="date of the results, as 2024-05-01; default: now")
    new.add_argument("--backend", help="the column of the results in JUnit XML")
    new.add_argument("--run", help="the run that JUnit XML belongs to; that of the environment")

    new = command("html", "write the web page as a folder")
    new.add_argument("--out", type=Path, required=True, help="the folder")
    new.add_argument("--all", action="store_true", help="all projects, with a front page")

    new = command("diff", "say what changed; exit 1 on a regression")
    new.add_argument(
        "--base",
        required=True,
        help="a run, commit, branch, tag, 'previous', an age as 7d, or release:1.2",
    )
    new.add_argument("--head", default="newest", help="the same; the newest run if not given")
    new.add_argument("--markdown", action="store_true", help="as a pull-request comment")
    new.add_argument("--issue", action="store_true", help="as an issue: title, empty line, body")
    new.add_argument("--webhook", metavar="URL", help="tell this address, if something broke")

    new = command("bisect", "find the commit, or the version of a package, that broke a cell")
    new.add_argument("cell", metavar="CELL", help="'MODULE::TEST @ BACKEND'")
    new.add_argument("--commits", metavar="GOOD..BAD", help="in fresh work trees of this checkout")
    new.add_argument(
        "--package",
        nargs=2,
        metavar=("NAME", "GOOD..BAD"),
        help="in fresh environments, as: jax 0.6..0.10",
    )
    new.add_argument(
        "--install",
        action="append",
        default=[],
        metavar="WHAT",
        help="what pip installs beside the package; default: this folder and trellis-board",
    )
    new.add_argument("--command", help="what runs the test; default: pytest on its module")
    new.add_argument("--skip", action="append", default=[], metavar="CANDIDATE")
    new.add_argument("--state", type=Path, default=Path(".board-bisect.json"))

    new = command("beside", "compare the tables of another project with this one")
    new.add_argument("--other", required=True, help="the project whose tables give the rows")
    new.add_argument("--out", type=Path, help="a Markdown file; without it, the page is printed")
    new.add_argument("--strict", action="store_true", help="exit 1 unless every cell is green")

    add_store_commands(command)

    new = command("serve", "serve the page and the HTTP API")
    new.add_argument("--host", default="127.0.0.1", help="address to listen on")
    new.add_argument("--port", type=int, default=8765)
    new.add_argument("--read", choices=("open", "token"), default="open", help="who may read")
    new.add_argument("--most-bytes", type=int, default=64_000_000, help="largest body taken")
    new.add_argument("--rate", type=int, default=600, help="requests a minute per client")
    new.add_argument("--connections", type=int, default=500, help="open connections at a time")

    new = command("token", "create, list or revoke tokens of the HTTP API")
    new.add_argument("action", choices=("create", "list", "revoke"))
    new.add_argument("id", nargs="?", type=int, help="number of the token to revoke")
    new.add_argument("--scope", choices=("write", "read"), default="write")
    new.add_argument("--label", default="", help="a note on who has it")


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``trellis-board`` with these arguments, those of the process if not given."""
    parser = argparse.ArgumentParser(prog="trellis-board", description=SUMMARY)
    parser.add_argument("--version", action="version", version=__version__)
    add_arguments(parser)
    return run(parser.parse_args(argv))


def run(arguments: argparse.Namespace) -> int:
    """Do what the command line says; returns the exit code."""
    try:
        from . import queries
        from .migrations import StoreTooNewError
    except ImportError as error:
        print(f"trellis-board: {error}; pip install 'trellis-board[server]'", file=sys.stderr)
        return 2
    try:
        merged = _sources(arguments) if arguments.board_command == "merge" else []
        for address in filter(None, (arguments.store, *merged)):
            _recover(address)
        code: int = (_COMMANDS | store_commands.COMMANDS)[arguments.board_command](arguments)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # `trellis-board diff | head`: nobody listens, and Python would say so once more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE
    except (queries.UnknownNameError, StoreTooNewError, OSError, ValueError) as error:
        print(f"trellis-board {arguments.board_command}: {_told(error)}", file=sys.stderr)
        return 2


def _sources(arguments: argparse.Namespace) -> list[str]:
    """The stores that are to be merged; a session that died may have left nothing but a journal."""
    from .journal import store_of

    given = arguments.files
    arguments.files = list(dict.fromkeys(map(store_of, given)))
    arguments.only_journals = set(arguments.files).difference(given)
    return arguments.files


def _told(error: Exception) -> str:
    """What an error says. It may quote a file, which must not drive the terminal."""
    from .texts import on_one_line

    return "\n".join(map(on_one_line, str(error).splitlines()))


def _recover(address: str) -> None:
    """Record the journals that crashed sessions have left next to a store: see `journal`."""
    from . import journal
    from .records import Part
    from .store import Store

    def record(project: str, part: Part) -> None:
        Store.open(address).for_project(project).record(part)

    place = journal.place_for(address, cache=None)
    for line in journal.recover(place, record) if place else ():
        print(f"board: {line}", file=sys.stderr)


def _markdown(arguments: argparse.Namespace) -> int:
    from .beside import tables_like
    from .queries import find_project
    from .store import Store
    from .table_files import export_tables, write_tables
    from .tables import write_table
    from .texts import as_markdown

    with Store.open(arguments.store, create=False).reading() as connection:
        project = find_project(connection, arguments.project)
        if arguments.like:
            tables = tables_like(connection, find_project(connection, arguments.like), project)
        else:
            tables = export_tables(connection, project, arguments.module, arguments.branch)
    if arguments.out is not None:
        print(f"{len(write_tables(tables, arguments.out))} tables written to {arguments.out}")
    elif arguments.module in tables:
        sys.stdout.write(write_table(tables[arguments.module]))
    else:
        print(
            "\n\n".join(f"## {as_markdown(name)}\n\n{write_table(t)}" for name, t in tables.items())
        )
    return 0


def _import(arguments: argparse.Namespace) -> int:
    from .store import Store
    from .table_files import import_table

    if arguments.module and len(arguments.files) > 1:
        raise ValueError("--module names one table; import several files one by one")
    store = Store.open(arguments.store)
    at = time.time() if arguments.at is None else arguments.at
    for file in arguments.files:
        if file.suffix == ".xml":
            print(f"{file}: {_import_junit(arguments, store, file, at)} cells")
            continue
        module = arguments.module or file.stem
        # Bytes, not text mode: that would change the ends of lines.
        text = _content(file).decode("utf-8")
        cells = import_table(store, arguments.project or "default", module, text, at)
        print(f"{file}: {cells} cells of {module}")
    return 0


def _import_junit(arguments: argparse.Namespace, store: Store, file: Path, at: float) -> int:
    from . import environment
    from .junit import read_junit

    if not arguments.backend:
        raise ValueError(f"{file}: JUnit XML does not name its backend; say --backend NAME")
    env, here = os.environ, Path.cwd()
    part = read_junit(
        _content(file),
        backend=arguments.backend,
        run=arguments.run or environment.run_id(env),
        # The same file again replaces itself.
        shard=f"{arguments.backend} {file.name}",
        at=at,
    )
    part.commit, part.branch = environment.commit(env, here), environment.branch(env, here)
    part.link = environment.run_link(env)
    store.for_project(arguments.project or env.get("BOARD_PROJECT", "default")).record(part)
    return len(part.results)


def _content(file: Path) -> bytes:
    """The bytes of a file; a device or a pipe has no end, and a table of this size has no use."""
    if not file.is_file():
        raise ValueError(f"{file} is no file; expected a Markdown table or JUnit XML")
    if file.stat().st_size > _LARGEST_FILE:
        raise ValueError(
            f"{file} has {file.stat().st_size} bytes; expected {_LARGEST_FILE} at most"
        )
    return file.read_bytes()


def _html(arguments: argparse.Namespace) -> int:
    from .queries import find_project
    from .static_page import write_all, write_page
    from .store import Store

    with Store.open(arguments.store, create=False).reading() as connection:
        if arguments.all:
            files = write_all(connection, arguments.out)
        else:
            files = write_page(
                connection, find_project(connection, arguments.project), arguments.out
            )
    print(f"{files} files written; open {arguments.out / 'index.html'}")
    return 0


def _diff(arguments: argparse.Namespace) -> int:
    from .alerts import issue_text, notify
    from .diff import compare
    from .diff_text import as_markdown, as_text
    from .queries import find_project, project_names
    from .refs import NothingBeforeError, resolve, resolve_base
    from .settings import read_settings
    from .store import Store

    with Store.open(arguments.store, create=False).reading() as connection:
        project = find_project(connection, arguments.project)
        head = resolve(connection, project, arguments.head)
        try:
            base = resolve_base(connection, project, arguments.base, head)
        except NothingBeforeError as error:
            print(f"{'### Board: ' if arguments.markdown else ''}nothing to compare yet: {error}")
            return 0
        found = compare(connection, project, base, head)
        name = next(name for name, id in project_names(connection).items() if id == project)
        link = read_settings(connection, project).url
    if arguments.issue:
        print(issue_text(found, name))
    else:
        print(as_markdown(found) if arguments.markdown else as_text(found))
    if arguments.webhook and found.regressions:
        notify(arguments.webhook, found, name, link)
    return 1 if found.regressions else 0


def _bisect(arguments: argparse.Namespace) -> int:
    from . import bisect
    from .texts import on_one_line

    cell = bisect.Cell.parse(arguments.cell)
    if bool(arguments.commits) == bool(arguments.package):
        raise ValueError("what to search? --commits GOOD..BAD or --package NAME GOOD..BAD")
    root = Path.cwd()
    if arguments.commits:
        span, kind = arguments.commits, "commit"
        candidates = bisect.commits_between(root, span)
        outcome_of = bisect.in_commit(root, cell, arguments.command)
    else:
        package, span = arguments.package
        kind = f"version of {package}"
        candidates = bisect.versions_between(package, span)
        wanted = arguments.install or [".", f"trellis-board=={__version__}", "pytest"]
        outcome_of = bisect.in_version(root, cell, arguments.command, package, wanted)
    skipped = [c for c in candidates if any(c.startswith(skip) for skip in arguments.skip)]
    candidates = [c for c in candidates if c not in skipped]
    if not candidates:
        raise ValueError(f"there is no {kind} in {span}")
    question = {"cell": arguments.cell, "kind": kind, "span": span}
    known = bisect.read_state(arguments.state, question)
    if arguments.commits and arguments.store:
        known |= bisect.recorded(arguments.store, arguments.project, cell)

    def remembered(candidate: str) -> str:
        known[candidate] = outcome_of(candidate)
        bisect.write_state(arguments.state, question, known)
        return known[candidate]

    def tell(line: str) -> None:
        print(on_one_line(line), flush=True)

    search = bisect.Search(candidates, dict(known), tell)
    found = search.run(remembered)
    arguments.state.unlink(missing_ok=True)
    good = f"{found.last_good} is green" if found.last_good else "what came before was not tried"
    tell(f"the first {kind} that is red: {found.first_bad} ({good}; {found.runs} runs)")
    return 0


def _beside(arguments: argparse.Namespace) -> int:
    from .beside import side_by_side
    from .queries import find_project
    from .store import Store

    if not arguments.project:
        raise ValueError("name both boards: --project OURS --other THEIRS")
    with Store.open(arguments.store, create=False).reading() as connection:
        page, cells, green = side_by_side(
            connection,
            (find_project(connection, arguments.other), arguments.other),
            (find_project(connection, arguments.project), arguments.project),
        )
    if arguments.out is None:
        print(page)
    else:
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text(page, encoding="utf-8")
        print(f"{green} of {cells} cells green; {arguments.out}")
    return 1 if arguments.strict and green < cells else 0


def _serve(arguments: argparse.Namespace) -> int:
    import uvicorn

    from .connections import bounded_protocol
    from .server import make_app
    from .store import Store

    app = make_app(
        Store.open(arguments.store),
        read_openly=arguments.read == "open",
        most_bytes=arguments.most_bytes,
        requests_per_minute=arguments.rate,
        prepare=True,
    )
    uvicorn.run(
        app,
        host=arguments.host,
        port=arguments.port,
        server_header=False,
        http=bounded_protocol(arguments.connections),
        ws="none",
    )
    return 0


def _token(arguments: argparse.Namespace) -> int:
    from . import tokens
    from .recording import project_id
    from .store import Store
    from .texts import on_one_line

    store = Store.open(arguments.store)
    if arguments.action == "create":
        with store.writing() as connection:
            project = project_id(connection, arguments.project or "default")
            made = tokens.create_token(connection, project, arguments.scope, arguments.label)
        print(made)
    elif arguments.action == "list":
        with store.reading() as connection:
            for token in tokens.list_tokens(connection):
                state = "revoked" if token.revoked else "valid"
                label = on_one_line(token.label)
                print(f"{token.id}  {token.project}  {token.scope}  {state}  {label}")
    elif arguments.id is None:
        raise ValueError("which token? `trellis-board token list` shows their numbers")
    else:
        with store.writing() as connection:
            revoked = tokens.revoke_token(connection, arguments.id)
        if not revoked:
            raise ValueError(f"there is no valid token number {arguments.id}")
        print(f"token {arguments.id} revoked")
    return 0


def _time(text: str) -> float:
    moment = datetime.datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.UTC)
    return moment.timestamp()


_COMMANDS = {
    "markdown": _markdown,
    "import": _import,
    "html": _html,
    "diff": _diff,
    "bisect": _bisect,
    "beside": _beside,
    "serve": _serve,
    "token": _token,
}
