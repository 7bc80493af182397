"""A real browser, driven headless, and pages to open in it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait

from .helpers import missing

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1400,900",
)


def start(profile: Path) -> webdriver.Chrome:
    """Chromium with an empty profile; its absence fails the test in CI."""
    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not browser or not driver:
        missing("a browser (Debian packages chromium and chromium-driver)")
    options = webdriver.ChromeOptions()
    options.binary_location = browser or ""
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options=options, service=Service(driver))


class Page:
    """The board's page, in words of what a reader does."""

    def __init__(self, driver: webdriver.Chrome) -> None:
        self.driver = driver

    def open(self, address: str) -> None:
        self.driver.get("about:blank")
        self.driver.get(address)
        self.wait("return document.documentElement.dataset.ready === 'true'")
        self.settle()

    def settle(self) -> None:
        """Wait for the frames in which the grid draws its rows again.

        That is after the first layout and after a scroll, which a click may cause: an element
        that was found before is gone then.
        """
        self.driver.execute_async_script(
            "const done = arguments[0];"
            "requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done)))"
        )

    def wait(self, script: str) -> Any:
        return WebDriverWait(self.driver, 30).until(lambda d: d.execute_script(script))

    def js(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def find(self, selector: str) -> WebElement:
        self.settle()
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector: str) -> list[WebElement]:
        self.settle()
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def texts(self, selector: str) -> list[str]:
        """What each element shows, read in one step: none can go between."""
        return self.js(
            "return [...document.querySelectorAll(arguments[0])].map(e => e.innerText.trim())",
            selector,
        )

    def text(self, selector: str) -> str:
        return self.texts(selector)[0]

    def rows(self) -> list[str]:
        """The names of the tests in sight."""
        return self.js(
            "return [...document.querySelectorAll('#grid-body .row:not(.module) .name .text')]"
            ".map(e => e.textContent)"
        )

    def cell(self, test: str, backend: str) -> WebElement:
        """The cell of a test and a backend; both must be in sight."""
        self.settle()
        return self.js(
            "const row = [...document.querySelectorAll('#grid-body .row:not(.module)')]"
            ".find(r => r.querySelector('.text').textContent === arguments[0]);"
            "const at = [...document.querySelectorAll('#grid-head > *')]"
            ".findIndex(c => c.textContent === arguments[1].replace('\\n', ' '));"
            "return row.children[at]",
            test,
            backend,
        )

    def choose(self, select: str, value: str) -> None:
        self.js(
            "const s = document.querySelector(arguments[0]); s.value = arguments[1];"
            "s.dispatchEvent(new Event('change'))",
            select,
            value,
        )

    def complaints(self) -> list[str]:
        """What the browser wrote to its console."""
        return [entry["message"] for entry in self.driver.get_log("browser")]
