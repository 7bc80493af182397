"""The page in a real browser: search, filter, a cell's history, compare, keys, dark, many rows."""

from __future__ import annotations

import threading
import time

import pytest
import uvicorn
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from trellis_board.queries import find_project
from trellis_board.recording import project_id
from trellis_board.records import Part, Result
from trellis_board.server import make_app
from trellis_board.static_page import write_page
from trellis_board.store import Store
from trellis_board.tokens import create_token

from .helpers import EVIL, free_port


@pytest.fixture
def opened(page, board):
    page.open(board[1])
    yield page
    assert page.complaints() == []
    assert page.driver.title == "demo · board", "a text from a test ran as a script"


def test_the_matrix_is_there(opened):
    assert opened.text("#count") == "5 tests"
    assert opened.rows() == [
        "test_linear",
        "test_conv",
        "test_shuffle",
        "test_forgotten",
        f"test_{EVIL}",
    ]
    assert opened.cell("test_linear", "torch").text.split() == ["torch:", "✕", "failure", "12", "h"]
    assert opened.cell("test_shuffle", "torch").text == "torch: never run"
    cards = [card.text.split("\n") for card in opened.all(".card")]
    assert [(card[0], card[-1]) for card in cards] == [
        ("numpy", "4 of 4 green"),  # the skipped one could not be green
        ("torch", "0 of 2 green"),
    ]
    modules = [e.text.split("\n") for e in opened.all(".row.module")]
    assert modules[0] == ["▾", "layers", "2", "2/2", "green, numpy", "0/2", "green, torch"]


def test_search_and_reset(opened):
    opened.find("#search").send_keys("LAY conv")
    assert opened.rows() == ["test_conv"]
    assert opened.text("#count") == "1 of 5 tests"
    assert "q=LAY+conv" in opened.driver.current_url
    opened.find("#search").send_keys("zzz")
    assert opened.find("#nothing").is_displayed()
    opened.find("#reset").click()
    assert len(opened.rows()) == 5


def test_filter_by_status_backend_module_and_age(opened):
    opened.find('[data-status="hollow"]').click()
    assert opened.rows() == ["test_conv"]
    opened.find('[data-status="failure"]').click()
    assert opened.rows() == ["test_linear", "test_conv"]
    opened.find('[data-backend="1"]').click()  # without torch nothing of that is left
    assert opened.rows() == []
    opened.find("#reset").click()
    opened.choose("#module", "random")
    assert len(opened.rows()) == 3
    opened.choose("#age", ">30")
    assert opened.rows() == ["test_forgotten"]
    opened.choose("#age", "<1")
    assert "test_forgotten" not in opened.rows()
    opened.choose("#module", "")
    opened.choose("#age", "")
    opened.find('[data-status="never run"]').click()
    assert opened.rows() == ["test_shuffle", "test_forgotten", f"test_{EVIL}"]


def test_sort(opened):
    opened.choose("#sort", "worst")
    assert opened.rows()[:3] == ["test_linear", "test_conv", "test_shuffle"]
    opened.choose("#sort", "oldest")
    assert opened.rows()[0] == "test_forgotten"
    opened.choose("#sort", "slowest")
    assert opened.rows()[0] == "test_linear"


def test_an_address_brings_a_view_back(page, board):
    page.open(board[1] + "#q=test&status=hollow,failure&sort=name")
    assert page.rows() == ["test_conv", "test_linear"]


def test_a_cell_opens_its_history(opened):
    opened.cell("test_linear", "torch").click()
    opened.wait("return document.querySelectorAll('#details .history tbody tr').length === 2")
    assert opened.text("#details-title") == "test_linear"
    assert opened.text("#details pre") == EVIL
    facts = opened.text("#details .facts")
    assert "bbbb" * 10 in facts
    assert "torch 2.13.0" in facts
    assert "CPython 3.11.7" in facts
    assert opened.find("#details a").get_attribute("href") == "https://ci.example/runs/101"
    assert len(opened.all("#details .plot circle")) == 2
    opened.all("#details .history button")[1].click()
    assert "success" in opened.text("#details .verdict")
    opened.find("#details .close").click()
    assert not opened.find("#details").is_displayed()


def test_compare_two_runs_and_two_commits(opened):
    opened.find("#tab-compare").click()
    opened.wait("return document.querySelectorAll('#changes details').length === 6")
    told = {
        e.text.split("\n")[1]: int(e.text.split("\n")[0]) for e in opened.all("#changes summary")
    }
    assert told == {
        "Newly red": 1,
        "Newly hollow": 1,
        "Newly skipped": 1,
        "Newly green": 2,
        "Slower": 1,
        "No longer run": 1,
    }
    assert opened.text("#compare-status") == "2 regressions, 7 changes"
    opened.find("#swap").click()
    opened.wait("return document.querySelector('#compare-status').textContent.startsWith('1 reg')")
    opened.choose("#base", f"commit:{'aaaa' * 10}")
    opened.choose("#head", f"commit:{'bbbb' * 10}")
    opened.wait("return document.querySelector('#compare-status').textContent.startsWith('2 reg')")
    opened.find("#changes .failure li button").click()
    assert opened.text("#details-title") == "test_linear"


