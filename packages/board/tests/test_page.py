"""The page in a real browser: search, filter, a cell's history, compare, keys, dark, many rows."""

from __future__ import annotations

import re
import threading
import time

import pytest
import uvicorn
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from trellis_board.outcomes import OUTCOMES
from trellis_board.queries import find_project
from trellis_board.recording import project_id
from trellis_board.records import BrokenModule, Part, Result
from trellis_board.server import make_app
from trellis_board.settings import save
from trellis_board.static_page import write_page
from trellis_board.store import Store
from trellis_board.tokens import create_token

from .helpers import DAY, EVIL, free_port, make_part


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
    cards = [e.split("\n") for e in opened.texts(".card")]
    assert [(card[0], card[-1]) for card in cards] == [
        ("All backends", "0 of 2 tests green on all"),
        ("numpy", "4 of 4 green"),  # the skipped one could not be green
        ("torch", "0 of 2 green"),
    ]
    modules = [e.split("\n") for e in opened.texts(".row.module")]
    assert modules[0] == [
        *("▾", "layers", "2", "0/2", "green on all backends"),
        *("2/2", "green, numpy", "0/2", "green, torch"),
    ]


def test_the_joint_score_is_a_bar_too(opened):
    shown = "return ((bar) => [...bar.children].map((i) => [i.className, i.style.width]))"
    card = "(document.querySelector('.card.joint .bar'))"
    assert opened.js(shown + card) == [["success", "0%"]], "no line, because there is no target"
    assert opened.js(f"{shown}(Board.targetBar({{ green: 1, of: 4 }}))") == [["success", "25%"]]


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
    opened.wait("return document.querySelectorAll('#changes details').length === 7")
    told = {e.split("\n")[1]: int(e.split("\n")[0]) for e in opened.texts("#changes summary")}
    assert told == {
        "Newly red": 1,
        "Not run: pytest died": 0,
        "Newly hollow": 1,
        "Newly skipped": 1,
        "Newly green": 2,
        "Slower": 1,
        "No longer run": 1,
    }
    assert opened.text("#compare-status") == "1 regression, 7 changes"
    opened.find("#swap").click()
    opened.wait("return !document.querySelector('#compare-status').textContent.includes('7 ch')")
    opened.choose("#base", f"commit:{'aaaa' * 10}")
    opened.choose("#head", f"commit:{'bbbb' * 10}")
    opened.wait("return document.querySelector('#compare-status').textContent.includes('7 ch')")
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
    assert opened.text("#focused").split()[::2] == ["torch:", "failure", "h"]
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
        assert len(ratios) == 8
        assert min(ratios) >= 4.5
        opened.js("toggleTheme()")


def test_badges_are_offered(opened):
    opened.find("#show-badges").click()
    opened.wait(
        "return [...document.querySelectorAll('#badge-list img')].every(i => i.naturalWidth)"
    )
    assert len(opened.all("#badge-list img")) == 2 + 2 + 2


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


SETTINGS = """
title = "Demo of groups"
columns = [
  { name = "numpy", label = "NumPy" },
  { name = "torch 2.6", label = "torch 2.6" },
  { name = "torch 2.13", label = "torch 2.13" },
]
other_columns = false

[[group]]
name = "Layers"
tests = ["layers::test_linear", "layers::*[{row}*]"]

[[group]]
name = "Rest"
tests = [{ match = "other::*", row = "all the rest" }]
folded = true

[[issue]]
tests = "layers::test_linear"
backend = "torch*"
title = "Linear is not linear"
link = "https://example.org/issues/7"
"""


