"""Follows every link of the built site: pages, anchors, pictures; refuses what comes from the
network.

    python tools/docs/check_site.py build/site
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# What a browser loads without being asked, as opposed to what a reader clicks on.
LOADED = {
    "img": ("src",),
    "script": ("src",),
    "link": ("href",),
    "iframe": ("src",),
    "source": ("src", "srcset"),
    "video": ("src",),
}
# Links that are said and not loaded.
SAID = {"canonical", "next", "prev", "edit"}


class Page(HTMLParser):
    """The links and the anchors of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.without_text: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attributes}
        if "id" in given:
            self.anchors.add(given["id"])
        if tag == "a" and "name" in given:
            self.anchors.add(given["name"])
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag == "img" and "alt" not in given:
            self.without_text.append(given.get("src", ""))
        if tag in LOADED and given.get("rel") not in SAID:
            self.loaded += [given[name] for name in LOADED[tag] if given.get(name)]


def problems(site: Path) -> list[str]:
    """What is wrong with a site, one sentence each; none if all is well."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    found = []
    for path, page in pages.items():
        where = path.relative_to(site)
        for link in page.loaded:
            if urlsplit(link).netloc:
                found.append(f"{where}: loads {link} from the network")
        found += [f"{where}: the picture {name} has no text" for name in page.without_text]
        for link in page.links + page.loaded:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = path
            if parts.path:
                start = site if parts.path.startswith("/") else path.parent
                target = (start / unquote(parts.path).lstrip("/")).resolve()
                target = target / "index.html" if target.is_dir() else target
            if not target.exists():
                found.append(f"{where}: no page at {link}")
            elif parts.fragment and target in pages:
                anchors = pages[target].anchors
                if unquote(parts.fragment) not in anchors | {"__top", "only-light", "only-dark"}:
                    found.append(f"{where}: no place {link}")
    return found


def main(site: str) -> int:
    found = problems(Path(site).resolve())
    for line in found:
        print(line, file=sys.stderr)
    count = len(list(Path(site).rglob("*.html")))
    print(f"{count} pages, {len(found)} problems")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1]))
