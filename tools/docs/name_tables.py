"""The tables of names side by side on the pages `Coming from`, made of docs/counterparts.toml.

A page says where its table goes and which names belong there: `<!-- names: jax. flax. -->`. What to
write for layers without a class here, of docs/layers_elsewhere.toml, is put in place of
`<!-- layers: torch.nn -->`.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import public_names
import reference
from public_names import GROUPS, Name

_PLACE = re.compile(r"^<!-- names: ([\w. ]+) -->$", re.MULTILINE)
_LAYERS = re.compile(r"^<!-- layers: ([\w.]+) -->$", re.MULTILINE)
ELSEWHERE = Path(__file__).resolve().parents[2] / "docs" / "layers_elsewhere.toml"


def filled(markdown: str) -> str:
    """A page with its tables, if it asks for them."""
    markdown = _LAYERS.sub(lambda match: layers(match[1]), markdown)
    return _PLACE.sub(lambda match: table(tuple(match[1].split())), markdown)


def layers(library: str) -> str:
    """What to write for the layers of a library that have no class here; it can be folded."""
    rows = tomllib.loads(ELSEWHERE.read_text(encoding="utf-8"))[library]
    lines = [f'??? note "{len(rows)} layers of {library} without a class here"\n']
    lines += ["    | there | here |", "    |---|---|"]
    lines += [f"    | `{name}` | {what} |" for name, what in rows.items()]
    return "\n".join(lines)


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
