"""Our metadata after the end of a file whose format has no place for it.

Readers of flatbuffers start at the beginning and follow offsets: they never see it.
"""

_MARK = b"TRELLIS1"


def with_trailer(content: bytes, text: str) -> bytes:
    """The content with a text after it.

    >>> trailer_of(with_trailer(b"content", "text"))
    'text'
    """
    encoded = text.encode()
    return content + encoded + len(encoded).to_bytes(8, "little") + _MARK


def trailer_of(content: bytes) -> str | None:
    """The text after the content; None if there is none."""
    if content[-len(_MARK) :] != _MARK:
        return None
    end = len(content) - len(_MARK) - 8
    length = int.from_bytes(content[end : end + 8], "little")
    return content[end - length : end].decode(errors="replace") if 0 <= length <= end else None
