"""Differences between frameworks that stay, each with its reason.

An entry that no call meets any more is reported by `make fuzz`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatch

from .call import Call
from .comparing import Difference


@dataclass(frozen=True)
class Allowed:
    ops: str  # patterns, separated by spaces
    backends: str  # those that may differ, separated by spaces
    reason: str
    kinds: str = "values"
    modes: str = "eager compiled gradient"
    when: Callable[[Call], bool] | None = None

    def covers(self, difference: Difference) -> bool:
        return (
            any(fnmatch(difference.call.op, pattern) for pattern in self.ops.split())
            and set(difference.backends) <= set(self.backends.split())
            and difference.kind in self.kinds.split()
            and difference.mode in self.modes.split()
            and (self.when is None or self.when(difference.call))
        )


def types(call: Call) -> set[str]:
    return {given.values.dtype.name for given in call.given()}


ALLOWED: tuple[Allowed, ...] = ()


def reason_for(difference: Difference, used: set[Allowed]) -> str | None:
    """Why a difference may be; None if it may not. The entry is added to those that were used."""
    for entry in ALLOWED:
        if entry.covers(difference):
            used.add(entry)
            return entry.reason
    return None
