"""The pages of the reference: one for each public name, one for each group, one for all."""

from __future__ import annotations

import functools
import inspect
import tomllib
from collections import defaultdict
from pathlib import Path
from typing import Any

import public_names
from board_lines import Line, lines
from parameters import described, signature_of
from prose import escaped
from public_names import GROUPS, Name

from trellis._ops import TABLE

HERE = Path(__file__).parent
COUNTERPARTS = HERE.parents[1] / "docs" / "counterparts.toml"
COLUMNS = {
    "numpy": "NumPy, SciPy",
    "jax": "JAX",
    "torch": "PyTorch",
    "tensorflow": "TensorFlow, Keras",
}


@functools.cache
def counterparts() -> dict[str, dict[str, str]]:
    """The frameworks' own names beside ours: those of operations from the op table, the others from
    docs/counterparts.toml.
    """
    found: dict[str, dict[str, str]] = tomllib.loads(COUNTERPARTS.read_text(encoding="utf-8"))
    for op in TABLE.values():
        names = {framework: op.counterpart(framework) for framework in COLUMNS}
        row = {framework: name for framework, name in names.items() if name is not None}
        if row and f"trellis.{op.name}" not in found:
            found[f"trellis.{op.name}"] = row
    return found


def pages() -> dict[str, str]:
    """All pages of the reference: their addresses under docs, and their Markdown."""
    names = public_names.all_names()
    table, tested = counterparts(), lines()
    found = {name.page: page_of(name, table.get(name.path, {}), tested) for name in names}
    by_group = defaultdict(list)
    for name in names:
        by_group[name.group].append(name)
    for group, members in by_group.items():
        found[f"reference/{group}.md"] = page_of_group(group, members)
    found["reference/index.md"] = page_of_all(by_group)
    return found


def page_of(name: Name, others: dict[str, str], tested: dict[str, Line]) -> str:
    """The page of one name."""
    parts = [f"---\ntitle: {name.path}\n---"]
    if is_documented(name.value):
        options = {
            "members": _shows_members(name),
            "show_bases": name.group == "errors",
        }
        said = "\n".join(f"      {key}: {str(value).lower()}" for key, value in options.items())
        parts.append(f"::: {name.path}\n    options:\n{said}")
        parts += parameters(name.path, name.value)
    else:
        parts.append(f"# {name.path}\n\n{name.sentence}")
        parts.append(f"```python\n{name.path} = {name.value!r}\n```")
    parts.append("## In the frameworks\n\n" + table_of_counterparts(others))
    parts.append("## On the board { data-search-exclude }\n\n" + board_line(name, tested))
    also = ", ".join(f"`{path}`" for path in name.also)
    place = f"[{GROUPS[name.group][0]}]({name.group}.md)"
    parts.append((f"Can also be written {also}. " if also else "") + f"More of its kind: {place}.")
    return "\n\n".join(parts) + "\n"


def is_documented(value: Any) -> bool:
    """Whether mkdocstrings has something to show: functions and classes."""
    return inspect.isclass(value) or inspect.isroutine(value)


def _shows_members(name: Name) -> bool:
    if not inspect.isclass(name.value) or issubclass(name.value, BaseException):
        return False
    if name.group == "nn":
        return name.short == "Module"
    if name.group == "optim":
        return name.short in ("Optimizer", "ParameterAverage", "Transformation")
    return name.group != "init"


def parameters(path: str, value: Any) -> list[str]:
    """A table of the parameters that the docstring has no list of."""
    if inspect.isclass(value) and issubclass(value, BaseException):
        return []
    said = described(path, value)
    rows = []
    for each in signature_of(value).parameters.values():
        if each.name not in said:
            continue
        kind = {
            each.POSITIONAL_ONLY: "by position",
            each.POSITIONAL_OR_KEYWORD: "by position or name",
            each.KEYWORD_ONLY: "by name",
            each.VAR_POSITIONAL: "any number by position",
            each.VAR_KEYWORD: "any number by name",
        }[each.kind]
        sign = {each.VAR_POSITIONAL: "*", each.VAR_KEYWORD: "**"}.get(each.kind, "")
        default = "required" if each.default is each.empty and not sign else ""
        if each.default is not each.empty:
            default = _code(repr(each.default))
        rows.append(f"| `{sign}{each.name}` | {_cell(said[each.name])} | {kind} | {default} |")
    if not rows:
        return []
    head = "| parameter | what it is | given | default |\n|---|---|---|---|\n"
    title = "Parameters" if len(rows) == len(signature_of(value).parameters) else "More parameters"
    return [f"## {title} {{ data-search-exclude }}\n\n" + head + "\n".join(rows)]


def _code(text: str) -> str:
    """Code in a cell of a table.

    >>> _code("a | b")
    '`a \\\\| b`'
    """
    return "`" + text.replace("|", "\\|") + "`"


def table_of_counterparts(others: dict[str, str]) -> str:
    """The frameworks' own names; what they do may differ in details."""
    if not others:
        return "None of the frameworks has one of its own."
    cells = [f"`{others[key]}`" if key in others else "none" for key in COLUMNS]
    head = "| " + " | ".join(COLUMNS.values()) + " |\n" + "|---" * len(COLUMNS) + "|\n"
    return head + "| " + " | ".join(cells) + " |"


def board_line(name: Name, tested: dict[str, Line]) -> str:
    """What the tests try of a name, on which frameworks."""
    found = next((tested[path] for path in (name.path, *name.also) if path in tested), None)
    if found is None:
        return (
            "No test names it by itself; what is made with it is tested. "
            "See [the board](../board/index.md)."
        )
    return found.sentence() + " See [the board](../board/index.md)."


def page_of_group(group: str, members: list[Name]) -> str:
    """A list of a group's names, each with its sentence."""
    title, sentence = GROUPS[group]
    rows = [
        f"| [`{name.path}`]({name.page.removeprefix('reference/')}) | {_cell(name.sentence)} |"
        for name in members
    ]
    head = "| name | what it is |\n|---|---|\n"
    return f"# {title}\n\n{sentence}\n\n{head}" + "\n".join(rows) + "\n"


def _cell(text: str) -> str:
    return escaped(text.replace("|", "\\|"))


def page_of_all(by_group: dict[str, list[Name]]) -> str:
    """All names by group, on one page."""
    count = sum(len(members) for members in by_group.values())
    parts = [
        "# Reference",
        f"All {count} public names. This part is generated from the code, the table of "
        "counterparts and the tests. Every example is run by the tests.",
    ]
    for group in [group for group in GROUPS if group in by_group]:
        title, sentence = GROUPS[group]
        links = [
            f"[`{name.short}`]({name.page.removeprefix('reference/')})" for name in by_group[group]
        ]
        parts.append(f"## [{title}]({group}.md)\n\n{sentence}\n\n" + " ".join(links))
    return "\n\n".join(parts) + "\n"
