"""The tables of names side by side on the pages `Coming from`, made of docs/counterparts.toml.

A page says where its table goes and which names belong there: `<!-- names: jax. flax. -->`.
"""

from __future__ import annotations

import re

import public_names
import reference
from public_names import GROUPS, Name

_PLACE = re.compile(r"^<!-- names: ([\w. ]+) -->$", re.MULTILINE)


def filled(markdown: str) -> str:
    """A page with its table of names, if it asks for one."""
    return _PLACE.sub(lambda match: table(tuple(match[1].split())), markdown)


def table(prefixes: tuple[str, ...]) -> str:
    """All names with these prefixes, and ours, by group; the groups can be folded."""
    rows: dict[str, list[tuple[str, Name]]] = {}
    for name in public_names.all_names():
        for theirs in reference.counterparts().get(name.path, {}).values():
            if theirs.startswith(prefixes):
                rows.setdefault(name.group, []).append((theirs, name))
    count = sum(len(group) for group in rows.values())
    parts = [f"## All {count} names\n\nThe nearest of each; details may differ."]
    for group, members in rows.items():
        lines = [f'??? note "{GROUPS[group][0]}"\n', "    | there | here |", "    |---|---|"]
        for theirs, name in sorted(members, key=lambda row: row[0].lower()):
            lines.append(f"    | `{theirs}` | [`{name.path}`](../{name.page}) |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)
