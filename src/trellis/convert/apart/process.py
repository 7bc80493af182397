"""The parent's side: starts the child, waits for its answers, ends it."""

import atexit
import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..._core.errors import ConversionError
from .arrays import read_arrays, write_arrays

_TO_START = 120.0  # seconds in which a framework must have been imported
# What a model may take: this, and more with its size.
SECONDS, BYTES_A_SECOND = 8.0, 10_000_000
BYTES, TIMES_ITS_SIZE = 1 << 31, 16
INSTEAD = "Pass verify=False (--no-verify on the command line) to convert it without running it."


class Apart:
    """A child process that runs models of one kind. It is started for the first request, and again
    after one that ended it.
    """

    def __init__(self, kind: str):
        self._kind = kind
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._read = b""
        self._was_started = False

    def run(
        self,
        who: str,
        source: str | Path | bytes,
        inputs: Any = None,
        *,
        beside: int = 0,
        **options: Any,
    ) -> Any:
        """What `who`, for messages, computes from a model in a file, or from one in these bytes;
        `beside` are the bytes of its other files.

        An error of the model is a `RuntimeError`. A child that crashes, does not end in time or
        needs too much memory is a `ConversionError`.
        """
        with self._lock, tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            if isinstance(source, bytes):
                (place / "model").write_bytes(source)
                source = place / "model"
            with open(place / "inputs", "wb") as file:
                write_arrays(file, inputs)
            count = _size(Path(source)) + beside + (place / "inputs").stat().st_size
            seconds = SECONDS + count / BYTES_A_SECOND
            answer = self._ask(
                who,
                {
                    "source": str(Path(source).absolute()),
                    "inputs": str(place / "inputs"),
                    "outputs": str(place / "outputs"),
                    "seconds": seconds,
                    "bytes": BYTES + TIMES_ITS_SIZE * count,
                    "options": options,
                },
                seconds,
            )
            if answer["status"] == "memory":
                self.close()  # what it holds is not given back
                needed = (BYTES + TIMES_ITS_SIZE * count) / (1 << 30)
                raise ConversionError(
                    f"{who} needs more than {needed:.1f} GiB of memory for this model."
                )
            if answer["status"] == "error":
                raise RuntimeError(answer["why"])
            with open(place / "outputs", "rb") as file:
                return read_arrays(file)

    def restart(self) -> None:
        """Start a child again that has ended."""
        if self._process is None and self._was_started:
            with self._lock:
                self._started(self._kind)

    def close(self) -> None:
        """End the child."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()

    def _ask(self, who: str, request: Mapping[str, Any], seconds: float) -> Any:
        process = self._started(who)
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
        except OSError as error:
            self.close()
            raise ConversionError(f"The process that runs {who} has ended.") from error
        return self._answer(who, seconds)

    def _started(self, who: str) -> "subprocess.Popen[bytes]":
        if self._process is not None and self._process.poll() is None:
            return self._process
        self.close()
        # Modules are found where this process finds them, and not in the folder that it is in.
        path = os.pathsep.join([each for each in sys.path if each])
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", f"{__package__}.worker", self._kind],
            # With a heap for each thread, the limit of memory would count them all.
            env={**os.environ, "PYTHONPATH": path, "MALLOC_ARENA_MAX": "2"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # an interrupt is for this process; it ends the child
        )
        if not self._was_started:
            atexit.register(self.close)
        self._was_started = True
        self._read = b""
        self._answer(who, _TO_START)
        return self._process

    def _answer(self, who: str, seconds: float) -> Any:
        """The next line of the child."""
        assert self._process is not None and self._process.stdout is not None
        descriptor, end = self._process.stdout.fileno(), time.monotonic() + seconds
        while b"\n" not in self._read:
            left = end - time.monotonic()
            ready, _, _ = select.select([descriptor], [], [], max(0.0, left))
            if not ready:
                self.close()
                raise ConversionError(
                    f"{who} did not end within {seconds:.0f} seconds on this model."
                )
            chunk = os.read(descriptor, 65536)
            if not chunk:
                code = self._process.wait()
                self.close()
                how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
                raise ConversionError(f"{who} crashed ({how}) on this model.")
            self._read += chunk
        line, _, self._read = self._read.partition(b"\n")
        return json.loads(line)


_kept: dict[str, Apart] = {}


@contextlib.contextmanager
def kept_children() -> Iterator[dict[str, Apart]]:
    """Inside the block, the child of a framework stays for the next file: to import one takes
    seconds, and hundreds of megabytes as long as it stays."""
    _kept.update({kind: Apart(kind) for kind in ("torch", "saved_model", "keras")})
    try:
        yield _kept
    finally:
        while _kept:
            _kept.popitem()[1].close()


def rehearse(
    kind: str, who: str, path: Path, inputs: Any = None, *, is_final: bool = False
) -> None:
    """Load and run a model of a file in a child first: raises if the framework crashes on it, does
    not end, or needs too much memory. Other errors are left to this process, which may know more
    (operations of the user's own), unless the child `is_final`: then they are `RuntimeError`s.
    """
    child = _kept.get(kind) or Apart(kind)
    try:
        child.run(who, path, inputs)
    except RuntimeError:
        if is_final:
            raise
    except ConversionError as error:
        raise ConversionError(f"{error} {INSTEAD}") from None
    finally:
        if kind not in _kept:
            child.close()


def _size(path: Path) -> int:
    """The bytes of a file, or of all files in a folder."""
    if path.is_dir():
        return sum([each.stat().st_size for each in path.rglob("*") if each.is_file()])
    return path.stat().st_size
