"""What MPI asks of the launcher that started it: the first PMI protocol, lines of key=value.

MPICH and similar libraries look for a socket in PMI_FD, tell the launcher where each rank listens,
and ask
where the others do. The data of MPI itself never come here.
"""

import os
import secrets
from collections.abc import Callable

_FIXED = {
    "init": "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0",
    "get_maxes": "cmd=maxes rc=0 kvsname_max=256 keylen_max=64 vallen_max=1024",
    "get_appnum": "cmd=appnum rc=0 appnum=0",
    "finalize": "cmd=finalize_ack rc=0",
}


class Registry:
    """The facts that the ranks of one run have put down, and who waits at the barrier.

    >>> said = []
    >>> registry = Registry(1)
    >>> registry.answer("cmd=put kvsname=trellis key=a value=x y", said.append)
    >>> registry.answer("cmd=get kvsname=trellis key=a", said.append)
    >>> said
    ['cmd=put_result rc=0 msg=success', 'cmd=get_result rc=0 msg=success value=x y']
    """

    def __init__(self, size: int):
        self._size = size
        # MPI names its shared memory after this: no two runs may have the same.
        self.name = f"trellis_{os.getpid()}_{secrets.token_hex(8)}"
        self._facts: dict[str, str] = {}
        self._waiting: list[Callable[[str], None]] = []

    def answer(self, line: str, reply: Callable[[str], None]) -> None:
        """Answer one line of a rank."""
        words = dict([part.split("=", 1) for part in line.split() if "=" in part])
        command = words.get("cmd", "")
        if command in _FIXED:
            reply(_FIXED[command])
        elif command == "get_my_kvsname":
            reply(f"cmd=my_kvsname rc=0 kvsname={self.name}")
        elif command == "get_universe_size":
            reply(f"cmd=universe_size rc=0 size={self._size}")
        elif command == "put":
            self._facts[words["key"]] = line.partition("value=")[2]
            reply("cmd=put_result rc=0 msg=success")
        elif command == "get":
            value = self._facts.get(words["key"])
            found = f"rc=0 msg=success value={value}"
            reply(f"cmd=get_result {'rc=-1 msg=key_not_found' if value is None else found}")
        elif command == "barrier_in":
            self._waiting.append(reply)
            if len(self._waiting) == self._size:
                waiting, self._waiting = self._waiting, []
                for each in waiting:
                    each("cmd=barrier_out rc=0")
        else:
            reply(f"cmd={command} rc=-1 msg=unknown_command")
