r"""What a store takes: parts from strangers are cut to size before they are recorded.

Every part passes here, whether a session, a server, a JUnit file or another store brought it. What
a test may be called is pytest's matter and somebody else's; a name that no page can show must not
keep all others from being shown.

>>> name_of("test\x1b[31m")
'test\\x1b[31m'
"""

from __future__ import annotations

import hashlib
import math
import re
from dataclasses import replace

from .records import BrokenModule, Part, Result
from .texts import safe_link

__all__ = ["LINK", "MESSAGE", "NAME", "SHORT", "TIME", "clean", "name_of"]

NAME, SHORT, MESSAGE, LINK = 1000, 200, 30_000, 2000
"""The most characters of names of modules and tests, of other names, of messages and of links."""
TIME = 1e11
"""The latest time, in seconds since 1970."""

_SEPARATORS = "\u2028\u2029"
_DIRECTIONS = "\u202a-\u202e\u2066-\u2069"
_SURROGATES = "\ud800-\udfff"
_CONTROL = re.compile(f"[\x00-\x1f\x7f-\x9f{_SEPARATORS}{_DIRECTIONS}{_SURROGATES}]")
_NOT_IN_MESSAGES = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{_DIRECTIONS}{_SURROGATES}]")


def clean(part: Part) -> Part:
    """The part with names and messages that can be stored and shown; a `ValueError` if its values
    are of the wrong kind."""
    started = _seconds(part.started, TIME)
    if started is None:
        raise ValueError(f"run {part.run!r:.80} began at {part.started!r:.80}; expected a time")
    if not isinstance(part.versions, dict):
        raise ValueError(f"versions {part.versions!r:.80}; expected names and versions")
    return replace(
        part,
        started=started,
        run=name_of(part.run, SHORT),
        shard=name_of(part.shard, SHORT),
        commit=_if_known(part.commit),
        branch=_if_known(part.branch),
        python=_if_known(part.python),
        platform=_if_known(part.platform),
        link=_link(part.link),
        versions={
            name_of(name, SHORT): name_of(version, SHORT)
            for name, version in list(part.versions.items())[:200]
        },
        results=[_result(result) for result in part.results],
        broken=[
            BrokenModule(
                name_of(each.module, NAME),
                _message(each.message),
                [name_of(backend, SHORT) for backend in each.backends],
            )
            for each in part.broken
        ],
    )


def name_of(text: object, longest: int = NAME) -> str:
    """A name without control characters; a long one keeps its beginning and gets a digest."""
    if not isinstance(text, str):
        raise ValueError(f"name {text!r:.80}; expected text")
    # Nearly all names are: this look costs a tenth of the search.
    if text.isascii() and text.isprintable() and len(text) <= longest:
        return text
    shown = _CONTROL.sub(_escaped, text)
    if len(shown) <= longest:
        return shown
    digest = hashlib.sha256(shown.encode()).hexdigest()[:12]
    return f"{shown[: longest - 14]}… {digest}"


def _if_known(text: str | None) -> str | None:
    return None if text is None else name_of(text, SHORT)


def _result(result: Result) -> Result:
    attempts = result.attempts if isinstance(result.attempts, int) else 1
    comparisons = result.comparisons
    if not isinstance(comparisons, int) or not 0 <= comparisons < 2**31:
        comparisons = None
    return Result(
        name_of(result.module),
        name_of(result.test),
        name_of(result.backend, SHORT),
        result.outcome,
        duration=_seconds(result.duration, 1e9),
        comparisons=comparisons,
        attempts=max(1, min(attempts, 10_000)),
        message=_message(result.message),
        at=_seconds(result.at, TIME),
        link=_link(result.link),
    )


def _message(text: object) -> str:
    if not isinstance(text, str):
        raise ValueError(f"message {text!r:.80}; expected text")
    if not text:
        return text
    shown = _NOT_IN_MESSAGES.sub(_escaped, text.replace("\r\n", "\n"))
    half = MESSAGE // 2 - 20
    if len(shown) <= MESSAGE:
        return shown
    # Errors are told at the end.
    return f"{shown[:half]}\n[... {len(shown) - 2 * half} characters ...]\n{shown[-half:]}"


def _link(link: object) -> str | None:
    """A link that leads somewhere, or the ``null`` of old tables, which is written as it was."""
    if not isinstance(link, str) or len(link) > LINK:
        return None
    return link if link == "null" else safe_link(link)


def _seconds(value: object, most: float) -> float | None:
    if isinstance(value, int | float) and math.isfinite(value) and 0 <= value <= most:
        return float(value)
    return None


def _escaped(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()
