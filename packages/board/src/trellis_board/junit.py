"""Reading JUnit XML, which test runners of every language write, as a part of a run.

>>> text = '<testsuite><testcase classname="ops.Unary" name="tanh" time="0.1"/></testsuite>'
>>> part = read_junit(text, backend="torch", run="1", shard="torch", at=0.0)
>>> [(result.cell, result.outcome) for result in part.results]
[(('ops.Unary', 'tanh', 'torch'), 'success')]
"""

from __future__ import annotations

import datetime
from xml.etree import ElementTree

from .clean import TIME
from .records import Part, Result, merge

__all__ = ["JUnitError", "read_junit"]

_LONGEST_MESSAGE = 20_000


class JUnitError(ValueError):
    """The file is not JUnit XML."""


def read_junit(text: str | bytes, *, backend: str, run: str, shard: str, at: float) -> Part:
    """The results in JUnit XML, all in the column `backend`.

    A file does not tell what was compared, so no pass of it is called hollow. `at` is when it
    happened, if the file does not say.
    """
    try:
        root = ElementTree.fromstring(text, ElementTree.XMLParser(target=_Tree()))
    except JUnitError:
        raise
    # LookupError: an encoding that nobody knows; ValueError: one that the parser cannot read.
    except (ElementTree.ParseError, LookupError, ValueError) as error:
        raise JUnitError(f"not XML: {error}") from error
    if root.tag not in ("testsuites", "testsuite"):
        raise JUnitError(f"the outermost element is <{root.tag}>, expected <testsuites>")
    results: dict[tuple[str, str, str], Result] = {}
    started = at
    for suite in root.iter("testsuite"):
        moment = _moment(suite.get("timestamp")) or at
        started = min(started, moment)
        for case in suite.findall("testcase"):
            result = _result(case, suite.get("name") or "tests", backend, moment)
            known = results.get(result.cell)
            results[result.cell] = result if known is None else merge(known, result)
    return Part(run=run, shard=shard, started=started, results=list(results.values()))


class _Tree(ElementTree.TreeBuilder):
    """Refuses a document type where the parser meets it: it is the only place for entities, which
    can grow without end or name files."""

    def doctype(self, name: str, pubid: str | None, system: str | None) -> None:
        raise JUnitError("declarations of document types and entities are not accepted")


def _result(case: ElementTree.Element, suite: str, backend: str, moment: float) -> Result:
    outcome, message = "success", ""
    # The worst wins: pytest writes a failed call and a broken teardown into one case.
    for tag, name in (("skipped", "skipped"), ("failure", "failure"), ("error", "error")):
        for found in case.findall(tag):
            is_expected = tag == "skipped" and "xfail" in (found.get("type") or "")
            outcome = "xfailed" if is_expected else name
            words = [found.get("message") or "", (found.text or "").strip()]
            message = "\n".join(word for word in words if word)[:_LONGEST_MESSAGE]
    return Result(
        module=case.get("classname") or case.get("file") or suite,
        test=case.get("name") or "unnamed",
        backend=backend,
        outcome=outcome,
        duration=_seconds(case.get("time")),
        message=message.replace("\x00", ""),
        at=moment,
    )


def _seconds(text: str | None) -> float | None:
    try:
        seconds = float((text or "").replace(",", ""))
    except ValueError:
        return None
    return seconds if 0 <= seconds < 1e9 else None


def _moment(text: str | None) -> float | None:
    try:
        moment = datetime.datetime.fromisoformat(text or "")
    except ValueError:
        return None
    # Times of the year 1 or 9999 are none of a test, and not all are in every time zone.
    if not 1970 < moment.year < 5000:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.UTC)
    seconds = moment.timestamp()
    return seconds if 0 <= seconds <= TIME else None
