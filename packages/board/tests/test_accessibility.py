"""The page against the rules of axe-core, in every view: nothing to complain about."""

from __future__ import annotations

import json
from importlib import resources

import pytest

AXE = resources.files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
TAGS = [
    *("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"),
    *("best-practice", "experimental"),
]
VIEWS = {
    "matrix": "",
    "searched": "#q=conv",
    "nothing found": "#q=zzz",
    "sorted": "#sort=worst",
    "cell": "#of=layers&test=test_linear&on=torch",
    "compare": "#base=run%3A100&head=run%3A101",
    "over time": "#view=time",
}
SCRIPT = """
const done = arguments[arguments.length - 1];
axe.run(document, {runOnly: {type: 'tag', values: arguments[0]}, resultTypes: ['violations']})
  .then(found => done(JSON.stringify({
    passed: found.passes.length,
    violations: found.violations.map(v => [v.id, v.nodes.map(n => n.html.slice(0, 200))])})));
"""


def violations(page):
    page.js(AXE)
    found = json.loads(page.driver.execute_async_script(SCRIPT, TAGS))
    assert found["passed"] > 10, "axe-core found nothing to look at"
    return found["violations"]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("view", VIEWS)
def test_no_violation(page, board, view, dark):
    page.open(board[1] + VIEWS[view])
    if dark:
        page.js("toggleTheme()")
    page.wait("return !document.body.textContent.includes('Loading…')")
    try:
        assert violations(page) == []
    finally:
        if dark:
            page.js("toggleTheme()")


@pytest.mark.parametrize("dialog", ["help", "badges"])
def test_no_violation_in_dialogs(page, board, dialog):
    page.open(board[1])
    page.find(f"#show-{dialog}").click()
    assert violations(page) == []
    page.find(f"#{dialog} .close").click()


def test_no_violation_on_a_phone(page, board):
    size = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        page.open(board[1])
        assert violations(page) == []
    finally:
        page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
