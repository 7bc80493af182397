"""The built site in a real browser: no violation of axe-core's rules, nothing asked of the network,
search that finds, links that lead somewhere. Builds the site, so it belongs to the long tier."""

import functools
import http.server
import os
import shutil
import subprocess
import sys
import threading
from importlib import resources
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools" / "docs"))

pytestmark = [pytest.mark.long, pytest.mark.needs("jax", "torch", "tensorflow")]

PAGES = (
    "index.html",
    "learn/ten_minutes.html",
    "learn/how_it_works.html",
    "coming_from/torch.html",
    "reference/index.html",
    "reference/nn.html",
    "reference/nn.Module.html",
    "reference/functional.gelu.html",
    "reference/float32.html",
    "ledger.html",
    "dtypes.html",
    "benchmarks.html",
    "board/index.html",
)
SIZES = {"desktop": (1280, 900), "phone": (390, 844)}
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SCRIPT = """
tags => axe.run(document, {runOnly: {type: 'tag', values: tags}, resultTypes: ['violations']})
  .then(found => ({
    passed: found.passes.length,
    violations: found.violations.map(v => [v.id, v.nodes.map(n => n.html.slice(0, 200))])}))
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", folder],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT / "src")},
        check=True,
    )
    return folder


@pytest.fixture(scope="module")
def address(site):
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass

    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Quiet, directory=str(site))
    )
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium")
    assert chromium, "the Debian package chromium is not installed"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield browser
        browser.close()


def test_every_link_leads_somewhere(site):
    import check_site

    assert check_site.problems(site.resolve()) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_no_violation_and_no_network(browser, address, scheme, size):
    axe = resources.files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8")
    width, height = SIZES[size]
    viewport = {"width": width, "height": height}
    context = browser.new_context(viewport=viewport, color_scheme=scheme)
    asked, found = [], {}
    context.on("request", lambda request: asked.append(request.url))
    page = context.new_page()
    for name in PAGES:
        page.goto(address + name)
        page.wait_for_load_state("networkidle")
        page.evaluate(axe)
        result = page.evaluate(SCRIPT, TAGS)
        assert result["passed"] > 10, "axe-core found nothing to look at"
        if result["violations"]:
            found[name] = result["violations"]
        wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        assert wide <= 0, f"{name} is wider than the window by {wide}"
    context.close()
    assert found == {}
    assert [url for url in asked if not url.startswith(address)] == []


def test_search_finds_a_function(browser, address):
    page = browser.new_page()
    page.goto(address + "index.html")
    page.click(".md-search__input")
    page.fill(".md-search__input", "logsumexp")
    page.wait_for_selector(".md-search-result__item a[href*='logsumexp']")
    page.close()
