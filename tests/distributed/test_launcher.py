"""`trellis run`: output, exit codes, signals, and what happens to ranks when one of them ends."""

import os
import signal
import subprocess
import sys
import time

import launching
import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the launcher uses POSIX signals")


@pytest.fixture
def script(tmp_path):
    """A function that writes a program."""

    def write(text):
        path = tmp_path / "program.py"
        path.write_text("import os, signal, sys, time\nrank = int(os.environ['RANK'])\n" + text)
        return path

    return write


def wait_until(check, seconds=30):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if check():
            return True
        time.sleep(0.05)
    return False


def test_output_stands_behind_the_rank(script):
    path = script("print('out', sys.argv[1:])\nsys.stderr.write('half a line')")
    done = launching.run(2, path, "--epochs", 3)
    assert done.returncode == 0
    assert sorted(done.stdout.splitlines()) == [
        "[0] out ['--epochs', '3']",
        "[1] out ['--epochs', '3']",
    ]
    assert sorted(done.stderr.splitlines()) == ["[0] half a line", "[1] half a line"]


def test_ranks_get_the_variables_of_all_launchers(script):
    names = ["WORLD_SIZE", "LOCAL_RANK", "PMI_RANK", "PMI_SIZE", "MASTER_ADDR", "TRELLIS_BACKEND"]
    path = script(f"print(*[os.environ[name] for name in {names}])")
    done = launching.run(2, path, options=["--backend", "torch"])
    assert sorted(done.stdout.splitlines()) == [
        "[0] 2 0 0 2 127.0.0.1 torch",
        "[1] 2 1 1 2 127.0.0.1 torch",
    ]


def test_the_rank_that_fails_is_named_and_gives_the_exit_code(script, tmp_path):
    path = script("if rank == 1: sys.exit(7)\ntime.sleep(600)")
    done = launching.run(3, path, timeout=60)
    assert done.returncode == 7
    assert (
        "trellis run: rank 1 of 3 ended with exit code 7; the others are terminated." in done.stderr
    )
    assert launching.processes_with(str(tmp_path)) == []


def test_a_rank_that_is_killed_is_named(script, tmp_path):
    # Rank 0 does not listen to the first request to end.
    path = script(
        "if rank == 1: os.kill(os.getpid(), signal.SIGKILL)\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(600)"
    )
    done = launching.run(2, path, options=["--grace", "0.5"], timeout=60)
    assert done.returncode == 128 + signal.SIGKILL
    assert "trellis run: rank 1 of 2 was killed by SIGKILL" in done.stderr
    assert launching.processes_with(str(tmp_path)) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_reach_all_ranks(script, tmp_path, number):
    path = script(
        f"def end(*_):\n    print('ends', flush=True)\n    sys.exit(0)\n"
        f"signal.signal({int(number)}, end)\nprint('ready', flush=True)\ntime.sleep(600)"
    )
    with started(path) as launcher:
        ready = [launcher.stdout.readline() for _ in range(2)]
        assert sorted(ready) == ["[0] ready\n", "[1] ready\n"]
        launcher.send_signal(number)
        out, _ = launcher.communicate(timeout=60)
    assert sorted(out.splitlines()) == ["[0] ends", "[1] ends"]
    assert launcher.returncode == 128 + number
    assert launching.processes_with(str(tmp_path)) == []


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends children with their parent")
def test_a_launcher_that_is_killed_leaves_nothing(script, tmp_path):
    path = script("print('ready', flush=True)\ntime.sleep(600)")
    with started(path) as launcher:
        assert launcher.stdout.readline().endswith("ready\n")
        assert launcher.stdout.readline().endswith("ready\n")
        launcher.kill()
        launcher.wait(timeout=60)
        assert wait_until(lambda: launching.processes_with(str(tmp_path)) == [])


def test_what_a_rank_started_ends_with_it(script, tmp_path):
    path = script(
        "import subprocess\n"
        "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)', sys.argv[0]])\n"
        "sys.exit(3 if rank == 1 else 0)"
    )
    done = launching.run(2, path, timeout=60)
    assert done.returncode == 3
    assert wait_until(lambda: launching.processes_with(str(tmp_path)) == [])


def test_restarts(script, tmp_path):
    path = script(
        f"from pathlib import Path\nmark = Path({str(tmp_path)!r}) / f'tried-{{rank}}'\n"
        "if rank == 1 and not mark.exists():\n    mark.write_text('')\n    sys.exit(5)\n"
        "if rank == 0 and not mark.exists():\n    mark.write_text('')\n    time.sleep(600)\n"
        "print('done')"
    )
    assert launching.run(2, path, options=["--restarts", "1"], timeout=60).returncode == 0


def test_a_missing_program_is_named(tmp_path):
    done = launching.run(2, tmp_path / "nothing.py")
    assert done.returncode == 2 and "there is no file" in done.stderr
    done = launching.run(0, tmp_path / "nothing.py")
    assert done.returncode == 2 and "at least 1" in done.stderr


def started(path):
    return subprocess.Popen(
        launching.command(2, str(path)),
        env=launching.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=os.fspath(path.parent),
    )
