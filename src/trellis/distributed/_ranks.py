"""The ranks of one run, from their start to the end of the last of them."""

import contextlib
import ctypes
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from .._backends.shared.distributed import LOOPBACK
from ._environment import RING, free_ports
from ._pmi import Registry
from ._report import VARIABLE

_LOOK = 0.05  # seconds between two looks at the processes
_SETTLE = 0.5  # seconds in which the cause of a failure is separated from its consequences
_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG of Linux


class Ranks:
    """Processes with one life: when one fails, all end."""

    def __init__(
        self,
        command: list[str],
        size: int,
        backend: str | None,
        grace: float,
        *,
        is_exposed: bool = False,
    ):
        self._size, self._grace = size, grace
        self._select = selectors.DefaultSelector()
        self._registry = Registry(size)
        self._codes: dict[int, int] = {}
        self._reports: dict[int, str] = {}
        self._failed_at: float | None = None
        self._end_at: float | None = None
        self._processes: list[subprocess.Popen[bytes]] = []
        common = _variables(size, backend, is_exposed)
        # Between each rank and the next one: sockets that nobody else can connect to.
        pairs = [] if is_exposed or size == 1 else [socket.socketpair() for _ in range(size)]
        for rank in range(size):
            ring = [pairs[rank - 1][1], pairs[rank][0]] if pairs else []
            self._start(rank, command, common, ring)
        for pair in pairs:
            for each in pair:
                each.close()

    def _start(
        self, rank: int, command: list[str], common: dict[str, str], ring: list[socket.socket]
    ) -> None:
        ours, theirs = socket.socketpair()
        heard, said = os.pipe()
        variables = {**os.environ, **common, **_variables_of(rank, self._size, common)}
        variables["PMI_FD"], variables[VARIABLE] = str(theirs.fileno()), str(said)
        neighbours = [each.fileno() for each in ring]
        variables[RING] = ",".join([str(each) for each in neighbours])
        process = subprocess.Popen(
            command,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=(theirs.fileno(), said, *neighbours),
            start_new_session=True,  # so that what a rank starts ends with it
            preexec_fn=_die_with_launcher(),
        )
        self._processes.append(process)
        theirs.close()
        os.close(said)
        assert process.stdout is not None and process.stderr is not None
        prefix = f"[{rank}] ".encode()
        self._listen(process.stdout, _Lines(lambda line: _copy(sys.stdout, prefix + line)))
        self._listen(process.stderr, _Lines(lambda line: _copy(sys.stderr, prefix + line)))
        self._listen(ours, _Lines(lambda line: self._answer(line, ours)))
        self._listen(os.fdopen(heard, "rb", 0), _Lines(lambda line: self._note(rank, line)))

    def _listen(self, source: Any, lines: "_Lines") -> None:
        self._select.register(source, selectors.EVENT_READ, lines)

    def _answer(self, line: bytes, ours: socket.socket) -> None:
        def reply(text: str) -> None:
            with contextlib.suppress(OSError):  # a rank that is gone wants no answer
                ours.sendall(text.encode() + b"\n")

        self._registry.answer(line.decode().strip(), reply)

    def _note(self, rank: int, line: bytes) -> None:
        self._reports[rank] = line.decode().strip().removeprefix("failed ")
        self._fail()

    def _fail(self) -> None:
        if self._failed_at is None:
            self._failed_at = time.monotonic()

    # ------------------------------------------------------------------------------------------

    def send(self, number: int, is_end: bool) -> None:
        """Pass a signal on; after one that asks for the end, the ranks have the time of grace."""
        for rank in range(self._size):
            self._kill(rank, number)
        if is_end and self._end_at is None:
            self._end_at = time.monotonic() + self._grace

    def _kill(self, rank: int, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._processes[rank].pid, number)

    def wait(self) -> int:
        """Copy output until all ranks have ended; the exit code is that of the first failure."""
        try:
            culprit = None
            while len(self._codes) < self._size:
                self._read(_LOOK)
                self._look()
                now = time.monotonic()
                if culprit is None and self._failed_at and now > self._failed_at + _SETTLE:
                    culprit = self._culprit()
                    print(f"trellis run: {self._told(culprit)}", file=sys.stderr, flush=True)
                    if self._end_at is None:
                        self.send(signal.SIGTERM, is_end=True)
                if self._end_at is not None and now > self._end_at:
                    for rank in range(self._size):
                        self._kill(rank, signal.SIGKILL)
            self._read(0.0)
            if culprit is None and self._failed_at is not None:
                culprit = self._culprit()
                print(f"trellis run: {self._told(culprit)}", file=sys.stderr, flush=True)
            return 0 if culprit is None else self._exit_code(culprit)
        finally:
            self._close()

    def _read(self, seconds: float) -> None:
        """Handle what has come; with 0 seconds, all that is still there."""
        while True:
            events = self._select.select(seconds)
            for key, _ in events:
                try:
                    chunk = os.read(key.fd, 65536)
                except OSError:
                    chunk = b""
                key.data.add(chunk)
                if not chunk:
                    self._select.unregister(key.fileobj)
                    key.fileobj.close()  # type: ignore[union-attr]
            if seconds > 0 or not events:
                return

    def _look(self) -> None:
        for rank, process in enumerate(self._processes):
            if rank not in self._codes and process.poll() is not None:
                self._codes[rank] = process.returncode
                # Processes that it had started: nothing else would end them.
                self._kill(rank, signal.SIGKILL)
                if process.returncode != 0:
                    self._fail()

    def _culprit(self) -> int:
        """The rank to name: killed, or failed by itself, rather than failed because of another."""

        def weight(rank: int) -> int:
            code, report = self._codes.get(rank, 0), self._reports.get(rank, "")
            if code < 0 and not report:
                return 0
            if report and not report.startswith("DistributedError"):
                return 1
            return 2 if code != 0 and not report else 3

        failed = [r for r in range(self._size) if self._codes.get(r, 0) or r in self._reports]
        return min(failed, key=weight)

    def _told(self, rank: int) -> str:
        code = self._codes.get(rank)
        if self._reports.get(rank):
            what = f"failed: {self._reports[rank]}"
        elif code is not None and code < 0:
            what = f"was killed by {signal.Signals(-code).name}"
        else:
            what = f"ended with exit code {code}"
        rest = "the others are terminated" if self._size > 1 else "nothing is left to run"
        return f"rank {rank} of {self._size} {what}; {rest}."

    def _exit_code(self, rank: int) -> int:
        code = self._codes.get(rank, 1)
        if rank in self._reports and code < 0:
            return 1  # it was ended here, on its way out
        return 128 - code if code < 0 else code or 1

    def _close(self) -> None:
        for rank in range(self._size):
            self._kill(rank, signal.SIGKILL)
        for process in self._processes:
            process.wait()
        for key in list(self._select.get_map().values()):
            key.data.add(b"")
            self._select.unregister(key.fileobj)
            key.fileobj.close()  # type: ignore[union-attr]
        self._select.close()


