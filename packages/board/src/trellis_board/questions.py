"""Questions about the cells of a row, as people type them: ``torch:failure and jax:success``.

The page (questions.js), ``trellis-board query``, the HTTP API and the feed take the same ones.

>>> cells = {"torch": Cell("failure"), "jax": Cell("success")}
>>> row = Row("tests/test_ops", "test_tanh", None, cells)
>>> ask = Question("torch:failure and jax:success", ["torch", "jax"])
>>> ask(row), Question("only:jax", ["torch", "jax"])(row)
(True, False)
>>> Question("torch:fail", ["torch", "jax"])  # doctest: +ELLIPSIS
Traceback (most recent call last):
    ...
trellis_board.questions.QuestionError: no outcome 'fail'; expected success, skipped, ...
"""

from __future__ import annotations

import functools
import json
import operator
import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from .ages import seconds_of
from .columns import group_of
from .outcomes import OUTCOMES, is_red

__all__ = ["PRESETS", "Cell", "Question", "QuestionError", "Row"]

PRESETS = {
    "fails on one backend only": "count(red)=1",
    "broke this week": "since:7d",
    "never green": "any:never-green",
    "differs between backends": "is:different",
    "flaky": "flaky",
    "hollow": "hollow",
}
"""Questions that everybody asks, by what the page calls them."""

# Names for cells beside the outcomes themselves.
_MORE = ("green", "red", "never", "never-green")
_COMPARE = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_WORDS = ("any", "all", "is", "only", "since", "module", "test", "group")
_TOKEN = re.compile(
    r"\s*(?:(?P<count>count\([^()]*\)\s*(?:[<>!]?=|<|>)\s*\d+)"
    r'|(?P<word>(?:"[^"]*"|[^\s()"])+)|(?P<sign>[()]))',
    re.IGNORECASE,
)
_LONGEST = 1000
_MOST_WORDS = 200
_DEEPEST = 50


class QuestionError(ValueError):
    """The text is no question; the message says what was expected."""


@dataclass(frozen=True)
class Cell:
    """What a question may ask of one cell."""

    outcome: str
    red_since: float | None = None
    """When it turned red, if it is."""
    was_green: bool = True
    """Whether any run found it green."""
    flaky: bool = False


@dataclass(frozen=True)
class Row:
    """One row of a board: its cells by the names of their columns."""

    module: str
    test: str
    group: str | None
    cells: Mapping[str, Cell]
    never: frozenset[str] = field(default_factory=frozenset)
    """The columns in which it could have a cell, and no run had it."""
    line: str = ""
    """The row that it shares with other tests of its group."""

    @functools.cached_property
    def words(self) -> str:
        """The text that words without a colon are looked for in."""
        return f"{self.module} {self.test} {self.line}".lower()

    @functools.cached_property
    def names(self) -> bytes:
        """Module and test as JSON, the beginning of an object: to write them takes half the time
        of an answer with many rows."""
        return f'{{"module":{_quoted(self.module)},"test":{_quoted(self.test)}'.encode()


_quoted = json.encoder.encode_basestring_ascii
Test = Callable[[Row], bool]


