"""Where this process listens, from the kernel's table of sockets (Linux)."""

import contextlib
import ipaddress
import os
import struct
from pathlib import Path

_WAITING = {"tcp": "0A", "tcp6": "0A", "udp": "07", "udp6": "07"}  # listening; not connected


def open_to_others() -> dict[str, str]:
    """Sockets of this process that other machines could reach: inode and "address:port"."""
    own = set()
    with contextlib.suppress(OSError):  # not Linux
        for entry in os.listdir("/proc/self/fd"):
            with contextlib.suppress(OSError):  # closed meanwhile
                own.add(os.readlink(f"/proc/self/fd/{entry}"))
    found = {}
    for name, state in _WAITING.items():
        with contextlib.suppress(OSError):
            for line in Path("/proc/self/net", name).read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == state and f"socket:[{fields[9]}]" in own:
                    host, _, port = fields[1].partition(":")
                    address = _address(host)
                    address = getattr(address, "ipv4_mapped", None) or address
                    if not address.is_loopback:
                        found[fields[9]] = f"{address}:{int(port, 16)}"
    return found


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """The table shows words of 32 bits in the byte order of the machine."""
    words = [int(text[i : i + 8], 16) for i in range(0, len(text), 8)]
    return ipaddress.ip_address(struct.pack(f"={len(words)}I", *words))
