"""Stores, servers and browsers for the tests of the board."""

from __future__ import annotations

import http.server
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import trellis_board
from trellis_board.queries import find_project
from trellis_board.records import Part, Result
from trellis_board.static_page import write_page
from trellis_board.store import Store

from . import browser
from .helpers import DAY, EVIL, free_port, missing

collect_ignore = ["sample", "torture"]

HERE = Path(__file__).parent
SOURCE = Path(trellis_board.__file__).parents[1]


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The URL of a PostgreSQL server: of BOARD_TEST_POSTGRES, or a private one on loopback."""
    given = os.environ.get("BOARD_TEST_POSTGRES")
    if given:
        yield given
        return
    tools = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not tools:
        missing("PostgreSQL (Debian package postgresql, or a URL in BOARD_TEST_POSTGRES)")
    folder = Path(tempfile.mkdtemp(prefix="board-postgres-"))
    # The server refuses to run as root; Debian's package brings a user for it.
    as_server: list[str] = []
    if os.getuid() == 0:
        user = pwd.getpwnam("postgres")
        os.chown(folder, user.pw_uid, user.pw_gid)
        as_server = ["runuser", "-u", "postgres", "--"]

    def tool(name: str, *arguments: str) -> None:
        command = [*as_server, str(tools[-1].with_name(name)), "-D", str(folder / "data")]
        subprocess.run([*command, *arguments], check=True, stdout=subprocess.DEVNULL, cwd="/")

    port = free_port()
    tool("initdb", "--auth=trust", "--username=board", "--no-sync", "--encoding=UTF8")
    options = f"-p {port} -c listen_addresses=127.0.0.1 -k {folder} -c fsync=off"
    tool("pg_ctl", "start", "-w", "-s", "-o", options, "-l", str(folder / "log"))
    yield f"postgresql://board@127.0.0.1:{port}/postgres"
    tool("pg_ctl", "stop", "-w", "-s", "-m", "immediate")
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty store of either kind."""
    if request.param == "sqlite":
        return str(tmp_path / "board.sqlite")
    import psycopg

    url: str = request.getfixturevalue("postgres")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP SCHEMA public CASCADE")
        connection.execute("CREATE SCHEMA public")
    return url


@pytest.fixture
def any_store(address: str) -> Iterator[Store]:
    """An empty store, once of either kind."""
    store = Store.open(address)
    yield store
    store.close()


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """An empty SQLite store."""
    return Store.open(tmp_path / "board.sqlite")


@pytest.fixture
def answering():
    """Starts a server that gives one answer to everything; requests are kept with their headers."""
    servers = []

    def start(status, content=b"", **headers):
        seen = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                seen.append(dict(self.headers))
                self.rfile.read(int(self.headers["Content-Length"]))
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(content))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST

            def log_message(self, *rest):
                pass

        server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}", seen

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


Pytest = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    """A copy of the sample project."""
    return Path(shutil.copytree(HERE / "sample", tmp_path / "sample"))


@pytest.fixture
def run_pytest(sample: Path) -> Pytest:
    """Runs pytest with the board's plugin in the sample project, in a clean environment."""

    def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        plugins = ["trellis_board.plugin", "xdist", "pytest_rerunfailures"]
        return subprocess.run(
            [
                *(sys.executable, "-m", "pytest", "--rootdir=.", "-c", "/dev/null"),
                *(word for plugin in plugins for word in ("-p", plugin)),
                *arguments,
            ],
            cwd=sample,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(sample),
                "PYTHONPATH": str(SOURCE),
                "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
                "GIT_CEILING_DIRECTORIES": str(sample.parent),
                **environment,
            },
            capture_output=True,
            text=True,
            timeout=120,
        )

    return run


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[browser.Page]:
    """A browser with an empty profile."""
    driver = browser.start(tmp_path_factory.mktemp("profile"))
    yield browser.Page(driver)
    driver.quit()


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> tuple[Store, str]:
    """A store with two runs, and its page as a folder."""
    folder = tmp_path_factory.mktemp("board")
    store = Store.open(folder / "b.sqlite")
    now = time.time()

    def result(module: str, test: str, backend: str, outcome: str, **rest: Any) -> Result:
        return Result(module, test, backend, outcome, comparisons=2, **rest)

    old = [
        result("layers", "test_linear", "numpy", "success", duration=0.1),
        result("layers", "test_linear", "torch", "success", duration=0.1),
        result("layers", "test_conv", "numpy", "failure", duration=0.1, message="E old trouble"),
        result("layers", "test_conv", "torch", "success", duration=0.1),
        result("random", "test_shuffle", "numpy", "success", duration=0.1),
        result("random", "test_forgotten", "numpy", "success", duration=0.1),
    ]
    new = [
        result("layers", "test_linear", "numpy", "success", duration=0.9),
        result("layers", "test_linear", "torch", "failure", duration=0.1, message=EVIL),
        result("layers", "test_conv", "numpy", "success", duration=0.1),
        result("layers", "test_conv", "torch", "hollow", duration=0.1, message="no comparison"),
        result("random", "test_shuffle", "numpy", "skipped", message="no such device"),
        result("random", f"test_{EVIL}", "numpy", "success", duration=0.1),
    ]
    for name, started, commit, results in (
        ("100", now - 40 * DAY, "aaaa" * 10, old),
        ("101", now - DAY / 2, "bbbb" * 10, new),
    ):
        for each in results:
            each.at = started
        store.for_project("demo").record(
            Part(
                run=name,
                shard="one",
                started=started,
                commit=commit,
                branch="main",
                link=f"https://ci.example/runs/{name}",
                python="CPython 3.11.7",
                platform="Linux x86_64",
                versions={"torch": "2.13.0"},
                results=results,
            )
        )
    with store.reading() as connection:
        write_page(connection, find_project(connection, None), folder / "page")
    return store, (folder / "page" / "index.html").as_uri()
