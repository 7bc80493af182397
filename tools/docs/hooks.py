"""What mkdocs does besides turning pages into HTML: it writes the reference, draws the pictures,
and adds pages from elsewhere in the repository."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "src")]
# Readers of other frameworks' models are looked at too, and TensorFlow announces itself.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import name_tables  # noqa: E402
import notebooks  # noqa: E402
import pictures  # noqa: E402
import public_names  # noqa: E402
import reference  # noqa: E402
from mkdocs.structure.files import File, Files  # noqa: E402

import trellis  # noqa: E402

# Pages outside docs/, and their address on the site.
ELSEWHERE = {
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "packages/board/docs/board.md": "board/index.md",
    "packages/board/docs/others.md": "board/others.md",
}


def on_config(config: Any) -> Any:
    """The groups of the reference appear in the navigation, and the version below each page."""
    config.copyright = f"Trellis {trellis.__version__}"
    groups = []
    for name in public_names.all_names():
        if name.group not in groups:
            groups.append(name.group)
    for entry in config.nav:
        if "Reference" in entry:
            entry["Reference"] += [
                {public_names.GROUPS[group][0]: f"reference/{group}.md"} for group in groups
            ]
    return config


def on_files(files: Files, config: Any) -> Files:
    """All pages, pictures and notebooks that are not files under docs/."""
    for source, address in ELSEWHERE.items():
        # A link into docs/ from outside is a link next to the page on the site.
        text = (ROOT / source).read_text(encoding="utf-8").replace("](docs/", "](")
        files.append(File.generated(config, address, content=text))
    for picture in (ROOT / "packages/board/docs/pictures").glob("*.png"):
        address = f"board/pictures/{picture.name}"
        files.append(File.generated(config, address, content=picture.read_bytes()))
    for address, text in reference.pages().items():
        files.append(File.generated(config, address, content=text))
    for address, content in pictures.all_pictures().items():
        kept = files.get_file_from_path(address)  # the README's are in docs/ too
        if kept is not None:
            files.remove(kept)
        files.append(File.generated(config, address, content=content))
    for address, content in notebooks.all_notebooks().items():
        files.append(File.generated(config, address, content=content))
    for name in ("trellis.css", "trellis.js"):
        text = (HERE / name).read_text(encoding="utf-8")
        files.append(File.generated(config, f"_site/{name}", content=text))
    return files


# A link to a file of the repository that is not a page: on the site, the name alone.
_OUTSIDE = re.compile(r"\[([^\]]+)\]\((?!https?:)(?:\.\./)+(?:src|recipes|tests|examples)[^)]*\)")


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Links into the repository become text; a tutorial says where its notebook is."""
    if not page.file.src_uri.startswith("reference/"):
        page.meta.setdefault("search", {"boost": 3})  # what explains comes before what lists
    markdown = name_tables.filled(_OUTSIDE.sub(r"\1", markdown))
    if page.file.src_uri in notebooks.TUTORIALS:
        name = notebooks.address(page.file.src_uri).rpartition("/")[2]
        up = "../" * page.file.src_uri.count("/")
        line = f"[This page as a notebook]({up}notebooks/{name}){{ .notebook download }}"
        title, _, rest = markdown.partition("\n")
        markdown = f"{title}\n\n{line}\n{rest}"
    return markdown


def _part_of_reference(nav: Any) -> Any:
    return next(item for item in nav.items if item.title == "Reference")


def on_page_context(context: Any, page: Any, config: Any, nav: Any) -> Any:
    """The page of a name shows the navigation of the reference."""
    if page.file.src_uri.startswith("reference/"):
        _part_of_reference(nav).active = True
        config.extra["open_section"] = _part_of_reference(nav)
    return context


def on_post_page(output: str, page: Any, config: Any) -> str:
    """The next page begins with a closed navigation."""
    section = config.extra.pop("open_section", None)
    if section is not None:
        section.active = False
    return output


def on_page_content(html: str, **_: Any) -> str:
    """The empty corner of a table is not a heading."""
    return re.sub(r"<th[^>]*></th>", "<td></td>", html)
