"""What a function finds around it at its first run, for functions that run again later.

`checkpoint` runs a function once more in the backward pass. By then its calls have ended, draws
have gone on, and settings may be others. Each part of the library that keeps such state notes it
before the first run, and gives it back to the later ones.
"""

from collections.abc import Callable
from typing import Any


class Noted:
    """One kind of state, as it was before the first run."""

    def enter(self, is_first: bool) -> Any:
        """Begin a run: the first takes from the state and notes it, later ones repeat that.
        Returns what `leave` needs."""
        raise NotImplementedError

    def leave(self, entered: Any) -> None:
        """End a run."""
        raise NotImplementedError

    def changes(self) -> list[Any]:
        """What the run has changed: values that leave it as results do. Asked before it ends."""
        return []

    def keep(self, changes: list[Any]) -> None:
        """Make the changes of the first run last, once, after it."""
        assert not changes, "who has changes keeps them"


makers: list[Callable[[], Noted]] = []


class Surroundings:
    """All kinds of state that the library knows of, noted now."""

    def __init__(self) -> None:
        self._noted = [make() for make in makers]
        self._is_first = True

    def run(self, fn: Callable[[], Any]) -> tuple[Any, list[Any]]:
        """What `fn` returns, and what it changes."""
        is_first, self._is_first = self._is_first, False
        entered = []
        try:
            for noted in self._noted:
                entered.append((noted, noted.enter(is_first)))
            return fn(), [noted.changes() for noted in self._noted]
        finally:
            for noted, token in entered[::-1]:
                noted.leave(token)

    def keep(self, changes: list[Any]) -> None:
        for noted, changed in zip(self._noted, changes, strict=True):
            noted.keep(changed)
