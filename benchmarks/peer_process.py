"""Peers run in an environment and a process of their own, and take turns with us by messages.

A script in peers/ answers JSON lines: "make" prepares a piece of work and gives its result, which
is compared with ours; "time" runs it some times and gives the seconds per call, measured there. So
a peer costs us nothing while it waits, and it is timed in the same rounds as everybody else.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PYTHON = HERE.parent / ".venv-peers" / "bin" / "python"
HAS_PEERS = PYTHON.exists()


class PeerError(Exception):
    """The peer could not do the work; the message is its own."""


class Peer:
    """One process of a script in peers/, or of another one with our own Python."""

    def __init__(self, script, *args, is_ours=False, **environment):
        path = HERE / script if is_ours else HERE / "peers" / script
        self._process = subprocess.Popen(
            [sys.executable if is_ours else str(PYTHON), str(path), *args],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None if "--verbose" in sys.argv else subprocess.DEVNULL,
            text=True,
            cwd=None if is_ours else tempfile.gettempdir(),  # Ivy writes a log where it runs
            env={**os.environ, **environment, "TF_CPP_MIN_LOG_LEVEL": "3"},
        )

    def ask(self, **message):
        try:
            self._process.stdin.write(json.dumps(message) + "\n")
            self._process.stdin.flush()
            answer = self._process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            raise PeerError("the process ended")
        answer = json.loads(answer)
        if "error" in answer:
            raise PeerError(answer["error"])
        return answer

    def make(self, work, **options):
        """Prepare `work`; its result, and a contestant that repeats it."""
        answer = self.ask(do="make", work=work, options=options)
        return answer["result"], Contestant(self, work)

    def close(self):
        self._process.stdin.close()
        self._process.wait(timeout=60)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()


class Contestant:
    """A piece of work in a peer's process, to be timed there."""

    def __init__(self, peer, work):
        self._peer, self._work = peer, work

    def sample(self, repeats):
        return self._peer.ask(do="time", work=self._work, repeats=repeats)["seconds"]

    def __call__(self):
        self.sample(1)
