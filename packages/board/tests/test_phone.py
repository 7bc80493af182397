"""The page on a phone, and the links from a row to its source."""

from __future__ import annotations

import time

import pytest

from trellis_board.queries import find_project
from trellis_board.records import Part, Result
from trellis_board.settings import save
from trellis_board.static_page import write_page
from trellis_board.store import Store

COLUMNS = ("numpy", "jax", "torch", "tensorflow", "cupy", "dask", "mlx")
NAME = "TestDecompositions::test_gradient_of_singular_values_with_batches[{}-full_matrices]"
DTYPES = ("float32", "float64", "bfloat16")
RED = ("mlx", "bfloat16")


@pytest.fixture(scope="module")
def make_board(tmp_path_factory):
    """Makes pages of a board whose last column has the only failure."""

    def make(settings="", link=None, module="tests/test_linalg", dirty=""):
        folder = tmp_path_factory.mktemp("phone")
        store = Store.open(folder / "b.sqlite")
        results = [
            Result(module, NAME.format(dtype), b, "failure" if (b, dtype) == RED else "success")
            for dtype in DTYPES
            for b in COLUMNS
        ]
        part = Part("1", "a", time.time() - 60, commit="c0ffee" + dirty, results=results, link=link)
        store.for_project("demo").record(part)
        with store.writing() as connection:
            save(connection, find_project(connection, None), settings)
        with store.reading() as connection:
            write_page(connection, find_project(connection, None), folder / "page")
        return (folder / "page" / "index.html").as_uri()

    return make


@pytest.fixture
def phone(page):
    """The page, as wide as a phone; as it was when the test ends."""
    metrics = {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True}
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    yield page
    page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def in_sight(page, element):
    """Whether all of an element is inside the grid's own window."""
    return page.js(
        "const [e, g] = [arguments[0], document.getElementById('grid')].map((x) => "
        "x.getBoundingClientRect()); return e.left >= g.left && e.right <= g.right + 1",
        element,
    )


def test_names_can_be_told_apart_and_the_red_column_is_in_sight(phone, make_board):
    phone.open(make_board())
    names = phone.all(".row:not(.module):not(.head) .name .text")
    texts = [name.find_elements("css selector", "[aria-hidden]")[0].text for name in names]
    assert len(set(texts)) == len(DTYPES), texts
    for name, text, dtype in zip(names, texts, DTYPES, strict=True):
        assert text.startswith("TestDecompositions")
        assert text.endswith(f"[{dtype}-full_matrices]")
        cut = phone.js("return arguments[0].scrollHeight > arguments[0].clientHeight + 1", name)
        assert not cut, "the lines of a name fit into its row"
    heads = phone.all(".head > :not(.name)")
    assert heads[0].text == "mlx", "the column with most red cells comes first"
    assert in_sight(phone, heads[0])
    assert in_sight(phone, phone.find(".cell.failure .pill"))
    assert phone.js("return document.documentElement.scrollWidth") <= 390, "nothing hangs out"
    phone.find(".cell.failure").click()
    phone.wait("return document.querySelectorAll('#details .history tbody tr').length === 1")
    assert phone.text("#details-module") == "tests/test_linalg · mlx"
    assert phone.complaints() == []


def test_a_wide_window_keeps_the_order_of_columns(page, make_board):
    page.open(make_board())
    assert [head.text for head in page.all(".head > :not(.name)")] == list(COLUMNS)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            {"settings": "source = 'https://code.example/{commit}/lib/{file}#{test}'"},
            "https://code.example/c0ffee/lib/tests/test_linalg.py"
            "#test_gradient_of_singular_values_with_batches",
        ),
        (
            {"link": "https://github.com/org/lib/actions/runs/7", "dirty": "-dirty"},
            "https://github.com/org/lib/blob/c0ffee/tests/test_linalg.py",
        ),
        (
            {"link": "https://gitlab.example/a/b/lib/-/jobs/7", "module": "docs/a b.md"},
            "https://gitlab.example/a/b/lib/-/blob/c0ffee/docs/a%20b.md",
        ),
        ({"link": "https://ci.example/7"}, None),
        # A marker calls modules as it likes: there is no such file.
        ({"link": "https://github.com/org/lib/actions/runs/7", "module": "layers"}, None),
    ],
)
def test_a_row_leads_to_its_source(page, make_board, given, expected):
    page.open(make_board(**given))
    page.find(".cell.failure").click()
    page.wait("return document.querySelectorAll('#details .history tbody tr').length === 1")
    links = page.all("#source")
    assert [link.get_attribute("href") for link in links] == ([expected] if expected else [])