@pytest.fixture(scope="module")
def arranged(tmp_path_factory):
    """A board with groups, versions as columns, plain tests, branches and a known issue."""
    folder = tmp_path_factory.mktemp("arranged")
    store = Store.open(folder / "b.sqlite")
    versions = ["numpy", "torch 2.6", "torch 2.13"]
    now = time.time()
    rows = [
        *(("layers", f"test_{check}[conv{d}d: {check}]") for check in "ab" for d in "12"),
        ("layers", "test_linear"),
        *(("other", f"test_{i}") for i in range(3)),
    ]

    def results(red=()):
        every = [
            Result(module, test, backend, "failure" if (test, backend) in red else "success")
            for module, test in rows
            for backend in versions
            if (test, backend) != ("test_2", "numpy")  # a test that numpy cannot have
        ]
        every.append(Result("other", "test_slipped_in", "sqlite", "success"))
        every += [Result("plain", f"test_plain_{i}", "any", "success") for i in range(4)]
        every.append(Result("other", "test_0[x]", "numpy", "skipped"))
        return every

    red = [("test_linear", "torch 2.13"), ("test_b[conv2d: b]", "torch 2.6")]
    for name, days, branch, of in (
        ("1", 3, "main", results()),
        ("2", 2, "main", results(red)),
        ("3", 1, "feature", results([("test_linear", "numpy")])),
    ):
        of += [Result("layers", "test_new", "numpy", "failure")] if branch == "feature" else []
        store.for_project("demo").record(
            Part(name, "a", now - days * DAY, commit=name * 40, branch=branch, results=of)
        )
    with store.writing() as connection:
        save(connection, find_project(connection, None), SETTINGS)
    with store.reading() as connection:
        write_page(connection, find_project(connection, None), folder / "page")
    return folder / "page"


@pytest.fixture
def grouped(page, arranged):
    page.open((arranged / "index.html").as_uri())
    yield page
    assert page.complaints() == []


def headings(page):
    return [e.split("\n")[1] for e in page.texts(".row.module")]


def test_it_opens_with_the_groups_that_were_set(grouped):
    assert headings(grouped) == ["Layers", "Rest", "Tests without a backend"]
    assert grouped.rows() == ["test_linear", "conv1d", "conv2d"], "the rest is folded"
    assert [e.split("\n")[0] for e in grouped.texts(".card")] == [
        "All backends",
        "NumPy",
        "torch 2.6",
        "torch 2.13",
    ]
    assert grouped.text('[data-status="never run"] .number') == "0"
    grouped.settle()
    line = grouped.js(
        "return [...document.querySelectorAll('.row.line')].find(r => "
        "r.innerText.includes('conv2d'))"
    )
    assert line.text.split() == [
        *("▸", "conv2d", "2", "NumPy:", "✓", "success", "2/2"),
        *("torch", "2.6:", "✕", "failure", "1/2", "torch", "2.13:", "✓", "success", "2/2"),
    ]
    line.click()
    assert grouped.rows()[2:] == ["conv2d", "test_a[conv2d: a]", "test_b[conv2d: b]"]
    grouped.all(".row.module")[-1].find_element("css selector", ".name").click()
    assert grouped.rows()[-4:] == [f"test_plain_{i}" for i in range(4)]
    assert grouped.texts(".row .wide")[-1].split()[:5] == [
        *("without", "a", "backend:", "✓", "success")
    ]


def test_columns_of_one_framework_stand_under_its_name(grouped):
    heads = [e.split("\n") for e in grouped.texts("#grid-head > *")]
    assert heads == [["Test"], ["NumPy"], ["torch", "2.6"], ["torch", "2.13"]]
    visible = [e.get_attribute("class") for e in grouped.all("#grid-head span:first-child")]
    assert visible == ["family", "hidden"], "the name of the framework is shown once"


def test_searching_unfolds(grouped):
    grouped.find("#search").send_keys("test_2")
    assert grouped.rows() == ["all the rest", "test_2"]
    grouped.find("#reset").click()
    grouped.find("#search").send_keys("conv1d")
    assert grouped.rows() == ["conv1d", "test_a[conv1d: a]", "test_b[conv1d: b]"]
    grouped.find("#reset").click()
    grouped.choose("#module", "group:Rest")
    assert "test_0" in grouped.rows()


