"""What each parameter of a public name means: from its docstring, or from docs/parameters.toml."""

from __future__ import annotations

import functools
import inspect
import re
import tomllib
from pathlib import Path
from typing import Any

TABLE = Path(__file__).parents[2] / "docs" / "parameters.toml"


@functools.cache
def _words() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    return found


def described(path: str, value: Any) -> dict[str, str]:
    """The parameters of a function or class that its docstring has no list of, with what each
    means; nothing where nobody says it."""
    text = _text_of(value)
    own = listed(text)
    prose = [_in_line(part) for part in text.split("\n\n") if not part.lstrip().startswith(">>>")]
    table = _words()
    found = {}
    for name in signature_of(value).parameters:
        if name not in own:
            found[name] = (
                table["particular"].get(f"{path}.{name}")
                or sentence_about(name, " ".join(prose))
                or table["everywhere"].get(name, "")
            )
    return found


def signature_of(value: Any) -> inspect.Signature:
    """The signature; an empty one where a class inherits that of Python's own."""
    try:
        return inspect.signature(value)
    except ValueError:
        return inspect.Signature()


def _text_of(value: Any) -> str:
    text = inspect.getdoc(value) or ""
    if inspect.isclass(value):  # its page shows both, an inherited one too
        text += "\n\n" + (inspect.getdoc(value.__init__) or "")
    return text


def listed(text: str) -> set[str]:
    """The parameters that a docstring lists.

    >>> sorted(listed("Twice.\\n\\nArguments:\\n    x: An array.\\n    *rest: Others."))
    ['rest', 'x']
    """
    lists = re.split(r"^(?:Args|Arguments|Attributes):$", text, flags=re.MULTILINE)[1:]
    return {name for part in lists for name in re.findall(r"^ +\*{0,2}(\w+):", part, re.MULTILINE)}


def _in_line(text: str) -> str:
    return " ".join(text.split())


def sentence_about(name: str, text: str) -> str:
    """The first sentence that names a parameter in code, or is about it.

    >>> sentence_about("k", "The largest. With `k` the first ones; all if None. Sorted.")
    'With `k` the first ones; all if None.'
    >>> sentence_about("boxes", "Features. boxes has shape (n, 4).")
    'boxes has shape (n, 4).'
    """
    names = re.compile(rf"`\*{{0,2}}{name}(`|=)|\b{name} (is|has|holds|are)\b")
    for sentence in re.split(r"(?<=[.:]) (?=[A-Z`a-z])", text):
        if names.search(sentence):
            sentence = sentence.rstrip(":")
            return sentence if sentence.endswith(".") else sentence + "."
    return ""
