"""Writes docs/ledger.md: what each framework does by itself, and what Trellis does on all four.

    python tools/docs/ledger.py            # write the page
    python tools/docs/ledger.py --print    # show it

Each cell is what an expression gave. A test runs all of it again and compares the page.
"""

from __future__ import annotations

import argparse
import os
import warnings
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import ledger_helpers
import ml_dtypes
import numpy as np
from ledger_rows import SECTIONS, Row, Section

import trellis as tr

PAGE = Path(__file__).resolve().parents[2] / "docs" / "ledger.md"
BACKENDS = ("numpy", "jax", "torch", "tensorflow")
LABELS = {
    "numpy": "NumPy",
    "jax": "JAX",
    "torch": "PyTorch",
    "tensorflow": "TensorFlow",
    "keras": "Keras",
    "flax": "Flax, optax",
    "trellis": "Trellis",
}
HEAD = """# Where the frameworks differ

*The same expression, four answers: what does each framework return, and what does Trellis?*

Every cell is the result of an expression that was run; the expressions are listed below each table.
The page is written by `python tools/docs/ledger.py`, and a test runs all of it again. Trellis was
run on all four: one answer means that they agree.
"""


def answer(expression: str, backend: str | None = None) -> str:
    """What an expression gives, in a few characters; an error by its name."""
    names = dict(vars(ledger_helpers), ml_dtypes=ml_dtypes)
    if backend is not None:
        names |= {
            "backend": backend,
            "A": lambda values, dtype=None: _array(values, dtype, backend),
        }
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return shown(eval(expression, names))
    except Exception as error:
        return f"raises {public_name(error)}"


def public_name(error: Exception) -> str:
    """The name of an error; TensorFlow's have long ones."""
    return type(error).__name__.lstrip("_")


def _array(values: Any, dtype: Any, backend: str) -> Any:
    return tr.asarray(values, dtype=dtype, backend=backend)


def shown(value: Any) -> str:
    """A value as it stands on the page: numbers with four digits.

    >>> shown(np.array([0.12345678, 2.0])), shown(None), shown("SAME"), shown(np.float32(np.nan))
    ('0.1235, 2', 'None', 'SAME', 'nan')
    """
    if isinstance(value, (str, bool, type(None))):
        return str(value)
    if isinstance(value, tuple) and hasattr(value, "values"):  # torch.sort
        value = value.values
    if isinstance(value, tuple):
        return " x ".join(str(n) for n in value)
    numbers = np.asarray(tr.to_numpy(value) if _is_array(value) else value)
    return ", ".join(_number(x) for x in numbers.reshape(-1))


def _is_array(value: Any) -> bool:
    return hasattr(value, "shape") and not isinstance(value, (np.generic, np.ndarray))


def _number(x: Any) -> str:
    if np.issubdtype(type(x), np.integer):
        return str(int(x))
    text = f"{float(x):.4g}"
    return "0" if text == "-0" else text


def answer_of_trellis(expression: str) -> str:
    """One answer if the four agree; otherwise each."""
    found = {backend: answer(expression, backend) for backend in BACKENDS}
    common = max(found.values(), key=list(found.values()).count)
    others = [f"{LABELS[b]}: {text}" for b, text in found.items() if text != common]
    return common + (f" ({'; '.join(others)})" if others else "")


def cells(section: Section, row: Row) -> list[str]:
    native = [answer(row.run[name]) if name in row.run else "" for name in section.columns]
    return [*native, f"**{answer_of_trellis(row.run['trellis'])}**"]


def section_text(section: Section) -> str:
    head = ["question", *[LABELS[name] for name in section.columns], "Trellis"]
    lines = [
        f"## {section.title}",
        "",
        section.about,
        "",
        "| " + " | ".join(head) + " |",
        "|---" * len(head) + "|",
    ]
    for row in section.rows:
        lines.append("| " + " | ".join([row.question, *cells(section, row)]) + " |")
    lines += ["", f'??? note "What was run: {section.title.lower()}"', ""]
    for row in section.rows:
        lines.append(f"    **{row.question}**")
        lines.append("")
        for name, expression in row.run.items():
            lines.append(f"    - {LABELS[name]}: `{expression}`")
        lines.append("")
    return "\n".join(lines)


def page() -> str:
    """The whole page."""
    return HEAD + "\n" + "\n".join(section_text(section) for section in SECTIONS).rstrip() + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--print", action="store_true", help="show the page instead of writing it")
    if parser.parse_args().print:
        print(page())
    else:
        PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
