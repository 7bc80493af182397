"""Who can connect to a program under `trellis run`: nobody outside of this machine.

The ranks of `tests/distributed` write down their sockets and the launcher's, from the kernel's
table, which `socket_table.py` reads by itself.
"""

import json
import os
import shutil
import socket
import subprocess
import sys

import launching
import pytest
import socket_table

import trellis
from trellis.distributed._sockets import open_to_others

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads Linux' table of sockets")


def check_loopback(folder, size):
    """Every socket of every rank and of the launcher is on loopback; the file names them."""
    for rank in range(size):
        found = json.loads((folder / f"sockets-{rank}.json").read_text())
        assert found["pids"] == sorted(found["sockets"], key=int)
        for pid, addresses in found["sockets"].items():
            others = [each for each in addresses if not socket_table.is_loopback(each)]
            assert not others, f"process {pid} of rank {rank} listens at {others}"


def test_nothing_listens_but_on_loopback(backend, tmp_path):
    done = launching.run_task("sockets", backend, 2, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    check_loopback(tmp_path, 2)


@pytest.mark.needs("tensorflow")
def test_the_servers_of_tensorflow_must_be_asked_for_by_name(tmp_path):
    """They listen everywhere: so the table would have shown it."""
    done = launching.run_task("both_exposed", "tensorflow", 2, tmp_path, options=["--expose"])
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "done-0").exists() and (tmp_path / "done-1").exists()
    with pytest.raises(AssertionError, match="listens at"):
        check_loopback(tmp_path, 2)


@pytest.mark.long
def test_a_host_name_with_an_address_of_the_network(backend, tmp_path):
    """Engines that look up the name of their host find an address that others can reach."""
    address = outer_address()
    if address is None or shutil.which("unshare") is None:
        pytest.skip("needs a network and unshare")
    inner = launching.command(2, launching.PROGRAM, "sockets", backend, tmp_path)
    script = 'hostname "$0" && exec "$@"'
    command = ["unshare", "--map-root-user", "--uts", "sh", "-c", script, address]
    if subprocess.run([*command, "true"], check=False, capture_output=True).returncode:
        pytest.skip("this user may not change a host name in a namespace")
    done = subprocess.run(
        [*command, *[str(each) for each in inner]],
        env=launching.environment(),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    check_loopback(tmp_path, 2)


def outer_address():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing: the kernel chooses an interface
        except OSError:
            return None
        found = probe.getsockname()[0]
    return None if found.startswith("127.") else found


# The check that every rank makes ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("family", "kind", "host", "shown"),
    [
        (socket.AF_INET, socket.SOCK_STREAM, "0.0.0.0", "0.0.0.0"),
        (socket.AF_INET, socket.SOCK_DGRAM, "0.0.0.0", "0.0.0.0"),
        (socket.AF_INET6, socket.SOCK_STREAM, "::", "::"),
        (socket.AF_INET, socket.SOCK_STREAM, "127.0.0.1", None),
        (socket.AF_INET6, socket.SOCK_STREAM, "::1", None),
        (socket.AF_INET6, socket.SOCK_STREAM, "::ffff:127.0.0.1", None),
    ],
)
def test_open_to_others(family, kind, host, shown):
    before = open_to_others()
    with socket.socket(family, kind) as ours:
        ours.bind((host, 0))
        if kind == socket.SOCK_STREAM:
            ours.listen()
        found = [where for inode, where in open_to_others().items() if inode not in before]
        assert found == ([f"{shown}:{ours.getsockname()[1]}"] if shown else [])
        addresses = socket_table.listening(os.getpid())
        assert any([socket_table.port(each) == ours.getsockname()[1] for each in addresses])
        outside = [each for each in addresses if not socket_table.is_loopback(each)]
        ports = [socket_table.port(each) for each in outside]
        assert (ours.getsockname()[1] in ports) == (shown is not None)


def test_an_engine_that_listens_elsewhere_is_refused(monkeypatch):
    from trellis._backends.shared.distributed import Place
    from trellis.distributed import _group

    opened = []

    def connect_ranks(place):
        opened.append(socket.create_server(("0.0.0.0", 0)))
        return object()

    xp = trellis._core.dispatch.load("numpy")
    monkeypatch.setattr(xp, "connect_ranks", connect_ranks)
    try:
        group = _group.Group(Place(0, 2, port=1, ring=(0, 1)))
        message = r"listens at 0\.0\.0\.0:.*expose"
        with pytest.raises(trellis.errors.DistributedError, match=message):
            group.connect("numpy")
        assert "numpy" not in group.engines
        # With --expose, or another launcher, the user has chosen.
        assert _group.Group(Place(0, 2, port=1)).connect("numpy") is not None
    finally:
        for each in opened:
            each.close()