def test_card_and_badge_say_the_same(grouped, arranged):
    cards = {e.split("\n")[0]: e.split("\n")[-1] for e in grouped.texts(".card")}
    for name, file in (
        ("NumPy", "numpy"),
        ("torch 2.6", "torch.2.6"),
        ("torch 2.13", "torch.2.13"),
    ):
        svg = (arranged / "badges" / f"backend.{file}.svg").read_text()
        green, of = re.search(r": (\d+) / (\d+)</title>", svg).groups()
        assert cards[name] == f"{green} of {of} green"
    assert not list((arranged / "badges").glob("*sqlite*")), "a hidden column has no badge"


def test_another_branch_can_be_looked_at(grouped, page, arranged):
    assert grouped.cell("test_linear", "NumPy").text.split()[2] == "success"
    grouped.choose("#branch", "feature")
    grouped.wait("return document.getElementById('subtitle').textContent.includes('feature')")
    assert grouped.cell("test_linear", "NumPy").text.split()[2] == "failure"
    assert "test_new" in grouped.rows()
    assert "branch=feature" in grouped.driver.current_url
    grouped.cell("test_linear", "NumPy").click()
    grouped.wait("return document.querySelectorAll('#details .history tbody tr').length === 1")
    address = grouped.driver.current_url
    page.open(address)  # a link to the cell, on its branch
    page.wait("return document.querySelectorAll('#details .history tbody tr').length === 1")
    assert "failure" in page.text("#details .verdict")


def test_branches_are_compared(grouped):
    grouped.find("#tab-compare").click()
    grouped.choose("#head", "branch:feature")
    grouped.choose("#base", "branch:main")
    grouped.wait("return document.querySelector('#compare-status').textContent.includes('reg')")
    assert grouped.text("#compare-status") == "2 regressions, 4 changes"
    red = [e.split("\n") for e in grouped.texts("#changes .failure li")]
    assert [(e[1], e[2]) for e in red] == [("test_linear", "numpy"), ("test_new", "numpy")]


def test_a_cell_has_a_permanent_address(grouped, page):
    grouped.cell("test_linear", "torch\n2.13").click()
    grouped.wait("return document.querySelectorAll('#details .history tbody tr').length === 2")
    link = grouped.find("#permalink").get_attribute("href")
    assert "test=test_linear" in link
    grouped.find("#details .close").click()
    # The dialog says that it is closed in an event of its own, after the click.
    grouped.wait("return !location.href.includes('test=')")
    page.open(link)
    page.wait("return document.querySelectorAll('#details .history tbody tr').length === 2")
    assert page.text("#details-title") == "test_linear"
    page.js("location.hash = '#of=layers&test=gone&on=numpy'")
    page.wait("return !document.getElementById('problem').hidden")
    assert page.text("#problem") == "This board has no cell gone on numpy."


def test_a_cell_leads_to_its_known_issue(grouped):
    assert "#" in grouped.cell("test_linear", "torch\n2.13").text
    assert "#" not in grouped.cell("test_linear", "torch\n2.6").text, "a green cell has no issue"
    grouped.cell("test_linear", "torch\n2.13").click()
    grouped.wait("return document.querySelector('#details .known a')")
    issue = grouped.find("#details .known a")
    assert issue.text == "Linear is not linear"
    assert issue.get_attribute("href") == "https://example.org/issues/7"


def test_over_time(grouped):
    ActionChains(grouped.driver).send_keys("t").perform()
    grouped.wait("return document.querySelectorAll('#trends li').length === 4")
    shares = [e.replace("\n\n", "\n").split("\n") for e in grouped.texts("#trends li")]
    assert shares[3] == ["torch 2.13", "87%", "7 of 8"]
    assert len(grouped.all("#trends li:nth-child(4) circle")) == 2, "two runs of the default branch"
    assert grouped.text("#flaky") == "No cell was flaky in the newest 30 runs."
    grouped.find("#broken button").click()
    grouped.wait("return document.querySelector('#compare-status').textContent.includes('reg')")
    assert grouped.text("#compare-status") == "2 regressions, 2 changes"


