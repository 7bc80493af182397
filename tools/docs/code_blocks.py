"""The code on a page: which blocks there are, what they print, and running them.

A block of Python is run after those before it, in one namespace. A block called `output` after it
is what it prints. A `pycon` block is an interactive session. What a reader need not see stands in a
comment:

    <!-- needs: torch, jax -->       the next block runs where these are installed
    <!-- this page needs: torch -->  all blocks of the page
    <!-- setup                       code that runs before what follows
    x = load()
    -->
"""

from __future__ import annotations

import contextlib
import doctest
import io
import re
import sys
import types
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Block:
    """A piece of code, and what it prints if the page says so."""

    language: str  # "python", "pycon", or "setup" where readers do not see it
    code: str
    line: int  # of the page
    output: str | None = None
    needs: tuple[str, ...] = ()


_PIECE = re.compile(
    r"^(?P<indent>[ ]*)```(?P<language>\w+)[^\n]*\n(?P<code>.*?)^(?P=indent)```[ ]*$"
    r"|^<!-- setup\n(?P<setup>.*?)^-->$"
    r"|^[ ]*<!-- needs: (?P<needs>[\w, ]+) -->$",
    re.MULTILINE | re.DOTALL,
)
_PAGE_NEEDS = re.compile(r"^<!-- this page needs: ([\w, ]+) -->$", re.MULTILINE)
# What comes between a block and its output: nothing that a reader sees.
_NOTHING = re.compile(r"\s*(</?div[^>]*>\s*)?\Z")


def blocks(text: str) -> list[Block]:
    """The code blocks of a page, in order.

    >>> page = "```python\\nprint(1)\\n```\\n\\n```output\\n1\\n```\\n"
    >>> [(block.code, block.output) for block in blocks(page)]
    [('print(1)\\n', '1\\n')]
    """
    page = _PAGE_NEEDS.search(text)
    of_page = _words(page.group(1)) if page else ()
    found: list[Block] = []
    needs: tuple[str, ...] = ()
    last_end = 0
    for match in _PIECE.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        between = text[last_end : match.start()]
        last_end = match.end()
        if match["needs"]:
            needs = _words(match["needs"])
            continue
        language = match["language"] or "setup"
        code = _dedented(match["code"] or "", match["indent"] or "")
        if match["setup"] is not None:
            found.append(Block("setup", match["setup"], line, None, of_page + needs))
        elif language in ("python", "pycon"):
            found.append(Block(language, code, line, None, of_page + needs))
        elif language == "output":
            if not found or not _NOTHING.match(between):
                raise ValueError(f"line {line}: output of no block")
            block = found.pop()
            found.append(Block(block.language, block.code, block.line, code, block.needs))
        needs = ()
    return found


def _words(text: str) -> tuple[str, ...]:
    return tuple(word for word in re.split(r"[,\s]+", text) if word)


def _dedented(code: str, indent: str) -> str:
    if not indent:
        return code
    return "".join(line.removeprefix(indent) for line in code.splitlines(keepends=True))


def run(page: Path, without: Collection[str] = ()) -> int:
    """Runs the blocks of a page but those that need a framework in `without`; how many ran.

    An error, or an output that is not the one on the page, raises with the line of the page.
    """
    name = f"page_{page.stem}"
    module = types.ModuleType(name)
    sys.modules[name] = module  # compilers look classes and functions up by their module
    count = 0
    try:
        for block in blocks(page.read_text(encoding="utf-8")):
            if set(block.needs) & set(without):
                continue
            with _from_line(page, block):
                if block.language == "pycon":
                    _run_session(block, vars(module), page)
                else:
                    _run_block(block, vars(module), page)
            count += block.language != "setup"
    finally:
        del sys.modules[name]
    return count


@contextlib.contextmanager
def _from_line(page: Path, block: Block) -> Iterator[None]:
    try:
        yield
    except BaseException as error:
        error.add_note(f"in the block at {page}:{block.line}")
        raise


def _run_block(block: Block, namespace: dict[str, object], page: Path) -> None:
    # Tracebacks and inspect.getsource show the lines of the page.
    source = "\n" * block.line + block.code
    printed = io.StringIO()
    code = compile(source, str(page), "exec", dont_inherit=True)
    with contextlib.redirect_stdout(printed):
        exec(code, namespace)
    if block.output is not None:
        got = printed.getvalue()
        checker = doctest.OutputChecker()
        flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
        if not checker.check_output(block.output, got, flags):
            raise AssertionError(f"the page says\n{block.output}\nand it prints\n{got}")


def _run_session(block: Block, namespace: dict[str, object], page: Path) -> None:
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    test = doctest.DocTestParser().get_doctest(block.code, namespace, page.name, str(page), 0)
    report = io.StringIO()
    runner = doctest.DocTestRunner(optionflags=flags)
    runner.run(test, out=report.write, clear_globs=False)
    namespace.update(test.globs)
    if runner.failures:
        raise AssertionError(report.getvalue())
