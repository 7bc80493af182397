"""Where columns are versions of a framework: since which version a row is green, or in which it was
broken.

>>> spans({"jax 0.6": "failure", "jax 0.9": "failure", "jax 0.10": "success"})
{'jax': 'green since 0.10'}
>>> spans({"jax 0.6": "success", "jax 0.9": "error", "jax 0.10": "success"})
{'jax': 'broken in 0.9'}
>>> spans({"torch 2.6": "success", "torch 2.8": "success", "numpy": "success"})
{'torch': 'green in 2.6 to 2.8'}
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import groupby

from .outcomes import is_red

__all__ = ["spans"]


def spans(outcomes: Mapping[str, str]) -> dict[str, str]:
    """For each framework with several versions among the columns, what its versions say together.

    `outcomes` has one row's outcomes by column. A version that was skipped, or is hollow, says
    neither green nor broken, and ends a span.
    """
    families: dict[str, list[tuple[tuple[int, ...], str, str]]] = {}
    for column, outcome in outcomes.items():
        found = re.fullmatch(r"(\S+) (\d[\w.]*)(.*)", column)
        if found:
            family = f"{found[1]}{found[3]}"
            numbers = tuple(int(part) for part in re.findall(r"\d+", found[2]))
            families.setdefault(family, []).append((numbers, found[2], outcome))
    return {
        family: _told(sorted(versions))
        for family, versions in families.items()
        if len(versions) > 1
    }


def _told(versions: list[tuple[tuple[int, ...], str, str]]) -> str:
    runs = [
        (state, [version for _, version, _ in group])
        for state, group in groupby(versions, key=lambda one: _state(one[2]))
    ]
    last, names = runs[-1]
    if len(runs) == 1:
        return f"{last} in {_range(names)}"
    broken = [_range(of) for state, of in runs if state == "broken"]
    if last == "green" and len(runs) == 2:
        return f"green since {names[0]}"
    if last == "broken":
        return f"broken since {names[0]}"
    if broken:
        return f"broken in {', '.join(broken)}"
    return f"{last} since {names[0]}"


def _state(outcome: str) -> str:
    return "green" if outcome == "success" else "broken" if is_red(outcome) else outcome


def _range(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"
