"""Text that came from elsewhere, made harmless for the place where it is shown.

Names of tests and backends, run ids and links are chosen by whoever may record, and by a pull
request. Nothing in them is markup, ends a line, or drives a terminal.

>>> as_markdown("[x](javascript:y)")
'&#91;x&#93;&#40;javascript&#58;y&#41;'
>>> on_one_line("test_tanh")
'test_tanh'
"""

from __future__ import annotations

import re
from urllib.parse import quote

__all__ = ["as_code", "as_markdown", "as_xml", "on_one_line", "quoted_link", "safe_link"]

# All punctuation of ASCII: what is no markup today may be some in another dialect. An underscore
# inside a word and a dash are none in any, and most names have them.
_PUNCTUATION = re.compile(r"[!-,./:-@\[-^`{-~]|(?<![^\W_])_|_(?![^\W_])")
# XML has no way to write other characters at all.
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SAFE_LINK = re.compile(r"https?://[^\s\"<>\x00-\x1f\x7f]+")


def on_one_line(text: str) -> str:
    """Text without control characters, separators of lines and signs that turn its direction."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else " " if c.isspace() else "�" for c in text)


def as_markdown(text: str) -> str:
    """Text in Markdown or HTML: it shows itself, whatever is in it.

    Characters by number are never markup. Backslashes would do for CommonMark, not for others.
    """
    return _PUNCTUATION.sub(lambda found: f"&#{ord(found[0])};", on_one_line(text))


def as_code(text: str) -> str:
    """The same as code."""
    return f"`{text}`" if re.fullmatch(r"[\w-]+", text) else f"<code>{as_markdown(text)}</code>"


def as_xml(text: str) -> str:
    """Text without the characters that XML cannot hold; markup in it is still to be quoted."""
    return _NOT_IN_XML.sub("�", text)


def safe_link(link: str | None) -> str | None:
    """A link that a page may follow, or None: old tables say ``null``, others might say worse.

    >>> safe_link("null") is None, safe_link("javascript:alert(1)") is None
    (True, True)
    """
    return link if link and _SAFE_LINK.fullmatch(link) else None


def quoted_link(link: str) -> str:
    """A safe link inside of quotes in Markdown: percent signs keep it the link that it is."""
    return quote(link, safe="%:/?#@&=+,;$-._~")
