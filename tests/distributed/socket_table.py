"""The kernel's table of sockets (Linux), for tests: text is compared, no address is parsed."""

import os
from pathlib import Path

TABLES = ("tcp", "tcp6", "udp", "udp6", "udplite", "udplite6", "raw", "raw6")
CONNECTED = "01"
LOOPBACK = (
    "0100007F",  # 127.0.0.1, bytes in the order of the machine
    "00000000000000000000000001000000",  # ::1
    "0000000000000000FFFF00000100007F",  # ::ffff:127.0.0.1
)


def listening(pid):
    """The addresses, as the table writes them, at which a process takes what others send."""
    inodes = set()
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        try:
            inodes.add(os.readlink(entry))
        except OSError:
            continue
    found = []
    for table in TABLES:
        path = Path("/proc/net", table)
        if not path.exists():
            continue
        for line in path.read_text().splitlines()[1:]:
            fields = line.split()
            address, state, inode = fields[1], fields[3], fields[9]
            # Of TCP, state 0A listens; the others take packets unless they are connected.
            takes = state == "0A" if table.startswith("tcp") else state != CONNECTED
            if takes and f"socket:[{inode}]" in inodes:
                found.append(address)
    return found


def is_loopback(address):
    return address.partition(":")[0] in LOOPBACK


def port(address):
    return int(address.partition(":")[2], 16)
