"""Ages as people write them.

>>> seconds_of("7d"), seconds_of("soon") is None
(604800, True)
"""

from __future__ import annotations

import re

__all__ = ["seconds_of"]

_UNITS = {"h": 3600, "d": 86400, "w": 7 * 86400, "m": 30 * 86400, "y": 365 * 86400}


def seconds_of(text: str) -> int | None:
    """The seconds of an age such as ``12h``, ``90d``, ``6m`` or ``2y``; None if it is none."""
    found = re.fullmatch(r"(\d{1,6})([hdwmy])", text.lower())
    return int(found[1]) * _UNITS[found[2]] if found else None
