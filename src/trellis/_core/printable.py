"""Text from files as it can be shown on a terminal."""


def printable(text: object, longest: int = 120) -> str:
    """One line without control characters: escape sequences could rewrite what a terminal shows.

    >>> printable("name\\x1b[2J")
    'name\\\\x1b[2J'
    """
    shown = "".join([c if c.isprintable() else ascii(c)[1:-1] for c in str(text)[: longest + 1]])
    return shown if len(shown) <= longest else shown[:longest] + "..."


def printable_lines(text: object) -> str:
    """The same for text of several lines, of any length."""
    return "\n".join([printable(line, len(line) * 12) for line in str(text).split("\n")])