def test_everything_by_keyboard(opened):
    def press(*keys):
        ActionChains(opened.driver).send_keys(*keys).perform()

    press("/")
    assert opened.js("return document.activeElement.id") == "search"
    press("linear", Keys.ARROW_DOWN)
    assert opened.js("return document.activeElement.id") == "grid"
    press(Keys.ARROW_DOWN, Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    assert (
        opened.js("return document.activeElement.getAttribute('aria-activedescendant')")
        == "focused"
    )
    assert opened.find("#focused").text.split()[::2] == ["torch:", "failure", "h"]
    press(Keys.ENTER)
    assert opened.find("#details").is_displayed()
    press(Keys.ESCAPE)
    assert not opened.find("#details").is_displayed()
    assert opened.js("return document.activeElement.id") == "grid"
    press(Keys.HOME, Keys.ENTER)  # folds the module
    assert opened.rows() == []
    press("c")
    assert opened.find("#view-compare").is_displayed()
    press("m", "?")
    assert opened.find("#help").is_displayed()


def test_roles_for_screen_readers(opened):
    grid = opened.find("#grid")
    assert grid.get_attribute("role") == "grid"
    assert grid.get_attribute("aria-rowcount") == "8", "head, two modules, five tests"
    roles = {e.get_attribute("role") for e in opened.all("#grid-body .row > *")}
    assert roles == {"rowheader", "gridcell"}
    assert opened.find("#count").get_attribute("aria-live") == "polite"
    unnamed = opened.js(
        "return [...document.querySelectorAll('button, select, input')]"
        ".filter(e => !(e.textContent.trim() || e.getAttribute('aria-label') || e.labels?.length))"
        ".map(e => e.id)"
    )
    assert unnamed == []


def test_dark_mode_stays(opened, board):
    paper = "return getComputedStyle(document.body).backgroundColor"
    light = opened.js(paper)
    opened.find("#theme").click()
    dark = opened.js(paper)
    assert dark != light
    assert opened.find("#theme").get_attribute("aria-pressed") == "true"
    opened.open(board[1])
    assert opened.js(paper) == dark
    opened.find("#theme").click()
    assert opened.js(paper) == light


def test_text_is_readable_in_both_modes(opened):
    """Every kind of pill has the contrast that WCAG AA asks for."""
    script = """
      const channel = v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
      const light = c => { const [r, g, b] = c.match(/[0-9.]+/g).map(Number);
        return 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b); };
      const sheet = getComputedStyle(document.querySelector('.card')).backgroundColor;
      document.getElementById('help').showModal();
      const worst = [...document.querySelectorAll('#legend .pill')].map(pill => {
        const style = getComputedStyle(pill);
        const back = style.backgroundColor === 'rgba(0, 0, 0, 0)' ? sheet : style.backgroundColor;
        const [a, b] = [light(style.color), light(back)].sort((x, y) => y - x);
        return (a + 0.05) / (b + 0.05);
      });
      document.getElementById('help').close();
      return worst;
    """
    for _ in range(2):
        ratios = opened.js(script)
        assert len(ratios) == 7
        assert min(ratios) >= 4.5
        opened.js("toggleTheme()")


def test_badges_are_offered(opened):
    opened.find("#show-badges").click()
    opened.wait(
        "return [...document.querySelectorAll('#badge-list img')].every(i => i.naturalWidth)"
    )
    assert len(opened.all("#badge-list img")) == 1 + 2 + 2


def test_a_private_board_asks_for_a_token(page, board):
    store, _ = board
    with store.writing() as connection:
        token = create_token(connection, project_id(connection, "demo"), "read")
    port = free_port()
    app = make_app(store, read_openly=False)
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            time.sleep(0.02)
        page.driver.get(f"http://127.0.0.1:{port}/p/demo/")
        page.wait("return document.getElementById('ask-token').open")
        assert page.rows() == []
        page.find("#token").send_keys(token, Keys.ENTER)
        page.wait("return document.documentElement.dataset.ready === 'true'")
        assert len(page.rows()) == 5
        page.cell("test_linear", "torch").click()
        page.wait("return document.querySelectorAll('#details .history tbody tr').length === 2")
    finally:
        server.should_exit = True
        thread.join()
    refused = [line for line in page.complaints() if "401" not in line]
    assert refused == [], "the page broke its own content policy"


def test_ten_thousand_rows(page, tmp_path):
    backends = ["numpy", "jax", "torch", "tensorflow", "cupy", "mlx"]
    results = [
        Result(f"module_{i // 250:02}", f"test_op_{i:05}", backend, outcome, duration=0.01)
        for i in range(10_000)
        for outcome in ["failure" if i % 97 == 0 else "success"]
        for backend in backends
    ]
    store = Store.open(tmp_path / "b.sqlite")
    store.for_project("large").record(Part("1", "a", time.time(), results=results))
    with store.reading() as connection:
        write_page(connection, find_project(connection, None), tmp_path / "page")
    begun = time.perf_counter()
    page.open((tmp_path / "page" / "index.html").as_uri())
    print(f"\n10,000 rows x 6 backends: opened in {time.perf_counter() - begun:.2f} s")
    assert page.text("#count") == "10,000 tests"
    assert len(page.all("#grid-body .row")) < 60, "only the rows in sight are drawn"
    for words, expected in (
        ("op_0123", 10),
        ("test", 10_000),
        ("module_07 op_01", 250),
        ("", 10_000),
    ):
        page.js(
            "const s = document.getElementById('search'); s.value = arguments[0];"
            "s.dispatchEvent(new Event('input'))",
            words,
        )
        assert page.js("return Number(document.documentElement.dataset.rows)") == expected
        took = page.js("return document.documentElement.dataset.refreshMs")
        print(f"  search {words!r}: {expected} rows in {took} ms")
    page.find('[data-status="failure"]').click()
    assert page.js("return Number(document.documentElement.dataset.rows)") == 104
    print(f"  filter failures: {page.js('return document.documentElement.dataset.refreshMs')} ms")
    page.find('[data-status="failure"]').click()
    page.js("document.getElementById('grid').scrollTop = 1e9")
    page.wait(
        "const shown = [...document.querySelectorAll('.name .text')];"
        "return shown.at(-1).textContent === 'test_op_09999'"
    )
