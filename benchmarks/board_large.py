"""A board of 1,000,000 cells: how long its page takes to open, and an answer to a question.

    python benchmarks/board_large.py [--store ADDRESS] [--tests 166667] [--runs 1] [--filled]
                                     [--quick]

ADDRESS is an empty database, `postgresql://...`, or a new SQLite file. What is wanted stands in the
first column: a page in 2 s, an answer in 100 ms. Answers are CPU seconds of the server, so that a
busy machine does not change them much; the page is opened four times, by the clock, and the
shortest time counts. The server has prepared the page, as it does after every run. `--quick` takes
100,000 cells, for which the same is wanted.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[1] / "packages/board"))

from board_server import part
from harness import QUICK, Report, Row, line

from trellis_board.store import Store

if TYPE_CHECKING:
    from tests.browser import Page

QUESTIONS = [
    *("torch:failure and jax:success", "is:different", "count(failure)=1", "only:tensorflow"),
    *("since:7d", "flaky", "hollow", "module:module_1*", "not any:red", "all:green op_16"),
    "op 00123",
]
PAGE = 2.0
ANSWER = 0.1
"""Seconds that are wanted."""


def cpu_of(process: int) -> float:
    """CPU seconds of a process so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def asked(address: str) -> int:
    """The size of an answer, as a browser gets it."""
    request = urllib.request.Request(address, headers={"Accept-Encoding": "gzip"})
    with urllib.request.urlopen(request, timeout=600) as answer:
        return len(answer.read())


def tell(report: Report, what: str, seconds: float, wanted: float) -> None:
    """A row: what is wanted, and what it takes."""
    measured = {"wanted": wanted, "trellis": seconds}
    report.rows.append(Row(what, measured, dict.fromkeys(measured, 0.0), limit=1.0))
    print(line(report.rows[-1]), flush=True)


def note(report: Report, text: str) -> None:
    """A figure for which nothing is wanted."""
    report.notes.append(text)
    print(text, flush=True)


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--store")
    parser.add_argument("--tests", type=int, default=16_667 if QUICK else 166_667)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--filled", action="store_true", help="the store has been filled before")
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    report = Report("board_large", f"A board of {6 * arguments.tests:,} cells")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        address = arguments.store or str(folder / "board.sqlite")
        if not arguments.filled:
            fill(report, address, arguments.tests, arguments.runs)
        ask(report, address, folder)
        words = ["html", "--store", address, "--out", str(folder / "page")]
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        subprocess.run(
            [sys.executable, "-m", "trellis_board", *words], check=True, stdout=subprocess.DEVNULL
        )
        used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
        note(report, f"html: {used:.1f} s of CPU time for the page as a folder")
        if page := open_page(report, "the page in a folder opens", folder):
            page.driver.quit()
    report.save()


def fill(report: Report, address: str, tests: int, runs: int) -> None:
    """Record some runs."""
    store = Store.open(address)
    for number in range(runs):
        made = part(number, tests)
        begun, wall = time.process_time(), time.perf_counter()
        store.for_project("large").record(made)
        note(
            report,
            f"recording: {time.process_time() - begun:.1f} s of CPU time, "
            f"{time.perf_counter() - wall:.1f} s on the clock",
        )
    store.close()


def ask(report: Report, address: str, folder: Path) -> None:
    """Start a server, open its page and ask it questions."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [*("serve", "--store", address), *("--port", str(port), "--rate", "100000")]
    server = subprocess.Popen(
        [sys.executable, "-m", "trellis_board", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        measure(report, server.pid, f"http://127.0.0.1:{port}", folder)
    finally:
        server.terminate()
        server.wait()


def measure(report: Report, server: int, site: str, folder: Path) -> None:
    """What readers of the page and of the API wait for."""
    wait_for(f"{site}/health")
    asked(f"{site}/p/large/data/overview.json")
    asked(f"{site}/api/v1/projects/large/score")
    note(report, f"server: started, and ready after {cpu_of(server):.1f} s of CPU time")
    page = open_page(report, "the page of a server opens", folder, f"{site}/p/large/")
    for question in QUESTIONS:
        query = f"{site}/api/v1/projects/large/rows?q={urllib.parse.quote(question)}"
        asked(query)
        before = cpu_of(server)
        for _ in range(10):
            size = asked(query)
        tell(report, f"`{question}`, API", (cpu_of(server) - before) / 10, ANSWER)
        if question == "not any:red":
            note(report, f"`{question}` is answered with {size / 1e6:.1f} MB, packed")
    if page is None:
        return
    for question in QUESTIONS:
        took = min(page.js(TYPED, typed) for typed in (question, f"{question} ", question))
        tell(report, f"`{question}`, page", took / 1000, ANSWER)
    page.driver.quit()


# Milliseconds until the rows are there.
TYPED = (
    "const field = document.querySelector('#search'); field.value = arguments[0];"
    "const begun = performance.now();"
    "field.dispatchEvent(new Event('input', { bubbles: true }));"
    "return performance.now() - begun"
)


def wait_for(address: str) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            asked(address)
            return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)


def open_page(report: Report, what: str, folder: Path, address: str | None = None) -> Page | None:
    """Open the page a few times, each as if for the first time in this tab; None if no Chromium is
    there."""
    if not (shutil.which("chromium") and shutil.which("chromedriver")):
        note(report, f"{what}: not measured, Chromium is missing")
        return None
    from tests import browser

    url = address or (folder / "page" / "index.html").as_uri()
    page = browser.Page(browser.start(folder / f"profile {what}"))
    times = []
    for _ in range(4):
        page.driver.get("about:blank")
        begun = time.perf_counter()
        page.driver.get(url)
        page.wait("return document.documentElement.dataset.ready === 'true'")
        times.append(time.perf_counter() - begun)
    tell(report, what, min(times), PAGE)
    return page


if __name__ == "__main__":
    main()