def test_over_time_is_the_board_after_each_run(page, tmp_path):
    """Neither a run of one test nor one that died is a dip; flaky cells have age and owner."""
    store, now = Store.open(tmp_path / "b.sqlite"), time.time()
    whole = {f"{t}__{b}": "success" for t in ("tanh", "sin", "cos") for b in ("numpy", "torch")}
    runs = [
        whole,
        {"tanh__numpy": "success", "tanh__torch": "failure"},
        {**whole, "sin__torch": "died", "cos__torch": "died"},
        {"tanh__torch": "failure"},
        whole,
    ]
    for number, cells in enumerate(runs):
        started = now - (10 - number) * DAY
        store.for_project("p").record(make_part(str(number), started=started, **cells))
    with store.writing() as connection:
        project = find_project(connection, "p")
        save(connection, project, '[[owner]]\nname = "@waves"\ntests = ["ops::*"]')
        write_page(connection, project, tmp_path / "page")
    page.open(f"{(tmp_path / 'page' / 'index.html').as_uri()}#view=time")
    page.wait("return document.querySelectorAll('#trends li').length === 3")

    def points(place):
        titles = page.js(
            "return [...document.querySelectorAll(arguments[0])].map(e => e.textContent)",
            f"#trends li:nth-child({place}) circle title",
        )
        return [(title.split(" green")[0], "died at 66 %" in title) for title in titles]

    joint = ["3 of 3", "2 of 3", "3 of 3", "2 of 3", "3 of 3"]
    died = [False, False, True, False, False]
    assert points(1) == list(zip(joint, died, strict=True))
    assert points(2) == [("3 of 3", each) for each in died], "numpy was always green"
    assert points(3) == list(zip(joint, died, strict=True))
    (flaky,) = page.texts("#flaky li")
    assert "turned 4 times in 5 runs" in flaky
    assert "since 9 days, owner @waves" in flaky
    assert page.complaints() == []


def test_sessions_of_a_suite_are_compared_as_one(page, tmp_path):
    """One session for each backend: neither is the base of the other."""
    store, now = Store.open(tmp_path / "b.sqlite"), time.time()
    for days, outcome in ((2, "success"), (1, "failure")):
        for later, backend in enumerate(("numpy", "torch")):
            cells = {f"tanh__{backend}": outcome if backend == "torch" else "success"}
            part = make_part(f"{days}{backend}", started=now - days * DAY + later, **cells)
            part.commit = f"c0ffee{days}"
            store.for_project("p").record(part)
    with store.writing() as connection:
        write_page(connection, find_project(connection, "p"), tmp_path / "page")
    page.open(f"{(tmp_path / 'page' / 'index.html').as_uri()}#view=time")
    page.find("#tab-compare").click()
    status = "return document.querySelector('#compare-status').textContent"
    page.wait(f"{status}.includes('reg')")
    assert page.text("#compare-status") == "1 regression, 1 change"
    assert page.js("return document.getElementById('head').value") == "sessions:1torch"
    assert page.js("return document.getElementById('base').value") == "sessions:2torch"
    page.choose("#head", "run:1numpy")  # a session that is named is that one
    page.wait(f"{status}.includes('1 change')")
    assert page.text("#compare-status") == "0 regressions, 1 change", "torch was not run in it"
    assert page.complaints() == []


def test_a_module_that_cannot_be_imported_is_told_above_the_cards(page, tmp_path):
    store = Store.open(tmp_path / "b.sqlite")
    part = make_part("1", tanh__numpy="success", tanh__torch="success")
    part.broken = [BrokenModule(EVIL, "ImportError")]
    store.for_project("p").record(part)
    with store.writing() as connection:
        write_page(connection, find_project(connection, "p"), tmp_path / "page")
    page.open((tmp_path / "page" / "index.html").as_uri())
    assert page.text("#broken-modules") == f"1 module could not be imported: {EVIL}."
    assert page.driver.title == "p · board", "the name of a module ran as a script"
    joint = (tmp_path / "page" / "badges" / "joint.svg").read_text()
    assert "1 / 1" in joint
    assert OUTCOMES["success"].colour not in joint, "all green would be too much to say"
    assert page.complaints() == []
