"""A board of 1,000,000 cells: how long its page takes to open, and an answer to a question.

    python benchmarks/board_large.py [--store ADDRESS] [--tests 166667] [--filled]

ADDRESS is an empty database, `postgresql://...`, or a new SQLite file. Seconds are CPU seconds, of
the server or of the page's thread in Chromium, unless they say otherwise, so that a busy machine
does not change them much. The server has prepared the page, as it does after every run.
"""

from __future__ import annotations

import argparse
import os
import resource
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "packages/board"))

from board_server import part
from tests import browser

from trellis_board.store import Store

QUESTIONS = [
    *("torch:failure and jax:success", "is:different", "count(failure)=1", "only:tensorflow"),
    *("since:7d", "flaky", "hollow", "module:module_1*", "not any:red", "all:green op_16"),
    "op 00123",
]


def cpu_of(process: int) -> float:
    """CPU seconds of a process so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def asked(address: str) -> tuple[float, int]:
    """Seconds on the clock for an answer, and its size."""
    request = urllib.request.Request(address, headers={"Accept-Encoding": "gzip"})
    begun = time.perf_counter()
    with urllib.request.urlopen(request, timeout=600) as answer:
        size = len(answer.read())
    return time.perf_counter() - begun, size


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--store")
    parser.add_argument("--tests", type=int, default=166_667)
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--filled", action="store_true", help="the store has been filled before")
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp())
    address = arguments.store or str(folder / "board.sqlite")
    if not arguments.filled:
        store = Store.open(address)
        for number in range(arguments.runs):
            made = part(number, arguments.tests)
            begun, wall = time.process_time(), time.perf_counter()
            store.for_project("large").record(made)
            print(
                f"recording {len(made.results):,} cells: {time.process_time() - begun:.1f} s CPU, "
                f"{time.perf_counter() - wall:.1f} s on the clock"
            )
        store.close()
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
        measure(server.pid, f"http://127.0.0.1:{port}", folder)
    finally:
        server.terminate()
        server.wait()
    words = ["html", "--store", address, "--out", str(folder / "page")]
    begun = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run([sys.executable, "-m", "trellis_board", *words], check=True)
    print(f"html: {resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - begun:.1f} s")
    open_page((folder / "page" / "index.html").as_uri(), folder / "second").driver.quit()


def measure(server: int, site: str, folder: Path) -> None:
    """What readers of the page and of the API wait for."""
    deadline = time.monotonic() + 60
    while True:
        try:
            asked(f"{site}/health")
            break
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)
    asked(f"{site}/p/large/data/overview.json")
    asked(f"{site}/api/v1/projects/large/score")
    print(f"server: started and ready after {cpu_of(server):.1f} s")
    before = cpu_of(server)
    times = [asked(f"{site}/p/large/data/overview.json") for _ in range(10)]
    wall, size = min(times)
    print(
        f"document of the page: {(cpu_of(server) - before) / 10:.3f} s, {wall:.3f} s on the clock, "
        f"{size / 1e6:.1f} MB"
    )
    for question in QUESTIONS:
        query = f"{site}/api/v1/projects/large/rows?q={urllib.parse.quote(question)}"
        first, _ = asked(query)
        before = cpu_of(server)
        times = [asked(query) for _ in range(10)]
        cpu = (cpu_of(server) - before) / 10
        wall, size = min(times)
        print(
            f"question {question!r}: {cpu:.3f} s, on the clock {wall:.3f} s and {first:.3f} s "
            f"the first time, {size / 1e6:.2f} MB"
        )
    page = open_page(f"{site}/p/large/", folder / "first")
    for question in QUESTIONS:
        took = page.js(
            "const field = document.querySelector('#search'); field.value = arguments[0];"
            "const begun = performance.now();"
            "field.dispatchEvent(new Event('input', { bubbles: true }));"
            "return performance.now() - begun",
            question,
        )
        print(f"question {question!r} in the page: {took:.0f} ms on the clock")
    page.driver.quit()


def open_page(address: str, profile: Path) -> browser.Page:
    """Open the page a few times, each as if for the first time in this tab."""
    page = browser.Page(browser.start(profile))
    page.driver.execute_cdp_cmd("Performance.enable", {})
    for attempt in range(4):
        page.driver.get("about:blank")
        begun = time.perf_counter()
        page.driver.get(address)
        page.wait("return document.documentElement.dataset.ready === 'true'")
        opened = time.perf_counter() - begun
        told = page.driver.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
        (work,) = [each["value"] for each in told if each["name"] == "TaskDuration"]
        print(
            f"{address.partition(':')[0]}, time {attempt + 1}: open after {opened:.2f} s on the "
            f"clock; its thread worked {work:.2f} s"
        )
    return page


if __name__ == "__main__":
    main()