class Question:
    """A question that was understood: call it with a row.

    `columns` are the names of the board's columns, `labels` what they are called on the page, if
    that is something else.
    """

    def __init__(
        self,
        text: str,
        columns: Iterable[str],
        labels: Mapping[str, str] | None = None,
        now: float | None = None,
    ) -> None:
        self.text = text
        self._columns = {name: (labels or {}).get(name, name) for name in columns}
        self._now = time.time() if now is None else now
        if len(text) > _LONGEST:
            raise QuestionError(f"{len(text)} characters; expected {_LONGEST} at most")
        self._tokens = _tokens(text)
        if len(self._tokens) > _MOST_WORDS:
            raise QuestionError(f"{len(self._tokens)} words; expected {_MOST_WORDS} at most")
        self._place = 0
        self.fits: Test = self._or(0) if self._tokens else _always
        """The same as a call of the question: one step less for each row of a large board."""
        if self._place < len(self._tokens):
            raise QuestionError(f"unexpected {self._tokens[self._place]!r}")

    def __call__(self, row: Row) -> bool:
        return self.fits(row)

    def _next(self) -> str | None:
        return self._tokens[self._place] if self._place < len(self._tokens) else None

    def _or(self, depth: int) -> Test:
        if depth > _DEEPEST:
            raise QuestionError(f"more than {_DEEPEST} parentheses inside each other")
        tests = [self._and(depth)]
        while (self._next() or "").lower() == "or":
            self._place += 1
            tests.append(self._and(depth))
        return functools.reduce(_either, tests)

    def _and(self, depth: int) -> Test:
        tests = [self._not(depth)]
        while (word := self._next()) is not None and word != ")" and word.lower() != "or":
            if word.lower() == "and":
                self._place += 1
            tests.append(self._not(depth))
        return functools.reduce(_both, tests)

    def _not(self, depth: int) -> Test:
        word = self._next()
        if word is None or word == ")" or word.lower() in ("and", "or"):
            raise QuestionError(f"expected a word or a question, got {word or 'the end'!r}")
        self._place += 1
        if word.lower() == "not":
            negated = self._not(depth + 1)
            return lambda row: not negated(row)
        if word == "(":
            inner = self._or(depth + 1)
            if self._next() != ")":
                raise QuestionError("expected ')'")
            self._place += 1
            return inner
        return self._term(word)

    def _term(self, word: str) -> Test:
        if word.lower().startswith("count("):
            return self._count(word)
        key, colon, value = _split(word)
        if not colon:
            return _bare(word)
        if not value:
            raise QuestionError(f"nothing after {key + ':'!r}")
        named = key.lower()
        if named in ("any", "all"):
            return _cells(named, None, _kinds(value))
        if found := self._named(key):
            return _cells("any", found, _kinds(value))
        if named == "is":
            return _is(value)
        if named == "only":
            return self._only(value)
        if named == "since":
            return self._since(value)
        if named in ("module", "test", "group"):
            return _text(named, value)
        expected = ", ".join([*dict.fromkeys(self._columns.values()), *_WORDS])
        raise QuestionError(
            f"no column or word {key!r} before ':'; expected {expected}. "
            "Put text with a colon into double quotes"
        )

    def _named(self, name: str) -> frozenset[str]:
        """The columns of that name or label, or of that framework in several versions."""
        wanted = name.casefold()
        exact = {
            c for c, label in self._columns.items() if wanted in (c.casefold(), label.casefold())
        }
        return frozenset(exact or {c for c in self._columns if group_of(c).casefold() == wanted})

    def _count(self, word: str) -> Test:
        kind, sign, number = re.fullmatch(
            r"count\(([^()]*)\)\s*([<>!]?=|<|>)\s*(\d+)", word, re.IGNORECASE
        ).groups()  # type: ignore[union-attr]
        kinds, compare = _kinds(kind.strip()), _COMPARE[sign]

        def count(row: Row) -> bool:
            # A test without a backend is in no column: there is nothing to count.
            is_plain = row.cells.keys().isdisjoint(self._columns)
            number_of = sum(_has(row, column, kinds) for column in _all(row))
            return not is_plain and compare(number_of, int(number))

        return _once_for_equal_cells(count)

    def _only(self, name: str) -> Test:
        columns = self._named(name)
        if not columns:
            expected = ", ".join(self._columns.values())
            raise QuestionError(f"no column {name!r} after 'only:'; expected {expected}")

        def only(row: Row) -> bool:
            red = {column for column, cell in row.cells.items() if is_red(cell.outcome)}
            return bool(red) and red <= columns

        return _once_for_equal_cells(only)

    def _since(self, age: str) -> Test:
        seconds = seconds_of(age)
        if seconds is None:
            raise QuestionError(f"{age!r} after 'since:'; expected an age such as 12h, 7d or 2w")
        begin = self._now - seconds
        return _once_for_equal_cells(
            lambda row: any(
                cell.red_since is not None and cell.red_since >= begin
                for cell in row.cells.values()
            )
        )


def _always(row: Row) -> bool:
    return True


# One call for two tests: `all` and `any` over a list cost more than most tests, for every row.
def _both(one: Test, other: Test) -> Test:
    return lambda row: one(row) and other(row)


def _either(one: Test, other: Test) -> Test:
    return lambda row: one(row) or other(row)


def _tokens(text: str) -> list[str]:
    tokens, place = [], 0
    text = text.rstrip()
    while place < len(text):
        found = _TOKEN.match(text, place)
        if found is None:
            raise QuestionError(
                f"cannot read {text[place:].strip()[:30]!r}; is a quote not closed?"
            )
        tokens.append(found["count"] or found["word"] or found["sign"])
        place = found.end()
    return tokens