class _Lines:
    """Chunks of bytes as whole lines; a carriage return, as progress bars use it, ends one too."""

    def __init__(self, handle: Callable[[bytes], None]):
        self._handle, self._rest = handle, b""

    def add(self, chunk: bytes) -> None:
        """Take the next chunk; an empty one is the end."""
        lines = (self._rest + chunk).replace(b"\r\n", b"\n").splitlines(keepends=True)
        self._rest = b""
        if chunk and lines and not lines[-1].endswith((b"\n", b"\r")):
            self._rest = lines.pop()
        for line in lines:
            self._handle(line if line.endswith((b"\n", b"\r")) else line + b"\n")


def _copy(stream: Any, line: bytes) -> None:
    raw = getattr(stream, "buffer", None)
    with contextlib.suppress(BrokenPipeError):
        if raw is None:
            stream.write(line.decode(errors="replace"))
        else:
            raw.write(line)
        stream.flush()


def _variables(size: int, backend: str | None, is_exposed: bool) -> dict[str, str]:
    """The environment variables of all ranks: the address of rank 0, and the number of threads."""
    port, coordinator, *own = free_ports(2 + size)
    threads = max(1, (os.cpu_count() or 1) // size)
    found = {
        "WORLD_SIZE": str(size),
        "LOCAL_WORLD_SIZE": str(size),
        "MASTER_ADDR": LOOPBACK,
        "MASTER_PORT": str(port),
        "JAX_COORDINATOR_ADDRESS": f"{LOOPBACK}:{coordinator}",
        "PMI_SIZE": str(size),
        "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", str(threads)),
    }
    if is_exposed:
        found["TF_CONFIG"] = json.dumps({"cluster": {"worker": [f"{LOOPBACK}:{p}" for p in own]}})
    else:
        found |= _on_loopback(coordinator)
    if backend is not None:
        found["TRELLIS_BACKEND"] = backend
    return found


def _on_loopback(coordinator: int) -> dict[str, str]:
    """Keeps the frameworks' own communication libraries off the other network interfaces."""
    interface = "lo" if sys.platform == "linux" else "lo0"
    return {
        "JAX_COORDINATOR_BIND_ADDRESS": f"{LOOPBACK}:{coordinator}",
        "GLOO_SOCKET_IFNAME": interface,
        "NCCL_SOCKET_IFNAME": interface,
        # The two libraries that MPICH can be built on.
        "UCX_NET_DEVICES": interface,
        "FI_PROVIDER": "tcp",
        "FI_TCP_IFACE": interface,
    }


def _variables_of(rank: int, size: int, common: dict[str, str]) -> dict[str, str]:
    found = {"RANK": str(rank), "LOCAL_RANK": str(rank), "PMI_RANK": str(rank)}
    if "TF_CONFIG" in common:
        cluster = json.loads(common["TF_CONFIG"])["cluster"]
        task = {"type": "worker", "index": rank}
        found["TF_CONFIG"] = json.dumps({"cluster": cluster, "task": task})
    return found


def _die_with_launcher() -> Callable[[], None] | None:
    """On Linux, ranks are killed with a launcher that is killed itself."""
    if sys.platform != "linux":
        return None
    libc = ctypes.CDLL(None)
    parent = os.getpid()

    def before_program() -> None:
        libc.prctl(_DIE_WITH_PARENT, int(signal.SIGKILL))
        if os.getppid() != parent:  # it was quicker
            os.kill(os.getpid(), signal.SIGKILL)

    return before_program