def _split(word: str) -> tuple[str, str, str]:
    """A word at its first colon outside of quotes, without the quotes."""
    inside = False
    for place, letter in enumerate(word):
        inside ^= letter == '"'
        if letter == ":" and not inside:
            return word[:place].replace('"', ""), ":", word[place + 1 :].replace('"', "")
    return word.replace('"', ""), "", ""


def _bare(word: str) -> Test:
    if word.lower() in ("flaky", "hollow"):
        return _is(word)
    text = word.replace('"', "").lower()
    return lambda row: text in row.words


def _is(value: str) -> Test:
    wanted = value.lower()
    if wanted == "different":
        return _once_for_equal_cells(
            lambda row: len({cell.outcome for cell in row.cells.values()}) > 1
        )
    if wanted == "flaky":
        return _once_for_equal_cells(lambda row: any(cell.flaky for cell in row.cells.values()))
    if wanted == "green":  # on all backends
        return _cells("all", None, frozenset({"success"}))
    if wanted in OUTCOMES or wanted in _MORE:
        return _cells("any", None, _kinds(wanted))
    expected = ", ".join(("different", "flaky", "green", "red", *OUTCOMES))
    raise QuestionError(f"{value!r} after 'is:'; expected {expected}")


def _kinds(text: str) -> frozenset[str]:
    """What a cell may be, of names that commas separate."""
    kinds: set[str] = set()
    for name in text.lower().split(","):
        if name == "red":
            kinds |= {outcome for outcome in OUTCOMES if is_red(outcome)}
        elif name == "green":
            kinds.add("success")
        elif name in OUTCOMES or name in _MORE:
            kinds.add(name)
        else:
            raise QuestionError(f"no outcome {name!r}; expected {', '.join((*OUTCOMES, *_MORE))}")
    return frozenset(kinds)


def _all(row: Row) -> list[str]:
    return [*row.cells, *row.never]


def _has(row: Row, column: str, kinds: frozenset[str]) -> bool:
    cell = row.cells.get(column)
    if cell is None:
        return "never" in kinds and column in row.never
    never_green = "never-green" in kinds and not cell.was_green and cell.outcome != "success"
    return cell.outcome in kinds or never_green


def _cells(how: str, columns: frozenset[str] | None, kinds: frozenset[str]) -> Test:
    combine = all if how == "all" else any

    def test(row: Row) -> bool:
        asked = [c for c in _all(row) if columns is None or c in columns]
        return bool(asked) and combine(_has(row, column, kinds) for column in asked)

    return _once_for_equal_cells(test)


def _once_for_equal_cells(test: Test) -> Test:
    """A test of cells alone, made once for all rows that share them.

    A board of 100,000 rows has few different ones: `rows.board_rows` gives rows with equal cells
    the same mapping. The answers keep the mappings, so that no other can have their identity.
    """
    known: dict[tuple[int, frozenset[str]], tuple[bool, Mapping[str, Cell]]] = {}

    def answer(row: Row) -> bool:
        key = (id(row.cells), row.never)
        found = known.get(key)
        if found is None:
            found = known[key] = test(row), row.cells
        return found[0]

    return answer


def _text(key: str, value: str) -> Test:
    fits = _pattern(value.lower())
    if key == "test":
        return lambda row: fits(row.test.lower())
    known: dict[str | None, bool] = {}

    def of_many_rows(row: Row) -> bool:
        name = getattr(row, key)
        if name not in known:
            known[name] = fits((name or "").lower())
        return known[name]

    return of_many_rows


def _pattern(value: str) -> Callable[[str], bool]:
    """``*`` stands for any text; without one, the text may stand anywhere.

    No regular expression: one with many stars takes ages over a name that it nearly fits, and a
    server is asked by strangers.
    """
    first, *others = value.split("*")
    if not others:
        return lambda text: first in text
    *middle, last = others

    def fits(text: str) -> bool:
        if not text.startswith(first):
            return False
        at = len(first)
        for piece in middle:
            found = text.find(piece, at)
            if found < 0:
                return False
            at = found + len(piece)
        return len(text) >= at + len(last) and text.endswith(last)

    return fits
